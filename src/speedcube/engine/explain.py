"""Explain: for every node of an expression the law that covers it, and how that is kept."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from textwrap import wrap
from typing import Final

from .. import dtypes
from ..dataclass import dataclass
from ..expr.analysis import analyse
from ..expr.nodes import (
    Const,
    Deferred,
    Expr,
    Leaf,
    Random,
    Reduced,
    Scanned,
    StageResult,
    Through,
    c_strides,
    walk,
)
from ..expr.reductions import factors
from ..expr.show import places, show, source_text
from ..expr.space import TILE
from ..expr.written import written
from ..plan.plan import Plan, PrettyPrinter, Resources, make_plan
from ..plan.regions import kernels_of
from ..plan.stages import Stage
from . import laws
from .prepare import prepare

_WIDTH: Final = 120  # of a line; node names take 44 of it at most
_NODE: Final = 44


@dataclass(frozen=True)
class Step:
    """A node of stage ``stage``: the law that covers it, and how."""

    stage: int
    node: str
    law: str
    how: str


@dataclass(frozen=True, repr=False)
class Explanation:
    """What `Array.explain` gives: steps in the order they are computed in."""

    title: str
    stages: tuple[str, ...]
    steps: tuple[Step, ...]

    @property
    def covered(self) -> bool:
        """Whether a law covers every step: then the result has the same bits everywhere."""
        return all(step.law not in (laws.NOT_COVERED, laws.NO_LAW) for step in self.steps)

    def __repr__(self) -> str:
        lines = [f"Laws of {self.title}: {_verdict(self.covered)}"]
        law, node = (
            max(len(text) for text in column)
            for column in zip(*((s.law, s.node) for s in self.steps), strict=True)
        )
        for number, steps in groupby(self.steps, lambda step: step.stage):
            lines.append(f"  stage {number}: {self.stages[number]}")
            for step in steps:
                left = f"    {step.law:{law}}  {step.node:{node}}  "
                below = " " * len(left)
                lines += wrap(step.how, _WIDTH, initial_indent=left, subsequent_indent=below)
        return "\n".join(lines)

    def _repr_pretty_(self, printer: PrettyPrinter, cycle: bool) -> None:
        printer.text(repr(self))


def _verdict(covered: bool) -> str:
    if covered:
        return "the same bits everywhere"
    return "not the same bits everywhere (docs/same-bits.md has tolerances)"


def explain(root: Expr) -> Explanation:
    """The laws of ``root``; nothing is computed."""
    plan = make_plan(root, Resources("core", 1), "", TILE)
    return Explanation(
        _short(written(root), 60),
        tuple(f"{s.op or 'store'} of {s.root.shape} {s.root.dtype}" for s in plan.stages),
        tuple(step for k in range(len(plan.stages)) for step in _steps(plan, k)),
    )


def _short(text: str, most: int = _NODE) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def _steps(plan: Plan, number: int) -> Iterator[Step]:
    """The steps of one stage: its sources, operations, and reduction."""
    stage = plan.stages[number]
    stage_of = {id(s.result): k for k, s in enumerate(plan.stages)}
    kernels = kernels_of(stage)
    whole = [part.root for _, part in kernels]  # of a source of pieces the one that is read
    if isinstance(stage.source, Through):
        whole = list(stage.source.args)
    roots = [one for root in whole for one in (factors(root) if stage.op == "dot" else (root,))]
    nodes = {id(node): node for root in roots for node in walk(root)}
    for node in nodes.values():
        if isinstance(node, Leaf):
            yield _source(number, node, plan, stage_of)
            if not _is_whole(node):
                yield Step(number, places(node), laws.VIEW, "positions are mapped, nothing copied")
        else:
            name = _short(show(node, 2))
            yield Step(number, name, laws.BITS, f"{node.op}: {laws.OPERATIONS[node.op]}")
    if isinstance(stage.source, Through):
        yield Step(number, stage.source.op, *laws.THROUGH[stage.source.op])
    elif stage.source is not None:
        law, how = _reduction(stage, stage.source)
        yield Step(number, f"{stage.op} over axes {stage.source.axes}", law, how)


def _source(number: int, leaf: Leaf, plan: Plan, stage_of: dict[int, int]) -> Step:
    source = leaf.source
    law, how = laws.SOURCES[type(source)]
    if type(source) is Deferred and source.name != Deferred.name:
        law, how = laws.OF_BLOCKS
    if isinstance(source, StageResult):
        made = stage_of[id(source)]
        return Step(number, f"{plan.stages[made].op or 'values'} of stage {made}", law, how)
    if isinstance(source, Random):
        how += f", {laws.DISTRIBUTIONS[source.distribution]}"
    return Step(number, _short(source_text(source)), law, how)


def _is_whole(leaf: Leaf) -> bool:
    """Whether ``leaf`` reads its source as it is; a constant has no positions to map."""
    still = not any(leaf.strides) and leaf.offset == 0
    straight = (leaf.offset, leaf.strides) == (0, c_strides(leaf.shape))
    return straight or (still and isinstance(leaf.source, Const))


def _reduction(stage: Stage, source: Reduced | Scanned) -> tuple[str, str]:
    is_float = dtypes.is_float(source.arg.dtype)
    if not is_float and (source.op == "sum" or stage.is_scan):
        return laws.WRAPPING
    if isinstance(source, Scanned) or stage.is_scan:
        return laws.SCANS[source.op]
    law, how = laws.REDUCTIONS[source.op]
    if law != laws.EXACT:
        return law, how
    sink = prepare(*kernels_of(stage)[0], None).program.sink
    modes = dict.fromkeys(term.bins.mode for term in sink.terms)
    bins = "; ".join(f"{mode}: {laws.BINS[mode]}" for mode in modes)
    return law, f"{how} to {source.dtype}. {_terms(source)}, kept in bins ({bins})"


def _terms(source: Reduced) -> str:
    """What is summed."""
    if source.op == "dot":
        return "Products"
    if not dtypes.is_float(source.arg.dtype):
        return "Integers, in halves where a double cannot hold them"
    known = analyse(source.arg)
    if not known.known:
        return "Terms of any size"
    return f"Terms below 2**{known.exponent}, multiples of 2**{known.grain}"
