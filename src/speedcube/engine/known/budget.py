"""How many bytes may be kept for computations to come: what is set, and a part of the free memory.

Each kind of what is kept has a setting of Dask's of its own.
"""

from __future__ import annotations

from typing import Final

from ...errors import ParameterError
from ...late import dask, setting
from .. import machine

DEFAULT: Final = 1 << 30
SHARE: Final = 16  # of the free memory, one part at most


def most_bytes(name: str, held: int) -> int:
    """Bytes that may be kept in all by the setting ``name``, of which ``held`` are kept now."""
    value = setting(name, DEFAULT)
    if not value:
        return 0
    try:
        most = DEFAULT if value is DEFAULT else dask.utils.parse_bytes(value)
    except (AttributeError, ValueError, TypeError) as err:
        raise ParameterError(
            f"{name}={value!r}: give a number of bytes, such as '1 GiB', or 0"
        ) from err
    return int(min(most, (machine.free_memory() + held) // SHARE))
