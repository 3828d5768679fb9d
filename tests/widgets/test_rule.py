"""The rule in JavaScript and its twin in Python give the same on the same rounds."""

import random

import pytest
from alone import in_node

from specdec.reference.lesson_01 import accepted_count, verify_greedy
from specdec.widgets.draft_lane import TEXT, DraftLane, asked_after, status_sentence, verdicts

RUN = """
import { readFileSync } from "node:fs";
import { verify, statusSentence, askedAfter, resize } from "./widget.mjs";
const { text, tokens, rounds, lengths } = JSON.parse(readFileSync(0, "utf8"));
const results = rounds.map(({ draft, picks }, i) => ({
  ...verify(draft, picks),
  sentence: statusSentence(text, draft, picks),
  caption: askedAfter(text, draft, picks),
  resized: resize({ draft, picks }, { draft: [], picks: [] }, lengths[i], tokens),
  kept: { draft, picks },
}));
console.log(JSON.stringify(results));
"""


def random_rounds(count, seed):
    """Return rounds of 0 to 8 guesses; three in four answers agree with their guess."""
    rng = random.Random(seed)
    rounds = []
    for _ in range(count):
        draft = [rng.randrange(10) for _ in range(rng.randrange(9))]
        picks = [token if rng.random() < 0.75 else rng.randrange(10) for token in draft]
        rounds.append({"draft": draft, "picks": [*picks, rng.randrange(10)]})
    return rounds


EDGES = [
    {"draft": [], "picks": [5]},
    {"draft": [0], "picks": [0, 0]},
    {"draft": [0], "picks": [1, 0]},
    {"draft": [7, 7, 7], "picks": [7, 7, 8, 7]},
    {"draft": [4, 5, 6], "picks": [4, 8, 6, 9]},
    {"draft": list(range(8)), "picks": [*range(8), 9]},
]
ROUNDS = EDGES + random_rounds(600, seed=1)
LENGTHS = [random.Random(2).randrange(9) for _ in ROUNDS]


@pytest.fixture(scope="module")
def from_javascript(tmp_path_factory):
    sent = {"text": TEXT, "tokens": list(range(10)), "rounds": ROUNDS, "lengths": LENGTHS}
    return in_node(tmp_path_factory.mktemp("rule"), DraftLane._esm, RUN, sent)


def test_same_verdict_on_every_round(from_javascript):
    for round_, got in zip(ROUNDS, from_javascript, strict=True):
        draft, picks = round_["draft"], round_["picks"]
        marks, emitted = verdicts(draft, picks)
        assert got["marks"] == marks, round_
        assert got["emitted"] == emitted == verify_greedy(draft, picks), round_
        assert got["accepted"] == accepted_count(draft, picks), round_


def test_same_words_on_every_round(from_javascript):
    for round_, got in zip(ROUNDS, from_javascript, strict=True):
        draft, picks = round_["draft"], round_["picks"]
        assert got["sentence"] == status_sentence(TEXT, draft, picks)
        assert got["caption"] == asked_after(TEXT, draft, picks)


def test_rule_changes_neither_input(from_javascript):
    assert [got["kept"] for got in from_javascript] == ROUNDS


def test_the_rounds_cover_every_case():
    seen = {mark for round_ in ROUNDS for mark in verdicts(**round_)[0]}
    assert seen == {"accepted", "corrected", "discarded", "bonus"}
    assert {len(round_["draft"]) for round_ in ROUNDS} == set(range(9))


def test_resized_rounds_fit_and_keep_their_start(from_javascript):
    for round_, k, got in zip(ROUNDS, LENGTHS, from_javascript, strict=True):
        draft, picks = got["resized"]["draft"], got["resized"]["picks"]
        kept = min(k, len(round_["draft"]))
        assert (len(draft), len(picks)) == (k, k + 1)
        assert draft[:kept] == round_["draft"][:kept]
        assert picks[: kept + 1] == round_["picks"][: kept + 1]
        assert draft[kept:] == picks[kept:-1], "a new guess agrees until the learner changes it"
