"""How long does a training job take to notice a fault, to go down, to come back with the same bits?

python bench/train_faults.py [--kills 20] [--stops 5] [--exceptions 5] [--json FILE]. Two ranks
with gloo on this machine; each fault hits a random rank at a random step of a job that keeps a
checkpoint every second step. Seconds are from the fault: ``down`` until no process of the attempt
is left, ``back`` until every rank runs the function again. The final weights must be those of a run
without a fault, and nothing may be left behind: no process, no listening socket, no open file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import signal
import sys
import time
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
from train_jobs import facts

from speedcube import train
from speedcube.train.driver import local_cluster
from speedcube.train.metrics.rows import read_rows

STEPS = 30
LIMITS = {"SIGKILL": 3.0, "SIGSTOP": 8.0, "exception": 3.0}  # seconds until all ranks are down
BACK_LIMIT = 15.0


def fit(steps: int, pause: float, raises: tuple[int, int] | None = None) -> str:
    """Train a little network with dropout; ``raises`` (rank, step) in the first attempt only."""
    import torch
    from torch import nn
    from torch.nn.parallel import DistributedDataParallel

    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(16, 32), nn.Dropout(0.2), nn.Tanh(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    torch.manual_seed(100 + train.rank())  # each rank has data and dropout of its own
    first, state = 0, train.latest()
    if state is not None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["done"]
    parallel = DistributedDataParallel(model)
    for step in range(first, steps):
        if raises == (train.rank(), step) and state is None:
            raise ValueError(f"asked to raise at step {step}")
        x = torch.randn(64, 16)
        loss = (parallel(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        time.sleep(pause)
        keep = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "done": step + 1}
        train.report({"loss": loss}, checkpoint=keep if step % 2 else None)
    digest = hashlib.sha256()
    for tensor in model.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Fault:
    """One fault and what followed; seconds."""

    kind: str
    rank: int
    step: int
    down: float
    back: float
    same_bits: bool


def inject(kind: str, rank: int, step: int, out: Path, reference: str) -> Fault:
    """Run a job that is hit once."""
    raises = (rank, step) if kind == "exception" else None
    job = train.run(fit, STEPS, 0.02, raises, on="cores:2", max_restarts=1, out=out, progress=False)
    if kind == "exception":
        _until(lambda: _events(out, "failure"))
        hit = next(e["time"] for e in _events(out, "failure"))
    else:
        _until(lambda: any(row["step"] >= step for row in job.rows()))
        (pid,) = (e["pid"] for e in _events(out, "started") if e["rank"] == rank)
        hit = time.time()
        os.kill(pid, signal.Signals[kind])
    first = [event["pid"] for event in _events(out, "started") if event["attempt"] == 0]
    _until(lambda: not any(map(alive, first)))
    down = time.time() - hit
    hashes = job.results()
    back = max(e["time"] for e in _events(out, "ready") if e["attempt"] == 1) - hit
    return Fault(kind, rank, step, down, back, hashes == [reference] * 2)


def alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _until(condition: Any, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing happened for {seconds} s")
        time.sleep(0.01)


def _events(out: Path, kind: str) -> list[dict[str, Any]]:
    return [line for line in read_rows(out / "metrics.jsonl") if line.get("event") == kind]


def belongings() -> dict[str, Any]:
    """Processes of this one, listening sockets and open files of all of them."""
    family = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return {
        "processes": len(family),
        "listening": sum(
            connection.status == psutil.CONN_LISTEN
            for process in family
            for connection in process.net_connections("inet")
        ),
        "files": {process.pid: process.num_fds() for process in family},
    }


def left_over(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What there is now and was not before; a connection that closes late is no leak."""
    leaks = [
        f"{after[kind] - before[kind]} {kind}"
        for kind in ("processes", "listening")
        if after[kind] > before[kind]
    ]
    for pid, files in after["files"].items():
        if files > before["files"].get(pid, 0) + 4:
            leaks.append(f"{files - before['files'].get(pid, 0)} open files of process {pid}")
    return leaks


def series(kills: int, stops: int, exceptions: int, seed: int = 0) -> dict[str, Any]:
    """Every fault in turn, and what they left behind."""
    chosen = random.Random(seed)
    kinds = ["SIGKILL"] * kills + ["SIGSTOP"] * stops + ["exception"] * exceptions
    with TemporaryDirectory() as directory:
        root = Path(directory)
        whole = train.run(fit, STEPS, 0.0, on="cores:2", out=root / "whole", progress=False)
        reference = whole.results()[0]
        before = belongings()
        faults = []
        for k, kind in enumerate(kinds):
            rank, step = chosen.randrange(2), chosen.randrange(1, STEPS - 8)
            faults.append(inject(kind, rank, step, root / f"{k}", reference))
            print(faults[-1], file=sys.stderr)
        time.sleep(1)
        return {
            "reference": reference,
            "faults": [asdict(fault) for fault in faults],
            "left_over": left_over(before, belongings()),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--stops", type=int, default=5)
    parser.add_argument("--exceptions", type=int, default=5)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    measured = series(asked.kills, asked.stops, asked.exceptions)
    measured["machine"] = facts()
    measured["date"] = datetime.now(UTC).isoformat(timespec="seconds")
    measured["command"] = f"python bench/train_faults.py {' '.join(sys.argv[1:])}".strip()
    for kind, limit in LIMITS.items():
        hit = [fault for fault in measured["faults"] if fault["kind"] == kind]
        if hit:
            down, back = (max(fault[what] for fault in hit) for what in ("down", "back"))
            same = sum(fault["same_bits"] for fault in hit)
            print(
                f"{kind}: {len(hit)} faults, down within {down:.2f} s (limit {limit:g}), back "
                f"within {back:.2f} s (limit {BACK_LIMIT:g}), same bits {same} of {len(hit)}"
            )
    print(f"left over: {', '.join(measured['left_over']) or 'nothing'}")
    if asked.json:
        asked.json.write_text(json.dumps(measured, indent=1) + "\n")
    local_cluster.close_all()


if __name__ == "__main__":
    main()
