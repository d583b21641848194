"""Intervals as labels: the bins of flox's ``isbin``, and pandas' IntervalIndex."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...dataclass import dataclass
from ...errors import ParameterError, ShapeError
from ..array import Array, elementwise
from ..order.lines import taken
from ..order.lookup import searchsorted
from ..sources import asarray


@dataclass(frozen=True)
class Intervals:
    """Intervals that do not overlap, in the order in which they were given.

    ``closed``: left, right, both or neither; ``labels``: what users see of each.
    """

    left: np.ndarray[Any, Any]
    right: np.ndarray[Any, Any]
    closed: str
    labels: np.ndarray[Any, Any]

    def codes(self, keys: Array) -> Array:
        """Which interval each of ``keys`` is in; -1 where there is none."""
        order = np.argsort(self.left, kind="stable")
        left, right = self.left[order], self.right[order]
        at_left = self.closed in ("left", "both")
        place = searchsorted(asarray(left), keys, side="right" if at_left else "left") - 1
        held = place.clip(0, max(0, len(left) - 1))
        end = taken(asarray(right), held, 0)
        before = "less_equal" if self.closed in ("right", "both") else "less"
        inside = elementwise("logical_and", place >= 0, elementwise(before, keys, end))
        return elementwise("where", inside, taken(asarray(order), held, 0), -1)


def intervals(expected: Any, isbin: bool) -> Intervals | None:
    """The intervals that labels are, or None if they are none: an index, or edges of bins."""
    if all(hasattr(expected, name) for name in ("left", "right", "closed")):
        labels = np.empty(len(expected), object)
        labels[:] = list(expected)
        left, right = (np.asarray(one) for one in (expected.left, expected.right))
        return _checked(Intervals(left, right, str(expected.closed), labels))
    if not isbin or expected is None:
        return None
    edges = np.asarray(expected)
    if edges.ndim != 1 or len(edges) < 2:
        raise ShapeError(
            f"bins must be two edges or more along one axis, not of shape {edges.shape}"
        )
    if not (edges[:-1] < edges[1:]).all():
        raise ParameterError("bins must increase monotonically: each edge is above the one before")
    labels = np.empty(len(edges) - 1, object)
    labels[:] = list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))
    return Intervals(edges[:-1], edges[1:], "right", labels)


def _checked(found: Intervals) -> Intervals:
    order = np.argsort(found.left, kind="stable")
    left, right = found.left[order], found.right[order]
    meet = right[:-1] == left[1:] if found.closed == "both" else np.zeros(1, bool)
    if (left > right).any() or (right[:-1] > left[1:]).any() or meet.any():
        raise ParameterError("intervals overlap: an element would be in two groups")
    return found
