"""Which requests share a pass: those that gain by it, in an order that works.

On a CPU those of few elements do not, where the plan has several of one form: a kernel that makes
one of them makes all, one after the other, and one for many together takes seconds to compile.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import field
from typing import Final

from ... import dtypes
from ...dataclass import dataclass
from ...expr.analysis import analyse
from ...expr.nodes import Const, Expr, Leaf, Piecewise, Reduced, StageResult, walk
from ...expr.piecewise.regions import leaves_within
from .. import costs
from ..requests import ALONE, Request

SINKS: Final = 12  # of a kernel: each takes registers
EARLIER: Final = 4  # passes
EXTREMES: Final = ("min", "max", "nanmin", "nanmax")
FOLDED: Final = frozenset(("sum", "mean", "var", "std", *EXTREMES, "dot"))
# Sums of so few elements, or of so many and so few results, have ways of their own on a CPU.
SHORT, TALL, FEW = 16, 1 << 17, 16
ALONG: Final = frozenset(("sum", "mean", "var", "std"))  # with many results
_RECORDED: Final = 4.0  # nanoseconds that a product takes more in a record of a dot of float64
# Reductions of one form that are made one by one, if each is of few elements: these are read again
# in less time than a kernel for many takes to compile.
SEVERAL: Final = 4
READ_AGAIN: Final = 1 << 18


def passes_of(
    requests: Sequence[Request],
    wanted: Sequence[StageResult],
    gpu: bool = False,
    here: bool = True,
) -> list[list[Request]]:
    """``requests``, which are in order, together where they can be; in an order that works.

    A ``gpu`` makes other results along axes together, too. ``here``: on cores of this machine,
    where one pass more takes some microseconds.
    """
    groups: list[_Group] = []
    made: dict[int, int] = {}  # results, by the number of their group
    asked = {id(result) for result in wanted}
    for one, group in zip(requests, _each(requests, gpu, here), strict=True):
        first = 1 + max((made.get(need, -1) for need in group.needs), default=-1)
        # What is kept for later readers takes memory from then on: it is not made much earlier.
        late = one.source is None and id(one.result) not in asked
        candidates = range(max(first, len(groups) - EARLIER) if late else first, len(groups))
        number = next((k for k in candidates if groups[k].takes(group)), len(groups))
        if number == len(groups):
            groups.append(group)
        else:
            groups[number].add(group)
        made[id(one.result)] = number
    return [group.requests for group in groups]


def _each(requests: Sequence[Request], gpu: bool, here: bool) -> list[_Group]:
    """A group of each of ``requests``, which know where the like of it is made, too."""
    each = [_Group.of(one, gpu) for one in requests]
    if not here or len(each) <= SEVERAL:
        return each
    forms = [_form_of(one) for one in requests]
    counts = Counter(forms)
    for group, form in zip(each, forms, strict=True):
        group.repeated = form is not None and counts[form] > SEVERAL
    return each


def _form_of(one: Request) -> Hashable:
    """What a reduction of few elements has in common with others that its kernel makes, too."""
    if not isinstance(one.source, Reduced) or math.prod(one.root.shape) > READ_AGAIN:
        return None
    nodes = walk(one.root)
    number = {id(node): k for k, node in enumerate(nodes)}
    forms = [_form(node, number) for node in nodes]
    return one.source.op, one.source.axes, one.source.ddof, tuple(forms)


def _form(node: Expr, number: dict[int, int]) -> Hashable:
    if isinstance(node, Leaf):
        return type(node.source), node.dtype, node.shape, node.strides
    return node.op, node.dtype, node.shape, tuple([number[id(arg)] for arg in node.args])


@dataclass(eq=False)
class _Group:
    """Requests of one pass, and what they read."""

    requests: list[Request]
    alone: bool
    along: tuple[object, ...]  # for reductions with many results, what they must have in common
    needs: frozenset[int]
    reads: set[int] = field(default_factory=set)
    pieces: frozenset[int] = frozenset()  # arrays of pieces that are read
    weight: int = 0
    stores: bool = False  # elements, on a CPU
    repeated: bool = False  # the like of it is made of other data, by the same kernel

    @classmethod
    def of(cls, one: Request, gpu: bool) -> _Group:
        nodes = walk(one.root)
        sources = [node.source for node in nodes if isinstance(node, Leaf)]
        pieces = frozenset(id(s) for s in sources if isinstance(s, Piecewise))
        if pieces:
            sources = [leaf.source for leaf in leaves_within(one.root)]
        needs = frozenset(id(s) for s in sources if isinstance(s, StageResult))
        reads = {id(s) for s in sources if not isinstance(s, Const)}
        along, weight = _along(one, gpu, bool(pieces)), sum(map(costs.weight, nodes))
        alone = not (along or _shares(one, bool(pieces))) or (not gpu and _is_finished(one))
        stores = one.source is None and not gpu
        return cls([one], alone, along, needs, reads, pieces, weight, stores)

    def takes(self, other: _Group) -> bool:
        """Whether ``other`` can be made with these, and gains by it."""
        if self.alone or other.alone or not (self.reads & other.reads or self._fills(other)):
            return False
        if self.pieces != other.pieces or self.along != other.along:
            return False
        if self.requests[0].root.shape != other.requests[0].root.shape:
            return False
        if (self.repeated or other.repeated) and not self._visits(other):
            return False
        enough = len(self.requests) < SINKS and self.weight + self.added(other) <= costs.MOST
        return enough and not any(id(one.result) in other.needs for one in self.requests)

    def _fills(self, other: _Group) -> bool:
        """Whether either is one number everywhere that is stored beside what a CPU stores.

        Such are parts of complex numbers: written by themselves, they are written twice.
        """
        return self.stores and other.stores and not (self.reads and other.reads)

    def _visits(self, other: _Group) -> bool:
        """Whether these are made of the very elements that ``other`` is made of."""
        return any(one.root is other.requests[0].root for one in self.requests)

    def add(self, other: _Group) -> None:
        """Make ``other`` with these."""
        self.reads |= other.reads
        self.weight += self.added(other)
        self.requests += other.requests

    def added(self, other: _Group) -> int:
        """The weight of ``other`` that these do not have."""
        roots = {id(one.root) for one in self.requests}
        return 0 if self.along and id(other.requests[0].root) in roots else other.weight


def _shares(one: Request, pieced: bool) -> bool:
    """Whether ``one``, of pieces if it is ``pieced``, can be made with others."""
    if not math.prod(one.root.shape):
        return False
    if one.source is None:
        return one.why != ALONE
    if pieced:
        return False
    whole = isinstance(one.source, Reduced) and math.prod(one.result.shape) == 1
    return whole and one.source.op in FOLDED


def _is_finished(one: Request) -> bool:
    """Whether ``one`` is a dot product of float64 whose own kernel a CPU takes less time for.

    That has two doubles for the sum. With others it leaves a record, of two terms an element.
    """
    if not isinstance(one.source, Reduced) or one.source.op != "dot":
        return False
    return one.root.dtype == "float64" and costs.of_element(one.root) < _RECORDED


def _along(one: Request, gpu: bool, pieced: bool) -> tuple[object, ...]:
    """What else ``one``, a reduction with many results, is made with: the same sums of doubles.

    On a ``gpu``, whatever its kernels finish.
    """
    source, root = one.source, one.root
    if not isinstance(source, Reduced) or math.prod(one.result.shape) < 2 or not source.count:
        return ()
    wraps = source.op == "sum" and not dtypes.is_float(root.dtype)
    any_of_them = gpu or _any_together(source)
    if any_of_them and not pieced and (wraps or source.op in EXTREMES):
        return (source.axes,)
    if source.op not in ALONG or wraps:
        return ()
    freedom = source.count - source.ddof
    if pieced or root.dtype == "bool" or freedom <= 0 or not float(freedom).is_integer():
        return ()
    if not dtypes.is_float(root.dtype):
        known = analyse(root)
        if max(abs(known.low), abs(known.high)) > 2.0**53:
            return ()
    return (source.axes,) if any_of_them else (source.axes, id(root))


def _any_together(source: Reduced) -> bool:
    """Whether a CPU's kernel makes ``source`` with any others of the same shape."""
    if source.arg.dtype == "float16" or source.count <= SHORT:
        return False
    return source.count <= TALL or math.prod(source.shape) >= FEW
