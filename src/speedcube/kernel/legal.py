"""Which bodies are legal: every operation has its operands, of its types, defined before it."""

from __future__ import annotations

from typing import Final

from .. import dtypes
from ..errors import KernelError
from .ir import OUTPUTS, PICKED, Body, Instr

FLOAT_ONLY: Final = frozenset({"div", "sqrt", "nsqrt", "fma", "floor", "ceil", "trunc", "rint"})
INTEGER_ONLY: Final = frozenset({"idiv", "irem", "shl", "shr", "shlv", "shrv", "mul32", "table"})
BITS_ONLY: Final = frozenset({"and", "or", "xor", "not"})
COMPARE: Final = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
ARITY: Final[dict[str, int]] = {
    **dict.fromkeys(("input", "const", "param"), 0),
    **dict.fromkeys(("neg", "sqrt", "nsqrt", "floor", "ceil", "trunc", "rint", "not"), 1),
    **dict.fromkeys(("shl", "shr", "cast", "bitcast", "table", "pick", "gather"), 1),
    **dict.fromkeys(("add", "sub", "mul", "div", "idiv", "irem", "and", "or", "xor"), 2),
    **dict.fromkeys(("shlv", "shrv", "mul32", *sorted(COMPARE)), 2),
    **dict.fromkeys(("fma", "select"), 3),
    "rare": 2,  # and the body's inputs
    "loop": 1,  # and the body's inputs, x the first
}
_OUTSIDE: Final = {"param": "parameters", "gather": "memory"}  # what bodies inside do not read:
_NOT_READ: Final = {"rare": ("param", "gather"), "loop": ("param",)}


def verify(body: Body) -> None:
    """Raise `KernelError` at the first instruction that is not legal."""
    for k, instr in enumerate(body.instrs):
        problem = _problem(body, k, instr)
        if problem:
            raise KernelError(f"instruction %{k} ({instr.op} {instr.type}): {problem}\n{body}")
    for name, value in body.outputs:
        if not 0 <= value < len(body.instrs):
            raise KernelError(f"output {name!r} names %{value}, which does not exist\n{body}")


def _problem(body: Body, k: int, instr: Instr) -> str | None:
    if instr.op not in ARITY:
        return "unknown operation"
    if instr.type not in dtypes.COMPUTED:
        return "unknown type"
    arity = ARITY[instr.op] + (len(instr.imm.inputs) if instr.op in OUTPUTS else 0)
    if len(instr.args) != arity:
        return f"takes {arity} operands, not {len(instr.args)}"
    if any(not 0 <= a < k for a in instr.args):
        return "an operand is not defined before its use"
    return _type_problem(instr, [body.instrs[a].type for a in instr.args])


def _type_problem(instr: Instr, types: list[str]) -> str | None:
    if instr.op in FLOAT_ONLY and not dtypes.is_float(instr.type):
        return "is for floats"
    if instr.op in INTEGER_ONLY and not dtypes.is_integer(instr.type):
        return "is for integers"
    if instr.op in BITS_ONLY and dtypes.is_float(instr.type):
        return "is for integers and bool"
    if instr.op in COMPARE:
        return None if instr.type == "bool" and types[0] == types[1] else "operands differ in type"
    if instr.op == "select":
        ok = types == ["bool", instr.type, instr.type]
        return None if ok else "wants bool and two operands of its type"
    if instr.op == "bitcast":
        same = dtypes.itemsize(types[0]) == dtypes.itemsize(instr.type)
        return None if same else "changes the size"
    if instr.op == "table":
        return None if types == ["int64"] and instr.imm else "wants entries and an int64 index"
    if instr.op == "gather":
        return None if types == ["int64"] else "wants an int64 index"
    if instr.op == "pick":
        ok = instr.type == "float32" and types == ["uint32"] and len(instr.imm) == PICKED
        return None if ok else f"wants {PICKED} float32 entries and a uint32"
    if instr.op in OUTPUTS:
        return _inner_problem(instr, types)
    if instr.op in ("shl", "shr") and not 0 <= instr.imm < 8 * dtypes.itemsize(instr.type):
        return "shifts by its width or more"
    if instr.op not in ("cast",) and any(t != instr.type for t in types):
        return f"operands have types {types}"
    return None


def _inner_problem(instr: Instr, types: list[str]) -> str | None:
    body: Body = instr.imm
    read = [_OUTSIDE[i.op] for i in body.instrs if i.op in _NOT_READ[instr.op]]
    if read:
        return f"its body may not read {read[0]}"
    if tuple(name for name, _ in body.outputs) != OUTPUTS[instr.op]:
        return f"its body must have the outputs {OUTPUTS[instr.op]}"
    inputs = [dtype for _, dtype in body.inputs]
    wanted = ["bool", instr.type, *inputs] if instr.op == "rare" else ["bool", *inputs]
    outputs = [body.output_type(name) for name in OUTPUTS[instr.op]]
    if types != wanted or outputs != [instr.type, "bool"][: len(outputs)]:
        return f"wants operands {wanted} and a body of its type, not {types}"
    if instr.op == "loop" and inputs[:1] != [instr.type]:
        return "its body's first input must be of its type"
    return None
