"""`emit`: data that a rank sends home beside rows; `Job.emitted` yields it at the driver.

It travels in chunks with the job's other messages, in order with the rows, and through the Dask
scheduler: right for a summary, an image or a model of some MB. What must be large or survive a
crash is a checkpoint. Names are only names here; nobody opens a file of that name.
"""

from __future__ import annotations

import itertools
from typing import Final

from ...errors import ParameterTypeError
from ..messages import ANY_TEXT, Chunk
from .context import current

CHUNK_BYTES: Final = 1 << 18

_numbers: Final = itertools.count()


def emit(name: str, data: str | bytes, *, topic: str = "") -> None:
    """Send ``data`` to the driver, where `Job.emitted` yields it with its name, topic and rank.

    Raises
    ------
    ParameterTypeError
        ``data`` is no str, bytes or other buffer; ``name`` or ``topic`` no str.
    TrainError
        Outside of a rank.
    """
    link = current().link
    try:
        raw = data.encode("utf-8", ANY_TEXT) if isinstance(data, str) else data
        whole = memoryview(raw).cast("B")
        called = name.encode("utf-8", ANY_TEXT), topic.encode("utf-8", ANY_TEXT)
    except (TypeError, AttributeError) as err:
        raise ParameterTypeError(
            f"emit({name!r}, a {type(data).__name__}): give a name and a str or bytes; "
            "json.dumps() or pickle.dumps() make one of other data"
        ) from err
    number, text = next(_numbers), isinstance(data, str)
    for start in range(0, max(1, len(whole)), CHUNK_BYTES):
        part = bytes(whole[start : start + CHUNK_BYTES])
        last = start + CHUNK_BYTES >= len(whole)
        link.send(Chunk(number, *called, text, part, last))
