"""Widgets of the lessons: the lanes, one for each rule, and the quiz.

Each widget has its rule in JavaScript, so that it answers at once and works in a reopened notebook
without a kernel, and in Python, so that a cell can read the state and a still picture can be drawn.
"""

from specdec.widgets.cache_lanes import CacheLanes
from specdec.widgets.draft_lane import DraftLane
from specdec.widgets.lessons import load_widget
from specdec.widgets.question import Choice, Question
from specdec.widgets.quiz import Quiz
from specdec.widgets.sampling_lane import SamplingLane

__all__ = ["CacheLanes", "Choice", "DraftLane", "Question", "Quiz", "SamplingLane", "load_widget"]
