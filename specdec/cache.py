"""Room for the keys and values of one text, so that each token is computed once."""

import numpy as np


class ModelCache:
    """Keys and values of all layers for the tokens seen so far, in buffers of fixed size.

    The model needs three things of a cache, and any object that has them will do: `len(cache)`, the
    positions kept; `append(layer, keys, values)`, which takes arrays (kv_heads, T, head_dim) for T
    new positions and returns all keys and values of that layer, (kv_heads, len + T, head_dim); and
    layers that come in order 0, 1, …, the last one completing the positions.
    """

    def __init__(self, layers: int, kv_heads: int, context: int, head_dim: int, dtype=np.float32):
        shape = (layers, kv_heads, context, head_dim)
        self._keys, self._values = np.empty(shape, dtype), np.empty(shape, dtype)
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def append(self, layer: int, keys: np.ndarray, values: np.ndarray):
        """Store T new positions of one layer; return all of its keys and values."""
        stop = self._length + keys.shape[1]
        self._keys[layer, :, self._length : stop] = keys
        self._values[layer, :, self._length : stop] = values
        if layer == len(self._keys) - 1:
            self._length = stop
        return self._keys[layer, :, :stop], self._values[layer, :, :stop]

    def crop(self, length: int) -> None:
        """Forget all positions from `length` on. Raises ValueError outside 0 to len(cache)."""
        if not 0 <= length <= self._length:
            raise ValueError(f"The cache holds {self._length} positions; cannot crop to {length}.")
        self._length = length

    def keep(self, start: int, places) -> None:
        """Of the positions from `start` on, keep those at start + place, in the order of places.

        places  increasing numbers from 0, such as the path through a tree of guesses
        """
        places = start + np.asarray(places, dtype=int)
        stop = start + len(places)
        self._keys[:, :, start:stop] = self._keys[:, :, places]
        self._values[:, :, start:stop] = self._values[:, :, places]
        self._length = stop
