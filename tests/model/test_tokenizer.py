"""specdec.tokenizer: any text, byte-exact, equal to the tokenizers library."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from specdec.model import MODELS
from specdec.tokenizer import Tokenizer, byte_letters

TEXTS = [
    "",
    " ",
    "  two  spaces   and\n\n\nlines \n",
    "It's they'll we've I'm you'd SHE'S can't 'tis don''t",
    "Tabs\tand\r\nWindows lines",
    "1815, £3 10s. 6d. -- x^2 != 2x; a_b [c] {d}",
    "naïve façade Ελληνικά русский 日本語 العربية 🙂👩‍👩‍👧 e\u0301",
    "\x00\x1f\x7f\x85\u00a0\u2028\u3000\ufeff\ufffd\U0010ffff",
    "aaaaaaaaaaaaaaaaa ththththth ....... ------- ''''''",
    "before<|endoftext|>after<|endoftext|><|endoftext|> <|endof text|>",
]
CASES = pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))


@pytest.fixture(scope="module")
def library():
    tokenizers = pytest.importorskip("tokenizers", reason="the tokenizers library is not installed")
    return tokenizers.Tokenizer.from_file(str(MODELS / "target" / "tokenizer.json"))


@CASES
def test_round_trip(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(st.text(max_size=200))
@example("\r")
def test_round_trip_of_any_text(tokenizer, text):
    ids = tokenizer.encode(text)
    assert tokenizer.decode_bytes(ids) == text.encode("utf-8")
    assert all(0 <= number < tokenizer.vocab_size for number in ids)


@CASES
def test_equals_the_library(tokenizer, library, text):
    ids = tokenizer.encode(text)
    assert ids == library.encode(text).ids
    assert tokenizer.decode(ids) == library.decode(ids, skip_special_tokens=False)


@settings(max_examples=300)
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=80))
def test_equals_the_library_on_any_text(tokenizer, library, text):
    assert tokenizer.encode(text) == library.encode(text).ids


def test_equals_the_library_on_english(tokenizer, library):
    text = (MODELS / "heldout.txt").read_text(encoding="utf-8")
    assert tokenizer.encode(text) == library.encode(text).ids
    words = text.split()
    rng = random.Random(1)
    rng.shuffle(words)
    jumbled = "".join(word + rng.choice(["", " ", "\n", "'"]) for word in words)
    assert tokenizer.encode(jumbled) == library.encode(jumbled).ids


def test_decoding_half_a_letter(tokenizer, library):
    ids = tokenizer.encode("é🙂")
    for count in range(len(ids) + 1):
        assert tokenizer.decode(ids[:count]) == library.decode(ids[:count])


def test_every_byte_has_a_token(tokenizer):
    assert len(set(byte_letters().values())) == 256
    single = {tokenizer.decode_bytes([number]) for number in range(tokenizer.vocab_size)}
    assert {bytes([byte]) for byte in range(256)} <= single
    assert tokenizer.vocab_size == 704


def test_end_of_text_is_one_token(tokenizer):
    assert tokenizer.encode("<|endoftext|>") == [tokenizer.end_of_text] == [0]


def test_no_ids(tokenizer):
    assert tokenizer.encode("") == []
    assert tokenizer.decode([]) == ""


@pytest.mark.parametrize("number", [-1, 704, 10**9])
def test_unknown_id(tokenizer, number):
    with pytest.raises(ValueError, match=f"Token id {number} is outside 0 to 703"):
        tokenizer.decode([number])


@pytest.mark.parametrize("text", [b"bytes", None, 3, ["a"]])
def test_not_a_text(tokenizer, text):
    with pytest.raises(TypeError, match="encode wants a text"):
        tokenizer.encode(text)


def test_lone_surrogate(tokenizer):
    with pytest.raises(ValueError, match="surrogate"):
        tokenizer.encode("a\ud800b")


@pytest.mark.parametrize("content", ["{}", '{"model": 3}', '{"model": {"vocab": {}}}'])
def test_another_kind_of_file(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match="is not a tokenizer of this course"):
        Tokenizer(path)
