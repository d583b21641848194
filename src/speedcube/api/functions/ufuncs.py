"""How a function that works element by element takes NumPy's keywords: ``out where dtype``..."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from ... import dtypes
from ...errors import DTypeError, ParameterError, ParameterTypeError
from ..array import Array, array_of, elementwise
from ..devices import checked_order
from ..methods.keywords import check_mask, check_uncast, converted, put

Rule: TypeAlias = Callable[..., Array]

_KEYWORDS: Final = """\
    out : {out}, optional
        Takes the result: it has its values from now on, and keeps its shape and dtype.
    where : array_like of bool, optional
        Elements where it does not hold are those of `out`; without `out` they are 0.
    casting : {{"no", "equiv", "safe", "same_kind", "unsafe"}}
        How operands may be cast to `dtype`, and the result to that of `out`.
    order : {{"C", "F", "A", "K"}}
        NumPy's word for the layout in memory; it decides no value.
    dtype : dtype, optional
        What the operands are cast to before, and what is computed in.
    subok : bool
        NumPy's; it changes nothing here.
    signature : str or tuple of dtype, optional
        The dtypes of operands and result, as ``"ff->f"``.
"""
_OPERANDS: Final = {
    1: "    x : array_like\n        Any shape.\n",
    2: "    x1, x2 : array_like\n        Shapes that broadcast; dtypes combine as in NumPy.\n",
}
_OF_TWO: Final = _KEYWORDS.format(out="tuple of two Arrays")
_MADE: Final[dict[str, Callable[..., Any]]] = {}
_CASTINGS: Final = ("no", "equiv", "safe", "same_kind", "unsafe")


def documented(line: str, operands: int, example: str, keywords: str | None = None) -> str:
    """The docstring of a function of so many ``operands``: ``example`` is a call and its value."""
    call, _, value = example.partition(" -> ")
    told = _KEYWORDS.format(out="Array") if keywords is None else keywords
    returns = "Array\n        Lazy, one value for each element."
    return _docstring(line, operands, told, returns, f"    >>> {call}.compute()\n    {value}\n")


def _docstring(line: str, operands: int, keywords: str, returns: str, example: str) -> str:
    return (
        f"{line}\n\n    Parameters\n    ----------\n{_OPERANDS[operands]}{keywords}\n"
        f"    Returns\n    -------\n    {returns}\n\n"
        "    Raises\n    ------\n    DTypeError\n        For a dtype that it does not take.\n"
        "    ShapeError\n        Where shapes do not broadcast, or do not fit `out`.\n\n"
        f"    Examples\n    --------\n    >>> import speedcube as sc\n{example}    "
    )


def unary(name: str, rule: Callable[[Any], Array], doc: str) -> Callable[..., Array]:
    """``rule`` as a function ``name`` of one operand and NumPy's keywords."""

    def function(
        x: Any,
        /,
        out: Any = None,
        *,
        where: Any = True,
        casting: Any = "same_kind",
        order: Any = "K",
        dtype: Any = None,
        subok: bool = True,
        signature: Any = None,
    ) -> Array:
        plainly = out is None and where is True and dtype is None and signature is None
        if plainly and casting == "same_kind":
            checked_order(name, order)
            return rule(x)
        return told(name, rule, (x,), out, where, casting, order, dtype, signature)

    return named(function, name, doc)


def binary(name: str, rule: Callable[[Any, Any], Array], doc: str) -> Callable[..., Array]:
    """``rule`` as a function ``name`` of two operands and NumPy's keywords."""

    def function(
        x1: Any,
        x2: Any,
        /,
        out: Any = None,
        *,
        where: Any = True,
        casting: Any = "same_kind",
        order: Any = "K",
        dtype: Any = None,
        subok: bool = True,
        signature: Any = None,
    ) -> Array:
        plainly = out is None and where is True and dtype is None and signature is None
        if plainly and casting == "same_kind":
            checked_order(name, order)
            return rule(x1, x2)
        return told(name, rule, (x1, x2), out, where, casting, order, dtype, signature)

    return named(function, name, doc)


def pair_of_one(
    name: str, rules: tuple[Rule, Rule], line: str, returns: str, example: str
) -> Callable[..., tuple[Array, Array]]:
    """``rules`` as a function ``name`` of one operand that gives two arrays."""

    def function(
        x: Any,
        /,
        out: Any = (None, None),
        *,
        where: Any = True,
        casting: Any = "same_kind",
        order: Any = "K",
        dtype: Any = None,
        subok: bool = True,
        signature: Any = None,
    ) -> tuple[Array, Array]:
        return _twice(name, rules, (x,), out, (where, casting, order, dtype), signature)

    return named(function, name, _docstring(line, 1, _OF_TWO, returns, example))


def pair_of_two(
    name: str, rules: tuple[Rule, Rule], line: str, returns: str, example: str
) -> Callable[..., tuple[Array, Array]]:
    """The same of two operands."""

    def function(
        x1: Any,
        x2: Any,
        /,
        out: Any = (None, None),
        *,
        where: Any = True,
        casting: Any = "same_kind",
        order: Any = "K",
        dtype: Any = None,
        subok: bool = True,
        signature: Any = None,
    ) -> tuple[Array, Array]:
        return _twice(name, rules, (x1, x2), out, (where, casting, order, dtype), signature)

    return named(function, name, _docstring(line, 2, _OF_TWO, returns, example))


