"""Directories that nobody vouches for: our error or a valid checkpoint, soon, and no code run."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from speedcube.errors import CheckpointError
from speedcube.train import checkpoint
from speedcube.train.checkpoint.manifest import Manifest, RankFile

PROGRAM = Path(__file__).parents[1] / "support" / "checkpoint_mutants.py"
FILE = "rank-0.safetensors"
DATA = "manifest.json"


@pytest.mark.parametrize("count", [1000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_mutants_are_refused_or_valid_and_run_nothing(tmp_path: Path, count: int) -> None:
    command = [sys.executable, "-W", "error", str(PROGRAM), str(count), str(tmp_path)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert run.returncode == 0, run.stderr
    facts = json.loads(run.stdout)
    assert facts["outcomes"].keys() == {"valid", "refused"}, run.stderr
    assert sum(facts["outcomes"].values()) == count
    assert facts["outcomes"]["valid"] < count / 2  # else little was changed
    assert facts["events"] == {}
    assert facts["control"] == 1
    assert facts["grown"] < 300 * 1024


def replaced(path: Path, make: Callable[[Path], object]) -> None:
    path.unlink()
    make(path)


def sparse(size: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        with open(path, "wb") as file:
            file.truncate(size)

    return make


@pytest.mark.parametrize("name", [DATA, FILE])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (os.mkfifo, "is not a regular file"),
        (Path.mkdir, "is not a regular file"),
        (lambda path: path.symlink_to("/dev/zero"), "Too many levels of symbolic links"),
        (lambda path: path.symlink_to(path.parent.parent / "copy"), "Too many levels of symb"),
        (lambda path: None, "No such file or directory"),
        (sparse(0), "not valid: "),
        (sparse(1 << 30), f"{DATA} has 1073741824 bytes|{FILE} has 1073741824 bytes instead of"),
        (sparse(1 << 40), "bytes"),
    ],
    ids=["pipe", "directory", "device", "link", "missing", "empty", "gigabyte", "terabyte"],
)
def test_what_is_no_plain_file_is_refused(
    tmp_path: Path, name: str, make: Callable[[Path], object], message: str
) -> None:
    saved = checkpoint.save(tmp_path, 1, torch.ones(3))
    (tmp_path / "copy").write_bytes((saved.path / name).read_bytes())
    replaced(saved.path / name, make)
    with pytest.raises(CheckpointError, match=message):
        checkpoint.newest(tmp_path)


def test_links_and_files_in_the_place_of_a_checkpoint_are_passed_over(tmp_path: Path) -> None:
    root = tmp_path / "root"
    outside = checkpoint.save(tmp_path / "outside", 9, "outside")
    checkpoint.save(root, 1, "inside")
    (root / "step-00000009").symlink_to(outside.path)
    (root / "step-00000008").write_text("")
    os.mkfifo(root / "step-00000007")
    for other in ("step-1", "step-0000000٣", "step-00000001.1", "step-00000006 ", ".step-x"):
        (root / other).mkdir()
    newest = checkpoint.newest(root)
    assert newest is not None
    assert newest.value == "inside"
    reasons = {skip.path.name[-1]: skip.reason for skip in newest.skipped}
    assert reasons.keys() == {"9", "8", "7"}
    assert all("Not a directory" in reason for reason in reasons.values())
    with pytest.raises(
        CheckpointError, match="is not named as a checkpoint is, such as step-00000012"
    ):
        checkpoint.load(root / ".." / "outside")


@pytest.mark.parametrize("make", [sparse(3), os.mkfifo])
def test_a_root_that_is_no_directory_is_refused(
    tmp_path: Path, make: Callable[[Path], Any]
) -> None:
    make(tmp_path / "root")
    with pytest.raises(CheckpointError, match="Not a directory"):
        checkpoint.newest(tmp_path / "root")
    with pytest.raises(CheckpointError, match=r"File exists|Not a directory"):
        checkpoint.save(tmp_path / "root", 1, 1)


def test_a_checkpoint_of_another_step_is_refused(tmp_path: Path) -> None:
    checkpoint.save(tmp_path, 1, "old").path.rename(tmp_path / "step-00000002")
    with pytest.raises(CheckpointError, match=r"manifest.json belongs to step 1"):
        checkpoint.newest(tmp_path)


def written(root: Path, header: object, data: bytes = b"", length: int | None = None) -> None:
    """Write a checkpoint whose manifest vouches for a file with this header."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    raw = (len(text) if length is None else length).to_bytes(8, "little") + text + data
    path = root / "step-00000001"
    path.mkdir()
    (path / FILE).write_bytes(raw)
    file = RankFile(0, len(raw), hashlib.sha256(raw).hexdigest())
    (path / DATA).write_bytes(Manifest(1, 1, (file,)).dumps())


def trees(tree: object, **entries: object) -> dict[str, object]:
    return {"__metadata__": {"checkpoint": json.dumps(tree), "rng": '{"dict":[]}'}, **entries}


