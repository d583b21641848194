"""The edges of histograms, as NumPy computes them, and which bin each element is in."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...engine.machine import free_memory
from ...errors import MemoryLimitError, ParameterError, ParameterTypeError, ShapeError
from ...expr.through import even
from ..array import Array, array_of, elementwise
from ..functions.floats import either, together
from ..stored import few_in_memory
from ..together import compute
from .lines import taken
from .lookup import found
from .medians import percentile

Edges = NDArray[Any]


def numbers(a: Any) -> Array:
    """What is counted: bool as uint8, as NumPy does."""
    array = array_of(a)
    return array.astype("uint8") if array.dtype == bool else array


def values(x: Any) -> Any:
    """What decides the shape of a result, in memory."""
    return x.compute() if isinstance(x, Array) else x


def ends_of(a: Array, range: Any) -> tuple[Any, Any]:
    """The first and the last edge, of the elements themselves where no ``range`` is given."""
    if range is not None:
        try:
            first, last = values(range)
            first > last  # noqa: B015 - text is no number
        except (TypeError, ValueError) as err:
            raise ParameterTypeError(f"range is two numbers, not {range!r}") from err
        if first > last:
            raise ParameterError("max must be larger than min in range parameter.")
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ParameterError(f"supplied range of [{first}, {last}] is not finite")
    elif not a.size:
        first, last = 0, 1
    else:
        first, last = _least_and_most(a)
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ParameterError(f"autodetected range of [{first}, {last}] is not finite")
    if first == last:
        first, last = first - 0.5, last + 0.5
    return first, last


def _least_and_most(a: Array) -> tuple[Any, Any]:
    """The least and the greatest element, by the one reading; of few in memory by NumPy.

    Which of zeros is the least NumPy does not say.
    """
    few = few_in_memory(a._expr)
    if few is not None and few.dtype.kind in "iuf":
        first, last = few.min(), few.max()
        if first and last:
            return first, last
    return compute(a.min(), a.max())


@dataclass(frozen=True)
class Binning:
    """``edges``, and whether bins are ``even``, from the first to the last."""

    edges: Edges
    even: tuple[Any, Any] | None

    @property
    def count(self) -> int:
        """How many bins there are: none of less than two edges."""
        return max(0, len(self.edges) - 1)

    def index(self, x: Array) -> Array:
        """The bin of each element of ``x``; their number for what is in none."""
        real = self.edges.dtype.kind != "c" and x.dtype.kind != "c"  # others lie by their order
        even = real and self.even is not None and float(self.even[0]) < float(self.even[1])
        return _even_index(x, self) if even else _uneven_index(x, self.edges)


def binning(a: Array, bins: Any, range: Any, weighted: bool) -> Binning:
    """The bins of `histogram`."""
    if isinstance(bins, str):
        if bins not in RULES:
            raise ParameterError(f"{bins!r} is not a valid estimator for `bins`")
        if weighted:
            raise ParameterTypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        first, last = ends_of(a, range)
        return _evenly(a, first, last, _automatic(a, bins, range, first, last))
    bins = values(bins)
    if np.ndim(bins) == 0:
        try:
            count = operator.index(bins)
        except TypeError as err:
            raise ParameterTypeError("`bins` must be an integer, a string, or an array") from err
        if count < 1:
            raise ParameterError("`bins` must be positive, when an integer")
        return _evenly(a, *ends_of(a, range), count)
    edges = np.asarray(array_of(bins))
    if edges.ndim != 1:
        raise ParameterError("`bins` must be 1d, when an array")
    if np.any(edges[:-1] > edges[1:]):
        raise ParameterError("`bins` must increase monotonically, when an array")
    return Binning(edges, None)


def _evenly(a: Array, first: Any, last: Any, count: int) -> Binning:
    check_room(count)
    kind = np.result_type(first, last, np.empty(0, a.dtype))
    if np.issubdtype(kind, np.integer):
        kind = np.result_type(kind, float)
    edges = np.linspace(first, last, count + 1, endpoint=True, dtype=kind)
    if np.any(edges[:-1] >= edges[1:]):
        raise ParameterError(
            f"Too many bins for data range. Cannot create {count} finite-sized bins."
        )
    return Binning(edges, (first, last))


def check_room(count: int) -> None:
    """`MemoryLimitError` for more bins than there is memory for their edges and counts."""
    needed, free = 16 * (count + 1), free_memory()
    if needed > free:
        raise MemoryLimitError(
            f"a histogram of {count:,} bins needs {needed:,} bytes, and {free:,} are free"
        )


def _even_index(x: Array, known: Binning) -> Array:
    assert known.even is not None
    place = x.astype(known.edges.dtype).astype("float64")
    first, last = map(_number, known.even)
    found = even.bin_of(x._expr, place._expr, first, last, known.edges.astype(np.float64))
    return Array(found, gpu=x._gpu, hint=x._grid)


def _number(value: Any) -> Any:
    """A NumPy scalar as an operand that decides no dtype where it is a Python number's."""
    return value.item() if isinstance(value, np.generic) else value


