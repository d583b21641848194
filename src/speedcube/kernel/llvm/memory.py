"""Vector memory access with masks, as LLVM intrinsics."""

from __future__ import annotations

from typing import Final

from .text import Text

ALIGN = {"i8": 1, "i16": 2, "i32": 4, "i64": 8, "float": 4, "double": 8}
_SUFFIX = {"float": "f32", "double": "f64"}
# Bytes between what is read and what is asked for. The processor stops guessing at the end of each
# page, and memory that others use, too, answers late: sums of 2,000 rows of 16 kB take 0.97 ms on a
# Zen 5 with 2048 bytes, 0.79 with 4096, 0.63 with 8192, which two arrays may have in L1 (16384 for
# one: 0.52), the largest of them 0.82, 0.76 and 0.62.
AHEAD: Final = 8192
LINE: Final = 64
# Bytes that are stored from which on no cache holds them until they are read: they go past it, and
# the lines they fill are not read before. Sums of two arrays of 80 MB take 11 ms so, else 14, but
# 10 either way where the system gives fresh memory for each.
FAR: Final = 1 << 24
# The same of what is read and stored together: three arrays of 8 MB do not fit what a cache of 32
# keeps. Sums of two take 490 us, past the cache 400, and who reads them next is no later; of two
# arrays of 7 MB it would be.
FAR_TOGETHER: Final = 22 << 20
# Bytes of a row from which on it goes past the cache though its ends share lines with others. Of
# tables of 24 MB, rows of 400 bytes took 8.9 ms, of 2.4 kB 3.9, of 6 kB 1.7 and of 10 kB 1.4;
# stored as usual 1.7, 1.7, 1.7 and 2.6.
LONG_ROW: Final = 8000
# The same of gathers more than two apart, and how many of their steps at least. Minima of every
# third of 1.3e6 float64 take 0.64 ms, with 8192 bytes 0.73, and 7 where one line of three is not.
# Closer ones keep to 2048 bytes: rows walked backwards end there, x[:, ::-1] + 1 takes half.
_GATHERED: Final = 1 << 14
_STEPS: Final = 32
# Into which cache what is asked for comes: L1, or L2. Rows that are read several at once, the next
# ones and sums do not fit the L1 of a Zen 4 together: 100 rows of 100,000 float64 take 4.9 ms so,
# 3.9 by L2; on a Zen 5 2.8, 3.2 by L2.
NEAREST, NEXT = 3, 2


def _overload(text: Text, scalar: str) -> str:
    return f"v{text.lanes}{_SUFFIX.get(scalar, scalar)}"


def masked_load(text: Text, scalar: str, pointer: str, mask: str) -> str:
    """A contiguous vector; lanes outside ``mask`` are not read and give zero."""
    v, ones = text.vector(scalar), text.vector("i1")
    name = f"llvm.masked.load.{_overload(text, scalar)}.p0"
    text.declares.add(f"declare {v} @{name}(ptr, i32, {ones}, {v})")
    args = f"ptr {pointer}, i32 {ALIGN[scalar]}, {ones} {mask}, {v} zeroinitializer"
    return text.op(f"call {v} @{name}({args})")


def apart(text: Text, scalar: str, pointer: str, step: int) -> str:
    """Elements 0, ``step``, 2 * ``step`` ... from ``pointer`` on, out of ``step`` vectors.

    The last of these ends with the last element: nothing behind it is read.
    """
    v, lanes, align = text.vector(scalar), text.lanes, ALIGN[scalar]
    starts = [*range(0, (step - 1) * lanes, lanes), (lanes - 1) * (step - 1)]
    found = ""
    for start, end in zip(starts, [*starts[1:], step * lanes], strict=True):
        piece = text.load(v, text.at(pointer, start, scalar), align)
        within = {lane: lane * step - start for lane in range(lanes) if start <= lane * step < end}
        places = [lanes + within[lane] if lane in within else lane for lane in range(lanes)]
        found = _shuffled(text, v, found or piece, piece, places)
    return found


def store_woven(text: Text, scalar: str, even: str, odd: str, pointer: str) -> None:
    """Two vectors, the elements of one between those of the other."""
    places = [place for k in range(text.lanes) for place in (k, text.lanes + k)]
    both = _shuffled(text, text.vector(scalar), even, odd, places)
    text.line(f"store <{2 * text.lanes} x {scalar}> {both}, ptr {pointer}, align {ALIGN[scalar]}")


def _shuffled(text: Text, v: str, first: str, second: str, places: list[int]) -> str:
    mask = f"<{len(places)} x i32> <{', '.join(f'i32 {place}' for place in places)}>"
    return text.op(f"shufflevector {v} {first}, {v} {second}, {mask}")


