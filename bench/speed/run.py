"""Runs rows and programs in a process of their own, which is ended when one takes too long."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterable, Iterator
from typing import Any, Final

from .one import serve

LIMIT: Final = {"row": 12.0, "program": 25.0}  # seconds
START: Final = 60.0  # of the process itself
CONTEXT: Final = multiprocessing.get_context("spawn")
Asked = tuple[str, str, str]  # kind, name, column


class Runner:
    """One process after another: a new one where the last was ended, or died."""

    def __init__(self, target: Any = serve) -> None:
        self.target = target
        self.process: Any = None

    def __enter__(self) -> Runner:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.connection.close()
            self.process = None

    def _start(self) -> None:
        self.connection, other = CONTEXT.Pipe()
        self.process = CONTEXT.Process(target=self.target, args=(other,), daemon=True)
        self.process.start()
        other.close()

    def measure(self, asked: Asked, limit: float) -> dict[str, Any]:
        """All that the process told of ``asked`` until it was done, or silent for ``limit`` s."""
        known: dict[str, Any] = {}
        patience = limit
        if self.process is None:
            self._start()
            patience += START
        self.connection.send(asked)
        end = time.monotonic() + patience
        while self.connection.poll(max(0.0, end - time.monotonic())):
            try:
                told = self.connection.recv()
            except EOFError:
                self.process.join()
                known["error"] = f"the process ended with exit code {self.process.exitcode}"
                break
            if told is None:
                return finished(known, limit)
            known |= told
            end = time.monotonic() + limit  # for the next step: theirs, ours, the pairs
        else:
            known["not ended within"] = limit
        self.end()
        return finished(known, limit)


def finished(known: dict[str, Any], limit: float) -> dict[str, Any]:
    """What is written down; a row that did not end has a ratio that is no better than it says."""
    their_time = known.pop("their time", None)
    if "not ended within" in known and "ours" in known.get("first", {}):
        return known | {"at most": known["first"]["theirs"] / known["first"]["ours"]}
    if "not ended within" in known and their_time:
        known["at most"] = their_time / limit
    elif "not ended within" in known and "why" not in known:  # theirs comes first
        return {"why": f"the other did not end within {limit:g} s"}
    return known


def everything(asked: Iterable[Asked], limits: dict[str, float]) -> Iterator[tuple[Asked, Any]]:
    """Each of ``asked`` with what was measured, in turn."""
    with Runner() as runner:
        for each in asked:
            yield each, runner.measure(each, limits[each[0]])
