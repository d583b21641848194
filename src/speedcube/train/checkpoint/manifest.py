"""The file that makes a directory a checkpoint: step, world size, and each file's SHA-256."""

from __future__ import annotations

import functools
import hashlib
import json
import platform
import re
import time
from dataclasses import asdict, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from ...__about__ import __version__
from ...dataclass import dataclass
from ...errors import CheckpointError
from . import strict, tree

NAME: Final = "manifest.json"
LIMIT: Final = 16 << 20  # bytes; a file of 100,000 ranks is smaller
_FORMAT: Final = "speedcube.checkpoint"
_VERSION: Final = 1
_SHA256: Final = re.compile(r"[0-9a-f]{64}")
_MOST_RANKS: Final = 100_000


@functools.cache  # looking up a package takes longer than writing the file
def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version(), "speedcube": __version__}
    for package in ("numpy", "torch"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "unknown"
    return versions


@dataclass(frozen=True)
class RankFile:
    """One file of a checkpoint: which rank wrote it, its size and the SHA-256 of its bytes."""

    rank: int
    bytes: int
    sha256: str

    @property
    def name(self) -> str:
        """Its name in the directory, which follows from the rank: no path is read from a file."""
        return f"rank-{self.rank}.safetensors"


@dataclass(frozen=True)
class Manifest:
    """What a checkpoint says of itself; ``files`` holds rank 0's alone or one for each rank."""

    step: int
    world_size: int
    files: tuple[RankFile, ...]
    metrics: dict[str, Any] = field(default_factory=dict)
    time: float = field(default_factory=time.time)
    versions: dict[str, str] = field(default_factory=lambda: dict(_versions()))

    def dumps(self) -> bytes:
        """Return the bytes of the file: what is above, and the SHA-256 of that.

        Raises
        ------
        CheckpointError
            For a manifest that `loads` would refuse.
        """
        body = {"format": _FORMAT, "version": _VERSION} | asdict(self)
        body["metrics"] = _encoded(self.metrics)
        raw = json.dumps(body | {"sha256": _digest(body)}, indent=1).encode()
        if len(raw) > LIMIT:
            raise CheckpointError(
                f"{NAME} would have {len(raw)} bytes, at most {LIMIT} are read back: keep long "
                "metrics out of the report of a checkpoint"
            )
        self.loads(raw)
        return raw

    @classmethod
    def loads(cls, raw: bytes) -> Manifest:
        """Return the manifest of a file; ``CheckpointError`` says what is wrong with it."""
        body = strict.parse(raw, NAME)
        if type(body) is not dict or body.get("format") != _FORMAT:
            raise CheckpointError(f"{NAME} is not the manifest of a checkpoint")
        if body.get("version") != _VERSION:
            raise CheckpointError(
                f"{NAME} has version {body.get('version')!r:.40}, this speedcube ({__version__}) "
                f"reads {_VERSION}: use the one that wrote it, or newer"
            )
        strict.fields(body, _FIELDS, NAME)
        if body.pop("sha256") != _digest(body):
            raise CheckpointError(f"{NAME} is damaged: its SHA-256 does not match")
        step = strict.count(body["step"], "the step")
        world_size = strict.count(body["world_size"], "the world size", least=1)
        return cls(
            step,
            world_size,
            _files(body["files"], world_size),
            _decoded(body["metrics"]),
            _time(body["time"]),
            _mapping(body["versions"], (str,), "the versions"),
        )


_FIELDS: Final = frozenset(Manifest.__dataclass_fields__) | {"format", "version", "sha256"}


def _digest(body: dict[str, Any]) -> str:
    text = json.dumps(body, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _encoded(metrics: dict[str, Any]) -> dict[str, Any]:
    encoder = tree.Encoder()
    nodes = {str(name): encoder.node(value, ("metrics", name)) for name, value in metrics.items()}
    if encoder.leaves:
        raise CheckpointError(f"{next(iter(encoder.leaves))} is an array: give a number instead")
    return nodes


def _decoded(value: Any) -> dict[str, Any]:
    nodes = _mapping(value, (dict, list, str, int, float, bool, type(None)), "the metrics")
    return {name: tree.decode(node, tree.no_array) for name, node in nodes.items()}


def _files(value: Any, world_size: int) -> tuple[RankFile, ...]:
    if type(value) is not list or len(value) not in (1, world_size) or len(value) > _MOST_RANKS:
        raise CheckpointError(f"{NAME} names neither one file nor {world_size}")
    return tuple(_file(fields, rank) for rank, fields in enumerate(value))


def _file(value: Any, rank: int) -> RankFile:
    fields = strict.fields(value, frozenset(RankFile.__dataclass_fields__), "a file")
    if strict.count(fields["rank"], "a rank") != rank:
        raise CheckpointError(f"the file of rank {fields['rank']} is in the place of {rank}")
    digest = fields["sha256"]
    if type(digest) is not str or not _SHA256.fullmatch(digest):
        raise CheckpointError(f"rank {rank} has no valid SHA-256")
    return RankFile(rank, strict.count(fields["bytes"], "a file's size"), digest)


def _mapping(value: Any, types: tuple[type, ...], what: str) -> dict[str, Any]:
    if type(value) is not dict or any(type(item) not in types for item in value.values()):
        raise CheckpointError(f"{what} have wrong types")
    return value


def _time(value: Any) -> float:
    if type(value) not in (int, float):
        raise CheckpointError("the time is not a number")
    return float(value)
