"""Figures of curves and of times, drawn with matplotlib."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from ...errors import ParameterError
from .curves import Series, number

PICTURES: Final = (".png", ".svg")
COLOURS: Final = tuple(f"C{k}" for k in range(10))  # matplotlib's own
DASHES: Final = ("-", "--", ":")  # the second and third ten curves have the colours again
MOST_NAMED: Final = len(COLOURS) * len(DASHES)  # curves that a legend can tell apart
NAME_HEIGHT: Final = 0.16  # inches of one in a legend
LARGEST: Final = 1e100  # that matplotlib can put on an axis, with room for what it adds
FAR: Final = 100.0  # times the least value, above which the axis is logarithmic


def curves_figure(named: Sequence[tuple[str, Series]], up: str, target: float | None = None) -> Any:
    """Two plots of the same curves, against epoch (or step) and against seconds.

    Parameters
    ----------
    named
        Each curve with its name. The left plot is over epochs where every point reports an "epoch".
    up
        What the values are.
    target
        A value that is marked in both plots.
    """
    epochs = have_epochs(curve for _, curve in named)
    in_legend = len(named) if len(named) <= MOST_NAMED else 0
    figure = _figure(11, max(4.2, 0.4 + NAME_HEIGHT * in_legend))
    left, right = figure.subplots(1, 2, sharey=True)
    for place, (name, curve) in enumerate(named):
        points, values = [point for point, _ in curve], [_drawable(value) for _, value in curve]
        across = [
            _drawable(float(point.metrics["epoch"] or 0) if epochs else point.step)
            for point in points
        ]
        left.plot(across, values, label=_plain(name), **look_of(place))
        right.plot([_drawable(point.seconds) for point in points], values, **look_of(place))
    left.set_xlabel("epoch" if epochs else "step")
    right.set_xlabel("seconds of training")
    left.set_ylabel(_plain(up))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        if target is not None and named:
            axes.axhline(target, color="black", linewidth=0.8, linestyle="--")
    if _far_apart([value for _, curve in named for _, value in curve]):
        left.set_yscale("log")
    if in_legend:
        figure.legend(
            *left.get_legend_handles_labels(),
            loc="outside right upper",
            fontsize=7,
            handlelength=3.5,  # long enough to tell dashes from dots
        )
    return figure


def have_epochs(curves: Iterable[Series]) -> bool:
    """Whether every point of these curves says in which epoch it is, and there is one."""
    epochs = [number(point.metrics.get("epoch")) for curve in curves for point, _ in curve]
    return bool(epochs) and None not in epochs


def look_of(place: int) -> dict[str, Any]:
    """How the curve at ``place`` is drawn: unlike those of `MOST_NAMED` others."""
    dashes = DASHES[place // len(COLOURS) % len(DASHES)]
    look = {"linewidth": 1.2, "marker": "o", "markersize": 2.5}
    return look | {"color": COLOURS[place % len(COLOURS)], "linestyle": dashes}


def _drawable(value: float) -> float:
    """``value``, or NaN, where a curve breaks: of what is too large to be drawn, too."""
    return value if abs(value) < LARGEST else math.nan


def _far_apart(values: Iterable[float]) -> bool:
    """Whether one curve that diverged would press all others flat on a linear axis."""
    drawn = [value for value in values if abs(value) < LARGEST]
    return bool(drawn) and 0 < FAR * min(drawn) < max(drawn)


def times_figure(
    bars: Sequence[tuple[str, str, float]],
    ideal: Sequence[float],
    *,
    kind: str,
    across: str,
    title: str,
) -> Any:
    """Bars of seconds, and the ideal times as a line.

    Each of ``bars`` has a name, a line of words to stand below it, and its seconds. ``kind`` says
    what the bars are, ``across`` what differs between them.
    """
    figure = _figure(2.6 + 1.3 * len(bars), 4.0)
    axes = figure.subplots()
    places, seconds = range(len(bars)), [time for _, _, time in bars]
    drawn = axes.bar(places, seconds, 0.55, color="#1f77b4", label=kind)
    axes.bar_label(drawn, [f"{s:.3g} s" for s in seconds], fontsize=8, padding=4)
    axes.plot(places, ideal, color="#ff7f0e", marker="_", markersize=22, label="ideal")
    names = [f"{_plain(name)}\n{_plain(words)}" for name, words, _ in bars]
    axes.set_xticks(places, names, fontsize=7)
    axes.set_xlabel(across)
    axes.set_ylabel("seconds of training")
    axes.set_title(_plain(title), fontsize=9)
    top = 1.25 * max([0.0, *seconds, *ideal])
    axes.set_ylim(0, min(max(top, 1e-6), 1e300))  # an axis of no length cannot be drawn
    axes.legend(fontsize=8)
    return figure


def _plain(text: str) -> str:
    """``text`` as matplotlib shows it unchanged: no formulas, no control characters."""
    shown = "".join(c if c.isprintable() else "?" for c in text).replace("$", r"\$")
    return f" {shown}" if shown.startswith("_") else shown  # legends leave out names with a "_"


def _figure(width: float, height: float) -> Any:
    try:
        # Not pyplot: it would choose a backend for the whole process.
        from matplotlib.figure import Figure
    except ImportError as err:
        raise ParameterError(
            f"figures need matplotlib, which cannot be imported ({err}); "
            "pip install speedcube[sweep]"
        ) from err
    return Figure(figsize=(width, height), layout="constrained")


def save_figure(figure: Any, path: str | os.PathLike[str] | None) -> Any:
    """``figure``, written to ``path`` (.png or .svg) if that is given."""
    if path is not None:
        if Path(path).suffix.lower() not in PICTURES:
            raise ParameterError(f"{os.fspath(path)!r}: a figure is a .png or a .svg file")
        draw(figure, path)
    return figure


def draw(figure: Any, file: Any, **options: Any) -> None:
    """Save a figure; SVG with its texts as texts, and the same bytes each time."""
    import matplotlib

    look = {"svg.fonttype": "none", "svg.hashsalt": "speedcube"}
    with matplotlib.rc_context(look), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # signs that the font lacks
        warnings.simplefilter("ignore", RuntimeWarning)  # axes of numbers near the largest
        figure.savefig(file, dpi=130, **options)
