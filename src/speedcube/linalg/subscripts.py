"""Subscripts of `einsum`, read: NumPy's strings, with ellipses, and its lists of numbers."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ..dataclass import dataclass
from ..errors import ParameterError

Labels = tuple[Any, ...]  # letters, and numbers for the axes of an ellipsis
_DOTS = "..."


@dataclass(frozen=True)
class Subscripts:
    """The labels of the axes of each operand, and of the result."""

    operands: tuple[Labels, ...]
    result: Labels


def read(arguments: Sequence[Any], ndim: Any) -> tuple[Subscripts, list[Any]]:
    """The subscripts among ``arguments``, and the operands; ``ndim`` gives the axes of one."""
    if not arguments:
        raise ParameterError("einsum takes subscripts and arrays: einsum('ij,jk->ik', a, b)")
    if isinstance(arguments[0], str):
        operands = list(arguments[1:])
        return _of_text(arguments[0], tuple([ndim(operand) for operand in operands])), operands
    inputs, result, operands = _of_lists(arguments)
    return _read(inputs, result, [ndim(operand) for operand in operands], "the lists"), operands


@lru_cache(maxsize=256)  # programs have few, and ask for them again
def _of_text(text: str, counts: tuple[int, ...]) -> Subscripts:
    """The subscripts in ``text``, of operands with so many axes each."""
    text = text.replace(" ", "")
    return _read(*_split(text), counts, text)


def _read(
    inputs: Sequence[list[Any]], result: list[Any] | None, counts: Sequence[int], text: str
) -> Subscripts:
    if len(inputs) != len(counts):
        raise ParameterError(
            f"einsum: {text!r} names {len(inputs)} operands, and {len(counts)} are given"
        )
    spread = [
        _with_ellipsis(labels, count, text) for labels, count in zip(inputs, counts, strict=True)
    ]
    widest = max((len(dots) for _, dots in spread), default=0)
    dots: Labels = tuple(range(-widest, 0))
    listed = tuple(labels for labels, _ in spread)
    return Subscripts(listed, _result(result, listed, dots, text))


def _split(text: str) -> tuple[list[list[str]], list[str] | None]:
    """The labels of the operands, and of the result where an arrow gives them."""
    left, arrow, right = text.partition("->")
    if ">" in left or "-" in left or ">" in right or "-" in right:
        raise ParameterError(f"einsum: {text!r} may have one arrow, ->, before the result")
    if "," in right:
        raise ParameterError(f"einsum: {text!r} has a comma in its result, which is one array")
    return [_labels(one, text) for one in left.split(",")], _labels(right, text) if arrow else None


def _labels(part: str, text: str) -> list[str]:
    found, before = [], part
    while before:
        if before.startswith(_DOTS):
            found.append(_DOTS)
            before = before[len(_DOTS) :]
        elif before[0].isascii() and before[0].isalpha():
            found.append(before[0])
            before = before[1:]
        else:
            raise ParameterError(
                f"einsum: {before[0]!r} in {text!r} is not a label: labels are letters, "
                "and an ellipsis has three dots"
            )
    if found.count(_DOTS) > 1:
        raise ParameterError(f"einsum: {part!r} has more than one ellipsis")
    return found


def _of_lists(arguments: Sequence[Any]) -> tuple[list[list[Any]], list[Any] | None, list[Any]]:
    """Operands, each with a list of the numbers of its axes; a last list is the result's."""
    operands, lists = list(arguments[0::2]), list(arguments[1::2])
    result = operands.pop() if len(arguments) % 2 else None
    try:
        letters = [[_label(one) for one in each] for each in lists]
        last = None if result is None else [_label(one) for one in result]
    except TypeError as err:
        raise ParameterError(
            "einsum takes subscripts as text, or arrays each with a list of numbers"
        ) from err
    return letters, last, operands


def _label(one: Any) -> str:
    return _DOTS if one is Ellipsis else letter(operator.index(one))


def letter(number: int) -> str:
    """The letter that stands for axis ``number``."""
    if not 0 <= number < 52:
        raise ParameterError(f"einsum: numbers of axes are from 0 to 51, not {number}")
    return chr(ord("A") + number) if number < 26 else chr(ord("a") + number - 26)


def _with_ellipsis(labels: list[Any], ndim: int, text: str) -> tuple[Labels, Labels]:
    """The labels of all axes, numbers from the end for those of the ellipsis; and those."""
    named = [label for label in labels if label != _DOTS]
    rest = ndim - len(named)
    if rest < 0 or (rest and _DOTS not in labels):
        raise ParameterError(
            f"einsum: {''.join(map(str, labels))!r} in {text!r} names {len(named)} axes, and the "
            f"operand has {ndim}"
        )
    dots = tuple(range(-rest, 0))
    found: list[Any] = []
    for label in labels:
        found += dots if label == _DOTS else (label,)
    return tuple(found), dots


def _result(given: list[str] | None, operands: Sequence[Labels], dots: Labels, text: str) -> Labels:
    flat = [label for labels in operands for label in labels if isinstance(label, str)]
    if given is None:
        return (*dots, *sorted(label for label in {*flat} if flat.count(label) == 1))
    found: list[Any] = []
    for label in given:
        if label == _DOTS:
            found += dots
            continue
        if label in found:
            raise ParameterError(f"einsum: {text!r} has {label!r} twice in its result")
        if label not in flat:
            raise ParameterError(f"einsum: {text!r} has {label!r} only in its result")
        found.append(label)
    if dots and _DOTS not in given:
        raise ParameterError(
            f"einsum: {text!r} has no ellipsis in its result, and its operands have one"
        )
    return tuple(found)
