"""A trained model as a directory that says what it is, and is checked before it is used.

    weights.safetensors   the network
    known.safetensors     hashes of the names it was trained on and validated with
    README.md             the model card, to be read
    card.json             the same facts, and the SHA-256 of the two files above; written last

No file is a pickle. A directory whose files are missing, damaged or of another shape is refused.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from .. import strict_json
from ..__about__ import __version__
from ..dataclass import dataclass
from ..errors import CheckpointError
from ..files import OWN_FILE, read_regular, write_whole
from ..shown import line
from .model import DROPOUT, LAYERS, UNITS, make_model
from .names.known import Known

if TYPE_CHECKING:
    import torch

RUNS: Final = Path("petnames-runs")
CARD: Final = "card.json"
SWEEP: Final = "sweep.json"  # in the directory of every sweep, from its start
SCHEMA: Final = 1
_WEIGHTS: Final = "weights.safetensors"
_KNOWN: Final = "known.safetensors"
_MAX_FILE: Final = 64 << 20  # bytes; the weights have 2 MB


@dataclass(frozen=True)
class Model:
    """What `load` reads: the network on the CPU, the names it knows, and its card."""

    network: torch.nn.Module
    known: Known
    card: Mapping[str, Any]


def newest(runs: Path = RUNS) -> Path:
    """The directory below ``runs`` whose model was finished last."""
    cards = [card for card in runs.glob(f"*/{CARD}") if card.is_file()]
    if not cards:
        raise CheckpointError(
            f"there is no trained model below ./{runs}; run speedcube petnames train first, or "
            "name a directory with --model"
        )
    return max(cards, key=lambda card: (card.stat().st_mtime_ns, card)).parent


def save(directory: Path, weights: bytes, known: Known, facts: Mapping[str, Any]) -> None:
    """Write the model into ``directory``: ``facts`` have data, settings and losses."""
    from safetensors.numpy import save as pack

    files = {_WEIGHTS: weights, _KNOWN: pack({"hashes": known.hashes})}
    card: dict[str, Any] = {"schema": SCHEMA, **facts, "versions": versions()}
    card["files"] = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    files["README.md"] = readme(card).encode()
    files[CARD] = json.dumps(card, indent=1).encode()
    try:
        for name, content in files.items():
            write_whole(directory / name, content, mode=OWN_FILE, durable=True)
    except OSError as err:
        raise CheckpointError(
            f"the model cannot be written to {str(directory)!r}: {err.strerror or err}"
        ) from err


def versions() -> dict[str, str]:
    """What the model was made with."""
    packages = {name: version(name) for name in ("torch", "safetensors", "numpy")}
    return {"speedcube": __version__, "python": platform.python_version(), **packages}


def load(directory: Path) -> Model:
    """The model in ``directory``; `CheckpointError` unless it is whole."""
    if not directory.is_dir():
        raise CheckpointError(f"{str(directory)!r} is not a directory; name one that train wrote")
    if (directory / SWEEP).is_file():
        raise CheckpointError(
            f"{str(directory)!r} holds a sweep, whose trials keep no model; run speedcube petnames "
            "train with the settings that were best"
        )
    card = _card(directory)
    contents = {name: _content(directory, name, card) for name in (_WEIGHTS, _KNOWN)}
    return Model(_network(directory, contents[_WEIGHTS]), _known(directory, contents[_KNOWN]), card)


def _card(directory: Path) -> dict[str, Any]:
    raw = _read(directory, CARD, "the training that made it has not finished")
    try:
        card = strict_json.parse(raw)
    except strict_json.NotStrictError as err:
        raise _damaged(directory, CARD, f"it is not JSON ({err})") from err
    if not isinstance(card, dict) or card.get("schema") != SCHEMA:
        raise _damaged(directory, CARD, f"it is not a card of schema {SCHEMA}")
    return card


def _content(directory: Path, name: str, card: Mapping[str, Any]) -> bytes:
    content = _read(directory, name, "the directory is not whole")
    files = card.get("files")
    promised = files.get(name) if isinstance(files, dict) else None
    if hashlib.sha256(content).hexdigest() != promised:
        raise _damaged(directory, name, f"its SHA-256 is not the one that {CARD} has")
    return content


def _read(directory: Path, name: str, if_missing: str) -> bytes:
    try:
        return read_regular(directory / name, _MAX_FILE)
    except FileNotFoundError as err:
        raise _damaged(directory, name, f"it is missing: {if_missing}") from err
    except OSError as err:
        raise _damaged(directory, name, err.strerror or str(err)) from err


def _network(directory: Path, content: bytes) -> torch.nn.Module:
    import torch
    from safetensors import SafetensorError
    from safetensors.torch import load as unpack

    network = make_model()
    try:
        weights = unpack(content)
        network.load_state_dict(weights)
    except (SafetensorError, RuntimeError, ValueError, KeyError, TypeError) as err:
        reason = "it does not hold the weights of this network"
        raise _damaged(directory, _WEIGHTS, reason) from err
    if not all(bool(torch.isfinite(value).all()) for value in weights.values()):
        raise _damaged(directory, _WEIGHTS, "weights are not finite")
    return network.eval()


def _known(directory: Path, content: bytes) -> Known:
    from safetensors import SafetensorError
    from safetensors.numpy import load as unpack

    try:
        hashes = unpack(content)["hashes"]
    except (SafetensorError, ValueError, KeyError, TypeError) as err:
        raise _damaged(directory, _KNOWN, "it does not hold hashes of names") from err
    if hashes.dtype != np.uint64 or hashes.ndim != 1 or np.any(hashes[1:] <= hashes[:-1]):
        raise _damaged(directory, _KNOWN, "its hashes are not an ascending list of uint64")
    return Known(hashes)


def _damaged(directory: Path, name: str, reason: str) -> CheckpointError:
    return CheckpointError(
        f"{str(directory / name)!r} cannot be used: {reason}; "
        "name another directory with --model, or train anew"
    )


def readme(card: Mapping[str, Any]) -> str:
    """The model card in Markdown."""
    data, settings, losses = card["data"], card["settings"], card["losses"]
    rows = {
        "training loss": f"{losses['training']:.4f}",
        "validation loss": f"{losses['validation']:.4f}"
        f" (perplexity {math.exp(losses['validation']):.2f})",
        "best validation loss": f"{losses['best_validation']:.4f}, in epoch {losses['best_epoch']}",
        **{name.replace("_", " "): str(value) for name, value in settings.items()},
        **{f"{name} version": value for name, value in card["versions"].items()},
    }
    table = "\n".join(f"| {name} | {value} |" for name, value in rows.items())
    return f"""---
library_name: speedcube
pipeline_tag: text-generation
tags: [character-level, lstm, names]
---
# Names of pets

A character network that invents names of pets: {LAYERS} LSTM layers of {UNITS} units, dropout
{DROPOUT}, and a linear layer, after J. Nolis, "Speeding up neural network training with multiple
GPUs and Dask" (2021).

    speedcube petnames generate --model DIR

## Data
{data["names"]:,} names ({data["distinct"]:,} different) from {line(data["origin"])}, SHA-256
`{data["sha256"]}`, in {data["training_rows"]:,} rows for training and {data["validation_rows"]:,}
for validation. One different name in ten is held out, with all its occurrences
(`zlib.crc32(name) % 10 == 0`).

## Training
Losses are natural-log cross-entropies per character, padding left out.

| | |
|---|---|
{table}

## Files
`{_WEIGHTS}`, and `{_KNOWN}` with hashes of the data's names, so that what is invented is new.
`{CARD}` has these facts for programs, and the SHA-256 of both files.
"""
