// Theme, folds, print, search. Nothing here asks for anything but files beside the page.
(() => {
  const root = document.documentElement;
  const button = document.getElementById("theme");

  function showTheme() {
    const dark = root.dataset.theme === "dark";
    document.body.dataset.jpThemeLight = String(!dark); // the widgets look for JupyterLab's mark
    button.setAttribute("aria-pressed", String(dark));
  }
  button.addEventListener("click", () => {
    root.dataset.theme = root.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("theme", root.dataset.theme);
    } catch {
      // not remembered
    }
    showTheme();
  });
  showTheme();

  const contents = document.querySelector(".contents details");
  if (contents && matchMedia("(max-width: 70rem)").matches) contents.open = false;

  const folds = [...document.querySelectorAll("main details")];
  const unfold = document.getElementById("unfold");
  unfold?.addEventListener("click", () => {
    const open = unfold.getAttribute("aria-pressed") !== "true";
    for (const fold of folds) fold.open = open;
    unfold.setAttribute("aria-pressed", String(open));
    unfold.textContent = open ? "Close all folds" : "Open all folds";
  });

  let closed = [];
  addEventListener("beforeprint", () => {
    closed = folds.filter((fold) => !fold.open);
    for (const fold of closed) fold.open = true;
  });
  addEventListener("afterprint", () => closed.forEach((fold) => (fold.open = false)));

  // A link into a fold opens it.
  function openTarget() {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    for (let node = target?.closest("details"); node; node = node.parentElement?.closest("details"))
      node.open = true;
    target?.scrollIntoView();
  }
  addEventListener("hashchange", openTarget);
  if (location.hash) openTarget();

  const query = document.getElementById("query");
  const box = document.querySelector(".found");
  const found = document.getElementById("found");
  const results = document.getElementById("results");
  const SHOWN = 12;
  let index = null;

  function load(name) {
    return new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = `assets/${name}.js`;
      script.onload = done;
      script.onerror = () => failed(new Error(`${name} is missing`));
      document.head.append(script);
    });
  }

  async function makeIndex() {
    await load("minisearch");
    await load("search-index");
    const made = new window.MiniSearch({
      idField: "url",
      fields: ["title", "text", "lesson"],
      storeFields: ["title", "text", "lesson"],
      searchOptions: {
        boost: { title: 4 },
        prefix: true,
        fuzzy: (term) => (term.length > 5 ? 0.2 : false),
        combineWith: "AND",
      },
    });
    made.addAll(window.searchSections);
    return made;
  }

  // The words around the first place where the text has a word that was looked for.
  function excerpt(hit) {
    const text = hit.text;
    const at = Math.max(0, Math.min(...hit.terms.map((t) => text.toLowerCase().indexOf(t))));
    const from = Math.max(0, text.lastIndexOf(" ", Math.max(0, at - 50)));
    return `${from ? "… " : ""}${text.slice(from, from + 160).trim()} …`;
  }

  function show(hits) {
    results.replaceChildren(
      ...hits.slice(0, SHOWN).map((hit) => {
        const item = document.createElement("li");
        const link = document.createElement("a");
        link.href = hit.id;
        const title = document.createElement("strong");
        title.textContent = hit.title;
        const words = document.createElement("span");
        words.textContent = `${hit.lesson}. ${excerpt(hit)}`;
        link.append(title, words);
        item.append(link);
        return item;
      }),
    );
    const more = hits.length > SHOWN ? `, the best ${SHOWN} are shown` : "";
    found.textContent = `${hits.length} ${hits.length === 1 ? "place" : "places"}${more}`;
  }

  async function search() {
    const words = query.value.trim();
    box.hidden = !words;
    if (!words) return;
    index ??= makeIndex();
    const hits = (await index).search(words);
    if (words === query.value.trim()) show(hits);
  }
  query.addEventListener("input", search);
  document.querySelector(".search").addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    query.value = "";
    search();
    query.focus();
  });
  results.addEventListener("click", () => {
    query.value = "";
    search();
  });
})();
