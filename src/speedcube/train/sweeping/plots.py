"""The article's two figures: loss of every trial over epochs and seconds; time to a target loss."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ...errors import ParameterError
from .curves import number
from .record import Settings
from .space import RANKS, Range, ranks_key
from .trials import Traced, TrialResult

PICTURES: Final = (".png", ".svg")
MOST_NAMED: Final = 30  # trials that a legend still has room for


def curves(settings: Settings, trials: Sequence[Traced]) -> Any:
    """The metric of every trial against epoch (step where none is reported) and seconds."""
    figure = _figure(11, 4.2)
    left, right = figure.subplots(1, 2, sharey=True)
    drawn = [trial for trial in trials if trial.curve]
    epochs = bool(drawn) and all(
        number(point.metrics.get("epoch")) is not None for t in drawn for point, _ in t.curve
    )
    for trial in drawn:
        finite = [(point, value) for point, value in trial.curve if math.isfinite(value)]
        values = [value for _, value in finite]
        at = [point.metrics["epoch"] if epochs else point.step for point, _ in finite]
        look = {"linewidth": 1.2, "marker": "o", "markersize": 2.5}
        (line,) = left.plot(at, values, label=label(settings, trial.result), **look)
        right.plot([p.seconds for p, _ in finite], values, color=line.get_color(), **look)
    left.set_xlabel("epoch" if epochs else "step")
    right.set_xlabel("seconds of training")
    left.set_ylabel(_plain(settings.metric))
    for axes in (left, right):
        axes.grid(alpha=0.3)
        if settings.target is not None and drawn:
            axes.axhline(settings.target, color="black", linewidth=0.8, linestyle="--")
    if 0 < len(drawn) <= MOST_NAMED:
        figure.legend(*left.get_legend_handles_labels(), loc="outside right upper", fontsize=7)
    return figure


def fastest(trials: Sequence[Traced]) -> dict[int, TrialResult]:
    """For each number of ranks the trial that reached the target first; fewest ranks first."""
    found: dict[int, TrialResult] = {}
    for trial in trials:
        result = trial.result
        if result.target_seconds is None:
            continue
        before = found.get(result.ranks)
        if before is None or result.target_seconds < (before.target_seconds or 0.0):
            found[result.ranks] = result
    return dict(sorted(found.items()))


def ideal(found: dict[int, TrialResult]) -> list[float]:
    """The time of the fewest ranks, divided by how many times more there are."""
    least = next(iter(found))
    seconds = found[least].target_seconds or 0.0
    return [seconds * least / ranks for ranks in found]


def target_times(settings: Settings, trials: Sequence[Traced]) -> Any:
    """Bars: seconds to the target by number of ranks, with the ideal line."""
    if settings.target is None:
        raise ParameterError(f"the sweep has no target: give target=, a value of {settings.metric}")
    found = fastest(trials)
    if not found:
        raise ParameterError(
            f"no trial reached {settings.metric} {settings.target:g}: give a target that is "
            "easier to reach"
        )
    figure = _figure(2.6 + 1.3 * len(found), 4.0)
    axes = figure.subplots()
    at = range(len(found))
    seconds = [result.target_seconds for result in found.values()]
    bars = axes.bar(at, seconds, 0.55, color="#1f77b4", label="fastest trial")
    axes.bar_label(bars, [f"{s:.3g} s" for s in seconds], fontsize=8)
    axes.plot(at, ideal(found), color="#ff7f0e", marker="_", markersize=22, label="ideal")
    names = [f"{ranks}\n{label(settings, result, RANKS)}" for ranks, result in found.items()]
    axes.set_xticks(at, names, fontsize=7)
    axes.set_xlabel("GPUs" if ranks_key(settings.space) == "gpus" else "ranks")
    axes.set_ylabel("seconds of training")
    axes.set_title(_plain(f"time to {settings.metric} {settings.target:g}"), fontsize=9)
    axes.margins(y=0.25)
    axes.set_ylim(bottom=0)
    axes.legend(fontsize=8)
    return figure


def label(settings: Settings, result: TrialResult, known: Sequence[str] = ()) -> str:
    """What is special about a trial: the parameters that vary, but for those that are known."""
    varied = [
        f"{name}={_short(result.params[name])}"
        for name, axis in settings.space.items()
        if name not in known and (isinstance(axis, Range) or len(axis) > 1)
    ]
    return _plain(", ".join(varied) or f"trial {result.number}")


def _short(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 24 else text[:23] + "…"


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
            f"the figures of a sweep need matplotlib, which cannot be imported ({err}); "
            "pip install speedcube[sweep]"
        ) from err
    return Figure(figsize=(width, height), layout="constrained")


def saved(figure: Any, path: str | os.PathLike[str] | None) -> Any:
    """``figure``, written to ``path`` if that is given."""
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
        figure.savefig(file, dpi=130, **options)
