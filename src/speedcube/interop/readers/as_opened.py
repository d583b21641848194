"""What a file said of an array when it was opened, and whether it still says so when it is read.

Who reads by a header that is no longer there gets wrong numbers. The size and the times of a file
tell whether it was written since; only then is its header read again. New elements are welcome.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from ...errors import DataFileError

Layout: TypeAlias = Mapping[str, Any]  # by what it is called
_SETTLED: Final = 50_000_000  # ns in which a file may be written twice and have the same times


class AsOpened:
    """The file ``path`` has a header that ``told`` a layout; ``tell`` reads it again.

    ``status`` is that of the file before it told; None: it is asked for now.
    """

    def __init__(
        self,
        path: str,
        told: Layout,
        tell: Callable[[str], Layout],
        status: os.stat_result | None = None,
    ) -> None:
        self.path, self.told, self.tell = path, told, tell
        self._note(_seen(os.stat(path) if status is None else status))

    def check(self, status: os.stat_result | None = None) -> bool:
        """Whether the file was written since the last look; an error if its layout changed.

        ``status`` is that of the file now; None: it is asked for.
        """
        try:
            seen = _seen(os.stat(self.path) if status is None else status)
        except FileNotFoundError:
            text = "it was removed since it was opened"
            raise FileNotFoundError(errno.ENOENT, text, self.path) from None
        if seen == self._last and self._settled:
            return False
        self._compare()
        written = seen != self._last
        self._note(seen)
        return written

    def _compare(self) -> None:
        try:
            told = self.tell(self.path)
        except (OSError, MemoryError):
            raise
        except Exception as err:
            raise DataFileError(
                f"{self.path} was changed or cut short since it was opened: {err}"
            ) from err
        names = [*self.told, *(name for name in told if name not in self.told)]
        was = [name for name in names if self.told.get(name) != told.get(name)]
        if was:
            each = (f"{name} was {self.told.get(name)} and is {told.get(name)}" for name in was)
            raise DataFileError(
                f"{self.path} was changed since it was opened: {', '.join(each)}; open it again"
            )

    def _note(self, seen: tuple[int, ...]) -> None:
        # A file that was written just now may be written again without other times.
        self._last, self._settled = seen, seen[1] < time.time_ns() - _SETTLED


def _seen(status: os.stat_result) -> tuple[int, ...]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
