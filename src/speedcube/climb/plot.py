"""The articles' bar picture: seconds on each rung, log scale, ours beside Dask's."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ParameterError

if TYPE_CHECKING:
    from .ladder import LadderResult


def bars(result: LadderResult, path: str | Path) -> None:
    """Write the picture to ``path`` (``.png`` or ``.svg``)."""
    if Path(path).suffix not in (".png", ".svg"):
        raise ParameterError(f"--plot takes a file ending in .png or .svg, not {str(path)!r}")
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    names = [r.rung for r in result.rungs]
    figure, axes = pyplot.subplots(figsize=(1.8 + 1.4 * len(names), 3.6), layout="constrained")
    places = range(len(names))
    ours = axes.bar([p - 0.2 for p in places], [r.seconds for r in result.rungs], 0.4,
                    label="speedcube", color="#1f77b4")  # fmt: skip
    axes.bar_label(ours, [f"{r.seconds:.3g} s" for r in result.rungs], fontsize=8)
    if any(r.dask_seconds for r in result.rungs):
        heights = [r.dask_seconds or 0.0 for r in result.rungs]
        theirs = axes.bar([p + 0.2 for p in places], heights, 0.4, label="Dask", color="#ff7f0e")
        labels = [
            f"{'~' if (r.dask_scaled or 1) < 1 else ''}{h:.3g} s" if h else ""
            for r, h in zip(result.rungs, heights, strict=True)
        ]
        axes.bar_label(theirs, labels, fontsize=8)
    axes.set_yscale("log")
    axes.set_ylabel("seconds (log scale)")
    axes.set_xticks(list(places), names)
    axes.set_title(result.expression, fontsize=8)
    axes.margins(y=0.15)
    axes.legend(fontsize=8)
    figure.savefig(path, dpi=130)
    pyplot.close(figure)
