"""``speedcube verify``: the committed list, recomputed, and what is said of a wrong bit."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from oracle import elements
from typer.testing import CliRunner

from speedcube import cli, errors, ops
from speedcube.commands.verify import check as checking
from speedcube.commands.verify.check import check
from speedcube.commands.verify.expressions import SHARED, TABLE
from speedcube.commands.verify.hash_list import committed, digest, read
from speedcube.engine import cpu, prepare, rungs
from speedcube.expr.nodes import Map, Random, Reduced, Scanned, walk
from speedcube.kernel.llvm import simd
from speedcube.kernel.llvm.scans.emit import SCANS

RUN = CliRunner()
# Exact fractions of these take minutes. The oracle makes what three views share three times, so a
# line of forty steps never ends there.
SLOW = {*SHARED, "sum-equal-terms", "sum-equal-terms32", "program-line"}
SOME = {name: TABLE[name] for name in list(TABLE)[::60]}


def parsed(name: str) -> rungs.Rung:
    return rungs.parse(name, "a test")


# The list ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("page", ["README.md", "docs/same-bits.md"])
def test_the_pages_say_how_many_results_there_are(page: str) -> None:
    text = (Path(__file__).parents[2] / page).read_text()
    assert f"recomputes {len(TABLE)} results" in text


@pytest.mark.parametrize("rung", ["core", "cores:2", "cores:3"])
def test_every_result_has_the_committed_bits(rung: str) -> None:
    outcome = check(parsed(rung), read())
    assert outcome.first_difference is None
    assert outcome.problem == ""
    assert (outcome.results, outcome.equal) == (len(TABLE), len(TABLE))
    assert outcome.passed


@pytest.mark.gpu
@pytest.mark.skipif("gpu" not in rungs.available(), reason="no GPU is visible here")
@pytest.mark.parametrize("rung", [r for r in rungs.available() if r.startswith("gpu")] or ["gpu"])
def test_every_result_has_the_committed_bits_on_a_gpu(rung: str) -> None:
    outcome = check(parsed(rung), read())
    assert outcome.first_difference is None
    assert outcome.passed, outcome.problem


# Every fourth; but of fifty steps of heat the fractions take two minutes.
@pytest.mark.parametrize(
    "name", [n for n in [n for n in TABLE if n not in SLOW][::4] if n != "program-heat"]
)
def test_the_evaluator_and_exact_fractions_agree(name: str) -> None:
    """No compiler, no superaccumulator: NumPy runs the IR, fractions are summed."""
    assert digest(elements(TABLE[name]()._expr)) == read()[name]


@pytest.mark.parametrize("name", simd.runnable()[1:])
def test_other_instructions_give_the_same_bits(name: str) -> None:
    with simd.limited(name):
        assert simd.targets()[0] == name
        assert check(parsed("core"), read(), {n: TABLE[n] for n in list(TABLE)[5::9]}).passed


def test_the_list_is_what_write_makes(tmp_path: Path) -> None:
    path = tmp_path / "list.txt"
    done = RUN.invoke(cli.app, ["verify", "--write", str(path)])
    assert done.exit_code == 0, done.output
    assert done.output == f"{len(TABLE)} hashes of stream v1, computed on core, written to {path}\n"
    again = "bits changed, or `speedcube verify --write` must make stream-v1.txt anew"
    assert path.read_text() == committed(), again


def test_the_list_has_everything() -> None:
    nodes: list[Any] = []
    sources: list[Any] = []
    todo = [make()._expr for make in TABLE.values()]
    while todo:
        for node in walk(todo.pop()):
            if isinstance(node, Map):
                nodes.append(node.op)
                continue
            sources.append(node.source)
            if isinstance(node.source, Reduced | Scanned):
                todo.append(node.source.arg)
    assert {*ops.OPS, *ops.SAMPLERS, *ops.GATHERS, "complex"} == set(nodes)
    staged = {s.op for s in sources if isinstance(s, Reduced | Scanned)}
    assert set(prepare.KERNEL_REDUCTION) | {op for op, _ in SCANS} == staged
    drawn = {(s.distribution, s.dtype) for s in sources if isinstance(s, Random)}
    floats = {(d, t) for d in ("normal", "uniform", "exponential") for t in ("float32", "float64")}
    whole = {("integers", "int64"), ("integers_wide", "int64"), ("bits64", "uint64")}
    assert floats | whole <= drawn


def test_a_hash_is_of_little_endian_bytes_dtype_and_shape() -> None:
    values = np.arange(6, dtype="<i4").reshape(2, 3)
    known = hashlib.sha256(
        b"int32(2, 3)"
        + bytes([0, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0])
        + bytes([3, 0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0])
    ).hexdigest()[:16]
    assert digest(values) == known
    assert digest(values.astype(">i4")) == known
    assert digest(np.asfortranarray(values)) == known
    others = [values.reshape(3, 2), values.view("<u4"), values[:1], values + 1]
    assert known not in map(digest, others)
    assert digest(np.float64(1)) == digest(np.array(1.0)) != digest(np.array([1.0]))


# What is said ------------------------------------------------------------------------------------


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command with a short list, which starts with the plain normals."""
    names = ["normal", *SOME]
    monkeypatch.setattr(checking.check, "__defaults__", ({n: TABLE[n] for n in names},))
    return names


