"""The command line: ``speedcube ladder``, ``verify``, ``rng``, ``doctor``, ``petnames``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, Final

import typer

from .__about__ import __version__
from .commands import interrupts
from .commands.doctor import command as doctor_command
from .commands.doctor.cluster import command as cluster_doctor
from .commands.ladder import command as ladder_command
from .commands.rng import command as rng_command
from .commands.terminal import complain
from .commands.verify import command as verify_command
from .commands.words import GREETING
from .engine.progress.watch import quietly
from .errors import SpeedcubeError
from .exit_codes import BAD_USE
from .petnames import cli as petnames
from .shown import lines


class Root(interrupts.Commands):
    """The commands; what is wrong with their words is told without what steers a terminal.

    A name that a shell puts there for ``*`` may be a file's that somebody else made.
    """

    def make_context(self, *args: Any, **options: Any) -> Any:
        with _told():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        with _told():
            return super().invoke(ctx)


# Of click, or of the copy of it that newer versions of typer have.
_UsageError: Final[type[Exception]] = typer.BadParameter.__mro__[1]


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except _UsageError as err:
        vars(err)["message"] = lines(vars(err)["message"])
        raise


app = typer.Typer(
    cls=Root, invoke_without_command=True, add_completion=False, pretty_exceptions_enable=False
)
app.add_typer(petnames.app, name="petnames")


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"speedcube {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Arrays written once, the same bits on one core, all cores, GPUs and clusters."""
    if context.invoked_subcommand is None:
        typer.echo(GREETING)


@app.command()
def ladder(
    preset: Annotated[str, typer.Option(help="morizet (80 GB mean) or rocklin (2 TB sum)")] = (
        "morizet"
    ),
    shape: Annotated[str | None, typer.Option(help="another shape, like 20000,20000")] = None,
    op: Annotated[str | None, typer.Option(help="sum, mean, var, min or max")] = None,
    dtype: Annotated[str, typer.Option(help="float64 or float32")] = "float64",
    on: Annotated[
        str | None, typer.Option(help="rungs to climb, like core,cores:2,gpus:0,2")
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(help="timed runs after the first (default: 3, fewer where that takes long)"),
    ] = None,
    dask: Annotated[bool, typer.Option(help="run plain Dask on the same rungs")] = True,
    json: Annotated[str | None, typer.Option(help="write the result to this file")] = None,
    plot: Annotated[str | None, typer.Option(help="draw it to this .png or .svg")] = None,
    price: Annotated[str | None, typer.Option(help="$/h, like gpu=3.50,cpu=0.10")] = None,
) -> None:
    """Run one expression on every rung of this machine, beside plain Dask, and compare the bits.

    Exit code: 0 all bits equal, 1 they differ or a rung failed, 2 bad use, 130 interrupted,
    141 all equal, but the reader of the output (``| head``) stopped early.
    """
    try:
        request = ladder_command.checked(
            preset, shape, op, dtype, on, repeat, dask, json, plot, price
        )
    except SpeedcubeError as err:
        complain("ladder", err)
        raise typer.Exit(BAD_USE) from err
    raise typer.Exit(ladder_command.run(request))


@app.command()
def verify(
    on: Annotated[
        str | None,
        typer.Option(help="rungs, like core,gpus:0,2,cuda-cluster,tcp://host:port (default: all)"),
    ] = None,
    simd: Annotated[
        str | None,
        typer.Option(help="CPU kernels for avx512, avx2 or plain (no fused multiply-add)"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON (schema 1)")] = False,
    write: Annotated[
        str | None, typer.Option(help="write the list anew to this file, computed on core")
    ] = None,
) -> None:
    """Recompute the committed list of hashes on every rung of this machine: are the bits equal?

    Exit code: 0 every result has the committed bits, 1 one of them has other bits or a rung failed
    (the first difference is shown), 2 bad use, 130 interrupted, 141 all equal, but the reader of
    the output stopped early.
    """
    try:
        request = verify_command.checked(on, simd, json, write)
    except SpeedcubeError as err:
        complain("verify", err)
        raise typer.Exit(BAD_USE) from err
    raise typer.Exit(verify_command.run(request))


@app.command()
def rng(
    layout: Annotated[
        str, typer.Option(help="rows, columns, interleaved:8192 (K streams), seeds or calls")
    ] = "rows",
    seed: Annotated[int, typer.Option(help="the seed; the first one for seeds")] = 0,
    bits: Annotated[int, typer.Option(help="the words dealt out: of 64 bits or of 32")] = 64,
    size: Annotated[
        int | None, typer.Option("--bytes", help="how much to write (default: without end)")
    ] = None,
    on: Annotated[str, typer.Option(help="the rung that computes: core, cores, gpu ...")] = "core",
) -> None:
    """Write raw random words, little-endian, for a test battery, as in | dieharder -a -g 200.

    rows is an array in C order, columns the same array column by column, interleaved:K a word of
    each of K spawned streams in turn, seeds a short stretch of each seed from --seed on, calls a
    short stretch of each array that one generator draws. docs/stream-v1.md has the details.

    Exit code: 0 all --bytes written, 1 they could not be, 2 bad use, 130 interrupted, 141 their
    reader stopped early.
    """
    try:
        request = rng_command.checked(layout, seed, bits, size, on)
    except SpeedcubeError as err:
        complain("rng", err)
        raise typer.Exit(BAD_USE) from err
    raise typer.Exit(rng_command.run(request))


@app.command()
def doctor(
    on: Annotated[
        str | None,
        typer.Option(help="a cluster instead: tcp://host:port, tls://host:port, a scheduler file"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print JSON (schema 1)")] = False,
) -> None:
    """Say what this machine has, which rungs it lacks and why, and what is broken.

    Exit code: 0 nothing is broken (a rung that is not installed is no fault);
    1 something is: mixed CUDA wheels, two CuPy wheels, a GPU that is visible
    but fails, a driver that does not start, a SPEEDCUBE_CACHE_DIR that cannot
    be used; 2 bad use.

    With --on: ask every worker of a cluster what it has, what differs and what
    to do. 1: a worker would be refused or says nothing, or there is none; 2: no
    cluster answers there.
    """
    if on is None:
        raise typer.Exit(doctor_command.run(json))
    try:
        raise typer.Exit(cluster_doctor.run_cluster(on, json))
    except SpeedcubeError as err:
        complain("doctor", err)
        raise typer.Exit(BAD_USE) from err


def main() -> None:
    """Run the ``speedcube`` command."""
    with quietly():  # each command says in its own words how far it is
        interrupts.run(app)
