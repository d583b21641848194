"""What users say of a write, and the rung that writes."""

from __future__ import annotations

from typing import Any

from ...dataclass import dataclass
from ...plan.writing import MEMORY
from ..rungs import Rung, parse, resolve
from .progress import Show


@dataclass(frozen=True)
class HowToWrite:
    """What users say of a write: the rung, bytes of a worker, and who hears how far it is."""

    on: Any = None
    memory: int = MEMORY
    show: Show = None
    prefers_gpu: bool = False


def rung_of(how: HowToWrite, elements: int) -> Rung:
    """The rung that writes: where nobody names one, the cores, for most of the work is theirs."""
    rung = resolve(how.on, None, elements, how.prefers_gpu)
    return parse("cores", "") if rung.reason.startswith("least predicted") else rung
