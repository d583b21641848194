"""What the parts of a running computation have handed over, and the file that keeps it."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import field, replace
from typing import Any, Final

from ...dataclass import dataclass
from ...expr.nodes import Reduced
from ..clusters.asked.calls import Calls, PlanCall
from ..clusters.handing import Records, has_few, records_in, slices_of
from ..clusters.patience import Sayings
from ..clusters.remote import SentPart, SentPass
from .identity import Identity
from .records import KeptFile, KeptParts, Left

EACH: Final = 1.0  # seconds between two writes of the file, at least
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
    """The part that ``call`` computes, if what it hands over is kept."""
    sent = call.arguments[0] if call.arguments else None
    if isinstance(sent, SentPart):
        return sent if sent.hands_records_over or sent.along_results else None
    if not isinstance(sent, SentPass) or not sent.name or sent.along:
        return None
    return sent if all(map(_has_few, sent.stages)) else None


def _has_few(sent: SentPart) -> bool:
    """Whether ``sent``, one of several, gives a record of few results."""
    merges = isinstance(sent.source, Reduced) and sent.source.op != "prod" and not sent.block
    return merges and sent.join in ("one", "merge") and has_few(sent.part, sent.axes)


def is_long(call: PlanCall) -> bool:
    """Whether ``call`` hands something over before it ends."""
    sent = sent_of(call)
    if sent is None:
        return False
    along = sent.along_results if isinstance(sent, SentPart) else None
    one = sent.stages[0] if isinstance(sent, SentPass) else sent
    slices = along.slices if along else slices_of(one.part, one.axes)
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
