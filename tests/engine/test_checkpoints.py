"""Long computations that are kept in a directory: gone on from with the same bits, or anew."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
import pytest
from oracle import assert_same_bits

import speedcube as sc
from speedcube.engine.clusters import handing
from speedcube.engine.keeping import ledger, records, run
from speedcube.engine.keeping.identity import Identity, NoIdentityError
from speedcube.errors import CheckpointError, ParameterError, ParameterTypeError

_DATA = (np.random.default_rng(3).normal(size=(70_000, 3)) * 9).astype("float64")


def _drawn() -> sc.Array:
    return sc.random.default_rng(3).normal(size=(300, 700))


PROGRAMS: dict[str, Callable[[], Any]] = {
    "sum": lambda: _drawn().sum(),
    "few": lambda: sc.sin(sc.asarray(_DATA)).mean(axis=0),
    "std": lambda: _drawn().astype("float32").std(),
    "argmin": lambda: _drawn().argmin(),
    "integers": lambda: (sc.sin(sc.asarray(_DATA)) * 1000).astype("int32").sum(axis=0),
    "stages": lambda: (lambda x: ((x - x.mean()) ** 2).max())(_drawn()),
    "pieces": lambda: sc.sin(sc.pad(_drawn(), 3, constant_values=0.5)).sum(),
    "complex": lambda: (_drawn() + 1j * _drawn()).sum(),
    "sorted": lambda: sc.sin(sc.sort(_drawn().ravel())[::2]).sum(),
}


@pytest.fixture(autouse=True)
def _short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parts hand over every few thousand elements, and each of their records is written."""
    monkeypatch.setattr(handing, "WORK", 30_000.0)
    monkeypatch.setattr(ledger, "EACH", 0.0)
    monkeypatch.setattr(ledger, "_SHARE", 1e9)
    run._sayings._said.clear()


class Stopped(Exception):
    """What a test raises where a program would be killed."""


def _stop_after(monkeypatch: pytest.MonkeyPatch, count: int) -> list[int]:
    """End the next computation when so many records were written; their positions are noted."""
    seen: list[int] = []
    take = ledger.Ledger.take

    def counted(self: Any, name: str, position: int, given: Any) -> None:
        if len(seen) == count:
            raise Stopped
        seen.append(position)
        take(self, name, position, given)

    monkeypatch.setattr(ledger.Ledger, "take", counted)
    return seen


def _interrupt(make: Callable[[], Any], folder: Path, on: Any, count: int) -> list[int]:
    with pytest.MonkeyPatch.context() as patch:
        seen = _stop_after(patch, count)
        with pytest.raises(Stopped), sc.on(on, checkpoint=folder):
            make().compute()
    return seen


def _finish(make: Callable[[], Any], folder: Path, on: Any) -> tuple[Any, list[int]]:
    """The value, and the positions that were handed over on the way."""
    with pytest.MonkeyPatch.context() as patch:
        seen = _stop_after(patch, -1)
        with sc.on(on, checkpoint=folder):
            return make().compute(), seen


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_goes_on_with_the_same_bits(name: str, tmp_path: Path) -> None:
    make = PROGRAMS[name]
    wanted = make().compute(on="core")
    value, undisturbed = _finish(make, tmp_path, "core")
    assert np.asarray(value).tobytes() == np.asarray(wanted).tobytes()
    assert len(undisturbed) > 1
    for count in {1, len(undisturbed) // 2, len(undisturbed) - 1}:
        _interrupt(make, tmp_path, "core", count)
        assert len(list(tmp_path.glob("*.json"))) == 1
        value, rest = _finish(make, tmp_path, "core")
        assert np.asarray(value).tobytes() == np.asarray(wanted).tobytes()
        assert len(rest) == len(undisturbed) - count
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("places", [("core", "cores:3"), ("cores:3", "core")])
def test_threads_may_be_others(places: tuple[str, str], tmp_path: Path) -> None:
    make = PROGRAMS["stages"]
    _, undisturbed = _finish(make, tmp_path, "core")
    _interrupt(make, tmp_path, places[0], 3)
    value, rest = _finish(make, tmp_path, places[1])
    assert_same_bits(value, make().compute(on="core"))
    if places[1] == "core":  # a slice at a time, where three were made at once before
        assert len(rest) < len(undisturbed) - 3


def test_arrays_that_are_computed_together(tmp_path: Path) -> None:
    def make() -> tuple[Any, Any, Any]:
        x = _drawn()
        return sc.compute(x.sum(), (x * x).max(), x.std())

    wanted = [np.asarray(one).tobytes() for one in make()]
    with pytest.MonkeyPatch.context() as patch:
        seen = _stop_after(patch, 2)
        with pytest.raises(Stopped), sc.on("core", checkpoint=tmp_path):
            make()
    assert len(seen) == 2
    with sc.on("core", checkpoint=tmp_path):
        assert [np.asarray(one).tobytes() for one in make()] == wanted
    assert not list(tmp_path.iterdir())


def test_what_is_short_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records.KeptFile, "open", lambda _: pytest.fail("opened"))
    monkeypatch.setattr(handing, "WORK", 0.25e9)
    with sc.on("core", checkpoint=tmp_path):
        assert_same_bits(_drawn().sum().compute(), _drawn().sum().compute(on="core"))


