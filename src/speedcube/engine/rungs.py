"""The rungs: their names, which of them this machine has, and which one a computation runs on."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from numbers import Integral
from typing import Any, Final

from ..dataclass import dataclass
from ..errors import ParameterError, RungError
from ..kernel.llvm.simd import targets
from ..late import setting
from . import machine
from .clusters.client import client_for
from .clusters.losses import address_of
from .clusters.named import Processes, client_of
from .clusters.roster import worker_addresses
from .clusters.rung_names import is_name, meant, members, numbered, one_name, processes
from .dealing.predicted import predicted_seconds as predicted_seconds


@dataclass(frozen=True)
class Rung:
    """A resolved rung: ``kind`` core | cores | gpu | gpus | client, its threads or GPUs, and why.

    GPUs that share with ``cores`` are of kind gpus.

    What `describe` gives may also be of kind cuda-cluster or processes: a client whose cluster is
    not started.
    """

    name: str
    kind: str
    workers: int
    reason: str
    devices: tuple[int, ...] = ()
    client: Any = None
    addresses: tuple[str, ...] = ()  # of the client's workers
    processes: Processes | None = None  # of a cluster on this machine's cores
    cores: int = 0  # threads of this process beside GPUs

    @property
    def cluster(self) -> tuple[int, ...] | Processes | None:
        """The cluster of this machine that the name stands for, which may not be started."""
        return self.processes or (self.devices if self.kind == "cuda-cluster" else None)


MOST_PROCESSES: Final = 256  # of a cluster that a name starts: each imports all of Dask

INNERMOST: Final = "the innermost sc.on"  # why a rung is one: the block that computes

_current: ContextVar[Any] = ContextVar("speedcube_rung", default=None)


@contextmanager
def running_on(on: Any) -> Iterator[None]:
    """Every speedcube array computed inside runs on ``on`` unless it says otherwise."""
    token = run_on(on)
    try:
        yield
    finally:
        run_no_longer(token)


run_on, run_no_longer = _current.set, _current.reset


def available() -> tuple[str, ...]:
    """The rungs of this machine, slowest first."""
    names = ["core"] + ["cores"] * (machine.cores() > 1)
    if machine.gpu_count() and cupy_problem() is None:
        names += ["gpu"] + ["gpus"] * (machine.gpu_count() > 1)
    return tuple(names)


def cupy_problem() -> str | None:
    """Why CuPy cannot be used, or None."""
    found = "cupy" in sys.modules or find_spec("cupy")
    return None if found else "CuPy is not installed (pip install speedcube[cuda13])"


def _missing_gpu() -> str:
    count, why = machine.gpu_probe()
    return cupy_problem() or "" if count else f"no GPU is visible: {why}"


@lru_cache(maxsize=64)
def _core(reason: str) -> Rung:
    """One core, where what is small runs: its name is not taken apart each time."""
    return Rung("core", "core", 1, reason)


def parse(on: str, reason: str) -> Rung:
    """The rung named ``on``, ready to compute; `RungError` where this machine lacks it."""
    return started(describe(on, reason))


def started(rung: Rung) -> Rung:
    """``rung``, or the client of the cluster that it stands for, which is started here."""
    if rung.cluster is None:
        return rung
    client = client_of(rung.cluster)
    return replace(rung, kind="client", devices=(), processes=None, client=client)


def describe(on: str, reason: str, needs_cupy: bool = True) -> Rung:
    """What `parse` gives, without starting a cluster; the same `RungError`.

    Training takes GPUs by the same names without ``needs_cupy``.
    """
    if on == "core":
        return _core(reason)
    if (several := processes(on)) is not None:
        return _processes_rung(on, several, reason)
    if names := members(on):
        return _together(on, names, reason, needs_cupy)
    if (named := numbered(on)) is None:
        raise RungError(
            f"unknown rung {on!r}{meant(on)}; rungs here: {', '.join(available())}; "
            "others: 'cores:2', 'cores:2x4' (two processes of four threads), "
            "'gpu:0', 'gpus:0,1', ['cores', 'gpus'], 'cuda-cluster', a Dask Client, "
            "'tcp://host:port', a scheduler file"
        )
    kind, numbers = named
    if kind == "cores" and len(numbers) <= 1:
        count = numbers[0] if numbers else machine.cores()
        if count < 1:
            raise RungError(f"{on!r} asks for {count} threads; at least 1 is needed")
        return Rung(on, "cores", count, reason)
    if kind in ("gpu", "gpus", "cuda-cluster"):
        return _gpu_rung(on, kind, numbers, reason, needs_cupy)
    raise RungError(
        f"rung {on!r} takes no such number{meant(on)}; rungs here: {', '.join(available())}"
    )


def _processes_rung(on: str, several: Processes, reason: str) -> Rung:
    if not several.count or not several.threads:
        raise RungError(f"{on!r} asks for none; at least 1 process of 1 thread is needed")
    if several.count > MOST_PROCESSES:
        raise RungError(
            f"{on!r} asks for {several.count} processes on this machine; "
            f"at most {MOST_PROCESSES} are started"
        )
    return Rung(on, "processes", several.count, reason, processes=several)


def _together(on: str, names: tuple[str, ...], reason: str, needs_cupy: bool) -> Rung:
    """CPU threads and GPUs that share the parts of a computation."""
    rungs = [describe(name, reason, needs_cupy) for name in names]
    gpus = [rung for rung in rungs if rung.devices and rung.kind != "cuda-cluster"]
    cores = [rung for rung in rungs if rung.kind in ("core", "cores")]
    devices = tuple(device for rung in gpus for device in rung.devices)
    if len(cores) != 1 or not gpus or len(gpus) + 1 < len(rungs) or len({*devices}) < len(devices):
        raise RungError(
            f"on={[*names]!r} shares parts between the CPU's threads and GPUs: give one of 'core', "
            "'cores', 'cores:4', and GPUs, each once ('gpu', 'gpu:1', 'gpus', 'gpus:0,1')"
        )
    threads = cores[0].workers
    if cores[0].name == "cores":  # each GPU has a thread that waits for it
        threads = max(1, threads - len(devices))
    return Rung(on, "gpus", threads + len(devices), reason, devices, cores=threads)


def _gpu_rung(on: str, kind: str, numbers: list[int], reason: str, needs_cupy: bool) -> Rung:
    count = machine.gpu_count()
    if not count or (needs_cupy and cupy_problem()):
        raise RungError(f"{_missing_gpu()}; asked for {on!r}; rungs here: {', '.join(available())}")
    if kind == "gpu":
        devices = numbers or [0]
    elif len(numbers) == 1:
        devices = list(range(numbers[0]))
    else:
        devices = numbers or list(range(count))
    if kind == "cuda-cluster" and not find_spec("dask_cuda"):
        raise RungError("cuda-cluster needs dask-cuda (pip install speedcube[cuda13])")
    if not devices or max(devices) >= count or len(set(devices)) < len(devices):
        raise RungError(
            f"{on!r} asks for GPUs {devices}; this machine has {count} (0..{count - 1})"
        )
    return Rung(on, kind, len(devices), reason, tuple(devices))


_SYNCHRONOUS: Final = {"single-threaded", "sync", "synchronous"}
_THREADED: Final = {"threads", "threading"}


def _from_scheduler(scheduler: Any, prefers_gpu: bool, reason: str) -> Rung:
    if isinstance(scheduler, str) and scheduler.lower() in _SYNCHRONOUS:
        return parse("gpu" if prefers_gpu else "core", reason)
    if isinstance(scheduler, str) and scheduler.lower() in _THREADED:
        return parse("gpus" if prefers_gpu else "cores", reason)
    if scheduler in ("processes", "multiprocessing"):
        return parse("gpus" if prefers_gpu else "cores", f"{reason}; threads do as well here")
    # A block of sc.on, seen from another thread: Dask's settings reach it, the rung does not.
    return _named(getattr(scheduler, "speedcube_rung", scheduler), reason)


def resolve(
    on: Any, scheduler: Any, size: int, prefers_gpu: bool, dtype: str = "float64", of: Any = None
) -> Rung:
    """The rung a computation of ``size`` elements runs on; ``of``: the client that has its data."""
    if on is not None:
        return _named(on, "asked for with on=")
    if scheduler is not None:
        return _from_scheduler(scheduler, prefers_gpu, f"scheduler={scheduler!r}")
    if (inside := _current.get()) is not None:
        return _named(inside, INNERMOST)
    client = active_client()
    if client is not None:
        return _client_rung(client, "the active Dask client")
    configured = setting("scheduler", None)
    if configured is not None:
        return _from_scheduler(configured, prefers_gpu, f"Dask's scheduler is {configured!r}")
    if of is not None:
        return _client_rung(of, "its data lie there")
    if prefers_gpu:
        return parse("gpus" if machine.gpu_count() > 1 else "gpu", "made with a CuPy RandomState")
    return least_time(size, dtype)


def is_named(on: Any, scheduler: Any) -> bool:
    """Whether a rung is asked for, so that it does not follow from how much there is to do."""
    return on is not None or scheduler is not None or _current.get() is not None


def _named(on: Any, reason: str) -> Rung:
    if isinstance(on, Rung):
        return on
    on = one_name(on)
    if isinstance(on, str) and on == "core":
        return _core(reason)
    if is_name(on):
        return described(on, reason) if on.startswith("gpu") else parse(on, reason)
    return _client_rung(on, reason)


def described(on: str, reason: str) -> Rung:
    """What `describe` gives, of a GPU without taking its name apart each time."""
    if on.startswith("gpu"):
        return _gpus(on, reason, machine.gpu_count(), cupy_problem())
    return describe(on, reason)


@lru_cache(maxsize=64)
def _gpus(on: str, reason: str, *_: Any) -> Rung:
    """A rung of GPUs, remembered for what it follows from: small computations ask each time."""
    return parse(on, reason)


def with_threads(rung: Rung, count: Any) -> Rung:
    """``rung`` with ``count`` threads, Dask's ``num_workers=``; other rungs have no threads."""
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise ParameterError(f"num_workers={count!r}: give a number of threads, 1 or more")
    if rung.kind != "cores":
        return rung
    return replace(rung, name=f"cores:{count}", workers=int(count))


