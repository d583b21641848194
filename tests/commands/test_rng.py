"""``speedcube rng``: the bytes of every layout, recomputed by the words of docs/stream-v1.md."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from typer.testing import CliRunner

import speedcube as sc
from speedcube import cli, errors
from speedcube.commands.rng import command as writing
from speedcube.commands.rng import layouts
from speedcube.engine import rungs
from speedcube.philox import derive_key, philox4x32

SEED = 20261121
Words = NDArray[np.uint64]


def word(key: Words | int, position: Words) -> Words:
    """The 64-bit word of the stream with ``key`` at ``position``: value p mod 1024 div 512 of
    block (p div 1024) 512 + p mod 512.
    """
    block = position // 1024 * 512 + position % 512
    w = philox4x32([block % 2**32, block // 2**32, 0, 0], key)
    return np.where(position % 1024 < 512, w[1] << 32 | w[0], w[3] << 32 | w[2])


def places(count: int) -> Words:
    return np.arange(count, dtype=np.uint64)


def keys(*of: tuple[tuple[int, ...], tuple[int, ...], int]) -> Words:
    return np.array([derive_key(*one) for one in of], np.uint64)


def rows(turns: int) -> Words:
    return word(derive_key((SEED,), (), 0), places(turns))[:, None]


def columns(turns: int) -> Words:
    """A turn is a column of the array of 2**20 rows and 2**42 columns."""
    at = places(2**20) * np.uint64(2**42) + places(turns)[:, None]
    return word(derive_key((SEED,), (), 0), at)


def interleaved(streams: int) -> Callable[[int], Words]:
    def expected(turns: int) -> Words:
        stream_keys = keys(*(((SEED,), (child,), 0) for child in range(streams)))
        return word(stream_keys, places(turns)[:, None])

    return expected


def seeds(turns: int) -> Words:
    stream_keys = keys(*(((SEED + k,), (), 0) for k in range(-(-turns // 256))))
    return word(stream_keys[:, None], places(256)).reshape(-1, 1)[:turns]


def calls(turns: int) -> Words:
    stream_keys = keys(*(((SEED,), (), k) for k in range(-(-turns // 256))))
    return word(stream_keys[:, None], places(256)).reshape(-1, 1)[:turns]


# Name, what is expected of so many turns, words in a block, and turns: more than a block.
LAYOUTS = {
    "rows": (rows, 2**13, 20_000),
    "columns": (columns, 2**20, 2),
    "interleaved:1": (interleaved(1), 2**13, 20_000),
    "interleaved:3": (interleaved(3), 2**13, 7_000),
    "interleaved:8192": (interleaved(8192), 2**15, 9),
    "seeds": (seeds, 2**13, 20_000),
    "calls": (calls, 2**13, 20_000),
}


def dealt(name: str, bits: int, rung: str, size: int) -> bytes:
    """The first ``size`` bytes of a layout, block by block."""
    pieces, missing = [], size
    blocks = layouts.layout(name)(SEED, rungs.parse(rung, "a test"))
    while missing > 0:
        pieces.append(layouts.dealt(next(blocks), bits).tobytes()[:missing])
        missing -= len(pieces[-1])
    return b"".join(pieces)


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_byte_is_the_one_that_the_page_says(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words of 64 bits as they are; words of 32 bits low half first, each stream in turn."""
    expect, block, turns = LAYOUTS[name]
    monkeypatch.setattr(layouts, "PIECE", block)
    words = expect(turns)
    assert words.size > block, "the second block is never seen"
    assert dealt(name, 64, "core", words.nbytes) == words.astype("<u8").tobytes()
    halves = np.stack([words & np.uint64(0xFFFFFFFF), words >> np.uint64(32)], axis=1)
    assert dealt(name, 32, "cores:2", words.nbytes) == halves.astype("<u4").tobytes()


@pytest.mark.gpu
@pytest.mark.skipif("gpu" not in rungs.available(), reason="no GPU is visible here")
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_gpu_deals_the_same_bytes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, block, _ = LAYOUTS[name]
    monkeypatch.setattr(layouts, "PIECE", block)
    assert dealt(name, 32, "gpu", 20 * block) == dealt(name, 32, "core", 20 * block)


