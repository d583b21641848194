"""Whether an object file is like those that our compilers write, told before anything links it.

A linker believes what an object says of itself: LLVM's, and CUDA's, end the process, or write where
they should not, for numbers that lead outside. So every table is walked here first, and every
place that it names has to lie inside the file, the section or the table that it is of. What our
kernels never have (other sections, data that can be written, functions of others) is refused too.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

_IDENT: Final = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
_HEADER: Final = np.dtype(
    "S16,<u2,<u2,<u4,<u8,<u8,<u8,<u4,<u2,<u2,<u2,<u2,<u2,<u2"  # as <elf.h> has Elf64_Ehdr
)
_SECTION: Final = np.dtype("<u4,<u4,<u8,<u8,<u8,<u8,<u4,<u4,<u8,<u8")
_SYMBOL: Final = np.dtype("<u4,u1,u1,<u2,<u8,<u8")
_RELA: Final = np.dtype([("offset", "<u8"), ("kind", "<u4"), ("symbol", "<u4"), ("addend", "<i8")])
_REL: Final = np.dtype([("offset", "<u8"), ("kind", "<u4"), ("symbol", "<u4")])
_PROGBITS, _SYMTAB, _STRTAB, _RELAS, _NOBITS, _RELS = 1, 2, 3, 4, 8, 9
_ALLOC, _EXECUTE, _MERGE, _INFO = 2, 4, 0x10, 0x40
_UNDEFINED, _ABSOLUTE = 0, 0xFFF1
_FUNCTION, _FILE, _GLOBAL, _LOCAL = 2, 4, 1, 0
MOST_SECTIONS: Final = 4096


@dataclass(frozen=True)
class Kind:
    """What the objects of one compiler are like; an empty table allows anything."""

    machine: int
    types: tuple[int, ...]
    sections: tuple[tuple[str, int, int], ...]
    undefined: frozenset[str]  # functions that the linker is to find
    relocations: Mapping[int, int]  # the bytes that each type writes


# What LLVM calls where a processor has no instruction for it, all of the C library.
_LIBM: Final = frozenset(
    f"{name}{suffix}"
    for name in ("ceil", "floor", "fma", "nearbyint", "rint", "round", "roundeven", "trunc")
    for suffix in ("", "f")
) | {"memcpy", "memmove", "memset"}
# What each section's name begins with, its type, and the flags that it has.
_SECTIONS: Final = (
    (".text", _PROGBITS, _ALLOC | _EXECUTE),
    (".rodata.cst", _PROGBITS, _ALLOC | _MERGE),
    (".rodata", _PROGBITS, _ALLOC),
    (".rela.text", _RELAS, _INFO),
    (".rela.rodata", _RELAS, _INFO),
    (".note.GNU-stack", _PROGBITS, 0),
    (".strtab", _STRTAB, 0),
    (".symtab", _SYMTAB, 0),
    (".shstrtab", _STRTAB, 0),
)
# Places in reach of the code, and calls. There are no others: LLVM gives up at some, such as those
# of a table of addresses (GOT), where they are of a symbol without a name.
_X86: Final = {2: 4, 4: 4}
_ARM: Final = dict.fromkeys((261, 274, 275, 277, 278, 282, 283, 284, 285, 286, 299), 4)
_NATIVE: Final = {
    "x86_64": Kind(62, (1,), _SECTIONS, _LIBM, _X86),
    "aarch64": Kind(183, (1,), _SECTIONS, _LIBM, _ARM),
}
NATIVE: Final = _NATIVE.get(platform.machine().lower())
CUBIN: Final = Kind(190, (1, 2), (), frozenset(), {})


class _Section(NamedTuple):
    name: int
    kind: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry: int


class _Symbol(NamedTuple):
    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


class _Wrong(Exception):
    """What an object has that ours have not."""


def fault(raw: bytes, kind: Kind | None) -> str | None:
    """Why ``raw`` is no object of this ``kind``; None where it is one, with a global "kernel"."""
    if kind is None:
        return "objects of this processor are not known"
    try:
        sections = _sections(raw, kind)
        tables = [k for k, section in enumerate(sections) if section.kind == _SYMTAB]
        _require(len(tables) == 1, "it has not one table of symbols")
        symbols = _symbols(raw, sections, sections[tables[0]], kind)
        for section in sections:
            if section.kind in (_RELAS, _RELS):
                _require(section.link == tables[0], "relocations of no symbols")
                _check_relocations(raw, sections, section, symbols, kind)
    except _Wrong as wrong:
        return str(wrong)
    return None


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise _Wrong(what)


def _sections(raw: bytes, kind: Kind) -> list[_Section]:
    """The sections, each of which lies inside the file."""
    _require(len(raw) >= _HEADER.itemsize, "it is too short")
    _require(raw.startswith(_IDENT), "it is no 64-bit ELF object")
    header: tuple[Any, ...] = np.frombuffer(raw, _HEADER, 1).tolist()[0]
    _, type_, machine, version, _, _, start, _, size, _, _, width, count, names = header
    _require(type_ in kind.types and version == 1, "it is no object to be linked")
    _require(machine == kind.machine, f"it is for machine {machine}, not {kind.machine}")
    shapes = size == _HEADER.itemsize and width == _SECTION.itemsize
    _require(shapes and 0 < count <= MOST_SECTIONS, "its header is none")
    _require(start <= len(raw) - count * width, "its sections lie outside")
    table = np.frombuffer(raw, _SECTION, count, start).tolist()
    sections = [_Section(*row) for row in table]
    _require(not any(sections[0]) and names < count, "its header is none")
    _require(sections[names].kind == _STRTAB, "its sections have no names")
    for section in sections[1:]:
        held = 0 if section.kind == _NOBITS else section.size
        inside = section.offset <= len(raw) and held <= len(raw) - section.offset
        _require(inside and section.link < count, "a section outside")
        name = _name(raw, sections[names], section.name)
        if kind.sections:
            _check_section(name, section, kind)
    return sections


def _check_section(name: str, section: _Section, kind: Kind) -> None:
    known = next((known for known in kind.sections if name.startswith(known[0])), None)
    _require(known is not None, f"a section {name[:40]!r}")
    assert known is not None
    _require((section.kind, section.flags) == known[1:], f"a section {name[:40]!r} of its own")
    _require(section.address == 0 and section.entry <= 64, f"a section {name[:40]!r} of its own")
    _require(section.align.bit_count() == 1 and section.align <= 4096, "a section's alignment")


def _name(raw: bytes, names: _Section, at: int) -> str:
    """A name of a table of names; it ends inside."""
    _require(at < names.size, "a name outside")
    end = raw.find(b"\0", names.offset + at, names.offset + names.size)
    _require(end >= 0, "a name without an end")
    return raw[names.offset + at : end].decode("ascii", "replace")


def _symbols(raw: bytes, sections: list[_Section], table: _Section, kind: Kind) -> list[_Symbol]:
    """The symbols, each inside its section; one is the function "kernel"."""
    count, rest = divmod(table.size, _SYMBOL.itemsize)
    _require(count > 0 and not rest and table.entry == _SYMBOL.itemsize, "its symbols are none")
    names = sections[table.link]
    _require(names.kind == _STRTAB and 0 < table.info <= count, "its symbols have no names")
    rows = np.frombuffer(raw, _SYMBOL, count, table.offset).tolist()
    symbols = [_Symbol(*row) for row in rows]
    listed = [_name(raw, names, symbol.name) for symbol in symbols]
    shared: list[str] = []  # names that other objects see, or give
    _require(not any(symbols[0]), "its first symbol is one")
    for place, (symbol, name) in enumerate(zip(symbols[1:], listed[1:], strict=True), 1):
        bound, type_ = divmod(symbol.info, 16)
        if kind.sections:
            sorted_ = bound == (_LOCAL if place < table.info else _GLOBAL)
            _require(sorted_ and not symbol.other, "a symbol's binding")
            ours = name == "kernel" and type_ == _FUNCTION
            outside = bound == _LOCAL or symbol.section == _UNDEFINED
            _require(ours or outside, f"it offers {name[:40]!r}")
        if bound != _LOCAL:
            shared.append(name)
        if symbol.section == _UNDEFINED:
            allowed = name in kind.undefined or (not kind.undefined and name.startswith(".nv."))
            _require(allowed, f"it asks for {name[:40]!r}")
        elif symbol.section == _ABSOLUTE:
            _require(type_ == _FILE and bound == _LOCAL, "a symbol at a fixed address")
        else:
            _check_symbol(symbol, sections, kind)
    _require(shared.count("kernel") == 1, "it has not one function 'kernel'")
    counts = [listed.count(name) for name in shared]
    _require(not kind.sections or set(counts) == {1}, "a name twice")
    return symbols


def _check_symbol(symbol: _Symbol, sections: list[_Section], kind: Kind) -> None:
    _require(symbol.section < len(sections), "a symbol of no section")
    home = sections[symbol.section]
    inside = symbol.value <= home.size and symbol.size <= home.size - symbol.value
    _require(inside, "a symbol outside its section")
    type_ = symbol.info % 16
    if type_ == _FUNCTION:
        _require(bool(home.flags & _EXECUTE) and home.kind == _PROGBITS, "a function in data")
        _require(symbol.value < home.size, "a function without code")
    if kind.sections:
        _require(bool(home.flags & _ALLOC) and type_ <= 3, "a symbol of no data")


def _check_relocations(
    raw: bytes, sections: list[_Section], table: _Section, symbols: list[_Symbol], kind: Kind
) -> None:
    """Each place that the linker will write lies inside the section that it is of."""
    row = _RELAS_ROW[table.kind]
    count, rest = divmod(table.size, row.itemsize)
    _require(not rest and table.entry == row.itemsize, "its relocations are none")
    _require(table.info < len(sections), "relocations of no section")
    home = sections[table.info]
    _require(home.kind == _PROGBITS, "relocations of no section")
    rows = np.frombuffer(raw, row, count, table.offset)
    if not count:
        return
    _require(bool(home.flags & _ALLOC) or not kind.sections, "relocations of no data")
    _require(int(rows["symbol"].max()) < len(symbols), "a relocation of no symbol")
    if not kind.relocations:
        _require(int(rows["offset"].max()) < home.size, "a relocation outside")
        return
    last: NDArray[Any] = rows["offset"]
    for type_ in set(rows["kind"].tolist()):
        width = kind.relocations.get(type_)
        _require(width is not None, f"a relocation of type {type_}")
        assert width is not None
        furthest = int(last[rows["kind"] == type_].max())
        _require(furthest + width <= home.size, "a relocation outside")
    _require(int(rows["symbol"].min()) > 0, "a relocation of no symbol")
    least, most = int(rows["addend"].min()), int(rows["addend"].max())
    _require(-len(raw) <= least and most <= len(raw), "a relocation far away")


_RELAS_ROW: Final = {_RELAS: _RELA, _RELS: _REL}
