"""Pages and figures of runs: what a sweep, and a program that trains, writes about itself.

A run's directory becomes curves, a figure of them, and one HTML page that loads nothing::

    from speedcube.train import reports

    loss = reports.series(reports.points(reports.read_run("runs/fit")), "loss")
    figure = reports.curves_figure([("training", loss)], "loss")
    parts = [reports.heading("Loss"), reports.drawing(figure, "loss")]
    html = reports.html_page("What fit() learned", parts)

`Point` is a step of a run and `points` finds those that count; `series` has one metric of them.
`curves_figure` draws them with matplotlib, and `save_figure` writes a figure as .png or .svg. A
page has parts: `heading`, `paragraph`, `table`, `facts` and `drawing`.
"""

from .curves import Point, points, read_run, series
from .document import drawing, facts, heading, html_page, paragraph, table
from .plots import curves_figure, save_figure

__all__ = [
    "Point",
    "curves_figure",
    "drawing",
    "facts",
    "heading",
    "html_page",
    "paragraph",
    "points",
    "read_run",
    "save_figure",
    "series",
    "table",
]
