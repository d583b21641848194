"""Products and running products, of floats and of integers."""

from __future__ import annotations

from typing import ClassVar

from ..text import literal
from .frame import LineFrame
from .layout import RESULTS
from .tree import multiply, pieces, tree_product


class ProductScan:
    """prod: one result for each piece."""

    SUPPORT: ClassVar[tuple[str, ...]] = ()

    def __init__(self, frame: LineFrame) -> None:
        self.frame = frame

    def emit(self) -> None:
        frame, t = self.frame, self.frame.text
        results = t.variable("i64", "0", "made")
        with pieces(frame) as (first, _, size):
            k = t.load("i64", results)
            product = frame.finished(tree_product(frame, first, size))
            t.store(frame.out, product, t.at("%out", k, frame.out))
            t.store("i64", t.i64("add", k, 1), results)
        frame.answer(RESULTS, t.load("i64", results))


class RunningProductScan:
    """cumprod: the product of the pieces before, times what the piece has had."""

    SUPPORT: ClassVar[tuple[str, ...]] = ()

    def __init__(self, frame: LineFrame) -> None:
        self.frame = frame
        self.scalar = frame.scalar
        self.one = literal(1, frame.program.dtype)

    def emit(self) -> None:
        frame, t = self.frame, self.frame.text
        with pieces(frame) as (first, place, size):
            with t.when(t.op(f"icmp eq i64 {place}, 0")):
                t.store("i64", "0", "%state")
            count = t.load("i64", "%state")
            base = self.before(count)
            own = t.variable(self.scalar, self.one, "run")
            self.multiply_piece(first, size, own, base)
            more = t.op(f"icmp slt i64 {t.i64('add', place, size)}, {frame.length}")
            with t.when(more):
                # Integers wrap: their product is the same in any order.
                product = tree_product(frame, first, size) if frame.float else None
                self.push(count, product or t.load(self.scalar, own))

    def multiply_piece(self, first: str, size: str, own: str, base: str) -> None:
        """The running products of a piece; its own product to ``own``."""
        frame, t = self.frame, self.frame.text
        if not frame.float:
            wide = t.splat(self.scalar, base)

            def put(j: str, x: str, kind: str) -> None:
                x = multiply(frame, kind, base if kind == self.scalar else wide, x)
                t.store(kind, x, t.at("%out", j), 8)

            frame.running(first, size, "mul", own, put)
            return
        with t.loop(first, t.i64("add", first, size)) as j:
            x = t.load(self.scalar, frame.value(j))
            x = multiply(frame, self.scalar, t.load(self.scalar, own), x)
            t.store(self.scalar, x, own)
            product = frame.finished(multiply(frame, self.scalar, base, x))
            t.store(frame.out, product, t.at("%out", j, frame.out))

    def before(self, count: str) -> str:
        """The product of the first ``count`` pieces: groups of 2**k, the last ones first."""
        t = self.frame.text
        total = t.variable(self.scalar, self.one, "before")
        t.declares.add("declare i64 @llvm.ctlz.i64(i64, i1)")
        levels = t.i64("sub", 64, t.op(f"call i64 @llvm.ctlz.i64(i64 {count}, i1 false)"))
        with t.loop(0, levels) as k:
            bit = t.i64("and", t.i64("lshr", count, k), 1)
            with t.when(t.op(f"icmp ne i64 {bit}, 0")):
                self.take_in(k, total)
        return t.load(self.scalar, total)

    def push(self, count: str, product: str) -> None:
        """One more piece: groups of equal size become one."""
        t = self.frame.text
        total = t.variable(self.scalar, product, "group")
        t.declares.add("declare i64 @llvm.cttz.i64(i64, i1)")
        free = t.i64("xor", count, -1)
        level = t.op(f"call i64 @llvm.cttz.i64(i64 {free}, i1 false)")
        with t.loop(0, level) as k:
            self.take_in(k, total)
        t.store(self.scalar, t.load(self.scalar, total), self.group(level))
        t.store("i64", t.i64("add", count, 1), "%state")

    def take_in(self, level: str, total: str) -> None:
        """The group of ``level`` times ``total``, into ``total``."""
        t = self.frame.text
        group = t.load(self.scalar, self.group(level))
        product = multiply(self.frame, self.scalar, group, t.load(self.scalar, total))
        t.store(self.scalar, product, total)

    def group(self, level: str) -> str:
        t = self.frame.text
        return t.at("%state", t.i64("add", level, 1))
