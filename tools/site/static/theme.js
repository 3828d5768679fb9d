// Before anything is drawn: the theme that was chosen here, else the system's.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    // a page opened as a file may have no memory
  }
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = chosen ?? (dark ? "dark" : "light");
  document.documentElement.classList.add("scripted");
})();
