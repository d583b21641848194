"""The command ``speedcube verify``: check every option, verify rung by rung, and the exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from ...__about__ import __version__
from ...dataclass import dataclass
from ...engine import rungs
from ...engine.rungs import Rung
from ...errors import ParameterError
from ...exit_codes import BROKEN_PIPE, DONE, FAILED, INTERRUPTED
from ...kernel.llvm.simd import limited, runnable
from ...numbers import seconds_text
from .. import options, terminal
from ..this_machine import this_machine
from .check import RungCheck, check, hashes
from .hash_list import VERSION, read, written

SCHEMA: Final = 1


@dataclass(frozen=True)
class VerifyRequest:
    """What was asked for, every option checked."""

    rungs: list[Rung]
    simd: str | None
    json: bool
    write: str | None


def checked(on: str | None, simd: str | None, as_json: bool, write: str | None) -> VerifyRequest:
    """The request that the options make; a `SpeedcubeError` where one of them is wrong."""
    if write is not None:
        terminal.check_output("--write", write)
    if simd is not None and simd not in runnable():
        raise ParameterError(
            f"--simd {simd!r} is not a target of this CPU; it has {', '.join(runnable())}"
        )
    names = _names(simd) if on is None else options.rung_names(on)
    chosen = options.rungs_of(names, "speedcube verify")
    others = [rung.name for rung in chosen if rung.kind not in ("core", "cores")]
    if simd is not None and others:
        raise ParameterError(
            f"--simd {simd} is about the CPU rungs of this process, not about {', '.join(others)}; "
            "leave one of the two out"
        )
    return VerifyRequest(chosen, simd, as_json, write)


def _names(simd: str | None) -> list[str]:
    return [name for name in rungs.available() if simd is None or name.startswith("core")]


def run(request: VerifyRequest) -> int:
    """Verify and print; the exit code."""
    with limited(request.simd):
        try:
            return _write(request.write) if request.write is not None else _verify(request)
        except KeyboardInterrupt:
            print("Interrupted.", file=sys.stderr)
            return INTERRUPTED


def _write(path: str) -> int:
    digests, arrays = hashes("core")
    terminal.write(path, written(digests, arrays))
    terminal.say(f"{len(digests)} hashes of {VERSION}, computed on core, written to {path}")
    return DONE


def _verify(request: VerifyRequest) -> int:
    listed = read()
    checks = list[RungCheck]()
    simd = f", kernels for {request.simd}" if request.simd else ""
    title = f"speedcube {__version__}: {len(listed)} results of {VERSION}{simd}"
    was_read = request.json or terminal.printed(lambda: print(title))
    for rung in request.rungs:
        checks.append(check(rung, listed))
        if not request.json:
            was_read = terminal.printed(lambda: print(_line(checks[-1]), flush=True)) and was_read
    if request.json:
        was_read = terminal.printed(lambda: print(document(checks, len(listed))))
    else:
        was_read = terminal.printed(lambda: print(_verdict(checks))) and was_read
    if not all(rung.passed for rung in checks):
        return FAILED
    return DONE if was_read else BROKEN_PIPE


def document(checks: Sequence[RungCheck], results: int) -> str:
    """What was found, as JSON."""
    content: dict[str, Any] = {"schema": SCHEMA, "list": VERSION, "results": results}
    content["machine"] = this_machine()
    content["rungs"] = [asdict(rung) for rung in checks]
    content["equal"] = all(rung.passed for rung in checks)
    return json.dumps(content, indent=1)


def _line(rung: RungCheck) -> str:
    """A rung in a line, and below it the first difference."""
    text = f"{rung.rung:12} {rung.equal} of {rung.results} equal, {seconds_text(rung.seconds)}"
    if rung.problem:
        text += f"; {rung.problem}"
    first = rung.first_difference
    if first is None:
        return text
    return "\n".join(
        [
            f"{text}; the first that differs:",
            f"    name        {first.name}",
            f"    expression  {first.expression}",
            f"    expected    {first.expected}",
            f"    found       {first.found}",
            f"    elements    {first.element}",
        ]
    )


def _verdict(checks: Sequence[RungCheck]) -> str:
    wrong = [rung.rung for rung in checks if not rung.passed]
    if wrong:
        return f"Not equal: {', '.join(wrong)}."
    count = len(checks)
    return f"Equal: every result has the committed bits on {'all ' * (count > 1)}{count} rung" + (
        "s." if count > 1 else "."
    )