@pytest.fixture
def flipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last bit of element 2 is wrong wherever 4096 elements are stored in code for the best."""
    honest, best = cpu.run_store, simd.targets()[0]

    def run_store(prepared: Any, inputs: Any, out: Any, stop: Any) -> None:
        honest(prepared, inputs, out, stop)
        if out.shape == (4096,) and simd.targets()[0] == best:
            out.view("u8")[2] ^= 1

    monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)  # by the planner, not in one call
    monkeypatch.setattr(cpu, "run_store", run_store)


def test_a_flipped_bit_is_found(few: list[str], flipped: None) -> None:
    done = RUN.invoke(cli.app, ["verify", "--on", "core,cores:2"])
    assert done.exit_code == 1
    title, *lines, verdict = done.output.splitlines()
    assert title == f"speedcube 0.1.0: {len(read())} results of stream v1"
    assert lines[0].startswith(f"core         {len(few) - 1} of {len(few)} equal, ")
    assert lines[0].endswith("; the first that differs:")
    right = elements(TABLE["normal"]()._expr)
    wrong = right.copy()
    wrong.view("u8")[2] ^= 1
    (one, other) = (float(v[2]) for v in (wrong, right))
    assert lines[1:6] == [
        "    name        normal",
        "    expression  normal(0, 1)[0 + (1)·i]",
        f"    expected    {read()['normal']}",
        f"    found       {digest(wrong)}",
        f"    elements    1 of 4096 differ, the first at (2,): {one.hex()} ({one}) instead of "
        f"{other.hex()} ({other}) (the IR's evaluator in NumPy)",
    ]
    assert lines[6].startswith(f"cores:2      {len(few) - 1} of {len(few)} equal, ")
    assert verdict == "Not equal: core, cores:2."


def test_a_flipped_bit_in_json(few: list[str], flipped: None) -> None:
    done = RUN.invoke(cli.app, ["verify", "--on", "core", "--json"])
    assert done.exit_code == 1
    report = json.loads(done.output)
    assert (report["schema"], report["list"], report["equal"]) == (1, "stream v1", False)
    (rung,) = report["rungs"]
    assert (rung["rung"], rung["results"], rung["equal"]) == ("core", len(few), len(few) - 1)
    assert rung["first_difference"]["name"] == "normal"
    assert rung["first_difference"]["expected"] == read()["normal"]


def test_a_wrong_sum_is_compared_with_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy rounds sums its own way; kernels for other instructions have the right one."""
    honest = cpu.run_records

    def run_records(prepared: Any, inputs: Any, stop: Any, consume: Any, *rest: Any) -> None:
        def wrong(first: int, records: Any) -> None:
            records[0, 40] += simd.targets() == simd.runnable()
            consume(first, records)

        honest(prepared, inputs, stop, wrong, *rest)

    monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)  # by the planner, not in one call
    monkeypatch.setattr(cpu, "run_records", run_records)
    outcome = check(parsed("core"), read(), {"published": TABLE["published"]})
    assert outcome.first_difference is not None
    said = outcome.first_difference.element
    if len(simd.runnable()) > 1:
        assert said.startswith("1 of 1 differ, the first at (): 0x1.")
        assert said.endswith("(core without fused multiply-add)")
    else:
        assert said == "no other way of computing it here has the committed bits either"


