"""Products of groups by the tree of places: neighbours 2k and 2k + 1, then their products.

    void kernel(words, values, state, ends, out)

Other places have 1, so two neighbours of a group meet where the first bit lies in which their
places differ. What waits for a neighbour further away lies on a stack, whose bits fall.

* By group: ``words`` (int64) has the number of groups. ``values`` lie group after group, each at
  one of the places of a line in ``state``, which rise in a group; ``ends`` (int64) says where
  groups begin and end. ``out`` has their products, 1 of a group without elements.
* Scattered: ``words`` has the numbers of elements and of groups, the place of the first element,
  and how many words a group has in ``out``: `HEAD`, and two for each bit of a place. ``state`` has
  the number of each element's group. What is in no group has the last ones. Without elements all
  that waits is multiplied; the product is in the word `TOP`.
"""

from __future__ import annotations

from typing import Final

from ....dataclass import dataclass
from ....dtypes import is_float
from ..function import function
from ..text import SCALAR, Text
from .program import TreesOfGroups

COUNT, GROUPS, FIRST, STRIDE = range(4)
WORDS: Final = 4
DEPTH, BEFORE, TOP = range(3)  # of a group's words
HEAD: Final = 3
_DEEP: Final = 66  # bits of a place, and more
_ALL: Final = 65  # a bit beyond all others


@dataclass(frozen=True)
class _Stack:
    """Products that wait, each beside the bit where the next one meets it: addresses."""

    text: Text
    kind: str
    depth: str
    before: str
    top: str
    waiting: str

    def place(self, depth: str) -> tuple[str, str]:
        """Where a product that waits lies, and its bit."""
        t = self.text
        first = t.i64("shl", depth, 1)
        return t.at(self.waiting, first), t.at(self.waiting, t.i64("add", first, 1))

    def add(self, x: str, place: str) -> None:
        """``x``, which lies at ``place`` behind all others."""
        t = self.text
        t.declares.add("declare i64 @llvm.ctlz.i64(i64, i1)")
        differ = t.i64("xor", place, t.load("i64", self.before))
        zeros = t.op(f"call i64 @llvm.ctlz.i64(i64 {differ}, i1 false)")
        bit = t.i64("sub", 64, zeros)
        self.meet(bit)
        depth = t.load("i64", self.depth)
        at_value, at_bit = self.place(depth)
        t.store(self.kind, t.load(self.kind, self.top), at_value)
        t.store("i64", bit, at_bit)
        t.store("i64", t.i64("add", depth, 1), self.depth)
        self.begin(x, place)

    def begin(self, x: str, place: str) -> None:
        """``x`` on the top."""
        self.text.store(self.kind, x, self.top)
        self.text.store("i64", place, self.before)

    def meet(self, bit: str) -> None:
        """Multiply the top by all that meets it below ``bit``."""
        t = self.text
        head, look, body, done = (t.name(h) for h in ("head", "look", "body", "done"))
        t.line(f"br label %{head}")
        t.label(head)
        depth = t.load("i64", self.depth)
        t.line(f"br i1 {t.op(f'icmp sgt i64 {depth}, 0')}, label %{look}, label %{done}")
        t.label(look)
        below = t.i64("sub", depth, 1)
        at_value, at_bit = self.place(below)
        meets = t.op(f"icmp ult i64 {t.load('i64', at_bit)}, {bit}")
        t.line(f"br i1 {meets}, label %{body}, label %{done}")
        t.label(body)
        multiply = "fmul" if self.kind == "double" else "mul"
        pair = f"{t.load(self.kind, at_value)}, {t.load(self.kind, self.top)}"
        t.store(self.kind, t.op(f"{multiply} {self.kind} {pair}"), self.top)
        t.store("i64", below, self.depth)
        t.line(f"br label %{head}")
        t.label(done)


def emit_trees(program: TreesOfGroups) -> str:
    """The LLVM text of ``program``."""
    t = Text(1)
    (_scattered if program.scattered else _by_group)(t, program)
    return function(t, ("words", "values", "state", "scratch", "out"), ())


def _one(program: TreesOfGroups) -> str:
    return "0x3FF0000000000000" if is_float(program.dtype) else "1"


def _element(t: Text, program: TreesOfGroups, j: str) -> str:
    kind = SCALAR[program.dtype]
    x = t.load(kind, t.at("%values", j, kind))
    if not (program.skip and is_float(program.dtype)):
        return x
    nan = t.op(f"fcmp uno {kind} {x}, {x}")
    return t.op(f"select i1 {nan}, {kind} {_one(program)}, {kind} {x}")


def _by_group(t: Text, program: TreesOfGroups) -> None:
    kind = SCALAR[program.dtype]
    waiting = f"%{t.name('waiting')}"
    t.allocas.append(f"  {waiting} = alloca [{2 * _DEEP} x i64]")
    nothing = "0.0" if kind == "double" else "0"
    depth, before = t.variable("i64", "0", "depth"), t.variable("i64", "0", "before")
    stack = _Stack(t, kind, depth, before, t.variable(kind, nothing, "top"), waiting)
    with t.loop(0, t.load("i64", t.at("%words", GROUPS))) as g:
        start = t.load("i64", t.at("%scratch", g))
        stop = t.load("i64", t.at("%scratch", t.i64("add", g, 1)))
        t.store(kind, _one(program), stack.top)
        with t.when(t.op(f"icmp slt i64 {start}, {stop}")):
            stack.begin(_element(t, program, start), t.load("i64", t.at("%state", start)))
        with t.loop(t.i64("add", start, 1), stop) as j:
            stack.add(_element(t, program, j), t.load("i64", t.at("%state", j)))
        stack.meet(str(_ALL))
        t.store(kind, t.load(kind, stack.top), t.at("%out", g, kind))


def _scattered(t: Text, program: TreesOfGroups) -> None:
    count, groups, first, stride = (t.load("i64", t.at("%words", k)) for k in range(WORDS))

    def stack_of(group: str) -> _Stack:
        words = t.at("%out", t.i64("mul", group, stride))
        head = [t.at(words, k) for k in range(HEAD + 1)]
        return _Stack(t, SCALAR[program.dtype], *head)

    with t.loop(0, count) as j:
        group = t.load("i64", t.at("%state", j))
        inside = t.op(f"icmp ult i64 {group}, {groups}")
        stack = stack_of(t.op(f"select i1 {inside}, i64 {group}, i64 {groups}"))
        x, place = _element(t, program, j), t.i64("add", first, j)
        none = t.op(f"icmp slt i64 {t.load('i64', stack.before)}, 0")
        with t.when(none, rarely=True):
            stack.begin(x, place)
        with t.when(t.op(f"xor i1 {none}, true")):
            stack.add(x, place)
    with t.when(t.op(f"icmp eq i64 {count}, 0")), t.loop(0, groups) as g:
        stack_of(g).meet(str(_ALL))
