"""What a write notes before its first block, as text; read with care, for anybody may write it."""

from __future__ import annotations

from typing import Final

from ...engine.writing.target import Begun
from ...errors import DataFileError
from ...late import json
from ...strict_json import NotStrictError, parse

_FORMAT: Final = 1


def record_of(begun: Begun) -> bytes:
    """``begun`` as one line."""
    fields = {"extents": begun.extents, "count": begun.count, "what": begun.what}
    return json.dumps({"speedcube-write": _FORMAT, **fields}).encode() + b"\n"


def begun_of(raw: bytes, label: str, ndim: int) -> Begun:
    """What ``raw`` notes; `DataFileError` where that is no such note."""
    try:
        found = parse(raw)
        extents, count, what = found["extents"], found["count"], found["what"]
        whole = [type(n) is int and n > 0 for n in (*extents, count)]
        if found["speedcube-write"] != _FORMAT or not all(whole) or len(extents) != ndim:
            raise NotStrictError("no note of this version")
    except (NotStrictError, KeyError, TypeError) as err:
        raise DataFileError(
            f"{label} was begun by another program, or the note of what is there was changed "
            f"({err}): begin anew, without resume="
        ) from None
    return Begun(str(what), tuple(extents), count)
