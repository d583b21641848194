"""What is wrong with a cluster, slow or worth knowing, judged from its facts alone."""

from __future__ import annotations

import platform
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib import metadata
from typing import Final

from ....dataclass import dataclass
from ....engine.clusters.fingerprint import Fingerprint, expected, refusal
from ....shown import line, lines
from ..findings import BROKEN, NOTE, WARNING, Finding
from .ask import ClusterFacts, WorkerFacts
from .question import COMPARED, SPOKEN

CLOCK: Final = 1.0  # seconds that clocks may differ
_FEW: Final = 3  # workers that are named
_LOOPBACK: Final = ("tcp://127.", "tcp://[::1]", "tcp://localhost")


@dataclass(frozen=True)
class Ours:
    """What this process has, with which workers are compared."""

    python: str
    packages: Mapping[str, str]
    fingerprint: Fingerprint


def ours() -> Ours:
    """What this process has."""
    packages = {}
    for name in COMPARED:
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            packages[name] = ""
    return Ours(platform.python_version(), packages, expected())


def cluster_findings(facts: ClusterFacts, here: Ours) -> tuple[Finding, ...]:
    """All findings, the broken first."""
    unsorted = [
        replace(finding, text=lines(finding.text), command=line(finding.command))
        for check in _CHECKS
        for finding in check(facts, here)
    ]
    return tuple(sorted(unsorted, key=lambda f: (BROKEN, WARNING, NOTE).index(f.level)))


def named(workers: Sequence[WorkerFacts]) -> str:
    """Some workers in words: the first few, and how many more."""
    shown = ", ".join(f"{worker.address} ({worker.host})" for worker in workers[:_FEW])
    more = f" and {len(workers) - _FEW} more" if len(workers) > _FEW else ""
    return f"{'worker' if len(workers) == 1 else 'workers'} {shown}{more}"


def _present(facts: ClusterFacts, _: Ours) -> Iterator[Finding]:
    if not facts.workers and not facts.silent:
        yield Finding(
            BROKEN,
            "no-workers",
            f"the scheduler {facts.address} has no workers: nothing can be computed there. See "
            "whether their jobs wait in a queue, and the workers' logs for why they left",
            f"dask worker {facts.address}",
        )
    for address, why in facts.silent:
        yield Finding(
            BROKEN,
            "silent-worker",
            (
                f"worker {line(address)} does not answer ({why}): it is stopped, cut off "
                "or out of memory. See its log, and end it if it stays silent"
            ),
        )


def _package(facts: ClusterFacts, here: Ours) -> Iterator[Finding]:
    """Workers that computations would refuse, those with one reason together."""
    alike: dict[Fingerprint, list[WorkerFacts]] = defaultdict(list)
    for worker in facts.workers:
        if worker.fingerprint != here.fingerprint:
            alike[worker.fingerprint].append(worker)
    for fingerprint, workers in alike.items():
        text = refusal(workers[0].address, here.fingerprint, fingerprint, workers[0].differing)
        more = f". The same holds for {named(workers[1:])}" if workers[1:] else ""
        yield Finding(BROKEN, "other-speedcube", text + more)


def _versions(facts: ClusterFacts, here: Ours) -> Iterator[Finding]:
    for version, workers in _by(facts, lambda worker: worker.python).items():
        if version.split(".")[:2] != here.python.split(".")[:2]:
            yield Finding(
                BROKEN,
                "other-python",
                f"Python {version} on {named(workers)}, {here.python} here: functions cannot "
                "travel between them. Use one version of Python everywhere",
            )
    for name in COMPARED:
        by_version = _by(facts, partial(_version, name))
        for version, workers in by_version.items():
            if version == here.packages[name] or not (version and here.packages[name]):
                continue
            level = BROKEN if name in SPOKEN else WARNING
            why = (
                "messages of one may not be read by the other"
                if name in SPOKEN
                else ("functions of yours that use it may differ; speedcube's own bits do not")
            )
            yield Finding(
                level,
                f"other-{name}",
                f"{name} {version} on {named(workers)}, {here.packages[name]} here: {why}",
                f"python -m pip install {name}=={here.packages[name]}",
            )


