"""Tasks of what is sorted, selected or counted on several workers: each about its share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ....expr.nodes import Through
from ....plan.stages import make_stage
from ...ordering.elements import AllElements, Array, elements_of
from ...ordering.exchange import SortedPiece, pieces_of, sample_of_share
from ...ordering.rounds import Answer, Asked, Question, answer, decide
from ...results import inputs_of
from ...several import Outcome
from ..remote import SentPart
from .here import worker_here


def answer_part(
    sent: SentPart,
    gpu: bool | None,
    threads: int | None,
    number: int,
    question: Question,
    *arrays: Any,
) -> Answer:
    """Task: what share ``number`` says to ``question``."""
    source, given = _share(sent, gpu, threads, arrays)
    return answer(source, given, number, question)


def decided(what: Asked, question: Question, *answers: Answer) -> Question:
    """Task: the next question, or the result."""
    return decide(what, question, answers)


def sample_part(sent: SentPart, gpu: bool | None, threads: int | None, *arrays: Any) -> Array:
    """Task: some elements of a share."""
    return sample_of_share(_share(sent, gpu, threads, arrays)[1])


def sort_part(
    sent: SentPart, gpu: bool | None, threads: int | None, cuts: Array, *arrays: Any
) -> list[SortedPiece]:
    """Task: a share sorted, and cut at ``cuts``."""
    source, given = _share(sent, gpu, threads, arrays)
    return pieces_of(source, given, sent.part.start * math.prod(sent.part.root.shape[1:]), cuts)


def picked_of(number: int, outcome: Outcome) -> Array:
    """Task: what a part gave of one stage."""
    return np.asarray(outcome[number])


def piece_of(number: int, pieces: Sequence[SortedPiece]) -> SortedPiece:
    """Task: one of ``pieces``."""
    return pieces[number]


def _share(
    sent: SentPart, gpu: bool | None, threads: int | None, arrays: Sequence[Any]
) -> tuple[Through, list[AllElements]]:
    """What is asked for, and the elements of a share."""
    count, worker = worker_here(gpu, threads)
    source = sent.source
    assert isinstance(source, Through)
    stage = make_stage(sent.part.root, source, count)
    inputs = inputs_of(stage.sent(len(arrays)), arrays)
    roots = source.args
    walked = worker.walked(roots, inputs, stage.threads)
    if walked is not None:
        return source, walked
    how = worker.device, worker.stop, worker.store, stage.threads
    return source, elements_of(roots, inputs, *how)