def active_client() -> Any:
    """The default Dask client of this process, if distributed is in use."""
    distributed = sys.modules.get("distributed")
    clients = getattr(getattr(distributed, "Client", None), "_instances", True)
    if distributed is None or not clients:
        return None  # to be told so by an exception takes as long as the rest of a block of `on`
    try:
        return distributed.default_client()
    except ValueError:
        return None


def _client_rung(where: Any, reason: str) -> Rung:
    client = client_for(where)
    workers = tuple(worker_addresses(client))
    name = f"client {address_of(client)}"  # one that was closed meanwhile is told of by its work
    return Rung(name, "client", len(workers), reason, client=client, addresses=workers)


def least_time(elements: int, dtype: str) -> Rung:
    """The rung with the least predicted time for ``elements`` elements of ``dtype``."""
    names = available()
    rate = machine.gpu_rate() if "gpu" in names else None
    counts = machine.cores(), machine.gpu_count()
    return parse(*_least(elements, dtype, names, targets()[0], counts, rate))


@lru_cache(maxsize=256)
def _least(elements: int, dtype: str, names: tuple[str, ...], *_: Any) -> tuple[str, str]:
    """The name that `least_time` finds, and why; remembered for what the times follow from."""
    predicted = {name: predicted_seconds(elements, name, dtype) for name in names}
    best = min(predicted, key=lambda name: predicted[name])
    listed = ", ".join(f"{name} {seconds:.2g} s" for name, seconds in predicted.items())
    return best, f"least predicted time: {listed}"
