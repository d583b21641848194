"""The CUDA printer: a `Body` as C statements, operation for operation.

Compiled with ``--fmad=false`` every line rounds once, as its LLVM twin does; signed arithmetic
goes through unsigned types because C leaves signed overflow undefined.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, Final

from ... import dtypes
from ...dataclass import dataclass
from ..ir import PICKED, Body, Instr

CTYPE: Final = {
    "bool": "bool",
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "i64",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned",
    "uint64": "u64",
    "float32": "float",
    "float64": "double",
}
_UNSIGNED: Final = {name: CTYPE[name.replace("int", "uint")] for name in dtypes.SIGNED}


def literal(value: Any, dtype: str) -> str:
    """A constant; floats by their bits."""
    if dtype == "bool":
        return "true" if value else "false"
    if dtype == "float64":
        (bits,) = struct.unpack("<Q", struct.pack("<d", value))
        return f"bits_to_double(0x{bits:016x}ull)"
    if dtype == "float32":
        (bits,) = struct.unpack("<I", struct.pack("<f", value))
        return f"bits_to_float(0x{bits:08x}u)"
    wrapped = int(value) % (1 << 64)
    return f"({CTYPE[dtype]})0x{wrapped:x}ull"


@dataclass
class Constants:
    """What lies beside a kernel: its pool of doubles, by their bits, and the tables of its picks.

    Where all lanes of a warp are known to be ``together``, each holds an entry of each table, and
    a pick asks the lane that has it: one instruction instead of an address and a load.
    """

    pool: dict[str, int] = field(default_factory=dict)
    tables: dict[tuple[float, ...], int] = field(default_factory=dict)
    together: bool = False

    def double(self, bits: int) -> str:
        return f"pool[{self.pool.setdefault(f'0x{bits:016x}', len(self.pool))}]"

    def pick(self, entries: tuple[float, ...], index: str) -> str:
        table = self.tables.setdefault(entries, len(self.tables))
        if self.together:
            return f"picked(picks{table}, lane{table}, {index})"
        return f"picks{table}[{index} & {PICKED - 1}u]"

    def lines(self) -> list[str]:
        """Their declarations. The pool is not ``const``, or the compiler folds it into moves."""
        declarations = []
        if self.pool:
            values = ", ".join(_double(bits) for bits in self.pool)
            declarations.append(f"__constant__ double pool[{len(self.pool)}] = {{{values}}};")
        for entries, k in self.tables.items():
            values = ", ".join(f"{entry.hex()}f" for entry in entries)
            declarations.append(f"__device__ const float picks{k}[{PICKED}] = {{{values}}};")
        return declarations

    def lanes(self) -> list[str]:
        """The entries that a thread holds."""
        return [
            f"  float lane{k} = picks{k}[threadIdx.x & {PICKED - 1}];" for k in self.tables.values()
        ]


def _double(bits: str) -> str:
    """A double with these bits, exactly, in C's hexadecimal notation."""
    value: float = struct.unpack("<d", struct.pack("<Q", int(bits, 16)))[0]
    return value.hex()


def emit(
    lines: list[str],
    body: Body,
    inputs: Mapping[str, str],
    prefix: str,
    indent: str,
    constants: Constants,
) -> dict[str, str]:
    """``body`` as statements in ``lines``; the names of its outputs. Parameters are ``p<number>``.

    A double constant whose low word is not zero cannot be part of an instruction; it goes to
    the pool, an array in constant memory, which can: moves of constants were a quarter of all
    instructions before.
    """
    names: list[str] = []
    for k, instr in enumerate(body.instrs):
        types = [body.instrs[a].type for a in instr.args]
        args = [names[a] for a in instr.args]
        if instr.op == "input":
            names.append(inputs[instr.imm])
        elif instr.op == "const":
            names.append(_constant(instr, constants))
        elif instr.op == "param":
            names.append(_parameter(instr))
        else:
            name = f"{prefix}{k}"
            names.append(name)
            if instr.op in _INNER:
                _INNER[instr.op](lines, instr, args, name, indent, constants)
                continue
            if instr.op == "gather":
                args = [f"b{instr.imm}", *args]
            if instr.op == "pick":
                picked = constants.pick(instr.imm, args[0])
                lines.append(f"{indent}float {name} = {picked};")
                continue
            if instr.op == "table":
                entries = ", ".join(literal(entry, instr.type) for entry in instr.imm)
                lines.append(
                    f"{indent}static const {CTYPE[instr.type]} {name}_table[] = {{{entries}}};"
                )
                args = [f"{name}_table", *args]
            lines.append(
                f"{indent}{CTYPE[instr.type]} {name} = {_C[instr.op](instr, types, args)};"
            )
    return {name: names[v] for name, v in body.outputs}


def _rare(
    lines: list[str], instr: Instr, args: list[str], name: str, indent: str, constants: Constants
) -> None:
    inputs = dict(zip((name for name, _ in instr.imm.inputs), args[2:], strict=True))
    constants = replace(constants, together=False)  # the pool and the tables stay the same ones
    lines.append(f"{indent}{CTYPE[instr.type]} {name} = {args[1]};")
    lines.append(f"{indent}if ({args[0]}) {{")
    outputs = emit(lines, instr.imm, inputs, f"{name}_", indent + "  ", constants)
    lines.append(f"{indent}  {name} = {outputs['x']};")
    lines.append(f"{indent}}}")


