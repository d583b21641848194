"""What checkpoints hold comes back: values, types, bits, steps; never a half-written one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from speedcube.train import checkpoint, rng


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    value = {
        "model": {"w": torch.arange(6.0).reshape(2, 3).T},
        3: [None, (1, 2.5)],
        "n": np.int8(4),
    }
    saved = checkpoint.save(tmp_path / "runs" / "checkpoints", 12, value, {0: rng.capture()})
    found = checkpoint.newest(saved.path.parent)
    assert found is not None
    assert (found.step, found.world_size, found.path.name) == (12, 1, "step-00000012")
    assert torch.equal(found["model"]["w"], value["model"]["w"])
    assert found[3] == [None, (1, 2.5)]
    assert type(found["n"]) is np.int8


def test_a_directory_without_checkpoints_has_no_newest(tmp_path: Path) -> None:
    assert checkpoint.newest(tmp_path) is None
    assert checkpoint.newest(tmp_path / "missing") is None