def test_a_rung_that_fails_is_not_equal(few: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def run_store(*arguments: Any) -> None:
        raise errors.KernelError("out of order")

    monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)  # by the planner, not in one call
    monkeypatch.setattr(cpu, "run_store", run_store)
    done = RUN.invoke(cli.app, ["verify", "--on", "core"])
    assert done.exit_code == 1
    line, verdict = done.output.splitlines()[1:]
    assert line.startswith(f"core         0 of {len(few)} equal, ")
    assert line.endswith("; failed at normal: KernelError: out of order")
    assert verdict == "Not equal: core."


def test_equal_rungs(few: list[str]) -> None:
    done = RUN.invoke(cli.app, ["verify", "--on", "core,cores:2"])
    assert done.exit_code == 0
    _, one, two, verdict = done.output.splitlines()
    assert one.startswith(f"core         {len(few)} of {len(few)} equal, ")
    assert two.startswith(f"cores:2      {len(few)} of {len(few)} equal, ")
    assert verdict == "Equal: every result has the committed bits on all 2 rungs."


def test_without_fused_multiply_add(few: list[str]) -> None:
    done = RUN.invoke(cli.app, ["verify", "--simd", "plain"])
    assert done.exit_code == 0, done.output
    title = done.output.splitlines()[0]
    assert title == f"speedcube 0.1.0: {len(read())} results of stream v1, kernels for plain"
    assert simd.SIMD not in os.environ


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--on", "plane"], "unknown rung 'plane'"),
        (["--on", ","], "--on ',' names no rung; rungs here: core"),
        (["--simd", "avx9"], "--simd 'avx9' is not a target of this CPU; it has "),
        (["--write", "/nowhere/list"], "there is no directory '/nowhere'"),
    ],
)
def test_bad_use(options: list[str], said: str) -> None:
    done = RUN.invoke(cli.app, ["verify", *options])
    assert done.exit_code == 2
    assert done.stderr.startswith("speedcube verify: ")
    assert said in done.stderr


def test_simd_is_no_matter_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = rungs.Rung("gpu", "gpu", 1, "", (0,))
    monkeypatch.setattr(rungs, "describe", lambda on, reason: gpu)
    done = RUN.invoke(cli.app, ["verify", "--on", "gpu", "--simd", "plain"])
    assert done.exit_code == 2
    assert "--simd plain is about the CPU rungs of this process, not about gpu" in done.stderr


def test_interrupted(few: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def run_store(*arguments: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("speedcube.engine.compute.SMALL", -1)  # by the planner, not in one call
    monkeypatch.setattr(cpu, "run_store", run_store)
    done = RUN.invoke(cli.app, ["verify", "--on", "core"])
    assert done.exit_code == 130
    assert done.stderr == "Interrupted.\n"


# Machines without fused multiply-add -------------------------------------------------------------

_WITHOUT = """
from speedcube.kernel.llvm import simd
simd.host_features = lambda: frozenset({"sse2"})
simd.platform.machine = lambda: "x86_64"
from speedcube.commands.verify import check, expressions, hash_list as listed
from speedcube.engine import rungs
assert simd.targets() == ("plain",) and not simd.has_fma()
names = ["published", "normal", "exp-float64", "sum-wild", "power-float32", "modulo"]
few = {name: expressions.TABLE[name] for name in names}
for rung in ("core", "cores:2"):
    done = check.check(rungs.parse(rung, ""), listed.read(), few)
    print(done.rung, done.equal, done.problem)
"""


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="other processors have it always")
def test_a_cpu_without_fma_says_once_that_it_is_slow() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WITHOUT], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "core 6 \ncores:2 6 \n", done.stderr
    assert done.stderr.count("RuntimeWarning") == 1
    assert (
        "this CPU has no fused multiply-add: kernels call the C library's, which gives the same "
        "bits many times slower (speedcube doctor says more)"
    ) in done.stderr


def test_the_environment_limits_the_instructions(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = simd.targets.__wrapped__  # what is asked once a process
    monkeypatch.setenv(simd.SIMD, "plain")
    assert asked() == ("plain",)
    monkeypatch.setenv(simd.SIMD, "")
    assert asked() == simd.runnable()
    monkeypatch.setenv(simd.SIMD, "avx9")
    with pytest.raises(
        errors.ParameterError, match="SPEEDCUBE_SIMD=avx9 is not a target of this CPU"
    ):
        asked()
    monkeypatch.undo()
    with simd.limited("plain"):
        assert simd.targets() == ("plain",)
    assert simd.targets() == asked()
