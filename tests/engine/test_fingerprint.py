"""Workers with other files, or other bits: refused, with both values; and where they are asked."""

from __future__ import annotations

import hashlib
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import dask
import pytest

import speedcube as sc
from speedcube.engine.clusters import fingerprint, roster
from speedcube.engine.clusters.fingerprint import Fingerprint, expected, guarded
from speedcube.errors import WorkerError
from speedcube.kernel.llvm import simd
from speedcube.kernel.lower.reference import elements
from speedcube.philox import philox4x32

distributed = pytest.importorskip("distributed")

PACKAGE = Path(sc.__file__).parent


def test_the_right_answers_are_those_of_the_definitions() -> None:
    words = elements(fingerprint.question("bits64", "uint64"))
    assert hashlib.sha256(words.astype("<u8").tobytes()).hexdigest() == fingerprint.STREAM
    key = 0x243F6A8885A308D3
    for position in range(3):  # values of three blocks: docs/stream-v1.md
        low, high, *_ = philox4x32((position, 0, 0, 0), key)
        assert int(words[position]) == high << 32 | low
    normals = elements(fingerprint.question("normal", "float64"))
    assert math.fsum(normals).hex() == fingerprint.KERNEL
    assert fingerprint.fingerprint() == expected()


def test_the_hash_is_of_what_files_hold() -> None:
    found = fingerprint.source_digests()
    assert found["philox.py"] == hashlib.sha256((PACKAGE / "philox.py").read_bytes()).hexdigest()
    assert len(found) == len(list(PACKAGE.rglob("*.py")))


def test_a_task_compares_where_it_runs() -> None:
    """A worker that joined after the others were asked."""
    assert guarded(expected(), max, 3, 5) == 5
    assert guarded(expected(answers=False), max, 3, 5) == 5
    other = Fingerprint(sc.__version__, "0" * 64, fingerprint.STREAM, fingerprint.KERNEL)
    with pytest.raises(WorkerError, match="its known answers are right"):
        guarded(other, max, 3, 5)


