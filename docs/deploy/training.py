"""A small training job for any cluster: python training.py [--on WHERE] [--out FOLDER].

Started again with the same FOLDER, which all hosts have to see, it goes on from its newest
checkpoint, and ends with the bits of a job that nothing happened to.
"""

import argparse
import hashlib
import time

import torch
from torch.nn.parallel import DistributedDataParallel

from speedcube import train


def fit(steps: int, pause: float) -> str:
    """Train a linear layer; the hash of what it learned."""
    torch.manual_seed(0)
    model = torch.nn.Linear(16, 1).to(train.device())
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    parallel = DistributedDataParallel(model)
    first, state = 0, train.latest()
    if state is not None:
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    for step in range(first, steps):
        time.sleep(pause)
        x = torch.randn(64, 16, device=train.device())
        loss = (parallel(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        learned = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
        train.report({"loss": loss}, checkpoint=learned | {"step": step + 1})
    weights = b"".join(p.detach().cpu().numpy().tobytes() for p in model.parameters())
    return hashlib.sha256(weights).hexdigest()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--on", default="cores:2")
    parser.add_argument("--out", default="training-run")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--pause", type=float, default=0.0, help="seconds, so that a step lasts")
    asked = parser.parse_args()
    job = train.run(
        fit,
        asked.steps,
        asked.pause,
        on=asked.on,
        ranks=asked.ranks,
        out=asked.out,
        max_restarts=3,
    )
    digests = set(job.results())
    assert len(digests) == 1, digests  # every rank has the same weights
    print(f"{asked.steps} steps: {digests.pop()}")
