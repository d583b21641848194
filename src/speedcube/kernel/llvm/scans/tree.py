"""Pieces of lines, and the product of a piece: a balanced tree fixed by the elements' places."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ....expr.space import TILE
from ..text import masked
from .frame import LineFrame
from .layout import POSITION, TAKEN


@contextmanager
def pieces(frame: LineFrame) -> Iterator[tuple[str, str, str]]:
    """``(first element, its position in its line, elements)`` of piece after whole piece."""
    t = frame.text
    at = t.variable("i64", "0", "at")
    position = t.variable("i64", frame.word(POSITION), "position")
    head, begun, body, done = (t.name(h) for h in ("piece", "begun", "piecebody", "piecedone"))
    t.line(f"br label %{head}")
    t.label(head)
    first, place = t.load("i64", at), t.load("i64", position)
    left = t.i64("sub", frame.count, first)
    t.line(f"br i1 {t.op(f'icmp sgt i64 {left}, 0')}, label %{begun}, label %{done}")
    t.label(begun)
    inside = t.i64("sub", TILE, t.i64("and", place, TILE - 1))
    size = t.minimum(inside, t.i64("sub", frame.length, place))
    whole = t.op(f"icmp sle i64 {size}, {left}")
    size = t.minimum(size, left)
    t.line(f"br i1 {t.op(f'or i1 {whole}, {frame.last}')}, label %{body}, label %{done}")
    t.label(body)
    yield first, place, size
    t.store("i64", t.i64("add", first, size), at)
    after = t.i64("add", place, size)
    ended = t.op(f"icmp eq i64 {after}, {frame.length}")
    t.store("i64", t.op(f"select i1 {ended}, i64 0, i64 {after}"), position)
    t.line(f"br label %{head}")
    t.label(done)
    frame.answer(TAKEN, t.load("i64", at))


def multiply(frame: LineFrame, kind: str, a: str, b: str) -> str:
    """``a * b``, two scalars or vectors of LLVM's type ``kind``."""
    return frame.text.op(f"{'fmul' if frame.float else 'mul'} {kind} {a}, {b}")


def tree_product(frame: LineFrame, first: str, size: str) -> str:
    """The product of ``size`` elements, neighbours first, in the scratch memory."""
    t = frame.text
    v = t.vector(frame.scalar)
    ones = t.constant(1, frame.program.dtype)

    def copy(j: str, mask: str | None) -> None:
        x = frame.fetch(frame.value(t.i64("add", first, j)), mask)
        x = masked(t, frame.scalar, mask, x, ones)
        t.store(v, x, t.at("%scratch", j), 8)

    def pad(used: str) -> None:
        """Ones behind the ``used`` elements, as far as pairs of vectors reach."""
        end = t.i64("and", t.i64("add", used, t.lanes - 1), -t.lanes)
        t.store(v, ones, t.at("%scratch", end), 8)

    frame.each(size, copy)
    pad(size)
    left = t.variable("i64", size, "left")
    head, body, done = (t.name(h) for h in ("level", "levelbody", "leveldone"))
    t.line(f"br label %{head}")
    t.label(head)
    now = t.load("i64", left)
    t.line(f"br i1 {t.op(f'icmp sgt i64 {now}, 1')}, label %{body}, label %{done}")
    t.label(body)
    half = t.i64("lshr", t.i64("add", now, 1), 1)
    with t.loop(0, half, t.lanes) as k:
        source = t.at("%scratch", t.i64("shl", k, 1))
        low, high = t.load(v, source, 8), t.load(v, t.at(source, t.lanes), 8)
        pair = [
            t.op(f"shufflevector {v} {low}, {v} {high}, {_every_second(t.lanes, start)}")
            for start in (0, 1)
        ]
        t.store(v, multiply(frame, v, *pair), t.at("%scratch", k), 8)
    pad(half)
    t.store("i64", half, left)
    t.line(f"br label %{head}")
    t.label(done)
    return t.load(frame.scalar, "%scratch")


def _every_second(lanes: int, start: int) -> str:
    places = ", ".join(f"i32 {start + 2 * k}" for k in range(lanes))
    return f"<{lanes} x i32> <{places}>"
