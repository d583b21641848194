"""What `Array.blocks` and `Array.vindex` give: places by chunk, and by point."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate, product
from typing import Any

import numpy as np

from ...errors import ParameterError


class BlockView:
    """The chunks of an array by their numbers: ``x.blocks[0, 1:]`` is an array of these chunks."""

    def __init__(self, array: Any) -> None:
        self._array = array

    @property
    def shape(self) -> tuple[int, ...]:
        """How many chunks there are along each axis."""
        return tuple(map(len, self._array.chunks))

    @property
    def size(self) -> int:
        """How many chunks there are."""
        return math.prod(self.shape)

    def ravel(self) -> list[Any]:
        """All chunks, in C order of their numbers."""
        return [self[number] for number in product(*map(range, self.shape))]

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(self.shape[0]))

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"speedcube.BlockView of {self.shape} chunks of {self._array!r}"

    def __getitem__(self, key: Any) -> Any:
        """The array of the chunks with these numbers; axes stay."""
        chosen = self._numbers(key if isinstance(key, tuple) else (key,))
        chunks = self._array.chunks
        sizes = [
            tuple(axis[k] for k in numbers) for axis, numbers in zip(chunks, chosen, strict=True)
        ]
        found = self._array
        for axis, numbers in enumerate(chosen):
            found = found[(slice(None),) * axis + (_elements(chunks[axis], numbers),)]
        return found.rechunk(tuple(one or (0,) for one in sizes))

    def _numbers(self, key: tuple[Any, ...]) -> list[list[int]]:
        """The numbers of the chunks along each axis."""
        lists = [one for one in key if isinstance(one, (list, np.ndarray))]
        if len(lists) > 1:
            raise ParameterError("blocks takes one list of numbers at most")
        if any(one is None for one in key):
            raise ParameterError("blocks takes no None: it cannot add an axis")
        if Ellipsis in [one for one in key if not isinstance(one, np.ndarray)]:
            at = [one is Ellipsis for one in key].index(True)
            fill = (slice(None),) * (len(self.shape) - len(key) + 1)
            key = (*key[:at], *fill, *key[at + 1 :])
        if len(key) > len(self.shape):
            raise IndexError(
                f"too many indices: {len(key)} for the chunks of an array of {len(self.shape)} axes"
            )
        key = (*key, *(slice(None),) * (len(self.shape) - len(key)))
        numbers = [np.arange(n)[one] for n, one in zip(self.shape, key, strict=True)]
        return [np.atleast_1d(one).tolist() for one in numbers]


def _elements(axis: tuple[int, ...], numbers: list[int]) -> Any:
    """What reads the elements of these chunks along an axis: a slice, or their positions."""
    starts = [*accumulate(axis, initial=0)]
    if not numbers:
        return slice(0, 0)
    if numbers == list(range(numbers[0], numbers[-1] + 1)):
        return slice(starts[numbers[0]], starts[numbers[-1] + 1])
    return np.concatenate([np.arange(starts[k], starts[k + 1]) for k in numbers])


class PointView:
    """Elements at points: ``x.vindex[i, j]`` has an element for each pair, as its first axes."""

    def __init__(self, array: Any) -> None:
        self._array = array

    def __getitem__(self, key: Any) -> Any:
        """The elements at these points; axes with slices come behind."""
        key = key if isinstance(key, tuple) else (key,)
        if any(one is None for one in key):
            raise ParameterError("vindex takes no None: it cannot add an axis")
        if any(one is Ellipsis for one in key):
            at = [one is Ellipsis for one in key].index(True)
            key = (*key[:at], *(slice(None),) * (self._array.ndim - len(key) + 1), *key[at + 1 :])
        points = [k for k, one in enumerate(key) if not isinstance(one, slice)]
        if all(isinstance(one, slice) for one in key):
            return self._array[key]
        behind = [k for k in range(self._array.ndim) if k not in points]
        turned = self._array.transpose((*points, *behind))
        order = [*(np.asarray(key[k]) for k in points), *(key[k] for k in behind if k < len(key))]
        found = turned[tuple(order)]
        if not behind:
            return found
        kept = self._array[tuple(one if isinstance(one, slice) else slice(None) for one in key)]
        points_first = found.chunks[: found.ndim - len(behind)]
        return found.rechunk((*points_first, *(kept.chunks[k] for k in behind)))
