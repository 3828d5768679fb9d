"""The lessons' widgets, by name; their texts are built from the lesson's text into `data/`."""

import json
from importlib.resources import files

from specdec.widgets.cache_lanes import CacheLanes
from specdec.widgets.cost_explorer import CostExplorer
from specdec.widgets.draft_lane import DraftLane
from specdec.widgets.draft_race import DraftRace
from specdec.widgets.logits_grid import LogitsGrid
from specdec.widgets.pass_player import PassPlayer
from specdec.widgets.question import Choice, Question
from specdec.widgets.quiz import Quiz
from specdec.widgets.sampling_lane import SamplingLane

LANES = {
    "CacheLanes": CacheLanes,
    "CostExplorer": CostExplorer,
    "DraftLane": DraftLane,
    "DraftRace": DraftRace,
    "LogitsGrid": LogitsGrid,
    "PassPlayer": PassPlayer,
    "SamplingLane": SamplingLane,
}


def load_widget(lesson: str, name: str):
    """Return a widget of a lesson, such as load_widget("lesson_01", "lane").

    Raises KeyError when the lesson has no widget of that name.
    """
    text = (files("specdec.widgets") / "data" / f"{lesson}.json").read_text(encoding="utf-8")
    settings = json.loads(text)[name]
    kind = settings.pop("kind")
    if kind == "Quiz":
        return Quiz([Question(q["prompt"], choices(q)) for q in settings["questions"]])
    if "choices" in settings:
        settings["choices"] = choices(settings)
    return LANES[kind](**settings)


def choices(settings: dict) -> list[Choice]:
    return [Choice(**choice) for choice in settings["choices"]]