@pytest.fixture(scope="module")
def clients() -> Iterator[tuple[Any, Any]]:
    """Clusters of two workers and of three."""
    distributed = pytest.importorskip("distributed")
    options = {"processes": False, "protocol": "tcp", "dashboard_address": "127.0.0.1:0"}
    options |= {"threads_per_worker": 1, "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=2, **options) as two,
        distributed.LocalCluster(n_workers=3, **options) as three,
        distributed.Client(two, set_as_default=False) as first,
        distributed.Client(three, set_as_default=False) as second,
    ):
        yield first, second


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_a_cluster_goes_on_with_what_another_one_left(
    clients: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parts stay those of the first run, whatever workers there are then; on a core, too."""
    monkeypatch.setattr("speedcube.engine.clusters.submission.interval", lambda _: 0.02)
    monkeypatch.setattr(handing, "WORK", 1e7)

    def make() -> Any:
        return sc.random.default_rng(7).gamma(2.5, size=20_000_000).mean()

    wanted, going_on = make().compute(on="core"), run.going_on
    for on in (clients[1], "core"):
        write = records.KeptFile.write

        def once(self: Any, kept: Any, write: Any = write) -> None:
            write(self, kept)
            raise Stopped

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(records.KeptFile, "write", once)
            with pytest.raises(Stopped), sc.on(clients[0], checkpoint=tmp_path):
                make().compute()
        (path,) = tmp_path.glob("*.json")
        told = json.loads(path.read_bytes().partition(b"\n")[2])
        assert told["workers"] == 2
        left = {name: position for name, (position, _) in told["parts"].items()}
        sent: list[Any] = []

        def noted(calls: Any, kept: Any, sent: Any = sent) -> Any:
            made = going_on(calls, kept)
            sent += [call.arguments[0].left for call in made.all if ledger.sent_of(call)]
            return made

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(run, "going_on", noted)
            with sc.on(on, checkpoint=tmp_path):
                assert_same_bits(make().compute(), wanted)
        assert sorted(position for position, _ in sent if position) == sorted(left.values())
        assert len(sent) == 2
        assert not list(tmp_path.iterdir())


@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")
def test_a_run_goes_on_with_what_the_scheduler_heard_since_the_file_was_written(
    clients: tuple[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("speedcube.engine.clusters.submission.interval", lambda _: 0.02)
    monkeypatch.setattr(handing, "WORK", 1e7)
    client = clients[0]

    def make() -> Any:
        return sc.random.default_rng(8).gamma(2.5, size=20_000_000).mean()

    wanted, write, going_on = make().compute(on="core"), records.KeptFile.write, run.going_on

    def early(self: Any, kept: Any) -> None:
        write(self, replace(kept, parts={}))
        raise Stopped

    with monkeypatch.context() as patch:
        patch.setattr(records.KeptFile, "write", early)
        with pytest.raises(Stopped), sc.on(client, checkpoint=tmp_path):
            make().compute()
    (path,) = tmp_path.glob("*.json")
    token = json.loads(path.read_bytes().partition(b"\n")[2])["token"]
    while any(client.processing().values()):
        time.sleep(0.02)
    heard: dict[str, int] = {}
    for _, event in client.get_events(handing.TOPIC):
        if event["name"].startswith(token):
            heard[event["name"]] = max(event["position"], heard.get(event["name"], 0))
    assert heard
    begun: list[int] = []

    def noted(calls: Any, kept: Any) -> Any:
        made = going_on(calls, kept)
        begun.extend(call.arguments[0].left[0] for call in made.all if ledger.sent_of(call))
        return made

    monkeypatch.setattr(run, "going_on", noted)
    with sc.on(client, checkpoint=tmp_path):
        assert_same_bits(make().compute(), wanted)
    assert sorted(filter(None, begun)) == sorted(heard.values())
    assert not list(tmp_path.iterdir())


_KILLED = """
import sys
import speedcube as sc
from speedcube.engine.clusters import handing
from speedcube.engine.keeping import ledger
handing.WORK, ledger.EACH = 4e7, 0.0
x = sc.random.default_rng(5).gamma(2.5, size=40_000_000)
with sc.on("core", checkpoint=sys.argv[1]):
    print(float(x.mean()).hex())
"""


def test_a_program_that_is_killed(tmp_path: Path) -> None:
    """For good (-9); the next one begins behind what it had come to, and leaves nothing."""
    command = [sys.executable, "-c", _KILLED, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as first:
        deadline = time.monotonic() + 60
        while not list(tmp_path.glob("*.json")) and first.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        first.send_signal(signal.SIGKILL)
    assert len(list(tmp_path.glob("speedcube-*.json"))) == 1
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "goes on with what" in again.stderr
    x = sc.random.default_rng(5).gamma(2.5, size=40_000_000)
    assert again.stdout.strip() == float(x.mean().compute(on="cores:2")).hex()
    assert not list(tmp_path.iterdir())


def test_a_directory_of_other_computations(tmp_path: Path) -> None:
    """Each has a file of its own: another expression, other data, and the same data changed."""
    data = _DATA.copy()
    others: list[Callable[[], Any]] = [
        lambda: sc.sin(sc.asarray(data)).mean(axis=0),
        lambda: sc.sin(sc.asarray(data)).mean(axis=0, dtype="float32"),
        lambda: sc.sin(sc.asarray(data) + 1).mean(axis=0),
        lambda: sc.random.default_rng(3).normal(size=(300, 700)).mean(),
        lambda: sc.random.default_rng(4).normal(size=(300, 700)).mean(),
    ]
    for number, make in enumerate(others):
        _interrupt(make, tmp_path, "core", 2)
        assert len(list(tmp_path.glob("*.json"))) == number + 1
    data[40_000, 1] = np.nextafter(data[40_000, 1], 100)
    value, _ = _finish(others[0], tmp_path, "core")
    assert_same_bits(value, others[0]().compute(on="core"))
    assert len(list(tmp_path.glob("*.json"))) == len(others)


def test_a_file_that_has_changed(tmp_path: Path) -> None:
    path = tmp_path / "data.npy"
    np.save(path, _DATA)

    def make() -> Any:
        return sc.sin(sc.from_npy(path)).sum(axis=0)

    _interrupt(make, tmp_path / "kept", "core", 2)
    np.save(path, _DATA * 2)
    value, seen = _finish(make, tmp_path / "kept", "core")
    assert_same_bits(value, sc.sin(sc.asarray(_DATA * 2)).sum(axis=0).compute(on="core"))
    assert len(seen) > 4
    assert len(list((tmp_path / "kept").iterdir())) == 1


class Planted:
    """Runs code where it is unpickled."""

    def __reduce__(self) -> Any:
        return os.system, ("touch planted",)


def _resealed(raw: bytes, change: Callable[[Any], None]) -> bytes:
    """The file with another content and the hash of that."""
    told = json.loads(raw.partition(b"\n")[2])
    change(told)
    body = json.dumps(told).encode()
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda raw: b"",
    "cut short": lambda raw: raw[: len(raw) // 2],
    "one byte": lambda raw: raw[:-200] + bytes([raw[-200] ^ 1]) + raw[-199:],
    "a pickle": lambda raw: pickle.dumps(Planted()),
    "not JSON": lambda raw: hashlib.sha256(b"{").hexdigest().encode() + b"\n{",
    "format": lambda raw: _resealed(raw, lambda told: told.update(format=2)),
    "key": lambda raw: _resealed(raw, lambda told: told.update(key="0" * 64)),
    "workers": lambda raw: _resealed(raw, lambda told: told.update(workers=-1)),
    "parts": lambda raw: _resealed(raw, lambda told: told.update(parts={"-0": [3, [[[1], "x"]]]})),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_file_that_is_damaged_is_no_file(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    make, kept = PROGRAMS["sum"], tmp_path / "kept"
    _, undisturbed = _finish(make, kept, "core")
    _interrupt(make, kept, "core", 3)
    (path,) = kept.glob("*.json")
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    value, seen = _finish(make, kept, "core")
    assert_same_bits(value, make().compute(on="core"))
    assert len(seen) == len(undisturbed)
    said = capfd.readouterr().err
    sealed = damage not in ("nothing", "cut short", "one byte", "a pickle")
    why = "is not a record of this computation" if sealed else "was changed after it was written"
    assert f"{path} is not used: it {why}" in said
    assert "this computation begins anew" in said
    assert [one.name for one in tmp_path.iterdir()] == ["kept"]
    assert not list(kept.iterdir())


def test_records_of_another_plan_are_not_used(tmp_path: Path) -> None:
    make = PROGRAMS["sum"]
    _, undisturbed = _finish(make, tmp_path, "core")
    _interrupt(make, tmp_path, "core", 3)
    (path,) = tmp_path.glob("*.json")
    path.write_bytes(_resealed(path.read_bytes(), lambda told: told.update(structure="0" * 64)))
    value, seen = _finish(make, tmp_path, "core")
    assert_same_bits(value, make().compute(on="core"))
    assert len(seen) == len(undisturbed)


def test_two_programs_with_one_directory(tmp_path: Path) -> None:
    """The second is told; what the first has is not lost."""
    make, problems = PROGRAMS["sum"], list[Any]()
    take = ledger.Ledger.take

    def other() -> None:
        try:
            with sc.on("core", checkpoint=tmp_path):
                make().compute()
        except CheckpointError as err:
            problems.append(str(err))

    def meanwhile(self: Any, *given: Any) -> None:
        if not problems:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        take(self, *given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger.Ledger, "take", meanwhile)
        with sc.on("core", checkpoint=tmp_path):
            value = make().compute()
    assert_same_bits(value, make().compute(on="core"))
    assert len(problems) == 1
    assert f"computes the same and keeps it in {tmp_path}" in problems[0]
    assert not list(tmp_path.iterdir())


def test_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    make = PROGRAMS["sum"]
    monkeypatch.setattr(records, "write_whole", full)
    value, _ = _finish(make, tmp_path, "core")
    assert_same_bits(value, make().compute(on="core"))
    assert "cannot be written (No space left on device)" in capfd.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_directory_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="cannot keep computations"):
        sc.on("core", checkpoint=tmp_path / "file").__enter__()
    with pytest.raises(CheckpointError, match="cannot keep computations"):
        sc.on("core", checkpoint=tmp_path / "file" / "below").__enter__()
    for wrong in (3, "", b"x" * 0):
        with pytest.raises(ParameterTypeError, match="checkpoint="):
            sc.on("core", checkpoint=wrong).__enter__()
    with pytest.raises(ParameterError, match="works on core, cores and clusters"):
        sc.on("gpu", checkpoint=tmp_path)
    kept = sc.on("core", checkpoint=tmp_path)
    assert repr(kept) == f"speedcube.on('core', checkpoint={tmp_path!r})"


def test_what_has_no_identity_is_computed_all_the_same(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    array = sc.asarray(da.from_array(_DATA, chunks=20_000))
    with sc.on("core", checkpoint=tmp_path):
        value = sc.sin(array).sum(axis=0).compute()
    assert_same_bits(value, sc.sin(sc.asarray(_DATA)).sum(axis=0).compute(on="core"))
    assert "checkpoint= keeps nothing of a computation that reads an array of dask" in (
        capfd.readouterr().err
    )
    assert not list(tmp_path.iterdir())


def test_an_identity_is_of_all_there_is() -> None:
    x = _drawn()

    def of(array: sc.Array) -> str:
        return Identity().of(array._expr)

    assert of((x + 1).sum()) == of((_drawn() + 1).sum())
    different = [x.sum(), x.sum(axis=0), (x + 1).sum(), (x + 1.0).max(), x.T.sum(), x[1:].sum()]
    different += [x.std(), x.std(ddof=1), sc.asarray(_DATA).sum(), sc.asarray(_DATA[::2]).sum()]
    different += [sc.asarray(_DATA.astype("int64")).sum(), sc.asarray(_DATA.T).sum()]
    assert len({of(one) for one in different}) == len(different)
    deep = x
    for _ in range(3_000):
        deep = deep + 1
    assert of(deep) != of(deep + 1)
    with pytest.raises(NoIdentityError, match="a dict"):
        Identity().of({})
