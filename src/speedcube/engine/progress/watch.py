"""When progress is told: after a second, by one thread, of what the main thread waits for.

So nothing is told of what workers, callbacks and threads compute, nor of one computation in
another. Where nobody looks at a terminal or a notebook nothing is counted and no thread is started.
Dask's setting ``speedcube.progress`` (False) turns it off.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Final

from ...dataclass import dataclass
from ...errors import ParameterError
from ...late import multiprocessing, setting, watched
from ...plan.plan import Plan
from .count import NOTHING_KNOWN, Told, total_of
from .screen import Screen, screen_here

SETTING: Final = "speedcube.progress"
FIRST: Final = 1.0  # seconds: what is done sooner says nothing
BETWEEN: Final = 0.2  # seconds between two lines
IDLE: Final = 3.0  # seconds without a computation until the thread ends
LEAST: Final = 1 << 20  # points: fewer take no second, whatever is done with each
_MAIN: Final = threading.main_thread


def wanted() -> bool:
    """Whether Dask's settings want progress shown."""
    value = setting(SETTING, True)
    if value is None or isinstance(value, bool):
        return value is not False
    raise ParameterError(f"{SETTING}={value!r}: give True or False")


@dataclass(eq=False)
class _Watch:
    """What is computed now, and the thread that tells of it."""

    told: Told | None = None
    screen: Screen | None = None
    shown: bool = False
    quiet: int = 0
    thread: threading.Thread | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self, told: Told, screen: Screen) -> None:
        with self.lock:
            self.told, self.screen, self.shown = told, screen, False
            if self.thread is None:
                self.thread = threading.Thread(
                    target=self._tell, name="speedcube-progress", daemon=True
                )
                self.thread.start()

    def end(self) -> None:
        self.told = None
        with self.lock:  # after this nothing is written any more
            if self.shown and self.screen is not None:
                self.screen.clear()
            self.screen, self.shown = None, False

    def _tell(self) -> None:
        last = time.monotonic()
        while True:
            time.sleep(BETWEEN)
            now = time.monotonic()
            with self.lock:
                if self.told is not None:
                    last = now
                    self._show(self.told, now)
                elif now - last > IDLE:
                    self.thread = None
                    return

    def _show(self, told: Told, now: float) -> None:
        if now - told.began < FIRST or self.screen is None:
            return
        self.shown = True
        try:
            self.screen.show(told.text(now))
        except Exception:
            self.screen = None  # a line of progress is no reason to fail


_watch = _Watch()


def _forked() -> None:
    """A process of its own has no such thread, and nobody who waits for it."""
    global _watch
    _watch = _Watch()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


@contextmanager
def quietly() -> Iterator[None]:
    """Nothing is told of what is computed inside: a command tells of it in its own words."""
    _watch.quiet += 1
    try:
        yield
    finally:
        _watch.quiet -= 1


@contextmanager
def telling(plan: Plan | None, where: str, points: int = 0) -> Iterator[Told]:
    """Tell how far what is computed inside is, once it takes long and somebody looks.

    Without a ``plan``, of what takes as long as so many ``points``, nothing is known but the time.
    """
    long = points >= LEAST if plan is None else plan.elements >= LEAST or bool(plan.deferred)
    screen, told = _looked_at() if long else None, Told(where)
    if screen is None:
        yield told
        return
    told.total = NOTHING_KNOWN if plan is None else total_of(plan)
    told.stop.counts = True
    try:
        _watch.begin(told, screen)
        yield told
    finally:
        _watch.end()


def _looked_at() -> Screen | None:
    if _watch.quiet or _watch.told is not None or watched():  # Dask's own bar tells
        return None
    if threading.current_thread() is not _MAIN() or multiprocessing.parent_process() is not None:
        return None
    screen = screen_here()
    return screen if screen is not None and wanted() else None
