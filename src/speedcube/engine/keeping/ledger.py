"""What the parts of a running computation have handed over, and the file that keeps it."""

from __future__ import annotations

import math
import time
from collections.abc import Collection, Sequence
from dataclasses import field, replace
from typing import Any, Final

from ...dataclass import dataclass
from ...expr.nodes import Reduced
from ..clusters.handing import MOST, Records, records_in, slices_of
from ..clusters.patience import Sayings
from ..clusters.plans import Calls, PlanCall
from ..clusters.remote import SentPart, SentPass
from .identity import Identity
from .records import KeptFile, KeptParts, Left

EACH: Final = 1.0  # seconds between two writes of the file, at least
_RESULTS: Final = MOST // 1152  # of a part, the largest record of each taken
_SHARE: Final = 0.01  # of the time, at most, that writing takes


@dataclass(eq=False)
class Ledger:
    """How far each part of ``calls`` has come; parts are called as in every run of the plan."""

    file: KeptFile
    calls: Calls
    kept: KeptParts
    token: str  # with which the names of calls begin, in this run only
    parts: dict[str, Left] = field(default_factory=dict)
    sayings: Sayings = field(default_factory=Sayings)
    _written: float = field(default_factory=time.monotonic)
    _took: float = 0.0
    _changed: bool = False

    def take(self, name: str, position: int, records: Records) -> None:
        """Note what a part, by the name of its call, has come to."""
        if name.startswith(self.token):
            short = name[len(self.token) :]
            if position > self.parts.get(short, (0, []))[0]:
                self.parts[short] = position, records
                self._changed = True

    @property
    def hears(self) -> bool:
        """It wants what parts hand over."""
        return True

    def look(self, _: Collection[str], events: Sequence[Any]) -> None:
        """Note what Dask's scheduler was told, and write the file if it is time."""
        for _, event in events:
            if event["name"].startswith(self.token):
                self.take(event["name"], int(event["position"]), records_in(event))
        self.save()

    def add_later(self, token: str, events: Sequence[Any]) -> None:
        """Note what a scheduler has heard of the run ``token``, which its file may not have."""
        for _, event in events if token else ():
            if event["name"].startswith(token):
                short = event["name"][len(token) :]
                self.take(self.token + short, int(event["position"]), records_in(event))

    def save(self, now: bool = False) -> None:
        """Write the file, if it is time or has to be ``now``."""
        began = time.monotonic()
        early = not now and began - self._written < max(EACH, self._took / _SHARE)
        if early or not self._changed:
            return
        self._changed = False
        try:
            self.file.write(replace(self.kept, parts=dict(self.parts)))
        except OSError as err:
            self.sayings.say(
                f"{self.file.path} cannot be written ({err.strerror}): this computation goes on, "
                "and if it is killed it begins from what the file had before",
                "write",
            )
        self._written = time.monotonic()
        self._took = self._written - began

    def left(self, name: str) -> Left:
        """Where the part ``name`` begins: behind what an earlier run has left."""
        return self.parts.get(name[len(self.token) :], (0, []))


def structure_of(calls: Calls, token: str, identity: Identity) -> str:
    """A hash of what the parts of ``calls`` are: what was kept of other parts is of no use."""
    told = [
        (call.name[len(token) :], replace(sent, name=""))
        for call in calls.all
        if (sent := sent_of(call)) is not None
    ]
    return Identity(identity.data).of(told)


def sent_of(call: PlanCall) -> SentPart | SentPass | None:
    """The part that ``call`` computes, if its record is kept: of few results."""
    sent = call.arguments[0] if call.arguments else None
    if not isinstance(sent, (SentPart, SentPass)) or not sent.name:
        return None
    stages = sent.stages if isinstance(sent, SentPass) else (sent,)
    kept = isinstance(sent, SentPart) or not sent.along
    return sent if kept and all(map(_has_few, stages)) else None


def _has_few(sent: SentPart) -> bool:
    """Whether ``sent`` gives a record of few results, which can be merged with others."""
    merges = isinstance(sent.source, Reduced) and sent.source.op != "prod" and not sent.block
    kept = [n for k, n in enumerate(sent.part.root.shape) if k not in sent.axes]
    return merges and sent.join in ("one", "merge") and math.prod(kept) <= _RESULTS


def is_long(call: PlanCall) -> bool:
    """Whether ``call`` hands a record over before it ends."""
    sent = sent_of(call)
    if sent is None:
        return False
    one = sent.stages[0] if isinstance(sent, SentPass) else sent
    slices = slices_of(one.part, one.axes)
    return slices.extent > slices.step


def going_on(calls: Calls, ledger: Ledger) -> Calls:
    """``calls`` whose parts begin where earlier ones came to, and tell of their end."""
    return replace(calls, all=tuple(_going_on(call, ledger) for call in calls.all))


def _going_on(call: PlanCall, ledger: Ledger) -> PlanCall:
    sent = sent_of(call)
    if sent is None:
        return call
    new = replace(sent, left=ledger.left(call.name))
    return replace(call, arguments=(new, *call.arguments[1:]))
