"""Widgets of the lessons: one for each idea that is played with, and the quiz.

Each widget has its rule in JavaScript, so that it answers at once and works in a reopened notebook
without a kernel, and in Python, so that a cell can read the state and a still picture can be drawn.
"""

from specdec.widgets.cache_lanes import CacheLanes
from specdec.widgets.cost_explorer import CostExplorer
from specdec.widgets.draft_lane import DraftLane
from specdec.widgets.draft_race import DraftRace
from specdec.widgets.lessons import load_widget
from specdec.widgets.logits_grid import LogitsGrid
from specdec.widgets.pass_player import PassPlayer
from specdec.widgets.question import Choice, Question
from specdec.widgets.quiz import Quiz
from specdec.widgets.sampling_lane import SamplingLane

__all__ = [
    "CacheLanes",
    "Choice",
    "CostExplorer",
    "DraftLane",
    "DraftRace",
    "LogitsGrid",
    "PassPlayer",
    "Question",
    "Quiz",
    "SamplingLane",
    "load_widget",
]
