"""One HTML page that loads nothing: figures and tables inline, every text escaped."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from ...numbers import value_text
from ...shown import line, lines
from ..metrics.rows import Scalar
from . import plots

STYLE: Final = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 76rem; padding: 0 1rem;
       color: #1c1c1c; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px }
th, td { border-bottom: 1px solid #8884; padding: .25rem .7rem; text-align: left }
td { white-space: pre-wrap; vertical-align: top }
.number { text-align: right } tr.best { background: #4a42 }
.wide { overflow-x: auto }  /* figures keep their size: their texts are to be read */
@media (prefers-color-scheme: dark) {
  body { color: #e4e4e4; background: #111 }
  svg { filter: invert(.93) hue-rotate(180deg) }
}
"""
# No page, script, font or picture from anywhere: a browser refuses it even if one slipped in.
POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'"


def html_page(title: str, parts: Iterable[str]) -> str:
    """A page with this heading; ``parts`` are what the functions below make."""
    head = [
        "<!DOCTYPE html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(line(title))}</title><style>{STYLE}</style></head><body>",
        f"<h1>{escape(line(title))}</h1>",
    ]
    return "\n".join([*head, *parts, "</body></html>"]) + "\n"


def heading(words: str) -> str:
    """The title of a section."""
    return f"<h2>{escape(line(words))}</h2>"


def paragraph(words: str) -> str:
    """A paragraph of plain words."""
    return f"<p>{escape(lines(words))}</p>"


def table(
    names: Sequence[str], rows: Iterable[Sequence[Scalar]], marked: Sequence[bool] = ()
) -> str:
    """A table that scrolls where the window is narrow; ``marked`` says which rows stand out.

    A column of numbers is on the right, its name too.
    """
    listed = list(rows)
    right = [
        all(_numeric(row[k]) for row in listed if row[k] is not None) for k in range(len(names))
    ]
    head = "".join(_cell("th", name, number) for name, number in zip(names, right, strict=True))
    body = "\n".join(
        f"<tr{_class('best' if k < len(marked) and marked[k] else '')}>"
        + "".join(_cell("td", value, number) for value, number in zip(row, right, strict=True))
        + "</tr>"
        for k, row in enumerate(listed)
    )
    return f'<div class="wide"><table><tr>{head}</tr>\n{body}</table></div>'


def facts(values: Mapping[str, Any]) -> str:
    """A table of names and what they are."""
    rows = "".join(
        f"<tr><th>{escape(line(name))}</th><td>{escape(lines(value))}</td></tr>"
        for name, value in values.items()
    )
    return f"<table>{rows}</table>"


def _numeric(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(tag: str, value: Scalar, right: bool) -> str:
    shown = "" if value is None else escape(text(value))
    first, line, rest = shown.partition("\n")
    if line:  # an error: its traceback opens with a click
        shown = f"<details><summary>{first}{line}</summary>{rest}</details>"
    return f"<{tag}{_class('number' if right else '')}>{shown}</{tag}>"


def _class(name: str) -> str:
    return f' class="{name}"' if name else ""


def text(value: Scalar) -> str:
    """A value as people read it, its lines kept, without control characters."""
    return lines(value_text(value) if isinstance(value, float) else value)


def drawing(figure: Any, prefix: str) -> str:
    """A figure as an element of the page: no prolog, no name spaces, names of its own."""
    file = io.StringIO()
    plots.draw(figure, file, format="svg")
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r' xmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href=", "href=")
    text = re.sub(r'(<[^<>]* id=")', rf"\1{prefix}-", text)
    text = re.sub(r'(href="#|url\(#)', rf"\1{prefix}-", text)
    return f'<div class="wide">{text}</div>'
