"""What the tests of the models share."""

import sys
from pathlib import Path

import specdec  # noqa: F401  # isort: skip  (first: it sets one BLAS thread)

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "engines"))

from tiny_model import write_model

from specdec.model import MODELS, load_model
from specdec.tokenizer import Tokenizer


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory):
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def tiny(tiny_folder):
    """The tiny model in float64."""
    return load_model(tiny_folder, np.float64)


@pytest.fixture(scope="session")
def tokenizer():
    return Tokenizer(MODELS / "target" / "tokenizer.json")


@pytest.fixture(scope="session")
def prompts(tokenizer):
    """20 prompts of 24 tokens from text that training never saw."""
    lines = (MODELS / "heldout.txt").read_text(encoding="utf-8").splitlines()
    return [tokenizer.encode(line)[:24] for line in lines[::3]]
