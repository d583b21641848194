"""The command line: ``speedcube ladder``, ``speedcube doctor``."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from .climb.doctor import report
from .climb.ladder import Rung, beside_dask, finished, measure
from .climb.presets import Experiment, experiment
from .climb.table import notes_of, table_of
from .engine import rungs
from .errors import SpeedcubeError

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
BITS_DIFFER, BAD_USE, INTERRUPTED = 1, 2, 130


@app.callback()
def _root() -> None:
    """Arrays written once, the same bits on one core, all cores, GPUs and clusters."""


def _prices(text: str | None) -> dict[str, float]:
    """``gpu=3.50,cpu=0.10`` as dollars an hour."""
    prices = {}
    for part in (text or "").split(","):
        if part:
            name, _, value = part.partition("=")
            if name not in ("gpu", "cpu"):
                raise ValueError(f"--price takes gpu=3.50,cpu=0.10 ($/h), not {text!r}")
            prices[name] = float(value)
    return prices


@app.command()
def ladder(
    preset: Annotated[str, typer.Option(help="morizet (80 GB mean) or rocklin (2 TB sum)")] = (
        "morizet"
    ),
    shape: Annotated[str | None, typer.Option(help="another shape, like 20000,20000")] = None,
    op: Annotated[str | None, typer.Option(help="sum, mean, var, min or max")] = None,
    dtype: Annotated[str, typer.Option(help="float64 or float32")] = "float64",
    on: Annotated[str | None, typer.Option(help="rungs to climb, like core,cores")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="timed runs after the first")] = 3,
    dask: Annotated[bool, typer.Option(help="run plain Dask on the same rungs")] = True,
    json: Annotated[str | None, typer.Option(help="write the result to this file")] = None,
    plot: Annotated[str | None, typer.Option(help="draw it to this .png or .svg")] = None,
    price: Annotated[str | None, typer.Option(help="$/h, like gpu=3.50,cpu=0.10")] = None,
) -> None:
    """Run one expression on every rung of this machine, beside plain Dask, and compare the bits."""
    try:
        chosen = experiment(preset, shape, op, dtype)
        names = _rung_names(on)
        prices = _prices(price)
        if plot is not None and not plot.endswith((".png", ".svg")):
            raise ValueError(f"--plot takes a file ending in .png or .svg, not {plot!r}")
    except (SpeedcubeError, ValueError) as err:
        Console(stderr=True).print(f"speedcube ladder: {err}", markup=False, highlight=False)
        raise typer.Exit(BAD_USE) from err
    climbed: list[Rung] = []
    interrupted = False
    try:
        _climb(chosen, names, repeat, dask, prices, climbed)
    except KeyboardInterrupt:
        interrupted = True
    result = finished(climbed, chosen.text, chosen.needed, chosen.logical)
    console = Console(width=None if sys.stdout.isatty() else 150)
    if climbed:
        console.print(table_of(result))
        console.print(notes_of(result), highlight=False)
    if json is not None:
        result.to_json(json)
    if plot is not None and climbed:
        result.plot(plot)
    if interrupted:
        console.print(f"Interrupted: {len(climbed)} of {len(names)} rungs finished.")
        raise typer.Exit(INTERRUPTED)
    if not result.equal_bits:
        raise typer.Exit(BITS_DIFFER)


def _rung_names(on: str | None) -> list[str]:
    """The rungs asked for, each checked to exist here."""
    if on is None:
        return list(rungs.available())
    names = [name for name in on.replace(";", ",").split(",") if name]
    for name in names:
        rungs.parse(name, "--on")
    return names


def _climb(
    chosen: Experiment,
    names: list[str],
    repeat: int,
    dask: bool,
    prices: dict[str, float],
    climbed: list[Rung],
) -> None:
    """Climb ``names``, adding each finished rung to ``climbed``."""
    progress = Console(stderr=True)
    expected = chosen.expected()
    for name in names:
        guess = rungs.predicted_seconds(chosen.needed, name)
        # A long rung is timed on its first run and once more, not `repeat` times.
        times = repeat if guess * (repeat + 1) < 12 else 1
        with progress.status(f"{name}: about {guess * (times + 1):.0f} s"):
            found = measure(chosen.ours, name, times, expected, prices)
        if dask:
            with progress.status(f"{name}: plain Dask on the same rung, about 10 s"):
                found = beside_dask(found, chosen)
        climbed.append(found)


@app.command()
def doctor(
    json: Annotated[bool, typer.Option("--json", help="print JSON (schema 1)")] = False,
) -> None:
    """Say what this machine has, which rungs it lacks and why, and what is broken.

    Exit code: 0 nothing is broken (a rung that is not installed is no fault);
    1 something is: mixed CUDA wheels, two CuPy wheels, a GPU that is visible
    but fails, a driver that does not start, a SPEEDCUBE_CACHE_DIR that cannot
    be used; 2 bad use.
    """
    raise typer.Exit(report.run(json))


def main() -> None:
    """Entry point of the ``speedcube`` command."""
    app()
