"""How fast do GPUs train the pet names' published network, through speedcube.train.run?

python bench/petnames.py [--data FILE.csv] [--gpus 1,2,4] [--json FILE] [--repeat 5] [--quick]

FILE.csv is Seattle's register of pet licences. The yardstick: rows in the file's order,
torch.manual_seed(0), torch.randperm(n), the first tenth held out; the loss is the mean over all 8
places with padding, in validation without dropout. Per number of GPUs, each in one job:

* seconds of an epoch of one GPU at batch 16,384 and at 2,048, Triton kernels in bfloat16 and CUDA
  graphs, shuffle and the wait for its loss included, validation not; and between two rows that the
  program reads from the job, validation included;
* seconds of the host in which it draws an epoch's batches, most of them during the GPU's steps;
* validation loss after 8 epochs at batch 2,048, bfloat16 and plain PyTorch in float32;
* seconds to a validation loss of 1.30 by the schedules below, shuffles and validations included,
  kernels compiled and graphs captured before;
* rows a second at batch 65,536 of all ranks, plain PyTorch and DistributedDataParallel in float32
  (with and without TF32), and ours in bfloat16;
* with several ranks, what the sum of gradients takes of that: the same epoch without it, and a
  hundred sums alone.

--quick: one repeat, no 8 epochs, and seconds instead of a minute.
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import itertools
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from speedcube import train
from speedcube.engine.machine import gpu_count
from speedcube.petnames.epochs import Epochs
from speedcube.petnames.model import make_model
from speedcube.petnames.names import data, source
from speedcube.petnames.names.alphabet import WINDOW

TARGET: Final = 1.30
WIDE: Final = 65_536
NOTHING: Final = -100  # to ignore: padding counts, too


@dataclass(frozen=True)
class Schedule:
    """A rate that rises to its peak and falls to nothing, both in straight lines."""

    batch: int  # of all ranks
    epochs: int
    peak: float
    rise: float  # the share of the steps


SCHEDULES: Final = {
    1: Schedule(1024, 3, 0.02, 0.25),
    2: Schedule(2048, 4, 0.03, 0.25),
    4: Schedule(4096, 8, 0.03, 0.25),
    8: Schedule(4096, 8, 0.03, 0.25),
}


@dataclass
class Yardstick:
    """The rows on this rank's device: those to train on, and those held out."""

    training: Any
    held_out: Any

    @classmethod
    def of(cls, rows: NDArray[np.uint8]) -> Yardstick:
        import torch

        torch.manual_seed(0)
        order = torch.randperm(len(rows))
        codes = torch.from_numpy(rows)[order].to(train.device())
        return cls(codes[len(rows) // 10 :], codes[: len(rows) // 10])


@dataclass
class Training:
    """Steps over the yardstick's rows: Triton kernels in graphs, or plain PyTorch in float32."""

    yardstick: Yardstick
    batch: int  # of all ranks
    lr: float
    plain: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        import torch

        from speedcube.petnames import plain_steps
        from speedcube.petnames.fast import steps

        device = train.device()
        torch.manual_seed(self.seed)
        self.model = make_model().to(device)
        torch.manual_seed(self.seed + 1 + train.rank())  # dropout differs
        self.rate = torch.tensor(self.lr, device=device)
        optimizer = torch.optim.Adam(
            self.model.parameters(), lr=self.rate, fused=True, capturable=True
        )
        new_steps = plain_steps.PlainSteps if self.plain else steps.GraphSteps
        new_validation = plain_steps.PlainValidation if self.plain else steps.GraphValidation
        rows, held_out = self.yardstick.training, self.yardstick.held_out
        self.steps: Any = new_steps(self.model, optimizer, rows, scale=1 / WINDOW, ignore=NOTHING)
        mine = held_out[train.rank() :: train.world_size()]
        self.validation = new_validation(self.model, mine, ignore=NOTHING)
        self.epochs = Epochs(len(rows), self.batch, self.seed)
        self.done = 0
        self.upcoming: Any = None

    def prepare(self) -> None:
        """Compile and capture all that an epoch needs."""
        for numbers, whole in self.epochs.begin(0):
            self.steps.prepare(len(numbers), whole)
        self.loss()

    def epoch(self, rates: Any = None) -> float:
        """Train on all rows once, as the program does; the sum of this rank's losses, once there.

        Within it the next epoch's first batch is drawn.
        """
        self.done += 1
        self.steps.start()
        for place, (numbers, whole) in enumerate(self.upcoming or self.epochs.begin(self.done)):
            if rates is not None:
                self.rate.copy_(rates[place])
            self.steps.step(numbers, whole)
        self.upcoming = self.epochs.begin(self.done + 1)
        return float(self.steps.total.item())

    def loss(self) -> float:
        """The validation loss, over all ranks."""
        from torch import distributed

        total = self.validation().clone()
        if train.world_size() > 1:
            distributed.all_reduce(total)
        return float(total.item()) / WINDOW / len(self.yardstick.held_out)


def seconds(work: Callable[[], object]) -> float:
    """How long all ranks take for it, from a common start."""
    import torch
    from torch import distributed

    if train.world_size() > 1:
        distributed.barrier()
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def epochs(yardstick: Yardstick, repeat: int) -> Iterator[dict[str, Any]]:
    for batch in (16_384, 2_048):
        fast = Training(yardstick, batch, 1e-3)
        first = seconds(fast.prepare)
        for count in range(repeat + 1):
            took = seconds(fast.epoch)
            row = {"figure": f"epoch {batch}", "loss": fast.loss(), "seconds": took}
            train.report({**row, "warm": count > 0, "capture": first})
            if count:
                yield row


def host(yardstick: Yardstick, repeat: int) -> Iterator[dict[str, Any]]:
    """What drawing an epoch's batches takes of the host, during which the GPU is at its steps."""
    for batch in (16_384, 2_048, 1_024):
        drawn = Epochs(len(yardstick.training), batch, 0)
        took = [seconds(lambda drawn=drawn, e=e: list(drawn.begin(e))) for e in range(repeat + 1)]
        first = [seconds(lambda drawn=drawn, e=e: drawn.begin(e)) for e in range(repeat + 1)]
        yield {"figure": f"host {batch}", "seconds": took[1:], "first_batch": first[1:]}


def eight_epochs(yardstick: Yardstick) -> Iterator[dict[str, Any]]:
    import torch

    torch.backends.cudnn.allow_tf32 = False
    for name in ("bfloat16", "float32"):
        training = Training(yardstick, 2_048, 1e-3, plain=name == "float32")
        took = [seconds(training.epoch) for _ in range(8)]
        yield {"figure": f"8 epochs at 2048, {name}", "loss": training.loss(), "seconds": took}
    torch.backends.cudnn.allow_tf32 = True


def to_target(yardstick: Yardstick, repeat: int) -> Iterator[dict[str, Any]]:
    import torch

    plan = SCHEDULES[train.world_size()]
    for seed in range(repeat):
        fast = Training(yardstick, plan.batch, 0.0, seed=seed)
        fast.prepare()
        steps = len(fast.epochs.wholes) * plan.epochs
        share = torch.arange(steps, device=train.device()) / steps
        rates = plan.peak * torch.minimum(share / plan.rise, (1 - share) / (1 - plan.rise))
        losses: list[float] = []

        def work(fast: Training = fast, rates: Any = rates, losses: Any = losses) -> None:
            for rate in rates.split(len(rates) // plan.epochs):
                fast.epoch(rate)
                losses.append(fast.loss())
                if losses[-1] <= TARGET:
                    return

        took = seconds(work)
        yield {"figure": f"to {TARGET}", "seconds": took, "seed": seed, "losses": losses,
               "reached": losses[-1] <= TARGET, **asdict(plan)}  # fmt: skip


def wide(yardstick: Yardstick, repeat: int) -> Iterator[dict[str, Any]]:
    import torch

    for name in ("float32", "float32 with TF32", "bfloat16"):
        torch.backends.cudnn.allow_tf32 = "TF32" in name
        training = Training(yardstick, WIDE, 1e-3, plain=name != "bfloat16")
        training.epoch()
        took = [seconds(training.epoch) for _ in range(repeat)]
        rate = len(yardstick.training) / statistics.median(took)
        yield {"figure": f"{WIDE} rows, {name}", "seconds": took, "rows_per_second": rate}
    torch.backends.cudnn.allow_tf32 = True


def gradients(yardstick: Yardstick, repeat: int) -> Iterator[dict[str, Any]]:
    """An epoch in bfloat16 whose ranks sum no gradients, and a hundred sums in a graph."""
    import torch

    from speedcube.petnames.fast.steps import capture

    training = Training(yardstick, WIDE, 1e-3)
    for parameter in training.model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    summed = capture(training.steps._sum_gradients, [], torch.cuda.graph_pool_handle())

    def hundred() -> None:
        for _ in range(100):
            summed.replay()

    hundred()
    took = [seconds(hundred) for _ in range(repeat)]
    numbers = sum(parameter.numel() for parameter in training.model.parameters())
    yield {"figure": "100 sums of gradients", "seconds": took, "numbers": numbers}
    alone = Training(yardstick, WIDE, 1e-3)
    alone.steps._sum_gradients = lambda: None
    alone.epoch()
    took = [seconds(alone.epoch) for _ in range(repeat)]
    yield {"figure": f"{WIDE} rows, bfloat16, no sum of gradients", "seconds": took}


def fit(rows: NDArray[np.uint8], repeat: int, quick: bool) -> list[dict[str, Any]]:
    """All figures of one number of GPUs, in every rank."""
    yardstick = Yardstick.of(rows)
    figures = list(to_target(yardstick, repeat))
    if train.world_size() == 1:
        figures += epochs(yardstick, repeat)
        figures += host(yardstick, repeat)
    if train.world_size() == 1 and not quick:
        figures += eight_epochs(yardstick)
    figures += wide(yardstick, 1 if quick else repeat)
    if train.world_size() > 1:
        figures += gradients(yardstick, 1 if quick else repeat)
    return figures


def machine() -> dict[str, Any]:
    """What the figures were measured with; asked in a rank, where a GPU is."""
    import torch
    import triton

    return {
        "gpu": torch.cuda.get_device_name(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "nccl": ".".join(map(str, torch.cuda.nccl.version())),
        "triton": triton.__version__,
    }


def with_machine(*asked: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    return machine(), fit(*asked)


def driver() -> str:
    import subprocess

    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader", "--id=0"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def between_rows(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    """Seconds between two rows of warm epochs, by figure, on the driver's side of the job."""
    gaps: dict[str, list[float]] = {}
    for before, row in itertools.pairwise(rows):
        name = row["metrics"]["figure"]
        if row["metrics"]["warm"] and before["metrics"]["figure"] == name:
            gaps.setdefault(name, []).append(row["seconds"] - before["seconds"])
    return gaps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", help="default: the city's portal")
    parser.add_argument("--gpus", default="1")
    parser.add_argument("--json")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    asked = parser.parse_args()
    if not gpu_count():
        print("bench/petnames.py measures GPUs, and none is visible")
        return
    repeat = 1 if asked.quick else asked.repeat
    loaded = source.load(asked.data, print)
    rows = data.rows(loaded.names)
    result: dict[str, Any] = {
        "command": " ".join(["python bench/petnames.py", *map(os.path.basename, sys.argv[1:])]),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "driver": driver(),
        "data_sha256": loaded.sha256,
        "rows": len(rows),
        "rows_sha256": hashlib.sha256(rows.tobytes()).hexdigest(),
        "gpus": {},
    }
    for world in map(int, asked.gpus.split(",")):
        with tempfile.TemporaryDirectory() as out:
            start = time.perf_counter()
            job = train.run(
                with_machine, rows, repeat, asked.quick, on=f"gpus:{world}", out=out, progress=False
            )
            result["machine"], figures = job.results()[0]
            whole = time.perf_counter() - start
        result["gpus"][world] = {"job_seconds": whole, "figures": figures,
                                 "between_rows": between_rows(job.rows())}  # fmt: skip
        for row in figures:
            print(world, "GPUs", json.dumps(row), flush=True)
        print(world, "GPUs", json.dumps(result["gpus"][world]["between_rows"]), f"{whole:.1f} s")
        if asked.json:  # after each, for a run that is stopped
            with open(asked.json, "w", encoding="utf-8") as file:
                json.dump(result, file, indent=1)
                file.write("\n")


if __name__ == "__main__":
    main()
