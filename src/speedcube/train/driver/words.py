"""What ranks left to be read: their stacks and the last lines of their logs, shortest way first."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from pathlib import Path
from typing import Final, NamedTuple

LINES: Final = 20  # of a log that are part of an error
WIDTH: Final = 500  # characters of each
TAIL_BYTES: Final = 1 << 17  # of a log that are looked at
THREAD: Final = re.compile(r"^(?:Current thread|Thread) 0x", re.MULTILINE)
FRAME: Final = re.compile(r'^  File "(.*)", line (?:\d+|\?\?\?) in ')
FATAL: Final = "Fatal Python error: "
CALLS: Final = re.compile(r"/speedcube/train/ranks/process\.py\", line \d+ in _run$")
# Between the start of a rank's process and its function; in its threads beside it.
LAUNCHER: Final = ("/speedcube/train/ranks/", "/speedcube/train/worker/")
LIBRARIES: Final = ("/site-packages/", "/dist-packages/", "/lib/python", "/lib64/python", "<frozen")
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[^\S\n ]|[^\n\x20-\x7e\xa0-\U0010ffff]")


class Stack(NamedTuple):
    """One process: the user's frames, what they called, other threads; innermost first."""

    own: list[str]
    called: list[str]
    others: list[str]

    @property
    def operates(self) -> bool:
        """Whether it waits in an operation of the ranks' group, as those do that are ahead."""
        return any("/torch/distributed/" in frame for frame in self.called)


def stack(dump: str) -> Stack:
    """What faulthandler wrote, in the order in which it is to be read."""
    own, called, others = list[str](), list[str](), list[str]()
    for thread in _threads(dump):
        frames = [line for line in thread.splitlines() if FRAME.match(line)]
        began = next((k for k, frame in enumerate(frames) if CALLS.search(frame)), None)
        if began is not None:
            inner = frames[:began]
            theirs = [k for k, frame in enumerate(inner) if not _in(frame, LIBRARIES + LAUNCHER)]
            cut = theirs[0] if theirs else began
            called, own = inner[:cut], inner[cut:]
        elif not any(_in(frame, LAUNCHER) for frame in frames):  # no heartbeat of ours
            others.append(thread.strip())
    return Stack(own, called, others)


def _threads(dump: str) -> list[str]:
    starts = [match.start() for match in THREAD.finditer(dump)]
    ends = [*starts[1:], len(dump)]
    return [dump[a:b].partition("\n\n")[0] for a, b in zip(starts, ends, strict=True)]


def _in(frame: str, folders: tuple[str, ...]) -> bool:
    match = FRAME.match(frame)
    return match is not None and any(folder in match[1] for folder in folders)


def behind(stacks: Mapping[int, str], rank: int, same_step: Container[int]) -> int:
    """The rank that the others wait for: ``rank``, or one of its step that waits for none."""
    first = (other for other in _in_order(stacks, rank) if other in same_step)
    return next(first, rank)


def _in_order(stacks: Mapping[int, str], rank: int) -> list[int]:
    """``rank`` and those of its kind: first who computes, or does not answer, then who waits."""
    return sorted(stacks, key=lambda r: (stack(stacks[r]).operates, r != rank, r))


def report(stacks: Mapping[int, str], first: int) -> str:
    """The stacks of all ranks for a person: the user's lines first, other threads last."""
    parts, rest = [], []
    for rank in _in_order(stacks, first):
        own, called, others = stack(stacks[rank])
        parts.append(f"--- stack of rank {rank}, innermost call first ---")
        if not own and not called:
            parts.append(stacks[rank].strip() or "(none: the process does not answer)")
        parts += own
        if called:
            parts += ["  calls" if own else "  in", *called]
        rest += [f"--- another thread of rank {rank} ---\n{thread}" for thread in others]
    return "\n".join([*parts, *rest])


def last_lines(log: Path, start: int = 0, without: str = "") -> str:
    """The last lines of a log from byte ``start`` on, cleaned; "" where there are none.

    ``without`` is a text that it may end in and that is known. Of a fatal error of Python the
    stack is shortened to the user's frames.
    """
    try:
        with log.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(start, size - TAIL_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return ""
    text, fatal, dump = text.rpartition(FATAL)
    if not fatal:
        text, dump = dump, ""
    if without and without.strip() in text:
        text = text[: text.rindex(without.strip())]
    lines = cleaned(text).rstrip().splitlines()[-LINES:]
    if fatal:
        read = stack(dump)
        lines += [fatal + cleaned(dump.partition("\n")[0]), *read.own, *read.called]
    return "\n".join(line if len(line) <= WIDTH else f"{line[:WIDTH]} ..." for line in lines)


def cleaned(text: str) -> str:
    """``text`` without what would move the cursor or colour a terminal."""
    kept = (line.rpartition("\r")[2] for line in text.replace("\r\n", "\n").split("\n"))
    return _CONTROL.sub("", "\n".join(kept).replace("\t", "    "))