def _time(facts: ClusterFacts, _: Ours) -> Iterator[Finding]:
    wrong = [w for w in facts.workers if abs(w.clock) - w.clock_error > CLOCK]
    for host, workers in _grouped(wrong, lambda worker: worker.host).items():
        ahead = workers[0].clock
        yield Finding(
            WARNING,
            "other-time",
            f"the clock of {host} is {abs(ahead):.1f} s {'ahead of' if ahead > 0 else 'behind'} "
            "this one. No result depends on it, but certificates may not be valid there yet, or "
            "no longer, and lines of logs cannot be put in order. Let chrony or ntpd set it",
            "chronyc tracking",
        )


def _hardware(facts: ClusterFacts, _: Ours) -> Iterator[Finding]:
    kinds = _by(facts, lambda worker: worker.simd)
    if len(kinds) > 1:
        told = "; ".join(f"{simd} on {named(workers)}" for simd, workers in kinds.items())
        yield Finding(
            NOTE,
            "other-cpu",
            f"processors differ: {told}. The bits are the same, but parts are cut equal, so the "
            "slowest worker decides how long a computation takes. Start workers on equal machines "
            "where that is too long",
        )
    with_gpus = [worker for worker in facts.workers if worker.gpus]
    if 0 < len(with_gpus) < len(facts.workers):
        yield Finding(
            NOTE,
            "some-gpus",
            f"{len(with_gpus)} of {len(facts.workers)} workers have GPUs: training on GPUs needs "
            "them on every worker of the job. Start a cluster of those workers alone for it",
        )


def _limits(facts: ClusterFacts, _: Ours) -> Iterator[Finding]:
    for host, workers in _by(facts, lambda worker: worker.host).items():
        limits = [worker.memory_limit for worker in workers]
        has = workers[0].memory
        if not all(limits):
            yield Finding(
                WARNING,
                "no-memory-limit",
                f"{sum(not limit for limit in limits)} workers on {host} have no memory limit: one "
                "that needs too much is ended by the system, and others with it. Start each with "
                f"--memory-limit {has // len(workers)}",
            )
        total = sum(limit or 0 for limit in limits)
        if total > 1.01 * has:
            yield Finding(
                WARNING,
                "memory-limits",
                f"the {len(workers)} workers on {host} may use {total / 1e9:.1f} GB together, and "
                f"it has {has / 1e9:.1f} GB: give each --memory-limit {has // len(workers)}",
            )
        threads = sum(worker.threads for worker in workers)
        if threads > workers[0].cores:
            yield Finding(
                NOTE,
                "threads",
                f"the {len(workers)} workers on {host} have {threads} threads for "
                f"{workers[0].cores} cores: give each --nthreads "
                f"{max(1, workers[0].cores // len(workers))}",
            )


def _network(facts: ClusterFacts, _: Ours) -> Iterator[Finding]:
    plain = [facts.address, *(worker.address for worker in facts.workers)]
    plain = [a for a in plain if a.startswith("tcp://") and not a.startswith(_LOOPBACK)]
    if plain:
        yield Finding(
            WARNING,
            "no-tls",
            (
                f"{line(plain[0])} neither encrypts nor checks who connects: whoever "
                "reaches that port can run code there. Give the cluster certificates "
                "(docs/deploy), or keep it in a network in which you trust everybody"
            ),
        )


def _version(name: str, worker: WorkerFacts) -> str:
    return worker.packages[name]


def _by(facts: ClusterFacts, key: Callable[[WorkerFacts], str]) -> dict[str, list[WorkerFacts]]:
    return _grouped(facts.workers, key)


def _grouped(
    workers: Sequence[WorkerFacts], key: Callable[[WorkerFacts], str]
) -> dict[str, list[WorkerFacts]]:
    groups: dict[str, list[WorkerFacts]] = {}
    for worker in workers:
        groups.setdefault(key(worker), []).append(worker)
    return groups


_CHECKS: Final[tuple[Callable[[ClusterFacts, Ours], Iterator[Finding]], ...]] = (
    _present, _package, _versions, _time, _hardware, _limits, _network,
)  # fmt: skip