def entry(dtype: str, shape: list[object], *offsets: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


TENSOR = {"tensor": "t", "dtype": "float32"}


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"[" * 100_000, "the header nests too deep"),
        (b'{"a":' * 100_000, "the header nests too deep"),
        (b"[" + b"0," * 5_000_000 + b"0]", "the header holds more than 4000000 values"),
        (b'{"__metadata__":{},"__metadata__":{}}', "an object has a key twice"),
        (b'{"a": NaN}', "NaN is not JSON"),
        (b'{"a": 1e999}', "a number is too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "Exceeds the limit"),
        (b"\xff", "can't decode byte"),
        ([], "the header is not an object with metadata"),
        (trees(TENSOR), "names an array that is not there: 't'"),
        (trees(TENSOR, t=entry("F32", [4], 0, 16)), "arrays of 16 bytes in a file of"),
        (
            trees(TENSOR, t=entry("F32", [-1], 0, -4)),
            "a size of a shape is not an integer of at least",
        ),
        (trees(TENSOR, t=entry("F32", [True], 0, 4)), "a size of a shape is not an integer"),
        (trees(TENSOR, t=entry("F32", [1.0], 0, 4)), "a size of a shape is not an integer"),
        (trees(TENSOR, t=entry("F32", [2**62] * 60, 0, 4)), "bytes lies at"),
        (trees(TENSOR, t=entry("F32", [0], 4, 4)), r"an array of 0 bytes lies at \[4, 4\]"),
        (trees(TENSOR, t=entry("O8", [0], 0, 0)), "no dtype of safetensors: 'O8'"),
        (trees(TENSOR, t=entry("F64", [0], 0, 0)), "a tensor of float32 cannot be stored as F64"),
        (
            trees({"scalar": "t", "dtype": "<f4"}, t=entry("F32", [0], 0, 0)),
            "cannot have the shape",
        ),
        (
            trees({"array": "t", "dtype": "|O"}, t=entry("I64", [0], 0, 0)),
            "'.O' is not a dtype that a value of kind array",
        ),
        (trees({"pickle": "t", "dtype": "x"}), "a value of an unknown kind"),
        (trees({"dict": [[1, 2], [True, 3]]}), "a dict with a key twice"),
        (trees({"dict": [[[], 2]]}), "a key of type list"),
        (trees({"dict": 3}), "a dict that is not a list of pairs"),
        (trees({"tuple": "abc"}), "a tuple that is not a list of values"),
        (trees({"int": "0x" + "f" * 10**6}), "an integer that is not a hexadecimal number"),
        (trees({"float": "inf"}), "a float that is not the bits of one"),
        (trees({"str": 5}), "a text that is not the bytes of one"),
        (trees({"str": "ff"}), "a text that is not the bytes of one"),
        (trees({"counter": [[1, 2], [1, 3]]}), "a dict with a key twice"),
        ({"__metadata__": {"checkpoint": 3}}, "the structure of 'checkpoint' is not what"),
        ({"__metadata__": {"checkpoint": "1"}}, "is not a file of a checkpoint"),
    ],
)
def test_headers_that_lie_are_refused(tmp_path: Path, header: object, message: str) -> None:
    written(tmp_path, header)
    with pytest.raises(CheckpointError, match=message):
        _ = checkpoint.newest(tmp_path).value  # type: ignore[union-attr]


def test_a_header_longer_than_its_file_is_refused(tmp_path: Path) -> None:
    written(tmp_path, {}, length=2**63)
    with pytest.raises(CheckpointError, match="a header of 9223372036854775808 bytes in a file of"):
        checkpoint.newest(tmp_path)


def test_more_than_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = checkpoint.save(tmp_path, 1, np.zeros(100))

    class Little:
        available = 99

    monkeypatch.setattr("psutil.virtual_memory", Little)
    with pytest.raises(CheckpointError, match=r"needs \d+ bytes of memory, and 99 are free"):
        _ = saved.value


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"version": 2}, "has version 2, this speedcube .* reads 1: use the one that wrote it"),
        ({"format": "x"}, "is not the manifest of a checkpoint"),
        ({"files": []}, "names neither one file nor 1"),
        ({"files": [{"rank": 0, "bytes": 1, "sha256": "0" * 64, "name": "../x"}]}, "a file is no"),
        ({"files": [{"rank": "../x", "bytes": 1, "sha256": "0" * 64}]}, "a rank is not an integer"),
        (
            {"files": [{"rank": 0, "bytes": True, "sha256": "0" * 64}]},
            "a file's size is not an integer",
        ),
        ({"files": [{"rank": 0, "bytes": 1, "sha256": "0"}]}, "rank 0 has no valid SHA-256"),
        ({"world_size": 0}, "the world size is not an integer of at least 1: 0"),
        ({"step": 1.0}, "the step is not an integer of at least 0: 1.0"),
        ({"time": "now"}, "the time is not a number"),
        ({"metrics": {"loss": {"tensor": "x", "dtype": "float32"}}}, "an array in the place of"),
        ({"more": 1}, "is not an object with the keys bytes|files, format, metrics"),
    ],
)
def test_manifests_that_lie_are_refused(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    saved = checkpoint.save(tmp_path, 1, 1)
    body = json.loads((saved.path / DATA).read_text()) | change
    del body["sha256"]
    text = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    digest = hashlib.sha256(text).hexdigest()
    (saved.path / DATA).write_text(json.dumps(body | {"sha256": digest}))
    with pytest.raises(CheckpointError, match=message):
        checkpoint.newest(tmp_path)


def test_a_flipped_bit_of_a_manifest_is_found(tmp_path: Path) -> None:
    saved = checkpoint.save(tmp_path, 1, 1, metrics={"loss": 0.5})
    text = (saved.path / DATA).read_text()
    (saved.path / DATA).write_text(text.replace('"loss": 0.5', '"loss": 0.7'))
    with pytest.raises(
        CheckpointError, match=r"manifest.json is damaged: its SHA-256 does not match"
    ):
        checkpoint.newest(tmp_path)
