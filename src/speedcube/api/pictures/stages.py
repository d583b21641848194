"""A plan as a picture: its stages from above to below, and which reads what of which."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Final

from ...dataclass import dataclass
from ...numbers import bytes_text, count_text
from ...plan.plan import Plan
from ...shown import line
from .svg import FONT, Point, picture, polygon, polyline, text, text_width

_LETTERS: Final = 64  # of a line in a box
_LINES: Final = 4
_ROW: Final = FONT * 1.35
_PAD: Final = 8.0
_BETWEEN: Final = 18.0  # from one box to the next
_LANE: Final = 9.0
_LANES: Final = 12  # lines that lie side by side at most; more share the outermost
_ENDS: Final = 20  # stages that are drawn of each end of a long plan


@dataclass(frozen=True)
class PlanPicture:
    """A plan's stages as SVG: ``str`` gives its text, and a notebook shows it."""

    svg: str

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<PlanPicture: {len(self.svg):,} letters of SVG>"

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class _Card:
    """A box of the picture: what stands in it, and which stages it reads."""

    number: int  # of its stage; -1: of several, or of none
    lines: list[str]
    reads: tuple[int, ...] = ()

    @property
    def height(self) -> float:
        return 2 * _PAD + _ROW * len(self.lines) - (_ROW - FONT)


def stages_picture(plan: Plan) -> PlanPicture:
    """``plan`` as a picture; of a long one its first and last stages."""
    cards = [_head(plan), *_cards(plan)]
    edges = _edges(cards)
    lanes = _lanes(edges)
    left = _PAD + _LANE * (1 + max(lanes, default=0))
    wide = max(text_width(words) for card in cards for words in card.lines) + 2 * _PAD
    parts, tops = list[str](), list[float]()
    at = _PAD
    for card in cards:
        tops.append(at)
        parts += _drawn(card, (left, at), wide)
        at += card.height + _BETWEEN
    for (start, end), lane in zip(edges, lanes, strict=True):
        begin = tops[start] + cards[start].height
        parts += _arrow(begin, tops[end], left, lane, cards[end].height)
    title = f"Plan on {plan.rung}: {len(plan.stages):,} stages"
    return PlanPicture(picture(parts, (left + wide + _PAD, at - _BETWEEN + _PAD), title))


def _head(plan: Plan) -> _Card:
    """What is known of all stages together."""
    first = f"Plan on {plan.rung}, {plan.workers:,} worker{'s' * (plan.workers != 1)}"
    second = (
        f"{count_text(plan.elements)} elements, {plan.tasks:,} task{'s' * (plan.tasks != 1)}, "
        f"at most {bytes_text(plan.peak_bytes)} a worker, result {bytes_text(plan.result_bytes)}"
    )
    return _Card(-1, [first, *_wrapped(second)])


def _cards(plan: Plan) -> list[_Card]:
    """A box for each stage; one for those in the middle of a long plan."""
    makers = {id(stage.result): k for k, stage in enumerate(plan.stages)}
    count = len(plan.stages)
    cut = range(_ENDS, count - _ENDS) if count > 2 * _ENDS + 1 else range(0)
    cards, number = list[_Card](), 0
    for one in plan.passes:
        first = number
        reads = tuple(
            dict.fromkeys(makers[id(need)] for need in one.visited.needs if id(need) in makers)
        )
        for stage in one.stages:
            if number not in cut:
                words = plan.described(number, stage, one, first)[0].strip()
                cards.append(_Card(number, _wrapped(words), reads))
            elif number == cut.start:
                cards.append(_Card(-1, [f"... {len(cut):,} stages more ..."]))
            number += 1
    return cards


def _wrapped(words: str) -> list[str]:
    return wrap(line(words, _LETTERS * _LINES - _LINES * 8), _LETTERS, break_long_words=True)


def _edges(cards: Sequence[_Card]) -> list[tuple[int, int]]:
    """Pairs of places in ``cards``: which is read by which."""
    places = {card.number: k for k, card in enumerate(cards) if card.number >= 0}
    return [
        (places[number], k)
        for k, card in enumerate(cards)
        for number in card.reads
        if number in places
    ]


def _lanes(edges: Sequence[tuple[int, int]]) -> list[int]:
    """How far left each line runs, so that no two lie on each other; 0: straight down."""
    busy: list[list[tuple[int, int]]] = []
    lanes = []
    for start, end in edges:
        if end == start + 1:
            lanes.append(0)
            continue
        lane = 0
        while lane < min(len(busy), _LANES - 1) and any(
            start < other_end and other < end for other, other_end in busy[lane]
        ):
            lane += 1
        if lane == len(busy):
            busy.append([])
        busy[lane].append((start, end))
        lanes.append(lane + 1)
    return lanes


def _drawn(card: _Card, at: Point, width: float) -> list[str]:
    x, y = at
    height = card.height
    style = "face" if card.number >= 0 else "empty"
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    rows = [
        text((x + _PAD, y + _PAD + FONT * 0.85 + _ROW * k), words)
        for k, words in enumerate(card.lines)
    ]
    return [polygon(corners, style), *rows]


def _arrow(start: float, end: float, left: float, lane: int, height: float) -> list[str]:
    """From the lower end of one box to another: down, or along a lane at the left."""
    if not lane:
        x = left + 3 * _PAD
        return [
            polyline([(x, start), (x, end)], "arrow"),
            polyline([(x - 3, end - 5), (x, end), (x + 3, end - 5)], "arrow"),
        ]
    x, above, below = left - _LANE * lane, start - _PAD, end + min(_PAD, height / 2)
    return [
        polyline([(left, above), (x, above), (x, below), (left, below)], "arrow"),
        polyline([(left - 5, below - 3), (left, below), (left - 5, below + 3)], "arrow"),
    ]