def test_the_words_are_those_that_generators_draw() -> None:
    """Without the key's or the block's definition: by ``Generator.bytes``, and integers."""
    run = 256 * 8
    drawn = sc.random.default_rng(SEED)
    assert dealt("calls", 64, "core", 3 * run) == b"".join(drawn.bytes(run) for _ in range(3))
    every = (sc.random.default_rng(SEED + k).bytes(run) for k in range(3))
    assert dealt("seeds", 64, "core", 3 * run) == b"".join(every)
    assert dealt("rows", 64, "core", 10**5) == sc.random.default_rng(SEED).bytes(10**5)
    children = [child.bytes(8000) for child in sc.random.default_rng(SEED).spawn(5)]
    turns = np.array([np.frombuffer(child, "<u8") for child in children]).T
    assert dealt("interleaved:5", 64, "core", 40_000) == turns.tobytes()
    whole = sc.random.default_rng(SEED).integers(0, 2**64, size=(2**20, 2**42), dtype="uint64")
    assert dealt("columns", 64, "core", 8000) == whole[:1000, 0].compute().tobytes()


# The command -------------------------------------------------------------------------------------


def command(*options: object) -> list[str]:
    return [sys.executable, "-W", "error", "-m", "speedcube", "rng", *map(str, options)]


def ended(*options: object, stdout: Any = subprocess.PIPE) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command(*options), stdout=stdout, stderr=subprocess.PIPE, timeout=120, check=False
    )