def _twice(
    name: str,
    rules: tuple[Rule, Rule],
    operands: tuple[Any, ...],
    out: Any,
    keywords: tuple[Any, Any, Any, Any],
    signature: Any,
) -> tuple[Array, Array]:
    outs = (None, None) if out is None else out
    if not isinstance(outs, tuple) or len(outs) != 2:
        raise ParameterError(f"{name}: out= takes a tuple of two arrays, not {out!r}")
    kinds: list[Any] = [None, None]
    if signature is not None:
        *given, first, second = dtypes_said(name, signature, keywords[-1], len(operands), 2)
        kinds = [(*given, first), (*given, second)]
    made = [told(name, rules[k], operands, outs[k], *keywords, kinds[k]) for k in (0, 1)]
    return made[0], made[1]


def plain(name: str, rule: Rule, line: str, example: str, takes_out: bool) -> Rule:
    """``rule`` as a function of one operand, which is no ufunc of NumPy's; some take ``out``."""
    keywords = "    out : Array, optional\n        Takes the result.\n" if takes_out else ""
    doc = documented(line, 1, example, keywords)

    def alone(x: Any) -> Array:
        return rule(x)

    def into(x: Any, out: Any = None) -> Array:
        return put(out, rule(x), name, spread=True)

    return named(into if takes_out else alone, name, doc)


def named(function: Callable[..., Any], name: str, doc: str) -> Callable[..., Any]:
    """``function`` as if it had been written with this name and docstring."""
    function.__name__ = function.__qualname__ = name
    function.__doc__ = doc
    _MADE[name] = function
    return function


def __getattr__(name: str) -> Any:
    """A function that was made here: pickles look for it in the module that it names."""
    if name in _MADE:
        return _MADE[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def told(
    name: str,
    rule: Callable[..., Array],
    operands: tuple[Any, ...],
    out: Any,
    where: Any,
    casting: Any,
    order: Any,
    dtype: Any,
    signature: Any = None,
) -> Array:
    """``rule`` of ``operands`` with NumPy's keywords."""
    checked_order(name, order)
    check_casting(name, casting)
    kinds: tuple[Any, ...] = ()
    if signature is not None:
        *said, dtype = dtypes_said(name, signature, dtype, len(operands), 1)
        kinds = tuple(said)
    result = rule(*cast_operands(name, operands, kinds, dtype, casting))
    if casting in ("no", "equiv") and not name.startswith("logical_"):  # these take any pair as is
        check_uncast(name, operands, result._expr.dtype, casting)
    if dtype is not None and result.dtype != dtypes.check(dtype):
        raise DTypeError(
            f"{name} cannot give dtype {dtypes.check(dtype)}: these operands give "
            f"{result.dtype}; leave dtype= out, or convert with .astype()"
        )
    return _chosen(name, result, out, where, casting)


def check_casting(name: str, casting: Any) -> None:
    """Refuse a word that is none of NumPy's rules."""
    if casting not in _CASTINGS:
        raise ParameterError(
            f"{name}: casting must be one of {', '.join(_CASTINGS)}, not {casting!r}"
        )


def dtypes_said(name: str, signature: Any, dtype: Any, takes: int, gives: int) -> tuple[Any, ...]:
    """The dtypes of operands and results that ``signature=`` says; None: any."""
    if dtype is not None:
        raise ParameterTypeError(f"{name}: dtype= and signature= say the same; leave one out")
    said: tuple[Any, ...] = signature if isinstance(signature, tuple) else (signature,)
    if isinstance(signature, str) and "->" in signature:
        first, _, last = signature.partition("->")
        said = (*first, *last)
    elif len(said) == 1:
        raise ParameterTypeError(f"{name}: signature={signature!r} is one dtype: say dtype=")
    if len(said) != takes + gives:
        raise ParameterError(
            f"{name}: signature= takes the dtypes of {takes} operands and {gives} "
            f"results, as a tuple or as letters with '->', not {signature!r}"
        )
    return said


def cast_operands(
    name: str, operands: tuple[Any, ...], kinds: Sequence[Any], dtype: Any, casting: str
) -> tuple[Any, ...]:
    """``operands`` in the dtypes ``kinds``, if those are said, or in ``dtype``."""
    if not any(kind is not None for kind in kinds):
        return _cast(name, operands, dtype, casting)
    return tuple(
        one if kind is None else converted(name, array_of(one), str(dtypes.check(kind)), casting)
        for one, kind in zip(operands, kinds, strict=True)
    )


def _cast(name: str, operands: tuple[Any, ...], dtype: Any, casting: str) -> tuple[Any, ...]:
    wanted = None if dtype is None else dtypes.check(dtype)
    if wanted in (None, "bool"):  # bool is the dtype of comparisons, whose operands have theirs
        return operands
    weak: tuple[type, ...] = (bool, int, float, type(None))  # None: no limit of clip
    if all(isinstance(one, weak) for one in operands):  # then they have dtypes of their own
        weak = (type(None),)
        for one in operands:
            dtypes.check_holds(str(wanted), one)
    return tuple(
        one if isinstance(one, weak) else converted(name, array_of(one), str(wanted), casting)
        for one in operands
    )


def _chosen(name: str, result: Array, out: Any, where: Any, casting: str) -> Array:
    if isinstance(out, tuple) and len(out) == 1:
        out = out[0]
    if where is not True:
        check_mask(where)
        otherwise = (
            out if isinstance(out, (Array, np.ndarray)) else False if result.dtype == bool else 0
        )
        if isinstance(otherwise, (Array, np.ndarray)):  # before they have a dtype in common
            kind = str(dtypes.check(otherwise.dtype))
            result = converted(name, result, kind, casting, out=True)
        chosen = elementwise("where", array_of(where).astype(bool), result, otherwise)
        result = chosen if out is not None else chosen.astype(result.dtype)
    return put(out, result, name, spread=True, casting=casting)
