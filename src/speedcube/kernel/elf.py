"""Whether an object file is like those that our compilers write, told before anything links it.

A linker believes what an object says of itself: LLVM's, and CUDA's, end the process, or write where
they should not, for numbers that lead outside. So every table is walked here first, and every
place that it names has to lie inside the file, the section or the table that it is of. What our
kernels never have (other sections, data that can be written, functions of others) is refused too.
"""

from __future__ import annotations

import platform
import struct
from typing import Final, NamedTuple

from ..dataclass import dataclass

_IDENT: Final = b"\x7fELF\x02\x01\x01"  # 64 bits, little-endian, version 1
# As <elf.h> has them, from type to entry: Elf64_Ehdr, Elf64_Shdr, Elf64_Sym, Elf64_Rela, Elf64_Rel.
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELA: Final = struct.Struct("<QIIq")
_REL: Final = struct.Struct("<QII")
_PROGBITS, _SYMTAB, _STRTAB, _RELAS, _NOBITS, _RELS = 1, 2, 3, 4, 8, 9
_ALLOC, _EXECUTE, _MERGE, _INFO = 2, 4, 0x10, 0x40
_UNDEFINED, _ABSOLUTE = 0, 0xFFF1
_FUNCTION, _FILE, _GLOBAL, _LOCAL = 2, 4, 1, 0
_PLACE: Final = 4  # bytes that a relocation of ours writes
MOST_SECTIONS: Final = 4096


@dataclass(frozen=True)
class Kind:
    """What the objects of one compiler are like; an empty table allows anything."""

    machine: int
    types: tuple[int, ...]
    sections: tuple[tuple[bytes, int, int], ...]
    undefined: frozenset[bytes]  # functions that the linker is to find
    relocations: frozenset[int]  # their types


# What LLVM calls where a processor has no instruction for it, all of the C library.
_LIBM: Final = frozenset(
    f"{name}{suffix}".encode()
    for name in ("ceil", "floor", "fma", "nearbyint", "rint", "round", "roundeven", "trunc")
    for suffix in ("", "f")
) | {b"memcpy", b"memmove", b"memset"}
# What each section's name begins with, its type, and the flags that it has.
_SECTIONS: Final = (
    (b".text", _PROGBITS, _ALLOC | _EXECUTE),
    (b".rodata.cst", _PROGBITS, _ALLOC | _MERGE),
    (b".rodata", _PROGBITS, _ALLOC),
    (b".rela.text", _RELAS, _INFO),
    (b".rela.rodata", _RELAS, _INFO),
    (b".note.GNU-stack", _PROGBITS, 0),
    (b".strtab", _STRTAB, 0),
    (b".symtab", _SYMTAB, 0),
    (b".shstrtab", _STRTAB, 0),
)
# Places in reach of the code, and calls. There are no others: LLVM gives up at some, such as those
# of a table of addresses (GOT), where they are of a symbol without a name.
_X86: Final = frozenset({2, 4})
_ARM: Final = frozenset({261, 274, 275, 277, 278, 282, 283, 284, 285, 286, 299})
_NATIVE: Final = {
    "x86_64": Kind(62, (1,), _SECTIONS, _LIBM, _X86),
    "aarch64": Kind(183, (1,), _SECTIONS, _LIBM, _ARM),
}
NATIVE: Final = _NATIVE.get(platform.machine().lower())
CUBIN: Final = Kind(190, (1, 2), (), frozenset(), frozenset())


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


class _WrongError(Exception):
    """What an object has that ours have not."""


def fault(raw: bytes, kind: Kind | None) -> str | None:
    """Why ``raw`` is no object of this ``kind``; None where it is one, with a function "kernel"."""
    if kind is None:
        return "objects of this processor are not known"
    try:
        sections = _sections(raw, kind)
        tables = [k for k, section in enumerate(sections) if section.kind == _SYMTAB]
        _require(len(tables) == 1, "it has not one table of symbols")
        count = _symbols(raw, sections, sections[tables[0]], kind)
        for section in sections:
            if section.kind in (_RELAS, _RELS):
                _require(section.link == tables[0], "relocations of no symbols")
                _check_relocations(raw, sections, section, count, kind)
    except _WrongError as wrong:
        return str(wrong)
    return None


def _require(holds: bool, what: str) -> None:
    if not holds:
        raise _WrongError(what)


def _sections(raw: bytes, kind: Kind) -> list[_Section]:
    """The sections, each of which lies inside the file."""
    _require(len(raw) >= _HEADER.size, "it is too short")
    _require(raw.startswith(_IDENT), "it is no 64-bit ELF object")
    header = _HEADER.unpack_from(raw)
    _, type_, machine, version, _, _, start, _, size, _, _, width, count, named = header
    _require(type_ in kind.types and version == 1, "it is no object to be linked")
    _require(machine == kind.machine, f"it is for machine {machine}, not {kind.machine}")
    shapes = size == _HEADER.size and width == _SECTION.size
    _require(shapes and 0 < count <= MOST_SECTIONS and named < count, "its header is none")
    _require(start <= len(raw) - count * width, "its sections lie outside")
    table = raw[start : start + count * width]
    sections = [_Section._make(row) for row in _SECTION.iter_unpack(table)]
    _require(not any(sections[0]), "its header is none")
    for section in sections[1:]:
        held = 0 if section.kind == _NOBITS else section.size
        inside = section.offset <= len(raw) and held <= len(raw) - section.offset
        _require(inside and section.link < count, "a section outside")
    names = _names(raw, sections[named])
    for section in sections[1:]:
        _require(section.name < len(names), "a name outside")
        if kind.sections:
            _check_section(_name(names, section.name), section, kind)
    return sections


