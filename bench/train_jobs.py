"""How soon does a training function start, and how much faster are two ranks than one?

python bench/train_jobs.py [--on cores:2] [--repeat 5] [--only start|scaling] [--json FILE]

start: seconds from `train.run()` to the first line of the function in the last rank, on a cluster
that has run a job before, beside those from calling torchrun to the line after init_process_group
in its last process, in turn. scaling: samples/s of a compute-bound network with one rank and with
two (CPUs, one thread each), or with 1, 2, 4 ... GPUs in float32 and bfloat16.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from speedcube import train
from speedcube.commands.this_machine import this_machine
from speedcube.engine import machine
from speedcube.train.driver import local_cluster

BARE = """
import os, sys, time, torch
from torch import distributed as dist
if sys.argv[1] == "nccl":
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
else:
    dist.init_process_group("gloo")
open(os.path.join(sys.argv[2], os.environ["RANK"]), "w").write(repr(time.time()))
dist.destroy_process_group()
"""


def facts() -> dict[str, Any]:
    """The machine, with PyTorch's version, and the GPU's name and driver where there is one."""
    known = {**this_machine(), "torch": version("torch")}
    if machine.gpu_count():
        asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader", "--id=0"]
        answer = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        known["gpu"], known["driver"] = (word.strip() for word in answer.split(","))
    return known


def first_line() -> float:
    return time.time()


def start_of_run(on: str) -> float:
    """Seconds from run() to the first line in the last rank."""
    began = time.time()
    return max(train.run(first_line, on=on, progress=False).results()) - began


def start_of_torchrun(ranks: int, backend: str) -> float:
    """The same for torchrun."""
    with TemporaryDirectory() as directory:
        script = Path(directory) / "bare.py"
        script.write_text(BARE)
        command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
        command += [f"--nproc-per-node={ranks}", str(script), backend, directory]
        began = time.time()
        subprocess.run(command, check=True, capture_output=True)
        return max(float((Path(directory) / str(k)).read_text()) for k in range(ranks)) - began


def starts(on: str, repeat: int) -> dict[str, Any]:
    """Both in turn."""
    cold = start_of_run(on)
    ranks = len(train.run(first_line, on=on, progress=False).results())
    backend = "nccl" if on.startswith("gpu") else "gloo"
    ours, bare = [], []
    for _ in range(repeat):
        ours.append(start_of_run(on))
        bare.append(start_of_torchrun(ranks, backend))
    return {
        "on": on,
        "ranks": ranks,
        "first_run_seconds": cold,
        "run_seconds": ours,
        "torchrun_seconds": bare,
        "difference": statistics.median(ours) - statistics.median(bare),
    }


def compute(steps: int, batch: int, bf16: bool = False) -> float:
    """Samples/s of this job: a wide network, little to communicate for what it computes."""
    import torch
    from torch import distributed as dist
    from torch.nn.parallel import DistributedDataParallel

    device = train.device()
    if device.type == "cpu":
        torch.set_num_threads(1)
    torch.manual_seed(0)
    layers = [torch.nn.Linear(512, 512) for _ in range(6)]
    model = torch.nn.Sequential(*(m for layer in layers for m in (layer, torch.nn.ReLU())))
    parallel = DistributedDataParallel(model.to(device))
    optimizer = torch.optim.SGD(parallel.parameters(), lr=1e-3)
    x = torch.randn(batch, 512, device=device)

    def step() -> None:
        with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
            loss = parallel(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

    def synchronize() -> float:
        if device.type == "cuda":
            torch.cuda.synchronize()
        dist.barrier()
        return time.perf_counter()

    for _ in range(3):
        step()
    began = synchronize()
    for _ in range(steps):
        step()
    return steps * batch * dist.get_world_size() / (synchronize() - began)


def scaling(on: str, repeat: int) -> dict[str, Any]:
    """One rank and two in turn on CPUs; one GPU, two, four ... on GPUs."""
    gpu = on.startswith("gpu")
    counts = [n for n in (1, 2, 4, 8) if n <= machine.gpu_count()] if gpu else [1, 2]
    kind, steps, batch = ("gpus", 200, 16384) if gpu else ("cores", 6, 2048)
    measured: dict[str, Any] = {}
    for bf16 in (False, True) if gpu else (False,):
        rates: dict[int, list[float]] = {n: [] for n in counts}
        for _ in range(repeat):
            for n in counts:
                job = train.run(compute, steps, batch, bf16, on=f"{kind}:{n}", progress=False)
                rates[n].append(job.results()[0])
        best = {n: statistics.median(rate) for n, rate in rates.items()}
        ratios = {n: best[n] / best[1] for n in counts}
        measured["bf16" if bf16 else "float32"] = {"samples_per_second": rates, "over_one": ratios}
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--on", default="cores:2")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--only", choices=("start", "scaling"))
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    measured: dict[str, Any] = {
        "machine": facts(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": f"python bench/train_jobs.py {' '.join(sys.argv[1:])}".strip(),
    }
    if asked.only != "scaling":
        measured["start"] = starts(asked.on, asked.repeat)
        if asked.json:  # before the rest, for a run that is stopped
            asked.json.write_text(json.dumps(measured, indent=1) + "\n")
        print(json.dumps(measured["start"], indent=1))
    if asked.only != "start":
        measured["scaling"] = scaling(asked.on, asked.repeat)
        print(json.dumps(measured["scaling"], indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(measured, indent=1) + "\n")
    local_cluster.close_all()


if __name__ == "__main__":
    main()