def _uneven_index(x: Array, edges: Edges) -> Array:
    count = len(edges) - 1
    if count < 1:
        return elementwise("where", elementwise("equal", x, x), 0, 0)  # there is no bin
    line, wanted = together(array_of(edges), x)
    place = found(line, wanted, "right") - 1
    last = elementwise("equal", wanted, taken(line, array_of(np.array(count)), 0))
    place = either(last, count - 1, place)
    outside = elementwise("logical_or", place < 0, place > count)
    return either(outside, count, place)


# How many bins ------------------------------------------------------------------------------------


def _spread(x: Array) -> Any:
    return _difference(*compute(x.min(), x.max()))


def _difference(low: Any, high: Any) -> Any:
    """``high`` less ``low``, in their dtype where those are floats: as NumPy counts bins."""
    kind = np.result_type(low, high).kind
    return high - low if kind == "f" else np.uint64(int(high) - int(low))


def _doane(x: Array) -> Any:
    if x.size <= 2:
        return 0.0
    each = float(np.sqrt(6.0 * (x.size - 2) / ((x.size + 1.0) * (x.size + 3))))
    sigma, mean = compute(x.std(), x.mean())
    if not sigma > 0.0:
        return 0.0
    skew = float((((x - float(mean)) / float(sigma)) ** 3).mean())
    return _spread(x) / (1.0 + np.log2(x.size) + np.log2(1.0 + abs(skew) / each))


def _freedman(x: Array) -> Any:
    high, low = percentile(x, [75, 25]).compute()
    return 2.0 * (high - low) * x.size ** (-1.0 / 3.0)


def _auto(x: Array) -> Any:
    freedman = max(_freedman(x), RULES["sqrt"](x) / 2)
    return min(freedman, RULES["sturges"](x))


def _stone(x: Array) -> Any:
    raise AssertionError("NumPy's own")


RULES: Final[dict[str, Callable[[Array], Any]]] = {
    "sqrt": lambda x: _spread(x) / np.sqrt(x.size),
    "sturges": lambda x: _spread(x) / (np.log2(x.size) + 1.0),
    "rice": lambda x: _spread(x) / (2.0 * x.size ** (1.0 / 3)),
    "scott": lambda x: (24.0 * np.pi**0.5 / x.size) ** (1.0 / 3.0) * x.std().compute(),
    "doane": _doane,
    "fd": _freedman,
    "auto": _auto,
    "stone": _stone,
}


def _automatic(a: Array, rule: str, range: Any, first: Any, last: Any) -> int:
    """How many bins ``rule`` takes for what lies between the ends."""
    line = a.reshape(-1)
    if rule == "stone":  # it tries hundreds of histograms: NumPy's, of what lies in memory
        return (
            len(np.histogram_bin_edges(line.compute(), rule, (first, last) if range else None)) - 1
        )
    if range is not None:
        line = line[(line >= _number(first)) & (line <= _number(last))]
    if not line.size:
        return 1
    width = RULES[rule](line)
    if not width:
        return 1
    if line.dtype.kind in "iu" and width < 1:
        width = 1
    count = np.ceil(_difference(first, last) / width)
    if not np.isfinite(count):
        raise ParameterError(f"bins={rule!r}: of {first} to {last} it cannot say how many")
    return int(count)


def check_weights(a: Array, weights: Any) -> Array | None:
    """``weights`` of the shape of ``a``."""
    if weights is None:
        return None
    heavy = array_of(weights)
    if heavy.shape != a.shape:
        raise ShapeError("weights should have the same shape as a.")
    return heavy
