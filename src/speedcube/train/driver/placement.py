"""Which workers a job may use, and which rank runs on which of them."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import field, replace
from typing import Any, Final

import cloudpickle

from ...__about__ import __version__
from ...dataclass import dataclass
from ...engine import machine, rungs
from ...engine.clusters import named
from ...engine.clusters.client import client_for
from ...engine.clusters.patience import Sayings, worker_timeout
from ...engine.clusters.roster import checked_workers, worker_addresses, worker_states
from ...engine.clusters.rung_names import is_name, names_cluster
from ...errors import ParameterError, RungError, TrainError, WorkerError
from ..environment import Environment, since
from ..messages import JobSettings, Place
from ..patience import machine as machine_name
from ..worker import agent
from . import local_cluster
from .scheduler import LostWorker, ask_workers

CHECKED: Final = ("python", "speedcube", "torch", "cloudpickle", "safetensors")  # equal everywhere
GPU_KINDS: Final = ("gpu", "gpus")
MOST_A_CORE: Final = 16  # ranks
TRIES: Final = 5  # to find all workers of our own cluster alive


@dataclass(frozen=True)
class Site:
    """Where a job runs: workers of a Dask cluster, and how ranks use their GPUs."""

    name: str
    client: Any
    ranks: int
    workers: tuple[Any, ...] | None = None  # names of those it may use; None: all there are
    devices: dict[Any, str] = field(default_factory=dict)  # GPU of a worker, by the worker's name
    wants_gpu: bool | None = None  # None: where there are enough
    environment: Environment | None = None  # for ranks on this process's own cluster


def site(on: Any, ranks: int | None, backend: str | None) -> Site:
    """The workers that ``on`` means; `RungError`, `SchedulerError` or `TrainError` without any."""
    if ranks is not None and (isinstance(ranks, bool) or not isinstance(ranks, int) or ranks < 1):
        raise ParameterError(f"ranks={ranks!r}: give a number of processes, 1 or more")
    if backend not in (None, "gloo", "nccl"):
        raise ParameterError(f"backend={backend!r}: 'nccl' for GPUs, 'gloo' for CPUs, or None")
    on = _where(on)
    if not is_name(on):
        return _of_client(on, client_for(on), ranks, backend)
    if names_cluster(str(on)):
        rung = rungs.parse(on, "asked for with on=")
        return _of_client(on, rung.client, ranks, backend)
    gpu = str(on).partition(":")[0] in GPU_KINDS
    numbers = _numbers(on)
    count = _enough_named(on, ranks, numbers, gpu)
    client = _own_client(gpu, max(numbers) + 1)
    devices = dict(zip(numbers, named.device_names(numbers), strict=True)) if gpu else {}
    wants_gpu = gpu and backend != "gloo"
    return Site(
        str(on), client, count, numbers, devices, wants_gpu, since(local_cluster.environment(gpu))
    )


def named_workers(on: Any) -> int | None:
    """How many ranks cores or GPUs by name can have; None for a cluster. Nothing is started."""
    on = _where(on)
    if not is_name(on) or names_cluster(str(on)):
        return None
    return len(_numbers(on))


def _where(on: Any) -> Any:
    """What ``on=None`` means: the active client, else this machine's GPUs, else its cores."""
    if on is not None:
        return on
    return rungs.active_client() or ("gpus" if machine.gpu_count() else "cores")


def _numbers(on: str) -> tuple[int, ...]:
    """The numbers of the GPUs that ``on`` names, or of the workers on its cores."""
    if on.partition(":")[0] in GPU_KINDS:
        return _gpus(on).devices
    return tuple(range(_cores(on).workers))


def _own_client(gpu: bool, workers: int) -> Any:
    """The client of our own cluster, whose workers have just answered."""
    for _ in range(TRIES):
        client = local_cluster.client(gpu, workers)
        try:
            _facts(client, sorted(worker_states(client)))
            return client
        except LostWorker as err:  # it is being replaced
            lost = err
    raise WorkerError(f"workers on this machine die again and again: {lost}") from lost


def _cores(on: Any) -> rungs.Rung:
    """Cores by name; a process each, so not any number."""
    rung = rungs.describe(on, "asked for with on=")
    most = MOST_A_CORE * machine.cores()
    if rung.workers > most:
        raise RungError(
            f"{on!r} asks for {rung.workers} ranks on {machine.cores()} cores, and each is a "
            f"process: at most {most} here"
        )
    return rung


def _gpus(on: str) -> rungs.Rung:
    """GPUs by name; training needs them, not CuPy."""
    if not machine.gpu_count():
        raise RungError(f"no GPU is visible: {machine.gpu_probe()[1]}; asked for {on!r}")
    return rungs.describe(on, "asked for with on=", needs_cupy=False)


def _of_client(on: Any, client: Any, ranks: int | None, backend: str | None) -> Site:
    count = _enough(on, ranks, _joined(on, ranks, client))
    wants = {"nccl": True, "gloo": False, None: None}[backend]
    return Site(f"client {client.scheduler.address}", client, count, wants_gpu=wants)


def _joined(on: Any, asked: int | None, client: Any) -> int:
    """How many workers there are; a cluster that is starting has `worker_timeout` seconds."""
    there = len(worker_addresses(client, answers=False))
    if asked is None or asked <= there:
        return there
    limit = worker_timeout()
    Sayings().say(
        f"{on} has {there} of the {asked} workers that the ranks need: waiting up to {limit:g} s "
        "for the rest (speedcube.worker-timeout)"
    )
    with suppress(TimeoutError):
        client.wait_for_workers(asked, timeout=limit)
    return len(worker_addresses(client, answers=False))


