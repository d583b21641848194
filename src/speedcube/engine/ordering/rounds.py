"""Counting and selecting by workers that share no memory: questions about shares, and answers.

Each round asks every worker about its own share. What the answers say together is the next
question; that of the last round is the result. It is what one worker alone would find.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any, Final, TypeAlias

import numpy as np

from ...dataclass import dataclass
from ...expr.through.node import Through
from ...expr.through.ordering import parts_by
from ...expr.through.table import OPERATIONS
from ..grouping import shares
from .counting import counted
from .elements import AllElements, Array
from .keys import KeyRange, counts_within, value_of, zero_at
from .scattering import scattered, scattered_together
from .selecting import READ, brackets_of, counted_in, known_of, sample_of
from .sieved import joined
from .weighing import first_top, rounded, sums_of

Question: TypeAlias = Any
Answer: TypeAlias = Any


@dataclass(frozen=True)
class Asked:
    """What is known of a `Through` without its elements."""

    op: str
    options: tuple[Any, ...]
    dtype: str
    size: int
    line: int
    made: str


def asked(source: Through) -> Asked:
    """What ``source`` asks for."""
    x = source.args[-1]
    return Asked(source.op, source.options, x.dtype, source.count, source.line, source.dtype)


def answer(source: Through, given: list[AllElements], number: int, question: Question) -> Answer:
    """What share ``number`` says to ``question``; the first is None."""
    return ASKED[OPERATIONS[source.op].way].answer(source, given, number, question)


def decide(what: Asked, question: Question, answers: Sequence[Answer]) -> Question:
    """The next question, or the result."""
    return ASKED[OPERATIONS[what.op].way].decide(what, question, answers)


# Counting ----------------------------------------------------------------------------------------


def _count(source: Through, given: list[AllElements], number: int, question: Question) -> Array:
    return counted(source, given)


def _counts(what: Asked, question: Question, answers: Sequence[Array]) -> Array:
    return np.asarray(sum(answers[1:], start=answers[0]))


def _weigh(source: Through, given: list[AllElements], number: int, top: int | None) -> Answer:
    return first_top(given) if top is None else sums_of(source, given, top)


def _weights(what: Asked, top: int | None, answers: Sequence[Any]) -> int | Array:
    if top is None:
        return int(max(answers))
    whole, *others = map(deepcopy, answers)  # Dask may give them once more
    for other in others:
        whole.join(other)
    return rounded(whole)


def _scatter(source: Through, given: list[AllElements], number: int, question: Question) -> Array:
    return scattered(source, given)


def _scattered(what: Asked, question: Question, answers: Sequence[Array]) -> Array:
    return scattered_together(what.op, answers)


# Selecting ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Zero:
    """The zero after ``rank`` others; ``share``: it is in that one, after ``rank`` of its own."""

    rank: int
    share: int | None = None


# What is known of the element of a place: itself, its key's range, or that it is a zero.
Known: TypeAlias = Any


@dataclass(frozen=True)
class PlacesKnown:
    """What is known of each place that is asked for."""

    known: dict[int, Known]

    def open(self, kind: type) -> dict[int, Any]:
        return {place: one for place, one in self.known.items() if isinstance(one, kind)}


def _look(source: Through, given: list[AllElements], number: int, question: Question) -> Answer:
    elements = given[0]
    if question is None:
        return sample_of(elements, READ)  # alike, so that those of all workers are one table
    if isinstance(question, np.ndarray):
        return None
    if not isinstance(question, PlacesKnown):
        return [joined(threads) for threads in counted_in(elements, question)]
    ranges = set(question.open(KeyRange).values())
    counts = {one: counts_within(elements, one) for one in ranges}
    zeros = question.open(Zero).values()
    if any(one.share is None for one in zeros):
        return counts, _zeros(elements), {}
    mine = {one.rank: zero_at(elements, one.rank) for one in zeros if one.share == number}
    return counts, (0, 0), mine


def _zeros(elements: AllElements) -> tuple[int, int]:
    """How many zeros there are, and how many of them are negative."""
    count = negative = 0
    for block in elements.blocks(0, elements.size):
        zeros = block[block == 0]
        count += len(zeros)
        negative += int(np.count_nonzero(np.signbit(zeros)))
    return count, negative


def _found(what: Asked, question: Question, answers: Sequence[Any]) -> Question:
    places, dtype = sorted(set(what.options)), np.dtype(what.dtype)
    if isinstance(question, np.ndarray):
        return question  # all were found
    if question is None:
        return brackets_of(np.concatenate(answers), places, what.size)
    if isinstance(question, PlacesKnown):
        search = _narrowed(question, dtype, answers)
    else:
        known: dict[int, Known] = {}
        for bracket, shares in zip(question, zip(*answers, strict=True), strict=True):
            values, around = known_of(bracket, list(shares), dtype)
            known |= values | around
        search = PlacesKnown(known)
    if search.open(KeyRange) or search.open(Zero):
        return search
    return np.array([search.known[place] for place in what.options], dtype)


def _narrowed(search: PlacesKnown, dtype: Any, answers: Sequence[Any]) -> PlacesKnown:
    known = dict(search.known)
    for place, within in search.open(KeyRange).items():
        if within.low < within.high:
            counts = sum(share[0][within] for share in answers)
            within = within.part_with(place, counts)
        known[place] = within if within.low < within.high else _value(within, place, dtype)
    for place, zero in search.open(Zero).items():
        known[place] = _signed(zero, answers)
    return PlacesKnown(known)


def _value(within: KeyRange, place: int, dtype: Any) -> Known:
    value = value_of(within.low, dtype)
    return Zero(place - within.below) if dtype.kind == "f" and value == 0 else value


def _signed(zero: Zero, answers: Sequence[Any]) -> Known:
    """The zero, if all have one sign or its share was asked; else which share that is."""
    if zero.share is not None:
        return answers[zero.share][2][zero.rank]
    counts = np.array([zeros for _, zeros, _ in answers]).sum(axis=0)
    if counts[1] in (0, counts[0]):
        return -0.0 if counts[1] else 0.0
    rank = zero.rank
    for share, (_, (count, _), _) in enumerate(answers):
        if rank < count:
            return Zero(rank, share)
        rank -= count
    raise AssertionError("there are more zeros than that")


@dataclass(frozen=True)
class PartBounds:
    """The elements at the places of a partition, which part those of each share."""

    values: Array


def _part(source: Through, given: list[AllElements], number: int, question: Question) -> Answer:
    if isinstance(question, PartBounds):
        return parts_by(given[0].held(), question.values)
    return _look(source, given, number, question)


def _parted(what: Asked, question: Question, answers: Sequence[Any]) -> Question:
    """Part after part of all shares, which keeps the order of positions."""
    if isinstance(question, PartBounds):
        return np.concatenate([part for shares in zip(*answers, strict=True) for part in shares])
    search = _found(what, question, answers)
    if isinstance(search, np.ndarray) and not isinstance(question, np.ndarray):
        return PartBounds(search)
    return search


@dataclass(frozen=True)
class Asking:
    """What a worker answers about its share, and what the answers make of a question."""

    answer: Callable[..., Answer]
    decide: Callable[..., Question]


ASKED: Final = {
    "counts": Asking(_count, _counts),
    "sums of weights": Asking(_weigh, _weights),
    "selection": Asking(_look, _found),
    "partition": Asking(_part, _parted),
    "scatter": Asking(_scatter, _scattered),
    "sums of groups": Asking(shares.sums_of_share, shares.sums_decided),
    "numbers of groups": Asking(shares.numbers_of_share, shares.numbers_decided),
    "foremost of groups": Asking(shares.foremost_of_share, shares.foremost_decided),
}
