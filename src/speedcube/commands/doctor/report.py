"""What doctor found, as JSON (schema 1) and as tables."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict
from itertools import zip_longest
from typing import Any, Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...dataclass import dataclass
from ...numbers import bytes_text
from .facts import Facts, gather
from .findings import BROKEN, WARNING, Finding, findings
from .packages import LISTED, Package
from .rungs import RungState, rung_states

SCHEMA: Final = 1
_UNITS: Final = ("bytes", "kB", "MB", "GB")  # memory is counted in GB, however much it is
_STYLES: Final = {BROKEN: "bold red", WARNING: "yellow"}


@dataclass(frozen=True)
class Diagnosis:
    """The facts, and what follows from them."""

    facts: Facts
    rungs: tuple[RungState, ...]
    findings: tuple[Finding, ...]

    @property
    def healthy(self) -> bool:
        """Whether nothing is broken; warnings and absent rungs do not count."""
        return all(finding.level != BROKEN for finding in self.findings)


def judge(facts: Facts) -> Diagnosis:
    """The report on ``facts``."""
    return Diagnosis(facts, rung_states(facts), findings(facts))


def examine() -> Diagnosis:
    """The report on this machine."""
    return judge(gather())


def to_json(diagnosis: Diagnosis) -> str:
    """The report as JSON: the facts by section, ``rungs``, ``findings``, ``healthy``."""
    document: dict[str, Any] = {"schema": SCHEMA, "healthy": diagnosis.healthy}
    document |= asdict(diagnosis.facts)
    document["rungs"] = [asdict(state) for state in diagnosis.rungs]
    document["findings"] = [asdict(finding) for finding in diagnosis.findings]
    return json.dumps(document, indent=1)


def show(diagnosis: Diagnosis, console: Console) -> None:
    """Print the report."""
    system = diagnosis.facts.system
    title = f"speedcube {system.speedcube}, Python {system.python}, {system.platform}"
    console.print(Text(title, style="bold"))
    console.print(_grid(_machine_lines(diagnosis.facts)))
    console.print(_grid(_package_lines(diagnosis.facts)))
    console.print(_rung_table(diagnosis.rungs))
    print_findings(diagnosis.findings, console)


def print_findings(found: tuple[Finding, ...], console: Console) -> None:
    """Print findings, each with the command that mends it, and how many things are broken."""
    for finding, after in zip_longest(found, found[1:]):
        text = Text(f"{finding.level}: ", _STYLES.get(finding.level, ""))
        console.print(text.append(finding.text, "not bold default"))
        # One command may mend two findings; unwrapped, it can be copied whole.
        if finding.command and (after is None or after.command != finding.command):
            console.print(Text(f"    {finding.command}", "green"), soft_wrap=True)
    broken = sum(finding.level == BROKEN for finding in found)
    console.print(Text(f"Broken: {broken}." if broken else "Nothing is broken.", style="bold"))


def _grid(lines: Iterator[tuple[str, str]]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True, min_width=13)
    grid.add_column()
    for name, text in lines:
        grid.add_row(Text(name), Text(text))
    return grid


def _size(count: int) -> str:
    return bytes_text(count, _UNITS)


def _home(path: str) -> str:
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path.startswith(home + os.sep) else path


def _machine_lines(facts: Facts) -> Iterator[tuple[str, str]]:
    cpu, memory, gpus, cache = facts.cpu, facts.memory, facts.gpus, facts.cache
    physical = "" if cpu.physical is None else f", {cpu.physical} physical"
    yield "processor", cpu.name
    yield "cores", f"{cpu.cores} usable of {cpu.logical}{physical}"
    fma = "fused multiply-add" if cpu.fma else "no fused multiply-add"
    yield "SIMD", f"{cpu.simd} (kernels for {', '.join(cpu.targets)}; {fma})"
    limit = "" if memory.limit is None else f", the container's limit is {_size(memory.limit)}"
    yield "memory", f"{_size(memory.total)}, {_size(memory.free)} free{limit}"
    for gpu in gpus.visible:
        free = "" if gpu.free is None else f", {_size(gpu.free)} free"
        yield (
            f"gpu:{gpu.number}",
            f"{gpu.name}, {_size(gpu.memory)}{free}, {gpu.multiprocessors} multiprocessors, "
            f"compute capability {gpu.compute_capability}",
        )
    if not gpus.visible:
        yield "GPUs", f"none visible: {gpus.problem}"
    if gpus.driver or gpus.cuda:
        yield "driver", f"{gpus.driver or 'of unknown version'}, runs CUDA up to {gpus.cuda or '?'}"
    state = "not writable" if cache.problem else "writable" if cache.exists else "not made yet"
    kernels = f"{cache.entries} kernels, {_size(cache.bytes)}" if cache.exists else "empty"
    yield "kernel cache", f"{_home(cache.directory)}: {kernels}, {state}"


def _package_lines(facts: Facts) -> Iterator[tuple[str, str]]:
    tried, absent = facts.imports, list[str]()
    for name in LISTED:
        here = [p for p in facts.packages if p.name == name or (p.is_cupy and name == "cupy")]
        text = "; ".join(_built(package) for package in here)
        if name == "cupy" and tried.runtime:
            text += f"; CUDA runtime {tried.runtime}, NVRTC {tried.nvrtc or 'missing'}"
        if text:
            yield name, text
        else:
            absent.append(name)
    wheels = [p for p in facts.packages if p.cuda and p.name not in LISTED and not p.is_cupy]
    by_cuda = sorted({p.cuda for p in wheels if p.cuda})
    for cuda in by_cuda:
        names = ", ".join(f"{p.name} {p.version}" for p in wheels if p.cuda == cuda)
        yield f"CUDA {cuda}", names
    if absent:
        yield "not installed", ", ".join(absent)


def _built(package: Package) -> str:
    name = "" if package.name in LISTED else f"{package.name} "
    return f"{name}{package.version}" + (f" for CUDA {package.cuda}" if package.cuda else "")


def _rung_table(states: tuple[RungState, ...]) -> Table:
    table = Table(pad_edge=False)
    for name in ("rung", "here", "workers", "why not, and the command that would add it"):
        table.add_column(name, justify="right" if name == "workers" else "left")
    for state in states:
        why = Text(state.reason)
        if state.command:
            why.append(f"\n{state.command}", style="green")
        here, workers = ("yes", str(state.workers)) if state.available else ("no", "-")
        table.add_row(state.rung, here, workers, why)
    return table
