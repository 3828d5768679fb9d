function render({ model, el }) {
  const text = model.get("text");
  const questions = model.get("questions");
  const progress = make("span", "sd-progress");
  const root = makeRoot("sd-quiz", text, progress);

  const cards = questions.map((question, index) => {
    const eyebrow = fill(text.count, { n: index + 1, total: questions.length });
    const card = makeQuestion(question, text, eyebrow, (chosen) =>
      answer(index, model.get("answers")[index] ? "" : letter(chosen)),
    );
    root.append(card.node);
    return card;
  });

  function answer(index, given) {
    model.set("answers", model.get("answers").with(index, given));
    model.save_changes();
    if (!given) cards[index].choices[0].input.focus();
  }

  function update() {
    const answers = model.get("answers");
    let right = 0;
    cards.forEach((card, index) => {
      const chosen = questions[index].choices.findIndex((_, i) => letter(i) === answers[index]);
      if (chosen >= 0 && questions[index].choices[chosen].right) right += 1;
      if (card.node.dataset.answer !== answers[index]) card.show(chosen);
      card.node.dataset.answer = answers[index];
      write(card.button, chosen < 0 ? text.check : text.again);
    });
    write(progress, fill(text.progress, { right, total: questions.length }));
  }

  update();
  el.append(root);
  model.on("change:answers", update);
  return () => model.off("change:answers", update);
}

export default { initialize, render };