def _check_section(name: bytes, section: _Section, kind: Kind) -> None:
    known = next((known for known in kind.sections if name.startswith(known[0])), None)
    same = known is not None and (section.kind, section.flags) == known[1:]
    same = same and section.address == 0 and section.entry <= 64
    _require(same, f"a section {_shown(name)}")
    _require(section.align.bit_count() == 1 and section.align <= 4096, "a section's alignment")


def _names(raw: bytes, table: _Section) -> bytes:
    """A table of names, of which the last one ends, too."""
    names = raw[table.offset : table.offset + table.size]
    _require(table.kind == _STRTAB and names.endswith(b"\0"), "names that do not end")
    return names


def _name(names: bytes, at: int) -> bytes:
    return names[at : names.index(b"\0", at)]


def _shown(name: bytes) -> str:
    return repr(name[:40].decode("ascii", "replace"))


def _symbols(raw: bytes, sections: list[_Section], table: _Section, kind: Kind) -> int:
    """The number of symbols, each inside its section; one is the function "kernel"."""
    size = _SYMBOL.size
    whole = table.size > 0 and table.size % size == 0 and table.entry == size
    _require(whole, "its symbols are none")
    names = _names(raw, sections[table.link])
    rows = list(_SYMBOL.iter_unpack(raw[table.offset : table.offset + table.size]))
    _require(0 < table.info <= len(rows) and not any(rows[0]), "its symbols are none")
    _require(max([row[0] for row in rows]) < len(names), "a name outside")
    ends: dict[tuple[int, int], int] = {}  # where the last symbol of each section and kind ends
    for _, info, _, home, value, length in rows[1:]:
        place = home, info & 15
        ends[place] = max(ends.get(place, 0), value + (length or place[1] == _FUNCTION))
    for (home, type_), end in ends.items():
        if home not in (_UNDEFINED, _ABSOLUTE):
            _require(home < len(sections), "a symbol of no section")
            _check_place(sections[home], type_, end, kind)
        elif home == _ABSOLUTE:
            _require(type_ == _FILE, "a symbol at a fixed address")
    shared = [row for row in rows[1:] if row[1] >> 4 != _LOCAL]  # that other objects see, or give
    for row in shared:
        _check_shared(row, _name(names, row[0]), kind)
    if kind.sections:
        sorted_ = shared == rows[table.info :] and not any([row[2] for row in rows])
        _require(sorted_, "a symbol's binding")
        _require(0 not in [row[3] for row in rows[1 : table.info]], "a symbol of no section")
    listed = [_name(names, row[0]) for row in shared]
    _require(listed.count(b"kernel") == 1, "it has not one function 'kernel'")
    for name in (name + b"\0" for name in listed if kind.sections):
        same = sum([names.startswith(name, row[0]) for row in rows])
        _require(same == 1, "a name twice")
    return len(rows)


def _check_place(home: _Section, type_: int, end: int, kind: Kind) -> None:
    _require(end <= home.size, "a symbol outside its section")
    code = home.kind == _PROGBITS and home.flags & _EXECUTE != 0
    _require(type_ != _FUNCTION or code, "a function without code")
    _require(not kind.sections or (home.flags & _ALLOC != 0 and type_ <= 3), "a symbol of no data")


def _check_shared(symbol: tuple[int, ...], name: bytes, kind: Kind) -> None:
    """A symbol that is not local is the kernel, or a function that the kernel may ask for."""
    _, info, _, home, *_ = symbol
    if home == _UNDEFINED:
        known = name in kind.undefined if kind.sections else name.startswith(b".nv.")
        _require(known, f"it asks for {_shown(name)}")
    if kind.sections:
        _require(info >> 4 == _GLOBAL, "a symbol's binding")
        ours = home == _UNDEFINED or (name == b"kernel" and info & 15 == _FUNCTION)
        _require(ours, f"it offers {_shown(name)}")


def _check_relocations(
    raw: bytes, sections: list[_Section], table: _Section, symbols: int, kind: Kind
) -> None:
    """Each place that the linker will write lies inside the section that it is of."""
    row = _RELA if table.kind == _RELAS else _REL
    _require(table.size % row.size == 0 and table.entry == row.size, "its relocations are none")
    _require(table.info < len(sections), "relocations of no section")
    home = sections[table.info]
    ours = home.kind == _PROGBITS and (bool(home.flags & _ALLOC) or not kind.sections)
    _require(ours, "relocations of no data")
    if not table.size:
        return
    rows = row.iter_unpack(raw[table.offset : table.offset + table.size])
    places, types, of, *addends = zip(*rows, strict=True)
    _require(max(of) < symbols, "a relocation of no symbol")
    if not kind.relocations:
        _require(max(places) < home.size, "a relocation outside")
        return
    unknown = set(types) - kind.relocations
    _require(not unknown, f"relocations of types {sorted(unknown)[:3]}")
    _require(max(places) <= home.size - _PLACE, "a relocation outside")
    near = bool(addends) and -len(raw) <= min(addends[0]) and max(addends[0]) <= len(raw)
    _require(near and min(of) > 0, "a relocation far away")
