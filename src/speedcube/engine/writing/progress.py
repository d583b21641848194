"""How far a write is: bytes a second, and the time that is left."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from dataclasses import field
from typing import Any, Final, TypeAlias

from ...dataclass import dataclass
from ...errors import ParameterTypeError
from ...numbers import bytes_text, duration_text

_FIRST: Final = 2.0  # seconds: what is written sooner says nothing
_BETWEEN: Final = 0.25  # seconds between two lines on a terminal
_IN_LOGS: Final = 30.0  # and where each line stays
_WHOLE: Final = "none to write: the array was whole, and is left as it is, unread"


@dataclass(frozen=True)
class WriteProgress:
    """How far a write is, in bytes of values: ``earlier`` of them another write had done.

    ``seconds`` have gone by; ``rate`` is bytes a second, ``left`` seconds, None where unknown.
    Of ``blocks`` in all ``found`` were there already.
    """

    label: str
    done: int
    total: int
    earlier: int
    seconds: float
    blocks: int = 0
    found: int = 0

    @property
    def rate(self) -> float:
        """Bytes of values a second."""
        return (self.done - self.earlier) / max(self.seconds, 1e-9)

    @property
    def left(self) -> float | None:
        """Seconds until the end, at this rate."""
        return (self.total - self.done) / self.rate if self.done > self.earlier else None

    def __str__(self) -> str:
        share = self.done / self.total if self.total else 1.0
        rest = "" if self.left is None else f", {duration_text(self.left)} left"
        return (
            f"{self.label}: {share:.0%} of {bytes_text(self.total)}, "
            f"{bytes_text(self.rate)}/s{rest}"
        )


Show: TypeAlias = bool | Callable[[WriteProgress], Any] | None


@dataclass(eq=False)
class Meter:
    """Counts the bytes that are written and says so.

    ``show``: True prints lines, False nothing, None prints on terminals alone; a function is given
    each `WriteProgress`.
    """

    label: str
    total: int
    earlier: int = 0
    show: Show = None
    blocks: int = 0
    found: int = 0
    began: float = field(default_factory=time.monotonic)
    done: int = 0
    last: float = -1.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        check_show(self.show)
        self.done = self.earlier

    def begin(self) -> None:
        """Say what another write had done, if that was anything."""
        if not self.found:
            return
        if callable(self.show):
            self.show(self._now())
        elif self.show is not False:
            left = self.blocks - self.found
            then = f"{left:,} to write" if left else _WHOLE
            text = f"{self.label}: found {self.found:,} of {self.blocks:,} blocks, {then}"
            print(f"speedcube: {text}", file=sys.stderr, flush=True)

    def _now(self) -> WriteProgress:
        seconds, blocks = time.monotonic() - self.began, (self.blocks, self.found)
        return WriteProgress(self.label, self.done, self.total, self.earlier, seconds, *blocks)

    def add(self, count: int) -> None:
        """``count`` bytes more are written."""
        with self.lock:
            self.done += count
            now = self._now()
            if callable(self.show):
                self.show(now)
            elif self.show is not False:
                self._print(now)

    def _print(self, now: WriteProgress) -> None:
        is_terminal = bool(getattr(sys.stderr, "isatty", bool)())
        if self.show is None and not is_terminal:
            return
        wait = _BETWEEN if is_terminal else _IN_LOGS
        begun = self.last >= 0
        at_end = now.done >= now.total and (begun or self.show is True)
        if not at_end and (now.seconds < _FIRST or (begun and now.seconds - self.last < wait)):
            return
        self.last = now.seconds
        end = "\n" if at_end or not is_terminal else ""
        start = "\r\x1b[K" if is_terminal else ""
        print(f"{start}{now}", end=end, file=sys.stderr, flush=True)


def check_show(show: Any) -> None:
    """`ParameterTypeError` for what is no way to show progress."""
    if not (show is None or isinstance(show, bool) or callable(show)):
        raise ParameterTypeError(
            f"progress= takes True, False, None (on terminals alone) or a function, not {show!r}"
        )