def _loop(
    lines: list[str], instr: Instr, args: list[str], name: str, indent: str, constants: Constants
) -> None:
    constants = replace(constants, together=False)
    lines.append(f"{indent}{CTYPE[instr.type]} {name} = {args[1]};")
    lines.append(f"{indent}bool {name}_more = {args[0]};")
    lines.append(f"{indent}while ({name}_more) {{")
    inputs = dict(zip((name for name, _ in instr.imm.inputs), [name, *args[2:]], strict=True))
    outputs = emit(lines, instr.imm, inputs, f"{name}_", indent + "  ", constants)
    lines.append(f"{indent}  {name}_more = {outputs['more']};")  # before x, which it may read
    lines.append(f"{indent}  {name} = {outputs['x']};")
    lines.append(f"{indent}}}")


_INNER: Final = {"rare": _rare, "loop": _loop}


def _constant(instr: Instr, constants: Constants) -> str:
    if instr.type == "float64":
        (bits,) = struct.unpack("<Q", struct.pack("<d", instr.imm))
        if bits & 0xFFFFFFFF:
            return constants.double(bits)
    return literal(instr.imm, instr.type)


def _parameter(instr: Instr) -> str:
    word = f"p{instr.imm}"
    if instr.type == "float64":
        return f"bits_to_double({word})"
    if instr.type == "float32":
        return f"bits_to_float((unsigned){word})"
    if instr.type == "bool":
        return f"((({word}) & 255ull) != 0ull)"
    return f"(({CTYPE[instr.type]}){word})"


_Printer = Callable[[Instr, list[str], list[str]], str]


def _infix(symbol: str) -> _Printer:
    def make(i: Instr, types: list[str], a: list[str]) -> str:
        if i.type in _UNSIGNED:
            u = _UNSIGNED[i.type]
            return f"({CTYPE[i.type]})(({u}){a[0]} {symbol} ({u}){a[1]})"
        if dtypes.is_float(i.type):
            return f"{a[0]} {symbol} {a[1]}"
        return f"({CTYPE[i.type]})({a[0]} {symbol} {a[1]})"

    return make


def _plain(symbol: str) -> _Printer:
    return lambda i, types, a: f"({CTYPE[i.type]})({a[0]} {symbol} {a[1]})"


def _function(double: str, single: str) -> _Printer:
    return lambda i, types, a: f"{double if i.type == 'float64' else single}({', '.join(a)})"


def _neg(i: Instr, types: list[str], a: list[str]) -> str:
    if dtypes.is_float(i.type):
        return f"-{a[0]}"
    return f"({CTYPE[i.type]})(0 - ({_UNSIGNED.get(i.type, CTYPE[i.type])}){a[0]})"


def _not(i: Instr, types: list[str], a: list[str]) -> str:
    return f"!{a[0]}" if i.type == "bool" else f"({CTYPE[i.type]})(~{a[0]})"


def _shl(i: Instr, types: list[str], a: list[str]) -> str:
    u = _UNSIGNED.get(i.type, CTYPE[i.type])
    return f"({CTYPE[i.type]})(({u}){a[0]} << {a[1] if len(a) > 1 else i.imm})"


def _shr(i: Instr, types: list[str], a: list[str]) -> str:
    return f"({CTYPE[i.type]})({a[0]} >> {a[1] if len(a) > 1 else i.imm})"


def _mul32(i: Instr, types: list[str], a: list[str]) -> str:
    return f"mul_wide((unsigned){a[0]}, (unsigned){a[1]})"


def _cast(i: Instr, types: list[str], a: list[str]) -> str:
    return f"({CTYPE[i.type]}){a[0]}"


_BITS: Final = {
    ("float64", "uint64"): "double_to_bits({})",
    ("float64", "int64"): "(i64)double_to_bits({})",
    ("uint64", "float64"): "bits_to_double({})",
    ("int64", "float64"): "bits_to_double((u64){})",
    ("float32", "uint32"): "float_to_bits({})",
    ("float32", "int32"): "(int)float_to_bits({})",
    ("uint32", "float32"): "bits_to_float({})",
    ("int32", "float32"): "bits_to_float((unsigned){})",
}


def _bitcast(i: Instr, types: list[str], a: list[str]) -> str:
    return _BITS.get((types[0], i.type), f"({CTYPE[i.type]}){{}}").format(a[0])


def _gather(i: Instr, types: list[str], a: list[str]) -> str:
    memory = "unsigned char" if i.type == "bool" else CTYPE[i.type]
    return f"({CTYPE[i.type]})((const {memory} *){a[0]})[{a[1]}]"


_C: Final[dict[str, _Printer]] = {
    "add": _infix("+"),
    "sub": _infix("-"),
    "mul": _infix("*"),
    "div": _infix("/"),
    "idiv": _plain("/"),
    "irem": _plain("%"),
    "and": _plain("&"),
    "or": _plain("|"),
    "xor": _plain("^"),
    "neg": _neg,
    "not": _not,
    "shl": _shl,
    "shlv": _shl,
    "shr": _shr,
    "shrv": _shr,
    "mul32": _mul32,
    "sqrt": _function("root", "rootf"),
    "nsqrt": _function("normal_root", "rootf"),
    "fma": _function("fma", "fmaf"),
    "floor": _function("floor", "floorf"),
    "ceil": _function("ceil", "ceilf"),
    "trunc": _function("trunc", "truncf"),
    "rint": _function("rint", "rintf"),
    "eq": _plain("=="),
    "ne": _plain("!="),
    "lt": _plain("<"),
    "le": _plain("<="),
    "gt": _plain(">"),
    "ge": _plain(">="),
    "select": lambda i, types, a: f"{a[0]} ? {a[1]} : {a[2]}",
    "cast": _cast,
    "bitcast": _bitcast,
    "table": lambda i, types, a: f"{a[0]}[{a[1]}]",
    "gather": _gather,
}
