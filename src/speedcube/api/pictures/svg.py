"""The few parts of SVG that pictures are made of, and the colours that suit any page.

Colours are the page's own where it names them (JupyterLab, VS Code, Sphinx' pydata theme), else one
blue that stands out on white and on black. Text has the colour of the text around it. All of it
stands in attributes, because notebooks take style sheets away from pages that nobody vouches for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...late import html

INK: Final = "var(--jp-brand-color1,var(--vscode-charts-blue,var(--pst-color-primary,#3b8dc9)))"
MONO: Final = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
FONT: Final = 11.0  # units
_LETTER: Final = 0.65  # of the font's size, at most, is a letter of a monospaced font wide
_STYLES: Final = {
    "face": f"fill:{INK};fill-opacity:0.22;stroke:{INK};stroke-width:1.2",
    "empty": f"fill:none;stroke:{INK};stroke-width:1.2;stroke-dasharray:3 3",
    "line": f"fill:none;stroke:{INK};stroke-width:0.6;stroke-opacity:0.7",
    "arrow": "fill:none;stroke:currentColor;stroke-opacity:0.6",
}

Point = tuple[float, float]


def text_width(text: str, size: float = FONT) -> float:
    """Units that ``text`` is wide, at most."""
    return len(text) * size * _LETTER


def text(at: Point, words: str, anchor: str = "start", size: float = FONT) -> str:
    """``words`` whose base line begins (or ends, or has its middle) at ``at``."""
    x, y = at
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size:g}" '
        f'fill="currentColor" style="font-family:{html.escape(MONO)}">{html.escape(words)}</text>'
    )


def polygon(points: Sequence[Point], style: str = "face") -> str:
    """A closed shape through ``points``."""
    return f'<polygon points="{_points(points)}" style="{_STYLES[style]}"/>'


def polyline(points: Sequence[Point], style: str = "line") -> str:
    """A line through ``points``."""
    return f'<polyline points="{_points(points)}" style="{_STYLES[style]}"/>'


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def picture(parts: Sequence[str], size: tuple[float, float], title: str) -> str:
    """``parts`` as one picture, which shrinks with a page that is narrower."""
    width, height = size
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" width="{width:.0f}" '
        f'height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'style="max-width:100%;height:auto"><title>{html.escape(title)}</title>{"".join(parts)}</svg>'
    )