@pytest.mark.parametrize("size", [0, 1001, 8 * layouts.PIECE + 13])
def test_the_command_writes_as_many_bytes_as_asked(size: int) -> None:
    done = ended("--seed", SEED, "--bytes", size)
    assert (done.returncode, done.stderr, len(done.stdout)) == (0, b"", size)
    assert done.stdout == rows(-(-size // 8)).astype("<u8").tobytes()[:size]


def test_the_command_passes_its_options_on() -> None:
    done = ended("--layout", "interleaved:3", "--bits", 32, "--on", "cores:2", "--bytes", 4800)
    expected = [child.bytes(1600) for child in sc.random.default_rng(0).spawn(3)]
    turns = np.array([np.frombuffer(child, "<u4") for child in expected]).T
    assert (done.returncode, done.stdout) == (0, turns.tobytes())


# A run of the tests in the background of a script ignores SIGINT, and so would its children.
BEGIN = (
    "import runpy, signal\n"
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "runpy.run_module('speedcube', run_name='__main__')\n"
)


@contextmanager
def endless(*options: object) -> Iterator[subprocess.Popen[bytes]]:
    """The command without ``--bytes``, once its first bytes have come."""
    program = [sys.executable, "-c", BEGIN, "rng", *map(str, options)]
    started = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    with started as process:
        assert process.stdout is not None
        try:
            assert process.stdout.read(1)
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("layout", ["rows", "seeds"])
def test_a_reader_that_leaves_ends_it_quietly(layout: str) -> None:
    with endless("--layout", layout) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 141


def test_ctrl_c_ends_it_quietly() -> None:
    with endless() as process:
        assert process.stderr is not None
        process.send_signal(signal.SIGINT)
        assert process.stderr.read() == b"speedcube: interrupted\n"
        assert process.wait(60) == 130


def test_a_terminal_gets_no_binary() -> None:
    main, side = pty.openpty()
    try:
        done = ended("--bytes", 8, stdout=side)
        assert select.select([main], [], [], 0)[0] == []
    finally:
        os.close(side)
        os.close(main)
    assert done.returncode == 2
    assert done.stderr == (
        b"speedcube rng: standard output is a terminal, and words are binary; pipe them into a "
        b"battery (| dieharder -a -g 200) or into a file (> words.bin)\n"
    )


def test_a_closed_output_is_told() -> None:
    program = ["sh", "-c", 'exec "$@" >&-', "sh", *command("--bytes", 8)]
    done = subprocess.run(program, capture_output=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stderr == (
        b"speedcube rng: standard output is closed; pipe it into a battery, or into a file\n"
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_disk_is_told() -> None:
    with open("/dev/full", "wb") as full:
        done = ended("--bytes", 8, stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"speedcube rng: standard output: No space left on device\n"


def test_a_computation_that_fails_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    def gone(seed: int, on: rungs.Rung) -> layouts.Pieces:
        raise errors.RungError(f"{on.name} is gone")

    request = writing.RngRequest(gone, 0, 64, 8, rungs.parse("core", "a test"))
    assert writing.run(request) == 1
    assert capfd.readouterr() == ("", "speedcube rng: core is gone\n")


LAYOUT = (
    "is none of rows, columns, seeds, calls and interleaved:K, like interleaved:8192, "
    "with K streams from 1 to 1048576"
)
LONG = f"interleaved:{'9' * 5000}"
BAD = {
    "--layout=diagonal": f"--layout 'diagonal' {LAYOUT}",
    "--layout=": f"--layout '' {LAYOUT}",
    "--layout=interleaved": f"--layout 'interleaved' {LAYOUT}",
    "--layout=interleaved:0": f"--layout 'interleaved:0' {LAYOUT}",
    "--layout=interleaved:-3": f"--layout 'interleaved:-3' {LAYOUT}",
    "--layout=interleaved:1048577": f"--layout 'interleaved:1048577' {LAYOUT}",
    "--layout=interleaved:8 ": f"--layout 'interleaved:8 ' {LAYOUT}",
    "--layout=interleaved:1e3": f"--layout 'interleaved:1e3' {LAYOUT}",
    f"--layout={LONG}": "--layout 'interleaved:99999",
    "--layout=interleaved:\u0663": f"--layout 'interleaved:\u0663' {LAYOUT}",
    "--layout=rows:2": f"--layout 'rows:2' {LAYOUT}",
    "--bits=16": "--bits 16: words have 32 or 64 bits",
    "--bits=-64": "--bits -64: words have 32 or 64 bits",
    "--bytes=-1": "--bytes -1: give 0 or more, or leave it out for no end",
    "--seed=-1": "--seed -1: a seed is an integer >= 0",
    "--on=core,cores": "--on 'core,cores' names 2 rungs; the words come from one",
    "--on=": "--on '' names no rung; rungs here: ",
    "--on=moon": "unknown rung 'moon'; rungs here: ",
    "--on=cores:0": "'cores:0' asks for 0 threads; at least 1 is needed",
}


@pytest.mark.parametrize("option", BAD, ids=lambda option: ascii(option[:28]))
def test_bad_use_is_one_clear_line(option: str) -> None:
    done = CliRunner().invoke(cli.app, ["rng", option])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"speedcube rng: {BAD[option]}")
    assert done.stderr.endswith("\n")
    assert done.stderr.count("\n") == 1
    assert len(done.stderr) < 400


@pytest.mark.parametrize("option", ["--bits=many", "--bytes=1.5", "--seed=x", "--colour=red"])
def test_what_is_no_option_writes_nothing(option: str) -> None:
    done = CliRunner().invoke(cli.app, ["rng", option])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert option.split("=")[0] in done.stderr


def test_the_batteries_results_are_what_their_logs_say() -> None:
    """Generated by one command from the logs that are committed; nothing in them failed."""
    root = Path(__file__).parents[2]
    program = [sys.executable, str(root / "tools" / "batteries.py"), "--stdout"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60, check=True)
    committed = (root / "measurements" / "rng" / "dieharder.json").read_text()
    assert done.stdout == committed, "run tools/batteries.py"
    runs = json.loads(committed)["runs"]
    assert any(run["command"].startswith("speedcube rng --layout rows ") for run in runs)
    for run in runs:
        assert run["passed"] >= 1
        assert run["failed"] == 0, run["log"]
        assert len(run["notable"]) == run["weak"]
