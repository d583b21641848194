"""What was found of a cluster, as JSON (schema 1) and as tables."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ....dataclass import dataclass
from ....numbers import bytes_text
from ....shown import line
from ..findings import BROKEN, Finding
from ..report import print_findings
from .ask import ClusterFacts, WorkerFacts

SCHEMA: Final = 1
MOST: Final = 40  # hosts that are shown
_UNITS: Final = ("bytes", "kB", "MB", "GB")


@dataclass(frozen=True)
class ClusterDiagnosis:
    """The facts of a cluster, and what follows from them."""

    facts: ClusterFacts
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing is broken."""
        return all(finding.level != BROKEN for finding in self.findings)


def cluster_json(diagnosis: ClusterDiagnosis) -> str:
    """The report as JSON: ``scheduler``, ``workers``, ``silent``, ``findings``, ``healthy``."""
    facts = diagnosis.facts
    workers = []
    for worker in facts.workers:
        told = asdict(worker)
        del told["differing"]  # its names are in the finding
        workers.append(told)
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "healthy": diagnosis.healthy,
        "asked": facts.asked,
        "scheduler": {"address": facts.address, "id": facts.id},
        "workers": workers,
        "silent": [{"address": address, "why": why} for address, why in facts.silent],
        "findings": [asdict(finding) for finding in diagnosis.findings],
    }
    return json.dumps(document, indent=1)


def show_cluster(diagnosis: ClusterDiagnosis, console: Console) -> None:
    """Print the report: a row a host, then the findings."""
    facts = diagnosis.facts
    hosts: dict[str, list[WorkerFacts]] = {}
    for worker in facts.workers:
        hosts.setdefault(worker.host, []).append(worker)
    count = len(facts.workers) + len(facts.silent)
    title = f"{facts.address}: {_of(count, 'worker')} on {_of(len(hosts), 'host')}"
    console.print(Text(title, style="bold"))
    if hosts:
        console.print(_table(hosts))
    if len(hosts) > MOST:
        console.print(Text(f"... and {len(hosts) - MOST} more hosts (--json has them all)"))
    print_findings(diagnosis.findings, console)


def _table(hosts: dict[str, list[WorkerFacts]]) -> Table:
    table = Table(pad_edge=False)
    numbers = ("workers", "threads", "cores", "memory", "limits", "clock")
    for name in ("host", *numbers, "SIMD", "GPUs", "Python", "speedcube"):
        table.add_column(name, justify="right" if name in numbers else "left")
    for host, workers in [*hosts.items()][:MOST]:
        first = workers[0]
        limits = [worker.memory_limit for worker in workers]
        limit = _size(sum(limit or 0 for limit in limits)) if all(limits) else "none"
        gpus = max((worker.gpus for worker in workers), key=len)
        table.add_row(
            host,
            str(len(workers)),
            str(sum(worker.threads for worker in workers)),
            str(first.cores),
            _size(first.memory),
            limit,
            f"{first.clock:+.3f} s",
            first.simd,
            f"{len(gpus)} x {gpus[0]}" if gpus else "-",
            ", ".join(sorted({worker.python for worker in workers})),
            ", ".join(sorted({line(worker.fingerprint.version) or "-" for worker in workers})),
        )
    return table


def _of(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _size(count: int) -> str:
    return bytes_text(count, _UNITS)
