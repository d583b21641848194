"""How much of the GPUs' time does a sweep use?

python bench/train_sweep.py [--on gpus:4] [--seconds 30] [--gpus 1] [--json FILE]. 27 trials (or 27
for each number of GPUs, as `--gpus 1,2,4`, with a third of the learning rates each) that each train
a network for so many seconds; busy is the part of the workers' time, from the sweep's start to its
end, between a rank's first step and its last.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from train_jobs import facts

from speedcube import train
from speedcube.train.driver import local_cluster


def fit(lr: float, batch: int, seconds: float) -> None:
    """Steps for ``seconds`` after the first one."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    device = train.device()
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(256, 1024), torch.nn.Tanh(), torch.nn.Linear(1024, 1)
    )
    parallel = DistributedDataParallel(model.to(device))
    optimizer = torch.optim.SGD(parallel.parameters(), lr=lr)
    began = None
    while True:
        for _ in range(50):
            x = torch.randn(batch, 256, device=device)
            loss = (parallel(x) - x.sum(1, keepdim=True)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        ended = torch.tensor([began is not None and time.monotonic() - began > seconds])
        torch.distributed.broadcast(ended, 0)  # rank 0's clock counts
        train.report({"loss": loss})
        began = began or time.monotonic()
        if ended.item():
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--on", default="gpus:4")
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--gpus", default="1")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    counts = [int(count) for count in asked.gpus.split(",")]
    rates = [1e-4 * 2**k for k in range(9 // len(counts))]
    space: dict[str, Any] = {"lr": rates, "batch": [1024, 4096, 16384], "gpus": counts}
    train.run(time.time, on=asked.on, progress=False).results()  # the cluster is warm
    with TemporaryDirectory() as directory:
        swept = train.sweep(fit, space, on=asked.on, out=directory, seconds=asked.seconds)
        statuses = swept.dataframe()["status"].value_counts().to_dict()
    measured = {
        "machine": facts(),
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": f"python bench/train_sweep.py {' '.join(sys.argv[1:])}".strip(),
        "trials": statuses,
        "wall_seconds": swept.seconds,
        "busy": swept.busy,
    }
    print(json.dumps(measured, indent=1))
    if asked.json:
        asked.json.write_text(json.dumps(measured, indent=1) + "\n")
    local_cluster.close_all()


if __name__ == "__main__":
    main()
