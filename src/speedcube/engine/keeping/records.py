"""The file of one computation: how far each part has come, and its record up to there.

A line with the hash of the rest, then JSON. It is written under another name, fsynced and renamed,
so there is the older file or the newer. Reading runs nothing of it. What is not as it was written
(cut short, changed, of another user) counts as no file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...files import OWN_FILE, open_regular, write_whole
from ...late import base64, hashlib, json
from ...strict_json import NotStrictError, parse
from .claims import Claim, DamagedError, check_own

Array: TypeAlias = NDArray[Any]
# The position that a part has come to, and the records up to there, one for each of its results.
Left: TypeAlias = tuple[int, list[Array]]

_FORMAT: Final = 1
_MOST: Final = 1 << 30  # bytes of a file that can be one


@dataclass(frozen=True)
class KeptParts:
    """What the file of a computation says: its plan, by its hash and workers, and its parts.

    ``token`` begins the names of the run's calls, by which a scheduler still knows them.
    """

    structure: str = ""
    workers: int = 0
    parts: Mapping[str, Left] = field(default_factory=dict)
    token: str = ""


class KeptFile(Claim):
    """The file of a computation."""

    SUFFIX = ".json"

    def read(self) -> KeptParts | None:
        """What the file says; None where there is none; `DamagedError` for what it cannot be."""
        try:
            with open_regular(self.path) as file:
                check_own(file.fileno())
                content = file.read(_MOST + 1)
        except FileNotFoundError:
            return None
        except OSError as err:
            raise DamagedError(err.strerror or str(err)) from err
        first, _, body = content.partition(b"\n")
        if first != _hash(body) or len(content) > _MOST:
            raise DamagedError("it was changed after it was written")
        try:
            return _understood(parse(body), self.key)
        except (NotStrictError, LookupError, TypeError, ValueError) as err:
            raise DamagedError(f"it is not a record of this computation: {err}") from err

    def write(self, kept: KeptParts) -> None:
        """Replace the file; `OSError` where that cannot be, and the older one stays."""
        told = {
            "format": _FORMAT,
            "key": self.key,
            "structure": kept.structure,
            "workers": kept.workers,
            "token": kept.token,
            "parts": {
                name: [position, [_packed(record) for record in records]]
                for name, (position, records) in sorted(kept.parts.items())
            },
        }
        body = json.dumps(told).encode()
        write_whole(self.path, _hash(body) + b"\n" + body, mode=OWN_FILE, durable=True)


def _hash(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


def _packed(record: Array) -> list[Any]:
    return [list(record.shape), base64.b64encode(record.astype("<i8").tobytes()).decode()]


def _unpacked(packed: Any) -> Array:
    shape, text = packed
    words = np.frombuffer(base64.b64decode(text, validate=True), "<i8").astype(np.int64)
    return words.reshape([_count(one) for one in shape])


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def _understood(told: Any, key: str) -> KeptParts:
    if told["format"] != _FORMAT or told["key"] != key:
        raise ValueError("another format, or another computation's")
    parts = {
        str(name): (_count(position), [_unpacked(one) for one in records])
        for name, (position, records) in told["parts"].items()
    }
    token = str(told.get("token", ""))
    return KeptParts(str(told["structure"]), _count(told["workers"]), parts, token)
