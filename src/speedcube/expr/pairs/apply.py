"""Operations of arrays of which some are complex: by the rules, on parts of one dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ... import dtypes
from ...errors import DTypeError
from .. import build, views
from ..nodes import Expr, Leaf, Map, const
from . import angles as _angles  # noqa: F401  (which adds its rules)
from . import arithmetic, functions
from .node import is_pair, pair, parts
from .reals import Real

_RULES: Final = {**arithmetic.RULES, **functions.RULES}


def elementwise(op: str, args: Sequence[Expr | complex], common: str) -> Expr:
    """``op`` of expressions and Python scalars, computed as ``common``, a complex dtype."""
    rule = _RULES.get(op)
    if rule is None:
        raise DTypeError(f"{op} takes real numbers, not {common}: give it .real, .imag or abs(x)")
    part = dtypes.PARTS[common]
    within = "float64" if op in functions.RULES else part  # rounded once at the end
    operands: list[Any] = [_parts(arg, within) for arg in args]
    if op == "where":
        operands[0] = Real(_condition(args[0]))
    made = _to_one_exponent(op, operands, args) or rule(*operands)
    return made.expr if isinstance(made, Real) else _complex(made, part)


def _to_one_exponent(op: str, operands: list[Any], args: Sequence[Expr | complex]) -> Any:
    """The power to a real number, where there is a shorter way; else None."""
    if op != "power" or isinstance(args[1], (Leaf, Map)):
        return None
    exponent = complex(args[1])
    return None if exponent.imag else functions.number_power(operands[0], exponent.real)


def _complex(made: tuple[Real, Real], part: str) -> Expr:
    """The complex array of these parts, converted and broadcast to one shape."""
    re, im = (_as_part(one.expr, part) for one in made)
    shape = views.broadcast_shapes(re.shape, im.shape)
    return pair(views.broadcast_to(re, shape), views.broadcast_to(im, shape))


def _parts(arg: Expr | complex, part: str) -> tuple[Real, Real]:
    """The parts of an operand; the imaginary one of a real number is 0, as NumPy has it."""
    if not isinstance(arg, (Leaf, Map)):
        number = complex(arg)
        return Real(const(number.real, part)), Real(const(number.imag, part))
    if is_pair(arg):
        re, im = (_as_part(one, part) for one in parts(arg))
        return Real(re), Real(im)
    return Real(_as_part(arg, part)), Real(const(0.0, part, arg.shape))


def _as_part(root: Expr, part: str) -> Expr:
    return build.cast(root, part)


def _condition(arg: Expr | complex) -> Expr:
    if isinstance(arg, (Leaf, Map)):
        return build.cast(arg, "bool")
    return const(bool(arg), "bool")


def cast(root: Expr, dtype: str) -> Expr:
    """``root`` converted to ``dtype``, where one of both is complex; bool is whether it is not 0.

    Nothing makes real numbers of complex ones unasked: only `Array.astype` drops imaginary parts.
    """
    if dtype in dtypes.COMPLEX:
        re, im = _parts(root, dtypes.PARTS[dtype])
        return pair(re.expr, im.expr)
    if dtype != "bool":
        raise DTypeError(
            f"{root.dtype} cannot become {dtype}: the imaginary parts would be lost; "
            "use .real or abs(x)"
        )
    re, im = map(Real, parts(root))
    return arithmetic.truth((re, im)).expr


build.of_pairs.update(elementwise=elementwise, cast=cast)