def past_the_cache(text: Text, scalar: str, value: str, pointer: str) -> None:
    """Store an aligned vector that is not read soon; a `fence` has to follow in the end."""
    v, size = text.vector(scalar), text.lanes * ALIGN[scalar]
    text.declares.add("!1 = !{i32 1}")
    text.line(f"store {v} {value}, ptr {pointer}, align {size}, !nontemporal !1")


def starts_at(text: Text, address: str, size: int) -> str:
    """Whether ``address`` is a multiple of ``size``, a power of two."""
    return text.op(f"icmp eq i64 {text.i64('and', address, size - 1)}, 0")


def whole_vectors(text: Text, first: str, row: str, size: int) -> str:
    """Whether rows of ``row`` bytes from ``first`` on are vectors of ``size`` bytes, or long.

    A line that is stored both ways costs some 200 ns: what goes past the cache waits for it.
    """
    address = text.op(f"ptrtoint ptr {first} to i64", "i")
    whole = starts_at(text, text.i64("or", address, row), size)
    return text.op(f"or i1 {whole}, {text.op(f'icmp uge i64 {row}, {LONG_ROW}')}")


def gather(text: Text, scalar: str, pointers: str, mask: str) -> str:
    """One element from each pointer; lanes outside ``mask`` are not read and give zero."""
    v, ones, p = text.vector(scalar), text.vector("i1"), text.vector("ptr")
    name = f"llvm.masked.gather.{_overload(text, scalar)}.v{text.lanes}p0"
    text.declares.add(f"declare {v} @{name}({p}, i32, {ones}, {v})")
    args = f"{p} {pointers}, i32 {ALIGN[scalar]}, {ones} {mask}, {v} zeroinitializer"
    return text.op(f"call {v} @{name}({args})")


def masked_store(text: Text, scalar: str, value: str, pointer: str, mask: str) -> None:
    """A contiguous vector; lanes outside ``mask`` are not written."""
    v, ones = text.vector(scalar), text.vector("i1")
    name = f"llvm.masked.store.{_overload(text, scalar)}.p0"
    text.declares.add(f"declare void @{name}({v}, ptr, i32, {ones})")
    text.line(f"call void @{name}({v} {value}, ptr {pointer}, i32 {ALIGN[scalar]}, {ones} {mask})")


def scatter(text: Text, scalar: str, value: str, pointers: str, mask: str) -> None:
    """One element to each pointer; lanes outside ``mask`` are not written."""
    v, ones, p = text.vector(scalar), text.vector("i1"), text.vector("ptr")
    name = f"llvm.masked.scatter.{_overload(text, scalar)}.v{text.lanes}p0"
    text.declares.add(f"declare void @{name}({v}, {p}, i32, {ones})")
    text.line(f"call void @{name}({v} {value}, {p} {pointers}, i32 {ALIGN[scalar]}, {ones} {mask})")


def prefetch(
    t: Text, pointer: str, size: int, ahead: str = str(AHEAD), nearness: int = NEAREST
) -> None:
    """Ask for the ``size`` bytes that will be read some vectors later, ``ahead`` bytes on."""
    later = t.at(pointer, ahead, "i8")
    for offset in range(0, size, LINE):
        fetch(t, t.at(later, offset, "i8"), nearness=nearness)


def fetch(t: Text, pointer: str, write: bool = False, nearness: int = NEAREST) -> None:
    """Ask for a line of memory that will be read, or written; ``nearness``: into which cache."""
    t.declares.add("declare void @llvm.prefetch.p0(ptr, i32, i32, i32)")
    t.line(f"call void @llvm.prefetch.p0(ptr {pointer}, i32 {int(write)}, i32 {nearness}, i32 1)")


def ask_for_gathered(
    t: Text, data: str, j: str, stride: str | int, scalar: str, ahead: str | None = None
) -> None:
    """Ask for what is gathered from ``data`` after elements j, j + 1, ..., ``stride`` apart.

    Processors do not see that gathers go on.
    """
    size = ALIGN[scalar]
    far = t.op(f"icmp ugt i64 {t.i64('add', stride, 2)}, 4")  # more than two apart, either way
    if ahead is None:
        steps = t.i64("mul", stride, _STEPS * size)
        up, down = t.maximum(steps, str(_GATHERED)), t.minimum(steps, str(-_GATHERED))
        ahead = t.op(f"select i1 {t.op(f'icmp slt i64 {steps}, 0')}, i64 {down}, i64 {up}", "i")
        near = t.i64("mul", stride, AHEAD // 4)
        ahead = t.op(f"select i1 {far}, i64 {ahead}, i64 {near}", "i")
    later = t.at(data, ahead, "i8")

    def ask(lane: int) -> None:
        fetch(t, t.at(later, t.i64("mul", t.i64("add", j, lane), stride), scalar))

    few = LINE // 2 // size  # of every other element a line
    for lane in range(0, t.lanes, few):
        ask(lane)
    with t.when(far):
        for lane in range(0, t.lanes, max(1, few // 4)):
            if lane % few:
                ask(lane)
