"""A sweep as one HTML page that loads nothing: figures inline, trials, settings; all escaped."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from ...errors import ParameterError
from ..metrics import Scalar
from . import plots, space
from .record import Settings
from .trials import Traced, TrialResult

STYLE: Final = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
       color: #1c1c1c; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px }
th, td { border-bottom: 1px solid #ddd; padding: .25rem .7rem; text-align: left }
td.number { text-align: right } tr.best { background: #eaf4ea } td.error { white-space: pre-wrap }
svg { max-width: 100%; height: auto } .wide { overflow-x: auto }
"""
# No page, script, font or picture from anywhere: a browser refuses it even if one slipped in.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def page(
    settings: Settings,
    trials: Sequence[Traced],
    best: TrialResult | None,
    facts: Mapping[str, Any],
) -> str:
    """The page; ``facts`` are "busy" (0 to 1), "seconds" and "out"."""
    title = f"Sweep of {settings.name}"
    parts = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{escape(_summary(settings, trials, best, facts))}</p>",
        f"<h2>{escape(settings.metric)} of every trial</h2>",
        _svg(plots.curves(settings, trials), "curves"),
        *_target(settings, trials),
        "<h2>Trials</h2>",
        _trials(settings, trials, best),
        "<h2>Settings</h2>",
        _settings(settings, facts),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _summary(
    settings: Settings,
    trials: Sequence[Traced],
    best: TrialResult | None,
    facts: Mapping[str, Any],
) -> str:
    statuses = [trial.result.status for trial in trials]
    counts = ", ".join(f"{statuses.count(s)} {s}" for s in sorted(set(statuses))) or "none started"
    told = f"{settings.trials} trials ({counts}) in {facts['seconds']:.4g} s"
    told += f"; ranks were at their steps {facts['busy']:.1%} of the workers' time."
    if best is not None:
        told += f" Best: trial {best.number}, {settings.metric} {_text(best.value)}."
    return told


def _target(settings: Settings, trials: Sequence[Traced]) -> list[str]:
    if settings.target is None:
        return []
    title = f"<h2>Time to {escape(settings.metric)} {settings.target:g}</h2>"
    try:
        return [title, _svg(plots.target_times(settings, trials), "target")]
    except ParameterError:
        return [title, "<p>No trial reached it.</p>"]


def _trials(settings: Settings, trials: Sequence[Traced], best: TrialResult | None) -> str:
    names = list(settings.space)
    metric = settings.metric
    own = ["trial", "status", metric, f"best {metric}", "steps", "seconds", "to target", "ranks"]
    head = "".join(f"<th>{escape(name)}</th>" for name in [*own, *names, "error"])
    rows = [_trial(trial.result, names, trial.result == best) for trial in trials]
    body = "\n".join(rows)
    return f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>'


def _trial(result: TrialResult, names: Iterable[str], is_best: bool) -> str:
    shown: list[Scalar] = [
        result.number,
        result.status,
        result.value,
        result.best,
        result.steps,
        result.seconds,
        result.target_seconds,
        result.ranks,
        *(result.params[name] for name in names),
    ]
    mark = ' class="best"' if is_best else ""
    error = f'<td class="error">{escape(_clean(result.error or ""))}</td>'
    return f"<tr{mark}>{''.join(_cell(value) for value in shown)}{error}</tr>"


def _cell(value: Scalar) -> str:
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    mark = ' class="number"' if numeric else ""
    return f"<td{mark}>{escape('' if value is None else _text(value))}</td>"


def _text(value: Scalar) -> str:
    return f"{value:.5g}" if isinstance(value, float) else _clean(str(value))


def _clean(text: str) -> str:
    """``text`` without the control characters that HTML forbids."""
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def _settings(settings: Settings, facts: Mapping[str, Any]) -> str:
    told: dict[str, Any] = {
        "space": space.to_json(settings.space),
        "fixed arguments": settings.fixed,
        "method": settings.method,
        "metric": f"{settings.metric}, {settings.direction}",
        "pruning": settings.prune or "none",
        "seed": settings.seed,
        "target": "none" if settings.target is None else f"{settings.target:g}",
        "directory": facts["out"],
    }
    rows = "".join(
        f"<tr><th>{escape(name)}</th><td>{escape(_clean(str(value)))}</td></tr>"
        for name, value in told.items()
    )
    return f"<table>{rows}</table>"


def _svg(figure: Any, prefix: str) -> str:
    """A figure as an element of the page: no prolog, no name spaces, names of its own."""
    file = io.StringIO()
    plots.draw(figure, file, format="svg")
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href=", "href=")
    text = re.sub(r'(<[^<>]* id=")', rf"\1{prefix}-", text)
    return re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", text)
