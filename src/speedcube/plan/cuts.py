"""Where expressions are cut: what is made once and kept, and what again wherever it is read.

The nodes below the roots are visited once, sources before what reads them. Each becomes an
expression over sources that are there before a kernel runs. A reduction or a scan is a request of
its own. So is a map that is read through views where that is cheaper than to compute it again at
each of them (`costs.py`), where its elements cannot be computed in the readers' order, and where a
kernel would become too long to compile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, fields, replace
from typing import Final

from .. import dtypes
from ..dataclass import dataclass
from ..expr.nodes import (
    STAGED,
    Expr,
    Leaf,
    Map,
    Node,
    Piece,
    Piecewise,
    Staged,
    StageResult,
    Through,
    Tiled,
    walk,
    whole,
)
from ..expr.piecewise.regions import pieced, without_pieces
from ..expr.push import Nodes
from ..expr.routines.table import ROUTINES
from . import costs
from .boxes import Shrunk, shrunk
from .cutting.turns import GOES_ON, Turns
from .cutting.uses import Uses, uses_of
from .pieces import MOST_REGIONS, Pieces
from .requests import ALONE, Cut, Request, all_of, of_numbers, own_source
from .shares import is_asked_again
from .streams import can_stream, tiled

KEPT: Final = 1 << 32  # bytes that a stage may keep for others where nothing is known of memory


def cut(roots: Sequence[Expr], memory: int = KEPT, traffic: float = 1.0, workers: int = 1) -> Cut:
    """The stages of ``roots``, made once what they share, by ``workers`` of one memory.

    None of them keeps more than ``memory`` bytes for others; ``traffic`` as for `costs.of_keeping`.
    """
    program = shrunk([own_source(root) or root for root in roots])
    targets, nodes = program.targets, program.nodes
    wanted = frozenset(id(target) for target in targets)
    cutter = _Cutter(memory, traffic, uses_of(nodes), wanted, program, workers)
    for node in nodes:
        cutter.visit(node)
        cutter.uses.live.passed(node)
    results = tuple(map(cutter.result, targets))  # these may be the last requests
    return Cut(tuple(cutter.requests), results)


@dataclass
class _Cutter:
    memory: int
    traffic: float
    uses: Uses
    wanted: frozenset[int]  # the roots
    program: Shrunk
    workers: int
    requests: list[Request] = field(default_factory=list)
    emitted: dict[int, Expr] = field(default_factory=dict)  # what becomes of each node
    results: dict[int, StageResult] = field(default_factory=dict)  # of sources that are kept
    staged: dict[object, StageResult] = field(default_factory=dict)  # by what they do
    kept: dict[int, bool] = field(default_factory=dict)  # whether a source is
    inside: set[int] = field(default_factory=set)  # maps that kernels make on the way
    again: costs.Again = field(default_factory=costs.Again)
    turns: Turns = field(default_factory=Turns)
    nodes: Nodes = field(default_factory=Nodes)
    pieces: Pieces = field(default_factory=Pieces)

    def __post_init__(self) -> None:
        self.weights = costs.Weights(self.pieces.weights)

    def visit(self, node: Node) -> None:
        """Emit ``node``, whose children have been."""
        if isinstance(node, Leaf):
            self.emitted[id(node)] = self._leaf(node)
        elif isinstance(node, Map):
            self.emitted[id(node)] = self._map(node)
        elif isinstance(node, Piecewise):
            self.emitted[id(node)] = self._piecewise(node)
        else:
            self.results[id(node)] = self._staged(node)

    def result(self, target: Node) -> StageResult:
        """What gives ``target``, a root."""
        if isinstance(target, STAGED):
            return self.results[id(target)]
        root = self.emitted[id(target)]
        return all_of(root) or self._once(root, "the result")

    def _staged(self, node: Staged) -> StageResult:
        """What a stage leaves of ``node``; one for all that do the same with the same."""
        self._go_on(node)
        arg = self.emitted[id(node.arg)]
        if self.pieces.known and not self.pieces.can_fold(node, arg):
            arg = self._whole(arg, "its elements are read in order, or by many results")
        if isinstance(node, Through) and node.op in ROUTINES:
            arg = self._read_alone(arg)
        elif is_asked_again(node, arg, self.workers) and self._fits(arg):
            arg = self._cut(arg, "its elements are asked for again and again")
        key = type(node), id(arg), *(getattr(node, f.name) for f in fields(node) if f.name != "arg")
        if key not in self.staged:
            why = f"a {node.op}" + self.program.note(node)
            self.staged[key] = self.request(arg, replace(node, arg=arg), why)
        return self.staged[key]

    def _go_on(self, node: Staged) -> None:
        """Keep what ``node`` takes and others go on from, if loops would make it too often."""
        is_stored = isinstance(node, Through) and node.op in ROUTINES
        for one in self.uses.onwards[id(node.arg)]:
            root = self.emitted[id(one)]
            if isinstance(root, Leaf) or tiled(root):
                continue
            each = costs.of_element(root) + self.pieces.cost(root)
            if self._fits(root) and self.again.is_too_much(root, each, self.traffic, is_stored):
                kept = self._cut(root, "each step would make it again")
                self.emitted[id(one)] = self.turns.begun_by(kept)
                for other in self.uses.live.beside(one):
                    beside = self.emitted[id(other)]
                    if self.weights.has_grown(beside) and self._fits(beside):
                        kept = self._cut(beside, GOES_ON)
                        self.emitted[id(other)] = self.turns.begun_by(kept)

    def _read_alone(self, arg: Expr) -> Expr:
        """``arg`` of a library; what of a file it takes is read by a stage of its own.

        It is read again for another call: kept till then, all blocks would be in memory.
        """
        if isinstance(arg, Map) and arg.op == "several":
            distinct = {id(one): one for one in arg.args}
            args = {name: self._read_alone(one) for name, one in distinct.items()}
            changed = any(id(one) != name for name, one in args.items())
            return replace(arg, args=tuple(args[id(one)] for one in arg.args)) if changed else arg
        if not tiled(arg) or not can_stream(arg):
            return arg
        made = self.request(arg, None, ALONE)
        return self.nodes.leaf(whole(made, arg.shape), False)

    def request(self, root: Expr, source: Staged | None, why: str) -> StageResult:
        """One more stage; what it leaves."""
        if source is None and self.pieces.of(root) is None:
            root = self._whole(root, "cannot be cut into boxes")
        made: Expr | Staged = root if source is None else source
        result = StageResult(made.shape, made.dtype)
        self.turns.note_result(result, root)
        self.requests.append(Request(*of_numbers(root, source), result, why))
        if source is None:
            self.inside.update(id(node) for node in walk(root) if isinstance(node, Map))
        return result

    def _leaf(self, leaf: Leaf) -> Expr:
        source = leaf.source
        if isinstance(source, STAGED):
            return self._of(self.results[id(source)], leaf)
        if not isinstance(source, (Map, Leaf, Piecewise)):
            gathered = id(leaf) in self.program.gathers
            if gathered and isinstance(source, Tiled) and getattr(source.tiles, "few", False):
                few = self.nodes.leaf(whole(source, source.shape), False)
                return self._of(self._once(few, "indices read it"), leaf)
            return self.nodes.leaf(leaf, gathered)
        if self._decided(source):
            return self._read(source, leaf)
        inline = self.nodes.pushed(self.emitted[id(source)], leaf)
        assert inline is not None
        self.again.take(inline, [self.emitted[id(source)]])
        return inline

    def _of(self, kept: StageResult, leaf: Leaf) -> Leaf:
        """``leaf``, of what a stage leaves."""
        read = Leaf(kept, leaf.shape, leaf.offset, leaf.strides)
        return self.nodes.leaf(read, id(leaf) in self.program.gathers)

    def _read(self, source: Expr | Piecewise, leaf: Leaf) -> Leaf:
        """``leaf`` of the kept elements of ``source``."""
        root = self.emitted[id(source)]
        why = "" if id(root) in self.results else self._why(source) + self.program.note(source)
        return self._of(self._once(root, why), leaf)

    def _once(self, root: Expr, why: str) -> StageResult:
        if id(root) not in self.results:
            self.results[id(root)] = self.request(root, None, why)
        return self.results[id(root)]

    def _why(self, source: Expr | Piecewise) -> str:
        root, readers = self.emitted[id(source)], self.uses.readers[id(source)]
        if not all(self.nodes.can_push(root, leaf) for leaf in readers):
            return "cannot be computed in the reader's order"
        if not self._splits(root, readers):
            return "too many regions"
        return f"read in {len(readers)} ways" if len(readers) > 1 else "read again and again"

    def _decided(self, source: Expr | Piecewise) -> bool:
        """Whether ``source`` is kept, decided when it is first read."""
        if id(source) not in self.kept:
            self.kept[id(source)] = self._is_kept(source)
        return self.kept[id(source)]

    def _arg(self, arg: Expr) -> Expr:
        """What a map takes for ``arg``: what is kept of it, where others read it, too."""
        if id(arg) in self.uses.readers and self._decided(arg):
            return self._read(arg, whole(arg, arg.shape))
        return self.emitted[id(arg)]

    def _is_kept(self, source: Expr | Piecewise) -> bool:
        """Whether the elements of ``source`` are made once for all that read them."""
        root, readers = self.emitted[id(source)], self.uses.readers[id(source)]
        gathered = any(id(leaf) in self.program.gathers for leaf in readers)
        pushed = all(self.nodes.can_push(root, leaf) for leaf in readers)
        if gathered or not pushed or not self._splits(root, readers):
            return True
        if not self._fits(root):
            return False
        if self.weights.of(root) * len(readers) > costs.MOST:
            return True
        each = costs.of_element(root) + self.pieces.cost(root)
        return costs.is_cheaper_read(root, readers, each, self.traffic, id(source) in self.wanted)

    def _splits(self, root: Expr, readers: list[Leaf]) -> bool:
        """Whether each reader of ``root`` can be cut into regions, and into few."""
        return not self.pieces.known or all(self.pieces.splits(root, leaf) for leaf in readers)

    def _piecewise(self, node: Piecewise) -> Leaf:
        """All of ``node``, of pieces as they are emitted."""
        exprs = [self.emitted[id(piece.expr)] for piece in node.pieces]
        if self.pieces.total(exprs) > max(MOST_REGIONS, len(exprs)):
            exprs = [self._whole(expr, "too many regions") for expr in exprs]
        pieces = (Piece(p.at, expr) for p, expr in zip(node.pieces, exprs, strict=True))
        one = Piecewise(node.shape, node.dtype, tuple(pieces), node.call)
        leaf = self.nodes.leaf(whole(one, one.shape))
        self.pieces.add(leaf, max(map(self.weights.of, exprs)))
        return leaf

    def _whole(self, root: Expr, why: str) -> Expr:
        """``root`` that reads arrays of pieces from memory, where they have been put together."""
        kept: dict[int, StageResult] = {}
        for leaf in pieced(root):
            kept[id(leaf.source)] = self._once(self.pieces.known[id(leaf.source)], why)
        return without_pieces(root, kept) if kept else root

    def _map(self, node: Map) -> Expr:
        args = list(map(self._arg, node.args))
        if id(node) not in self.uses.frontiers.within:  # nothing is made twice there
            args = [*map(self._stored, args)]
        if self.pieces.known and not self.pieces.are_few(args):
            args = [self._whole(arg, "too many regions") for arg in args]
        for place in self.turns.before(args, self.weights):
            if self._fits(args[place]):
                args[place] = self._cut(args[place], GOES_ON)
        own = costs.weight(node)
        total = own + sum(map(self.weights.of, args))
        while total > costs.MOST:
            total = own + self.weights.together(args)
            place = max(range(len(args)), key=lambda k: self.weights.of(args[k]))
            if total <= costs.MOST or not self._fits(args[place]):
                break
            args[place] = self._cut(args[place])
            total = own + sum(map(self.weights.of, args))
        same = all(a is b for a, b in zip(args, node.args, strict=True))
        one = self.nodes.map(node if same else replace(node, args=tuple(args)))
        self.weights.note(one, total)
        self.turns.note(one, args)
        self.again.take(one, args)
        if id(node) in self.uses.frontiers.kept and self._fits(one):
            return self._cut(one)
        if (times := self.uses.several.get(id(node))) is not None and self._fits(one):
            cost = self.weights.of(one), self.pieces.cost(one)
            if costs.is_better_kept(one, *cost, self.traffic, times):
                return self._cut(one, "several stages read it")
        return one

    def _stored(self, arg: Expr) -> Expr:
        """``arg``, from memory where a kernel makes it in any case and to repeat it costs more."""
        if id(arg) not in self.inside:
            return arg
        each = (costs.of_element(arg) + self.pieces.cost(arg)) * math.prod(arg.shape)
        is_cheap = each < costs.of_keeping_all(arg, self.traffic) or not self._fits(arg)
        if is_cheap and id(arg) not in self.results:
            return arg
        return self._cut(arg, "made for others on the way")

    def _fits(self, root: Expr) -> bool:
        return math.prod(root.shape) * dtypes.itemsize(root.dtype) <= self.memory

    def _cut(self, root: Expr, why: str = "its reader's kernel is long enough") -> Leaf:
        """What is left in a kernel of ``root``, which is read from memory."""
        return self.nodes.leaf(whole(self._once(root, why), root.shape))
