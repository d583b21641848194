"""The article's two figures: loss of every trial over epochs and seconds; time to a target loss."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ...errors import ParameterError
from ..sweeps.record import Settings
from ..sweeps.space import RANKS, Range, ranks_key
from ..sweeps.trials import Traced, TrialResult
from .curves import Point, number

PICTURES: Final = (".png", ".svg")
COLOURS: Final = tuple(f"C{k}" for k in range(10))  # matplotlib's own
DASHES: Final = ("-", "--", ":")  # the second and third ten trials have the colours again
MOST_NAMED: Final = len(COLOURS) * len(DASHES)  # trials that a legend can tell apart
NAME_HEIGHT: Final = 0.16  # inches of one in a legend
FAR: Final = 100.0  # times the least value, above which the axis is logarithmic


@dataclass(frozen=True)
class Line:
    """One curve: what it is called, and at which epochs (or steps) and seconds its values came."""

    name: str
    at: list[float]
    seconds: list[float]
    values: list[float]

    @classmethod
    def of(cls, name: str, curve: Sequence[tuple[Point, float]], epochs: bool) -> Line:
        """A curve against the epoch that was reported or the step; it breaks where it diverged."""
        at = [float(point.metrics["epoch"] or 0) if epochs else point.step for point, _ in curve]
        values = [value if math.isfinite(value) else math.nan for _, value in curve]
        return cls(name, at, [point.seconds for point, _ in curve], values)


def curves(settings: Settings, trials: Sequence[Traced]) -> Any:
    """The metric of every trial against epoch (step where none is reported) and seconds."""
    drawn = [trial for trial in trials if trial.curve]
    epochs = have_epochs(trial.curve for trial in drawn)
    lines = [Line.of(label(settings, trial.result), trial.curve, epochs) for trial in drawn]
    return pair(lines, epochs, _plain(settings.metric), settings.target)


def have_epochs(drawn: Iterable[Sequence[tuple[Point, float]]]) -> bool:
    """Whether every point of these curves says in which epoch it is, and there is one."""
    told = [number(point.metrics.get("epoch")) for curve in drawn for point, _ in curve]
    return bool(told) and None not in told


def pair(lines: Sequence[Line], epochs: bool, up: str, target: float | None) -> Any:
    """Two plots of the same lines, against epoch (or step) and against seconds."""
    named = lines if len(lines) <= MOST_NAMED else []
    figure = _figure(11, max(4.2, 0.4 + NAME_HEIGHT * len(named)))
    left, right = figure.subplots(1, 2, sharey=True)
    for place, line in enumerate(lines):
        look = look_of(place)
        left.plot(line.at, line.values, label=line.name, **look)
        right.plot(line.seconds, line.values, **look)
    left.set_xlabel("epoch" if epochs else "step")
    right.set_xlabel("seconds of training")
    left.set_ylabel(up)
    for axes in (left, right):
        axes.grid(alpha=0.3)
        if target is not None and lines:
            axes.axhline(target, color="black", linewidth=0.8, linestyle="--")
    if _far_apart([value for line in lines for value in line.values]):
        left.set_yscale("log")
    if named:
        figure.legend(
            *left.get_legend_handles_labels(),
            loc="outside right upper",
            fontsize=7,
            handlelength=3.5,  # long enough to tell dashes from dots
        )
    return figure


def look_of(place: int) -> dict[str, Any]:
    """How the line of the trial at ``place`` is drawn: unlike those of `MOST_NAMED` others."""
    dashes = DASHES[place // len(COLOURS) % len(DASHES)]
    look = {"linewidth": 1.2, "marker": "o", "markersize": 2.5}
    return look | {"color": COLOURS[place % len(COLOURS)], "linestyle": dashes}


def _far_apart(values: Sequence[float]) -> bool:
    """Whether one trial that diverged would press all others flat on a linear axis."""
    drawn = [value for value in values if not math.isnan(value)]
    return bool(drawn) and 0 < FAR * min(drawn) < max(drawn)


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
    axes.bar_label(bars, [f"{s:.3g} s" for s in seconds], fontsize=8, padding=4)
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
