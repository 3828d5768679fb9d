"""The quiz: questions for the learner alone, with a reason for every choice."""

import traitlets

from specdec.widgets.base import CourseWidget, front_end
from specdec.widgets.question import TEXT as QUESTION_TEXT
from specdec.widgets.question import as_json, as_question, letter

TEXT = {
    "title": "Check yourself",
    "offline": (
        "Kept from your last visit. It works as it is. Run its cell to start it anew; "
        "then other cells can read it too."
    ),
    "count": "Question {n} of {total}",
    "check": "Check",
    "again": "Try again",
    **QUESTION_TEXT,
    "progress": "{right} of {total} right",
    "answers": "Answers and reasons",
}


class Quiz(CourseWidget):
    """Questions to check oneself with; nothing of it is graded.

    questions  list of Question(prompt, [Choice(text, reason, right), ...])
    text       strings to replace in TEXT, for a translation

    `answers` holds one letter a question, "" where none was checked yet. It is a synced trait, so
    it is kept with the saved notebook. The right choices are in the notebook too: this is for
    learning, not for marks.
    Raises ValueError when a question has no single right choice or a choice has no reason.
    """

    TEXT = TEXT
    _esm, _css = front_end("quiz")

    questions = traitlets.List().tag(sync=True)
    answers = traitlets.List(traitlets.Unicode()).tag(sync=True)

    def __init__(self, questions, text=None):
        checked = [as_question(*question_parts(question)) for question in questions]
        if not checked:
            raise ValueError("a quiz needs at least one question")
        super().__init__(
            text=text,
            questions=[as_json(question) for question in checked],
            answers=[""] * len(checked),
        )

    @property
    def right(self):
        """How many questions stand answered rightly."""
        return sum(
            given == right_letter(question)
            for given, question in zip(self.answers, self.questions, strict=True)
        )

    @traitlets.validate("answers")
    def _check_answers(self, proposal):
        answers = list(proposal["value"])
        if len(answers) != len(self.questions):
            raise traitlets.TraitError(
                f"answers needs {len(self.questions)} entries, one a question; "
                f"it has {len(answers)}"
            )
        for answer, question in zip(answers, self.questions, strict=True):
            letters = [letter(index) for index in range(len(question["choices"]))]
            if answer not in ["", *letters]:
                raise traitlets.TraitError(
                    f"an answer is one of {', '.join(letters)} or empty, got {answer!r}"
                )
        return answers

    def still(self):
        """Return the quiz as Markdown: questions first, answers and reasons folded below each."""
        parts = []
        for number, question in enumerate(self.questions, 1):
            parts += [f"**{number}.** {question['prompt']}", "\n".join(choice_lines(question))]
            parts += [f"<details><summary>{self.text['answers']}</summary>"]
            parts += ["\n".join(self._reason_lines(question)), "</details>"]
        return "\n\n".join(parts)

    def still_bundle(self):
        """Return the still twin as Markdown."""
        markdown = self.still()
        return {"text/markdown": markdown, "text/plain": markdown}, {}

    def _reason_lines(self, question):
        for index, choice in enumerate(question["choices"]):
            mark, word = ("✓", "mark_right") if choice["right"] else ("✗", "mark_wrong")
            yield f"- **{mark} {letter(index)}, {self.text[word]}.** {choice['reason']}"


def question_parts(question):
    """Return (prompt, choices); ValueError when question is no pair of them."""
    if isinstance(question, str) or len(question) != 2:
        raise ValueError(f"a question is Question(prompt, choices), got {question!r}")
    return question


def choice_lines(question):
    """Yield one line of Markdown a choice."""
    for index, choice in enumerate(question["choices"]):
        yield f"- {letter(index)}. {choice['text']}"


def right_letter(question):
    """Return the letter of the right choice of a question in its JSON form."""
    return next(letter(i) for i, choice in enumerate(question["choices"]) if choice["right"])
