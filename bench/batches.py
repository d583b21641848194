"""Rows a second of `train.batches`, and what a batch costs the thread that asks for it.

python bench/batches.py [--gpu] [--json FILE]. On a CPU every figure is a ratio of two epochs in
turn, above 1 ours is the faster: beside PyTorch's DataLoader with DistributedSampler, as tutorials
have it and with whole batches for indices, and beside torch.randperm and indexing by hand.
Generated rows are beside as many numbers of NumPy's. On a GPU rows a second are absolute.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any, Final

import gpu
import numpy as np
import torch
from cpu import in_turn
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, TensorDataset

import speedcube as sc
from speedcube import train
from speedcube.commands.this_machine import this_machine

COLUMNS: Final = 16  # float32 features of a row, beside an int64 label
BATCH: Final = 2048
ROWS: Final = 1 << 16  # of an epoch on a CPU
GPU_ROWS: Final = 1 << 24
GPU_BATCHES: Final = (2048, 16_384, 65_536)


def consumed(batches: Iterable[Any]) -> None:
    """Every batch made, and dropped."""
    for _ in batches:
        pass


def data(rows: int, device: str) -> tuple[Any, Any]:
    generator = torch.Generator(device).manual_seed(0)
    features = torch.randn(rows, COLUMNS, generator=generator, device=device)
    return features, torch.randint(0, 10, (rows,), generator=generator, device=device)


def generated(rows: int) -> sc.Array:
    return sc.random.default_rng(0).standard_normal((rows, COLUMNS), dtype="float32")


def by_hand(arrays: tuple[Any, ...], batch: int) -> Iterable[Any]:
    """What one writes without a library: an index of all rows, on the device."""
    order = torch.randperm(len(arrays[0]), device=arrays[0].device)
    for first in range(0, len(order) - batch + 1, batch):
        rows = order[first : first + batch]
        yield tuple(array[rows] for array in arrays)


def on_a_core() -> dict[str, Any]:
    torch.set_num_threads(1)
    arrays = data(ROWS, "cpu")
    dataset = TensorDataset(*arrays)
    sampler = DistributedSampler(dataset, num_replicas=1, rank=0, shuffle=True)
    theirs: dict[str, Callable[[], Iterable[Any]]] = {
        "DataLoader": lambda: DataLoader(dataset, BATCH, sampler=sampler, drop_last=True),
        "DataLoader of whole batches": lambda: DataLoader(
            dataset, batch_size=None, sampler=BatchSampler(sampler, BATCH, drop_last=True)
        ),
        "randperm by hand": lambda: by_hand(arrays, BATCH),
    }
    rows = {}
    for name, loader in theirs.items():
        row = in_turn(
            lambda: consumed(train.batches(arrays, BATCH)), lambda t=loader: consumed(t())
        )
        rows[name] = row | per_second(row["ours"], ROWS // BATCH * BATCH)
        print(f"{name:28} {row['ratio']:8.2f} times its rows a second", flush=True)
    x, numpy = generated(10**12), np.random.default_rng(0)
    count = 16
    row = in_turn(
        lambda: consumed(train.batches(x, BATCH, start=len_of(x, BATCH) - count)),
        lambda: [numpy.standard_normal((BATCH, COLUMNS), "float32") for _ in range(count)],
    )
    rows["generated, NumPy's normals"] = row | per_second(row["ours"], count * BATCH)
    print(f"generated rows {row['ratio']:.2f} times as fast as NumPy's normals", flush=True)
    rows["cost of a batch"] = {
        "tensors": cost(lambda: train.batches(arrays, 8)),
        "generated": cost(lambda: train.batches(x, 8, start=len_of(x, 8) - 2000)),
    }
    return rows


def len_of(x: sc.Array, batch: int) -> int:
    return len(x) // batch


def per_second(seconds: list[float], rows: int) -> dict[str, float]:
    return {"rows_per_second": rows / statistics.median(seconds)}


def cost(batches: Callable[[], Iterable[Any]]) -> dict[str, float]:
    """Microseconds of this thread: for an epoch's first batch, which orders ahead, and others."""
    consumed(batches())  # kernels are made
    start, times = time.thread_time(), []
    for _ in batches():
        times.append((time.thread_time() - start) * 1e6)
        start = time.thread_time()
    figures = {"first": times[0], "median": statistics.median(times), "most": max(times[1:])}
    print("a batch takes", ", ".join(f"{name} {us:.0f}" for name, us in figures.items()), "us")
    return figures


def on_a_gpu() -> dict[str, Any]:
    arrays, x, rows = data(GPU_ROWS, "cuda"), generated(10**12), {}
    for batch in GPU_BATCHES:
        count = GPU_ROWS // batch
        last = len_of(x, batch) - count
        kinds: dict[str, Callable[[], Iterable[Any]]] = {
            "tensors": lambda b=batch: train.batches(arrays, b),
            "randperm by hand": lambda b=batch: by_hand(arrays, b),
            "generated": lambda b=batch, s=last: train.batches(x, b, start=s, device="cuda"),
        }
        for name, batches in kinds.items():
            rows[f"{name}, {batch}"] = timed(batches, count * batch, count)
            row = rows[f"{name}, {batch}"]
            print(
                f"{name:18} batch {batch:6}: {row['rows_per_second'] / 1e6:8.1f} M rows/s, "
                f"{row['host_us']:.0f} us of Python a batch",
                flush=True,
            )
    host = data(1 << 20, "cpu")
    rows["host memory, 16384"] = timed(
        lambda: train.batches(host, 16_384, device="cuda"), 1 << 20, 64
    )
    print(f"host memory {rows['host memory, 16384']['rows_per_second'] / 1e6:.1f} M rows/s")
    return rows


def timed(batches: Callable[[], Iterable[Any]], rows: int, count: int) -> dict[str, Any]:
    """Epochs until the GPU has made them, and until it has been told to."""
    host_seconds, done = [], []
    for _ in range(5):
        torch.cuda.synchronize()
        start = time.perf_counter()
        consumed(batches())
        host_seconds.append(time.perf_counter() - start)
        torch.cuda.synchronize()
        done.append(time.perf_counter() - start)
    figures = {"seconds": done, "host_us": statistics.median(host_seconds[1:]) / count * 1e6}
    return figures | per_second(done[1:], rows)


def main() -> None:
    rows = on_a_gpu() if options.gpu else on_a_core()
    if options.json:
        machine = gpu.machine() if options.gpu else this_machine()
        head = {"command": " ".join(sys.argv), "date": datetime.now(UTC).isoformat()}
        head["torch"] = torch.__version__
        with open(options.json, "w") as file:
            json.dump({**head, "machine": machine, "rows": rows}, file, indent=1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--json")
    options = parser.parse_args()
    main()