def _enough_named(on: str, asked: int | None, numbers: tuple[int, ...], gpu: bool) -> int:
    """The number of ranks on cores or GPUs by name; refused before a worker is started."""
    there = len(numbers)
    if asked is None or asked <= there:
        return there if asked is None else asked
    kind = "gpus" if gpu else "cores"
    raise TrainError(
        f"{asked} ranks on {on}: it has {there} {kind}, and each has one rank; give "
        f"on='{kind}:{asked}' or ranks={there}"
    )


def _enough(on: Any, asked: int | None, there: int) -> int:
    if asked is not None and asked > there:
        raise TrainError(
            f"{asked} ranks on {on}: it has {there} workers, and each runs one rank; ask for "
            f"{there}, or add workers"
        )
    return there if asked is None else asked


_known: Final[dict[tuple[str, ...], dict[str, Any]]] = {}


def _facts(client: Any, addresses: list[str]) -> dict[str, dict[str, Any]]:
    """What each worker has, asked once; `TrainError` where versions differ."""
    # Their files are compared here. A worker that was started again has another key.
    keys = {worker.address: worker.key for worker in checked_workers(client, answers=False)}
    new = [address for address in addresses if keys.get(address) not in _known]
    asked = ask_workers(client, agent.inspect, workers=new) if new else {}
    if new:
        ask_workers(client, agent.warm, workers=new)
    _known.update((keys[address], fact) for address, fact in asked.items() if address in keys)
    facts = {address: asked.get(address) or _known[keys[address]] for address in addresses}
    _check_versions(facts)
    return facts


def _check_versions(facts: dict[str, dict[str, Any]]) -> None:
    """Refuse what would fail, or train differently, at some later step."""
    here = f"{sys.version_info[0]}.{sys.version_info[1]}"
    who: dict[str, dict[str, list[str]]] = {name: defaultdict(list) for name in CHECKED}
    for address, fact in facts.items():
        who["python"][fact["python"]].append(address)
        for name, version in fact["versions"].items():
            who[name][version].append(address)
    for name, version in (
        ("python", here),
        ("speedcube", __version__),
        ("cloudpickle", cloudpickle.__version__),
    ):
        who[name][version].append("this process")
    missing = who["torch"].get("missing", []) or who["safetensors"].get("missing", [])
    if missing:
        raise TrainError(
            f"worker {missing[0]} has no PyTorch or no safetensors: install speedcube[train] "
            "on every worker"
        )
    for name, versions in who.items():
        if len(versions) > 1:
            listed = "; ".join(
                f"{version} on {', '.join(have[:3])}{' ...' * (len(have) > 3)}"
                for version, have in sorted(versions.items())
            )
            raise TrainError(f"versions of {name} differ: {listed}; install one version everywhere")


def place(site: Site, workers: tuple[tuple[str, Any], ...]) -> tuple[list[Place], str]:
    """The ranks on ``workers`` (address, name), host by host, and the backend of their group.

    `LostWorker` where one is gone.
    """
    facts = _facts(site.client, [address for address, _ in workers])
    chosen = dict(workers)
    places = []
    hosts = _by_host(site.client)
    for gone in chosen.keys() - {address for there in hosts.values() for address in there}:
        raise LostWorker(gone, "is gone")
    for host, there in hosts.items():
        mine = [address for address in there if address in chosen]
        for k, address in enumerate(mine):
            fact = facts[address]
            # By its place among all workers of the host: another job there gets other GPUs.
            device = _device(site, chosen[address], fact, there.index(address))
            threads = max(1, fact["cores"] // len(there))
            seen_from, number = fact["process"]
            process = int(number) if seen_from == machine_name() else None
            places.append(Place(0, address, host, k, len(mine), device, threads, process))
    have = all(p.device for p in places)
    gpu = have if site.wants_gpu is None else site.wants_gpu
    if gpu and not have:
        short = next(p.worker for p in places if p.device is None)
        raise TrainError(
            f"worker {short} has no GPU for its rank; use backend='gloo', or one worker a GPU"
        )
    placed = [
        replace(p, rank=rank, device=p.device if gpu else None) for rank, p in enumerate(places)
    ]
    return placed, "cpu:gloo,cuda:nccl" if gpu else "gloo"


def visible_gpus(settings: JobSettings, places: Iterable[Place], host: str) -> tuple[str, ...]:
    """The GPUs that a job's ranks on ``host`` are to see; () where they see what a worker does."""
    if settings.as_task:
        return ()
    return tuple(p.device for p in places if p.host == host and p.device)


def _by_host(client: Any) -> dict[str, list[str]]:
    """The addresses of all workers by host, in the order of their names."""
    from distributed.comm import get_address_host

    hosts: dict[str, list[str]] = defaultdict(list)
    names = {address: state["name"] for address, state in worker_states(client).items()}
    for address, _ in sorted(names.items(), key=_order):
        hosts[get_address_host(address)].append(address)
    return hosts


def _order(worker: tuple[str, Any]) -> tuple[Any, ...]:
    """Workers in the order of their numbers where they have some, else of their addresses."""
    address, name = worker
    return (0, name, address) if isinstance(name, int) else (1, 0, address)


def _device(site: Site, name: Any, fact: dict[str, Any], index: int) -> str | None:
    """The GPU of a worker, the ``index``-th of its host, as CUDA names it."""
    if name in site.devices:
        return site.devices[name]
    if fact["one_gpu"] and fact["devices"]:  # dask-cuda put the worker's own first
        return str(fact["devices"][0])
    if index < fact["gpus"]:
        return str(fact["devices"][index]) if fact["devices"] else str(index)
    return None
