"""The commands ``speedcube petnames train``, ``generate``, ``sweep``, ``report``, for typer."""

from __future__ import annotations

from typing import Annotated

import typer

from ..commands.terminal import complain
from ..commands.words import WrappedOnce
from ..errors import SpeedcubeError
from ..exit_codes import BAD_USE
from . import generate_command, report_command, sweep_command, train_command

app = typer.Typer(
    cls=WrappedOnce,
    no_args_is_help=True,
    help="Train a network that invents pet names, and let it invent some.",
)


@app.command()
def train(
    on: Annotated[
        str | None,
        typer.Option(help="where: gpus:4, cores:2, cuda-cluster, tcp://host:port (default: all)"),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="a CSV file or its URL (default: the City of Seattle's pet licences)"),
    ] = None,
    epochs: Annotated[int, typer.Option(help="passes over the data")] = 10,
    batch: Annotated[
        int | None, typer.Option(help="rows of a batch, all ranks together (default: 1,024)")
    ] = None,
    batch_per_rank: Annotated[
        bool, typer.Option("--batch-per-rank", help="--batch is each rank's: more ranks, more rows")
    ] = False,
    lr: Annotated[float, typer.Option(help="Adam's learning rate at its peak")] = 1e-2,
    seed: Annotated[int, typer.Option(help="of the weights, the shuffling and dropout")] = 0,
    out: Annotated[
        str | None,
        typer.Option(
            help="a directory (default: a new one in ./petnames-runs); one that holds "
            "this training, interrupted, is continued"
        ),
    ] = None,
) -> None:
    """Train the article's network; weights and a model card are written to --out.

    Exit code: 0 trained, 1 training failed, 2 bad use, 130 interrupted, 141 trained, but whoever
    read the output left.
    """
    try:
        chosen = train_command.checked(on, data, epochs, batch, batch_per_rank, lr, seed, out)
    except SpeedcubeError as err:
        complain("petnames train", err)
        raise typer.Exit(BAD_USE) from err
    raise typer.Exit(train_command.run(chosen))


@app.command()
def generate(
    model: Annotated[
        str | None,
        typer.Option(help="a directory of train's (default: the newest in ./petnames-runs)"),
    ] = None,
    n: Annotated[int, typer.Option("--n", help="how many names")] = 40,
    seed: Annotated[int, typer.Option(help="another one gives other names")] = 0,
    temperature: Annotated[
        float, typer.Option(help="below 1 likelier letters, above 1 wilder ones")
    ] = 1.0,
    start: Annotated[str, typer.Option(help='what names begin with, like "Mar"')] = "",
) -> None:
    """Invent names that are not in the data; one a line where standard output is no terminal.

    Exit code: 0 all --n, 1 fewer new ones were found, 2 bad use, 130 interrupted, 141 the
    reader of the output stopped early.
    """
    try:
        chosen = generate_command.checked(model, n, seed, temperature, start)
    except SpeedcubeError as err:
        complain("petnames generate", err)
        raise typer.Exit(BAD_USE) from err
    raise typer.Exit(generate_command.run(chosen))


@app.command()
def sweep(
    on: Annotated[
        str | None,
        typer.Option(help="where: gpus:8, cores:2, cuda-cluster, tcp://host:port (default: all)"),
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help="a CSV file or its URL (default: the City of Seattle's pet licences)"),
    ] = None,
    epochs: Annotated[int, typer.Option(help="passes over the data of each trial")] = 10,
    batch: Annotated[str, typer.Option(help="rows of a batch, to choose from")] = "1024,4096,16384",
    lr: Annotated[str, typer.Option(help="learning rates, to choose from")] = "0.001,0.004,0.01",
    ranks: Annotated[
        str, typer.Option(help="ranks of a trial, to choose from: 1,4,8 shows how it scales")
    ] = "1",
    method: Annotated[str, typer.Option(help="grid, random or tpe")] = "grid",
    trials: Annotated[int | None, typer.Option(help="how many; a grid has its own number")] = None,
    prune: Annotated[
        str | None,
        typer.Option(help="give up bad trials: median, successive-halving or hyperband"),
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="a validation loss; the page shows the time to it")
    ] = None,
    seed: Annotated[int, typer.Option(help="of the trainings and of what is tried")] = 0,
    out: Annotated[
        str | None,
        typer.Option(
            help="a directory (default: a new one in ./petnames-runs); one that holds this sweep, "
            "interrupted, is continued"
        ),
    ] = None,
    retry_failed: Annotated[
        bool,
        typer.Option("--retry-failed", help="run the trials of that sweep again that failed"),
    ] = False,
) -> None:
    """Train with many settings, side by side; a page of curves and a table are written to --out.

    Exit code: 0 done, 1 no trial finished, 2 bad use, 130 interrupted, 141 done, but the
    reader of the output stopped early.
    """
    try:
        chosen = sweep_command.checked(
            on,
            data,
            epochs,
            batch,
            lr,
            ranks,
            method,
            trials,
            prune,
            target,
            seed,
            out,
            retry_failed,
        )
    except SpeedcubeError as err:
        complain("petnames sweep", err)
        raise typer.Exit(BAD_USE) from err
    raise typer.Exit(sweep_command.run(chosen))


@app.command()
def report(
    out: Annotated[
        str | None,
        typer.Option(
            help="a directory of train's or sweep's (default: the newest that began "
            "in ./petnames-runs)"
        ),
    ] = None,
    target: Annotated[
        float | None, typer.Option(help="a validation loss; the page shows the time to it")
    ] = None,
    curves: Annotated[
        str | None, typer.Option(help="a .png or .svg file, for the losses over epochs and seconds")
    ] = None,
    target_times: Annotated[
        str | None,
        typer.Option(help="a .png or .svg file, for a sweep's time to the target by ranks"),
    ] = None,
) -> None:
    """Write the page of a training, or a sweep's page and table; it may still run, or be killed.

    Exit code: 0 written, 2 bad use, 141 written, but the reader of the output stopped.
    """
    raise typer.Exit(report_command.run(out, target, curves, target_times))
