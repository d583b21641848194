"""What decides the bits on a worker: a hash of the package's files, and two known answers.

Each worker is asked for its own, and each task compares again where it runs: a worker may join, or
be started again, between the question and the task.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple
from functools import cache
from typing import Any, Final

import numpy as np

from ... import __about__
from ...dataclass import dataclass
from ...errors import WorkerError
from ...expr.nodes import Expr, Random, Reduced, whole
from ...expr.space import TILE
from ...late import hashlib
from ...plan.plan import Resources, make_plan
from .remote import run_part, sent_part

# The right answers. `tests/engine/test_fingerprint.py` has them from Philox in Python's integers
# and from the interpreter of expressions.
STREAM: Final = "a53f926a0f6e44defc778bf61321dfcbc152ed5ad41403def020dc4d0c70d809"
KERNEL: Final = "0x1.a6c5a0ef075c2p+4"
_KEY: Final = 0x243F6A8885A308D3
_PARAMETERS: Final = {"bits64": (0, 0), "normal": (0.0, 1.0)}
_SHOWN: Final = 12  # digits of a hash
_FEW: Final = 5  # files that are named


@dataclass(frozen=True)
class Fingerprint:
    """A version, the hash of its files, and what its stream and its sums give on this hardware."""

    version: str = ""  # of a process without the package
    sources: str = ""  # of a version that does not know this module
    stream: str = ""  # where it was not asked for
    kernel: str = ""


def question(distribution: str, dtype: str) -> Expr:
    """A few numbers of the stream: words of Philox ("bits64"), or normals."""
    source = Random(distribution, _KEY, _PARAMETERS[distribution], dtype)
    return whole(source, (1000,))


def total(numbers: Expr) -> Expr:
    """The exact sum of ``numbers``."""
    return whole(Reduced("sum", numbers, (0,), False, numbers.dtype), ())


def _answer(root: Expr) -> Any:
    """What a task of this process makes of ``root``: on its GPU where it has one."""
    stage = make_plan(root, Resources("a known answer", 1), "", TILE).stages[-1]
    return run_part(sent_part(stage, stage.parts[0]), None, 1)


@cache
def fingerprint() -> Fingerprint:
    """The one of this process; its kernels are compiled in 0.1 s where no cache has them."""
    words = np.asarray(_answer(question("bits64", "uint64")))
    value = float(np.asarray(_answer(total(question("normal", "float64")))).reshape(()))
    stream = hashlib.sha256(words.astype("<u8").tobytes()).hexdigest()
    return Fingerprint(__about__.__version__, sources(), stream, value.hex())


def said(answers: bool) -> tuple[str, ...]:
    """What this process says of itself to whoever asks, in types that every version knows."""
    return astuple(fingerprint()) if answers else (__about__.__version__, sources())


def expected(answers: bool = True) -> Fingerprint:
    """What every worker should have: this process's files and the right answers."""
    right = (STREAM, KERNEL) if answers else ()
    return Fingerprint(__about__.__version__, sources(), *right)


@cache
def sources() -> str:
    """A hash of every Python file of the package as it was when first asked for, in 6 ms."""
    text = "\n".join(f"{name} {digest}" for name, digest in sorted(source_digests().items()))
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def source_digests() -> dict[str, str]:
    """The hash of each file, by its path in the package."""
    from importlib.resources import files  # which loads much

    package = __name__.partition(".")[0]
    return {
        name: hashlib.sha256(content).hexdigest() for name, content in _contents(files(package), "")
    }


def _contents(folder: Any, path: str) -> Iterator[tuple[str, bytes]]:
    for entry in folder.iterdir():
        if entry.name.endswith(".py"):
            yield path + entry.name, entry.read_bytes()
        elif entry.name != "__pycache__" and entry.is_dir():
            yield from _contents(entry, f"{path}{entry.name}/")


def guarded(here: Fingerprint, function: Callable[..., Any], *arguments: Any) -> Any:
    """Task: ``function`` of ``arguments``, where this process is as ``here`` says."""
    found = Fingerprint(*said(bool(here.stream)))
    if found != here:
        raise WorkerError(refusal(worker_address(), here, found, {}))
    return function(*arguments)


def worker_address() -> str:
    """The address of the worker that this runs on."""
    from distributed import get_worker

    try:
        return str(get_worker().address)
    except ValueError:
        return "(this process)"


def refusal(worker: str, here: Fingerprint, there: Fingerprint, files_there: dict[str, str]) -> str:
    """Why ``worker`` cannot be used, with both values and what to do."""
    if there.version != here.version:
        has = f"has speedcube {there.version}" if there.version else "does not have speedcube"
        return (
            f"worker {worker} {has}; this process has {here.version}: install that version on "
            "every worker (client.upload_file is not enough)"
        )
    answers = [
        f"{what} gives {_short(found)} instead of {_short(right)}"
        for what, found, right in (
            ("its random stream", there.stream, here.stream),
            ("its sum of normals", there.kernel, here.kernel),
        )
        if found and found != right
    ]
    if there.sources == here.sources:
        return (
            f"worker {worker} computes other bits with the same files of speedcube "
            f"{here.version}: {'; '.join(answers)}; run speedcube verify there, and leave it out "
            "(client.retire_workers) until that passes"
        )
    told = "; ".join(answers) or "its known answers are right"
    return (
        f"worker {worker} has speedcube {here.version}, too, but other files: their hash is "
        f"{_short(there.sources) or 'unknown'} there, {_short(here.sources)} here"
        f"{_differing(files_there)}; {told if there.stream else 'it was not asked to compute'}. "
        "Install the same files on every worker, and start it again"
    )


def _differing(there: dict[str, str]) -> str:
    """The files that are not the same, where the worker's are known."""
    here = source_digests()
    names = sorted(n for n in {*here, *there} if here.get(n) != there.get(n))
    if not there or not names:
        return ""
    more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
    return f" (different: {', '.join(names[:_FEW])}{more})"


def _short(value: str) -> str:
    return value if "0x" in value else value[:_SHOWN]
