"""Groups whose elements lie with several workers: what each answers, and what follows from it.

Shares lie along lines, in their order. Sums are added nearly exactly first; where a result is not
certain then, its group is asked for again, and made of integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ...dataclass import dataclass
from ...expr.through.grouping import Options, nothing
from ...expr.through.node import Through
from ...expr.through.ordering import one_nan
from ..ordering.elements import AllElements, Array, in_memory
from .exact import GroupSums, exact_sums, rounded_once
from .finish import finished
from .folds import numbers
from .foremost import foremost_of, foremost_places
from .members import members_of
from .stream import line_of
from .sums import are_doubles, merged_sums, near_sums, wrapped

What: TypeAlias = Any  # `ordering.rounds.Asked`


def _op(what: What | Through) -> str:
    return str(what.op.removeprefix("group_"))


def _squares(what: What | Through) -> bool:
    return _op(what) in ("var", "std")


# Sums ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Uncertain:
    """Results in a row, and the numbers of those that have to be made of integers."""

    results: Array
    numbers: Array


def sums_of_share(
    source: Through, given: list[AllElements], number: int, question: Any
) -> Array | list[GroupSums] | None:
    """Sums of a share: those of integers; parts that miss hardly a bit; exact ones."""
    if isinstance(question, np.ndarray):
        return None  # all are known
    codes, x = given
    options, squares = Options(*source.options), _squares(source)
    if np.dtype(source.dtype).kind != "f":
        return wrapped(codes, x, options)
    if isinstance(question, Uncertain):
        return _exact_of_share(codes, x, options, squares, question.numbers)
    if x.dtype.itemsize == 8 and x.dtype.kind in "iu" and not are_doubles(x):
        return None
    lines, length = x.root.shape
    sums = [
        near_sums(codes, x, k * length, (0, length), options, squares).copy() for k in range(lines)
    ]
    return np.concatenate(sums, axis=1)


def _exact_of_share(
    codes: AllElements, x: AllElements, options: Options, squares: bool, places: Array
) -> list[GroupSums]:
    members, length = members_of(codes, options.groups), x.root.shape[1]
    found = []
    for k, g in zip(*np.divmod(places, options.groups), strict=True):
        values = line_of(x, int(k), length)[members.of(int(g))]
        found.append(exact_sums(values, options.skip, squares))
    return found


def sums_decided(what: What, question: Any, answers: Sequence[Any]) -> Array | Uncertain:
    """The sums, or which of them are to be made again."""
    options, dtype = Options(*what.options), np.dtype(what.made)
    if isinstance(question, np.ndarray):
        return question
    if dtype.kind != "f":
        with np.errstate(over="ignore"):
            return np.asarray(sum(answers[1:], start=answers[0]))
    if isinstance(question, Uncertain):
        return _put_right(what, question, answers)
    lines = what.size // what.line
    if any(answer is None for answer in answers):
        everything = np.arange(lines * options.groups)
        return Uncertain(np.empty(len(everything), dtype), everything)
    total = merged_sums([answer.copy() for answer in answers])
    made, sure = finished(_op(what), total, dtype, options.ddof)
    if sure.all():
        return np.asarray(made).reshape(lines, -1)
    return Uncertain(made, np.flatnonzero(~sure))


def _put_right(what: What, question: Uncertain, answers: Sequence[Sequence[GroupSums]]) -> Array:
    options, results = Options(*what.options), question.results.copy()
    for place, shares in zip(question.numbers.tolist(), zip(*answers, strict=True), strict=True):
        total = sum(shares[1:], start=shares[0])
        results[place] = rounded_once(_op(what), total, results.dtype, options.ddof)
    return results.reshape(-1, options.groups)


# Counts -------------------------------------------------------------------------------------------


def numbers_of_share(
    source: Through, given: list[AllElements], number: int, question: Any
) -> Array:
    """How many elements of a share are no NaN."""
    return numbers(given[0], given[1], Options(*source.options))


def numbers_decided(what: What, question: Any, answers: Sequence[Array]) -> Array:
    """How many there are in all."""
    return np.asarray(sum(answers[1:], start=answers[0]))


# Who comes first ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class ForemostOfShare:
    """Key and place of each group's foremost element, line after line, and the element.

    ``length``: how many elements of a line the share has.
    """

    found: Array
    values: Array | None
    length: int


def foremost_of_share(
    source: Through, given: list[AllElements], number: int, question: Any
) -> ForemostOfShare:
    """What comes first in each group of a share."""
    options, op = Options(*source.options), _op(source)
    by_place = op.startswith("arg")
    codes, x = given[0], given[1] if by_place else in_memory(given[1])
    lines, length = x.root.shape
    each = [foremost_places(op, codes, x, k * length, (0, length), options) for k in range(lines)]
    found = np.concatenate(each)
    if by_place or not length:
        return ForemostOfShare(found, None if by_place else np.empty(len(found), x.dtype), length)
    first = np.repeat(np.arange(lines) * length, options.groups)
    return ForemostOfShare(found, x.held()[first + found[:, 1].clip(0)], length)


def foremost_decided(what: What, question: Any, answers: Sequence[ForemostOfShare]) -> Array:
    """The places or the elements of what comes first in all shares."""
    options, start, parts = Options(*what.options), 0, []
    for answer in answers:
        part = answer.found.copy()
        part[part[:, 1] >= 0, 1] += start
        parts.append(part)
        start += answer.length
    places = foremost_of(_op(what), parts)[:, 1]
    if answers[0].values is None:
        return places.reshape(-1, options.groups)
    ends = np.cumsum([answer.length for answer in answers])
    owner = np.searchsorted(ends, places, side="right")
    results = np.full(len(places), nothing(np.dtype(what.made)), what.made)
    for k, answer in enumerate(answers):
        own = (places >= 0) & (owner == k)
        assert answer.values is not None
        results[own] = answer.values[own]
    return one_nan(results).reshape(-1, options.groups)
