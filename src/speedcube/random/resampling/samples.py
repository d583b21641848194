"""What is resampled, and the statistic that is taken of it: checked once, as SciPy checks it."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from ...api import elementwise as sc
from ...api.array import Array
from ...api.shapes import broadcast_to
from ...api.sources import asarray
from ...dataclass import dataclass
from ...errors import ParameterError, ParameterTypeError
from ...expr import build, gather
from ...expr.nodes import Leaf, Position, Shape
from ...expr.views import broadcast_shapes
from ..parameters import has_axes
from ..permutations import array_of

_HELD: Final = 1 << 22  # elements in memory for a statistic that takes one sample at a time
ALTERNATIVES: Final = ("two-sided", "less", "greater")


@dataclass(frozen=True)
class Statistic:
    """A function of samples along their last axis; ``vectorized``: it takes ``axis`` itself."""

    function: Callable[..., Any]
    vectorized: bool
    batch: int | None = None

    def of(self, samples: Sequence[Array]) -> Array:
        """The statistic of each line of ``samples``, which have one shape but for the last axis."""
        if self.vectorized:
            return asarray(self.function(*samples, axis=-1))
        lines = samples[0].shape[:-1]
        flat = [sample.reshape(-1, sample.shape[-1]) for sample in samples]
        step = self.batch or max(1, _HELD // sum(sample.shape[1] for sample in flat))
        found: list[Any] = []
        for first in range(0, flat[0].shape[0], step):
            held = [sample[first : first + step].compute() for sample in flat]
            found += [self.function(*each) for each in zip(*held, strict=True)]
        return asarray(np.asarray(found).reshape(lines))


def statistic_of(function: Any, vectorized: Any, batch: Any) -> Statistic:
    """``function`` as a `Statistic`; without ``vectorized``, its signature says."""
    if not callable(function):
        raise ParameterTypeError(f"statistic must be callable, not {function!r:.80}")
    if vectorized not in (True, False, None):
        raise ParameterError(f"vectorized must be True, False or None, not {vectorized!r}")
    if vectorized is None:
        try:
            vectorized = "axis" in inspect.signature(function).parameters
        except ValueError as err:
            raise ParameterError(f"{function!r} has no signature: pass vectorized=") from err
    rows = None if batch is None else whole("batch", batch, 1)
    return Statistic(function, bool(vectorized), rows)


def whole(name: str, value: Any, least: int) -> int:
    """``value`` as an integer that is ``least`` or more."""
    try:
        number = int(value)
        if isinstance(value, (str, bytes)) or number != value or number < least:
            raise ValueError(value)
    except (TypeError, ValueError, OverflowError) as err:
        kind = {0: "a non-negative integer", 1: "a positive integer"}[least]
        raise ParameterError(f"{name} must be {kind}, not {value!r}") from err
    return number


def chosen(name: str, value: Any, choices: Sequence[str]) -> str:
    """``value`` in lower case, one of ``choices``."""
    low = value.lower() if isinstance(value, str) else value
    if low not in choices:
        raise ParameterError(f"{name} must be one of {tuple(choices)}, not {value!r}")
    return str(low)


def level_of(confidence_level: Any) -> float:
    """A probability."""
    try:
        level = float(confidence_level)
    except (TypeError, ValueError) as err:
        raise ParameterTypeError(
            f"confidence_level must be a number, not {confidence_level!r}"
        ) from err
    if not 0 <= level <= 1:
        raise ParameterError(f"confidence_level must lie between 0 and 1, not {level}")
    return level


def samples_of(data: Any, axis: Any, least: int = 1) -> list[Array]:
    """The samples in ``data``, observations along the last axis, other axes broadcast.

    A tuple or a list of arrays has several, anything else is one.
    """
    several = isinstance(data, (tuple, list)) and (not data or any(map(has_axes, data)))
    given = list(data) if several else [data]
    if len(given) < least or not given:
        raise ParameterError(f"data must contain at least {least} sample{'s' * (least > 1)}")
    try:
        along = operator.index(axis)
    except TypeError as err:
        raise ParameterError(f"axis must be an integer, not {axis!r}") from err
    samples = []
    for sample in given:
        array = array_of("data", sample)
        place = build.check_axis(along, array.ndim)
        if array.shape[place] < 2:
            raise ParameterError(
                "each sample in data must contain two or more observations along axis "
                f"{along}: there is one of shape {array.shape}"
            )
        order = (*(k for k in range(array.ndim) if k != place), place)
        samples.append(array.transpose(order) if place != array.ndim - 1 else array)
    return together(samples)


def together(samples: Sequence[Array]) -> list[Array]:
    """``samples`` with their axes broadcast, but for the last."""
    lines = broadcast_shapes(*(sample.shape[:-1] for sample in samples))
    wide = ((sample, (*lines, sample.shape[-1])) for sample in samples)
    return [s if s.shape == shape else broadcast_to(s, shape) for s, shape in wide]


def at(sample: Array, index: Array) -> Array:
    """``sample[..., index]``, where the index lies in it."""
    last = sample.ndim - 1
    return Array(gather.take(sample._expr, index._expr, last), gpu=sample._gpu or index._gpu)


def without_each(sample: Array) -> Array:
    """For each observation, the line of all others: ``(..., n)`` becomes ``(..., n, n - 1)``."""
    n = sample.shape[-1]
    place, left = places((n, n - 1), 1), places((n, n - 1), 0)
    wide = sample.reshape(*sample.shape[:-1], 1, n)
    return sc.where(place < left, wide[..., :-1], wide[..., 1:])


def places(shape: Shape, axis: int) -> Array:
    """Each element's place along ``axis``."""
    return Array(Leaf(Position(), shape, 0, tuple(int(k == axis) for k in range(len(shape)))))


def known_fields(result: Any) -> str:
    """``result`` with what has been computed of it, long arrays without their middle."""
    with np.printoptions(threshold=8, edgeitems=2):
        known = [
            f"{name}={value!r}"
            for name, value in vars(result).items()
            if name[0] != "_" and name != "lazy"
        ]
    return f"{type(result).__name__}({', '.join(known) or 'not computed yet'})"