def _copy(folder: Path, file: str, *changes: tuple[str, str]) -> Path:
    """The package once more, with ``changes`` in one file; the folder it can be imported from."""
    shutil.copytree(PACKAGE, folder / "speedcube", ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "speedcube" / file
    text = path.read_text()
    for before, after in changes:
        assert text.count(before) == 1
        text = text.replace(before, after)
    path.write_text(text)
    return folder


@contextmanager
def _worker(client: Any, path: Path | str, port: int = 0, **variables: str) -> Iterator[str]:
    """A worker of ``client``'s scheduler that imports the package from ``path``; its address.

    ``variables`` are of its environment.
    """
    before = {*client.scheduler_info(n_workers=-1)["workers"]}
    process = subprocess.Popen(
        [
            sys.executable, "-m", "dask", "worker", client.scheduler.address, "--no-nanny",
            "--nthreads", "1", "--host", "127.0.0.1", "--no-dashboard", "--worker-port", str(port),
        ],
        stderr=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(path), **variables},
    )  # fmt: skip
    try:
        client.wait_for_workers(len(before) + 1, timeout=60)
        (address,) = {*client.scheduler_info(n_workers=-1)["workers"]} - before
        yield address
    finally:
        process.kill()
        process.wait(30)
        while address in roster.worker_states(client):
            pass


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with (
        distributed.LocalCluster(
            n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as connected,
    ):
        yield connected


def _sum() -> Any:
    return sc.random.default_rng(5).normal(size=(300, 200)).sum()


PHILOX = (("0xD2511F53, 0xCD9E8D57", "0xD2511F55, 0xCD9E8D59"),)


@pytest.mark.cluster
def test_a_worker_with_two_other_constants_of_philox(client: Any, tmp_path: Path) -> None:
    """The same version; what it computes looks like random numbers, too."""
    train = pytest.importorskip("speedcube.train")
    with _worker(client, _copy(tmp_path, "philox.py", *PHILOX)) as address:
        for computation in (
            lambda: _sum().compute(on=client),
            lambda: dask.compute(_sum(), scheduler=client),
            lambda: train.run(train.rank, on=client),
        ):
            with client.as_current(), pytest.raises(WorkerError) as caught:
                computation()
            text = str(caught.value)
            assert f"worker {address} has speedcube {sc.__version__}, too, but other files" in text
            assert f"{fingerprint.sources()[:12]} here (different: philox.py)" in text
            assert "Install the same files" in text
        with pytest.raises(WorkerError) as caught:
            _sum().compute(on=client)
        assert f"instead of {fingerprint.STREAM[:12]}" in str(caught.value)
        assert f"instead of {fingerprint.KERNEL}" in str(caught.value)


@pytest.mark.cluster
def test_a_comment_is_another_file_and_a_copy_elsewhere_is_not(client: Any, tmp_path: Path) -> None:
    """What a change means nobody can tell from a hash: the message says that the answers agree."""
    comment = ("ROUNDS: Final = 10\n", "ROUNDS: Final = 10  # as published\n")
    expected_bits = _sum().compute(on="core")
    same = _copy(tmp_path / "same", "philox.py")
    with _worker(client, same) as address:
        assert client.run(lambda: __import__("speedcube").__file__) == {
            address: str(same / "speedcube" / "__init__.py")
        }
        assert _sum().compute(on=client) == expected_bits
        port = int(address.rpartition(":")[2])
    other = _copy(tmp_path / "other", "philox.py", comment)
    with _worker(client, other, port) as again:  # restarted with other files, at the same address
        assert again == address
        with pytest.raises(WorkerError, match=r"different: philox\.py.*known answers are right"):
            _sum().compute(on=client)


@pytest.mark.cluster
def test_a_worker_that_joins_later_is_asked(client: Any, tmp_path: Path) -> None:
    with _worker(client, PACKAGE.parent):
        chunks = sc.random.default_rng(5).normal(size=(300, 200)).to_dask_array()
        assert _sum().compute(on=client) == _sum().compute(on="core")
        with _worker(client, _copy(tmp_path, "philox.py", *PHILOX)) as address:
            with pytest.raises(WorkerError, match=address):
                _sum().compute(on=client)
            # A Dask array's tasks go to any worker: they compare where they run.
            with pytest.raises(WorkerError, match=address):
                client.compute(chunks, workers=[address], sync=True)
        assert _sum().compute(on=client) == _sum().compute(on="core")


# Python runs it before anything else.
AN_HOUR_AHEAD = "import time\nours = time.time\ntime.time = lambda: ours() + 3600\n"


@pytest.mark.cluster
def test_workers_of_another_cpu_and_another_time(
    client: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Other vectors give the same bits; a clock that is wrong makes nobody silent, nor stale."""

    def said() -> tuple[str, float]:
        import time

        from speedcube.kernel.llvm import simd

        return simd.targets()[0], time.time()

    (tmp_path / "sitecustomize.py").write_text(AN_HOUR_AHEAD)
    ahead = f"{tmp_path}{os.pathsep}{PACKAGE.parent}"
    x = sc.random.default_rng(5).gamma(2.5, size=100_000_000)
    with _worker(client, PACKAGE.parent, SPEEDCUBE_SIMD="plain"), _worker(client, ahead) as late:
        found = client.run(said)
        assert {target for target, _ in found.values()} == {"plain", simd.targets()[0]}
        assert found[late][1] - time.time() > 3500
        capfd.readouterr()
        assert x.mean().compute(on=client, worker_timeout=3) == x.mean().compute(on="cores:2")
        assert capfd.readouterr().err == "", "nothing is lost, and nobody waited for"
        held = (x[:1000] * 2).persist(on=client)
        assert (held.compute() == (x[:1000] * 2).compute(on="core")).all()
