"""The state of a loop in a file: its arrays as ``.npy``, the rest as JSON; nothing is unpickled."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ...dataclass import dataclass
from ...files import OWN_FILE, open_regular, written_whole
from ...late import hashlib, json, zipfile
from ...strict_json import parse
from .claims import Claim, DamagedError, check_own

Array: TypeAlias = NDArray[Any]
_FORMAT: Final = 1
_RECORD: Final = "record.json"
_MOST: Final = 1 << 26  # bytes of the record


@dataclass(frozen=True)
class KeptState:
    """A state after ``step`` steps: how it is built, in JSON, and the arrays in it."""

    step: int
    tree: Any
    arrays: Sequence[Array]


class StateFile(Claim):
    """The file of a loop: a zip archive, so that others can read it, of what is stored there."""

    SUFFIX = ".npz"

    @property
    def _draft(self) -> Path:
        return self.path.with_suffix(".part")

    def open(self) -> None:
        """As a `Claim`; what a program that was killed while it wrote has left is taken or removed.

        What it wrote whole is there, though the disk may not have had it yet: that takes a second.
        """
        super().open()
        with suppress(OSError, DamagedError):
            if self._read(self._draft) is not None:
                os.replace(self._draft, self.path)
        with suppress(OSError):
            self._draft.unlink()

    def read(self) -> KeptState | None:
        """What the file says; None where there is none; `DamagedError` for what it cannot be."""
        return self._read(self.path)

    def _read(self, path: Path) -> KeptState | None:
        try:
            with open_regular(path) as file:
                check_own(file.fileno())
                with zipfile.ZipFile(file) as archive:
                    return _understood(archive, self.key)
        except FileNotFoundError:
            return None
        except OSError as err:
            raise DamagedError(err.strerror or str(err)) from err
        except DamagedError:
            raise
        except Exception as err:  # whatever zipfile and NumPy raise of bytes that are wrong
            raise DamagedError(f"it is not as it was written: {type(err).__name__}") from err

    def write(self, state: KeptState) -> None:
        """Replace the file; `OSError` where that cannot be, and the older one stays."""
        with (
            written_whole(self.path, mode=OWN_FILE, durable=True, draft=self._draft) as file,
            zipfile.ZipFile(file, "w") as archive,
        ):
            hashes = []
            for number, array in enumerate(state.arrays):
                packed = np.ascontiguousarray(array).reshape(array.shape)
                hashes.append(_hash(packed))
                with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                    npy.write_array(member, packed, allow_pickle=False)
            told = {"format": _FORMAT, "key": self.key, "step": state.step, "tree": state.tree}
            body = json.dumps({**told, "arrays": hashes}).encode()
            archive.writestr(_RECORD, hashlib.sha256(body).hexdigest().encode() + b"\n" + body)


def _hash(array: Array) -> str:
    """Of the dtype, the shape and the elements of ``array``, which is packed."""
    state = hashlib.sha256(f"{array.dtype.str} {array.shape} ".encode())
    state.update(array.reshape(-1).view(np.uint8).data)
    return state.hexdigest()


def _understood(archive: zipfile.ZipFile, key: str) -> KeptState:
    with archive.open(_RECORD) as member:
        first, _, body = member.read(_MOST).partition(b"\n")
    if first != hashlib.sha256(body).hexdigest().encode():
        raise DamagedError("it is not as it was written")
    told = parse(body)
    if told["format"] != _FORMAT or told["key"] != key or type(told["step"]) is not int:
        raise DamagedError("it is no record of this loop")
    arrays = []
    for number, wanted in enumerate(told["arrays"]):
        info = archive.getinfo(f"{number}.npy")
        if info.compress_type != zipfile.ZIP_STORED:  # we pack nothing: it could unpack to more
            raise DamagedError("it is not as it was written")
        with archive.open(info) as member:
            array = npy.read_array(io.BufferedReader(member), allow_pickle=False)  # type: ignore[type-var]
        if _hash(array) != wanted:
            raise DamagedError("an array of it is not as it was written")
        arrays.append(array)
    return KeptState(told["step"], told["tree"], arrays)
