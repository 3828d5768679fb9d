"""Text to token ids and back: byte-level BPE, read from a Hugging Face `tokenizer.json`.

Every byte has a token of its own, so any text can be encoded. Merges then join the bytes of a
word into longer tokens, most frequent pair first (Sennrich et al., 2016; on bytes: Radford et al.,
2019).
"""

import json
import re
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

WORDS_KEPT = 50_000  # encoded words remembered; text repeats its words


@lru_cache(maxsize=1)
def byte_letters() -> dict[int, str]:
    """The printable letter that stands for each byte in `tokenizer.json` (GPT-2's table)."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    letters = {byte: chr(byte) for byte in printable}
    for byte in range(256):
        letters.setdefault(byte, chr(0x100 + len(letters) - len(printable)))
    return letters


class Tokenizer:
    """Encodes any text, decodes any ids.

    Attributes: `vocab_size` (int), `end_of_text` (id of the token between works).
    """

    def __init__(self, path: str | Path):
        """Read `path`, a tokenizer.json with a BPE model on bytes.

        Raises ValueError where the file holds another kind of tokenizer.
        """
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        try:
            self._ids = content["model"]["vocab"]
            merges = [tuple(pair) for pair in content["model"]["merges"]]
            split, to_bytes = content["pre_tokenizer"]["pretokenizers"]
            self._word = re.compile(split["pattern"]["Regex"])
            self._special = {token["content"]: token["id"] for token in content["added_tokens"]}
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} is not a tokenizer of this course: {error!r}.") from None
        if to_bytes["type"] != "ByteLevel" or to_bytes["use_regex"]:
            raise ValueError(f"{path} is not a byte-level tokenizer.")
        self._ranks = {pair: rank for rank, pair in enumerate(merges)}
        self._special_text = re.compile("|".join(map(re.escape, self._special)) or "(?!)")
        self._bytes = self._table()
        self.vocab_size = len(self._bytes)
        self.end_of_text = self._special.get("<|endoftext|>")
        self._encode_word = lru_cache(maxsize=WORDS_KEPT)(self._merge)

    def _table(self) -> list[bytes]:
        """The bytes of each token id."""
        byte_of = {letter: byte for byte, letter in byte_letters().items()}
        table = {
            number: bytes(byte_of[letter] for letter in token)
            for token, number in self._ids.items()
            if token not in self._special
        }
        table |= {number: token.encode() for token, number in self._special.items()}
        return [table[number] for number in range(len(table))]

    def _merge(self, word: str) -> tuple[int, ...]:
        """Token ids of one word: join the pair that was learnt first, until none is left."""
        parts = [byte_letters()[byte] for byte in word.encode("utf-8")]
        while len(parts) > 1:
            pairs = list(pairwise(parts))
            best = min(pairs, key=lambda pair: self._ranks.get(pair, len(self._ranks)))
            if best not in self._ranks:
                break
            at = pairs.index(best)
            parts[at : at + 2] = ["".join(best)]
        return tuple(self._ids[part] for part in parts)

    def _encode_plain(self, text: str) -> list[int]:
        return [number for word in self._word.findall(text) for number in self._encode_word(word)]

    def encode(self, text: str) -> list[int]:
        """Token ids of `text`; decode gives back the same text.

        Raises TypeError for anything but a string, ValueError for a text that is not valid Unicode.
        """
        if not isinstance(text, str):
            raise TypeError(f"encode wants a text (str), got {type(text).__name__}.")
        ids, start = [], 0
        try:
            for special in self._special_text.finditer(text):
                ids += self._encode_plain(text[start : special.start()])
                ids.append(self._special[special[0]])
                start = special.end()
            return ids + self._encode_plain(text[start:])
        except UnicodeEncodeError:
            raise ValueError("The text holds half of a surrogate pair; remove it first.") from None

    def decode_bytes(self, token_ids) -> bytes:
        """The bytes of the tokens, one after the other.

        Raises ValueError for an id outside the vocabulary.
        """
        ids = [int(number) for number in token_ids]
        for number in ids:
            if not 0 <= number < self.vocab_size:
                raise ValueError(f"Token id {number} is outside 0 to {self.vocab_size - 1}.")
        return b"".join(self._bytes[number] for number in ids)

    def decode(self, token_ids) -> str:
        """The text of the tokens; bytes that form no letter yet are shown as U+FFFD."""
        return self.decode_bytes(token_ids).decode("utf-8", errors="replace")
