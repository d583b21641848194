"""What the processes of a job say to each other: frozen dataclasses, and how they travel.

    driver --Dask task--> agent, a task on a worker --fork server--> rank
    rank --channel--> agent --Dask events--> driver

    message     from    to              says
    Launch      agent   rank            what it is to be; the first message of all
    Heard       agent   rank            answer to Beat: the agent lives
    StopRequest driver  agent, rank     end at the next report
    Beat        rank    agent           it lives, and at which step it is
    Ready       rank    agent, driver   its function is called now
    Reported    rank    agent, driver   the row of one report
    Saving      rank    agent, driver   it begins to wait for a checkpoint, or has waited
    Saved       rank 0  agent, driver   a checkpoint is durable
    Chunk       rank    agent, driver   a part of what `emit` sends
    Returned    rank    agent           the function has returned this value
    Failed      rank    agent, driver   the function raised or was stopped; agents say it, too,
                                        of a rank that died, is silent or could not start
    Alive       agent   driver          the agent lives, though there is nothing else to say
    Started     agent   driver          the rank's process exists
    Log         agent   driver          what the rank printed
    Done        agent   driver          the value is there; it travels as the task's `Outcome`
    Down        agent   driver          the rank's process is gone
    TaskEnded   Dask    driver          the Dask task of a rank has ended, in whichever way
    Waits       driver  driver          ranks start later, since a worker is busy

Between a rank and its agent these are pickled, on a socket pair of the two. To the driver they go
as events of Dask, which carries dicts: see `events`. All processes of a job run one version.
"""

from __future__ import annotations

import threading
from enum import Enum
from multiprocessing.connection import Connection
from typing import Any, Final, Generic, TypeAlias, TypeVar

from ..dataclass import dataclass
from .environment import Environment

BEAT_SECONDS: Final = 0.5  # between two heartbeats of a rank
ANY_TEXT: Final = "surrogatepass"  # how every str of Python becomes bytes, and again a str
AWAY_SECONDS: Final = 1.0  # who did not run for so long was stopped itself, or its machine was


@dataclass(frozen=True)
class Place:
    """Where a rank runs: ``device`` is the name CUDA_VISIBLE_DEVICES knows it by; None: a CPU."""

    rank: int
    worker: str  # address
    host: str
    local_rank: int
    local_world_size: int
    device: str | None = None
    threads: int = 1  # of PyTorch, on a CPU
    process: int | None = None  # the worker's, where the driver can see it


@dataclass(frozen=True)
class JobSettings:
    """What a job asked for, and every rank of it has to know."""

    job: str
    world_size: int
    out: str  # the run's directory, as ranks see it
    keep: int = 2  # checkpoints
    stop_on_nan: bool = False
    prunable: bool = False
    as_task: bool = False
    environment: Environment | None = None  # of the driver; None: the worker's stay


@dataclass(frozen=True)
class Launch:
    """Everything a rank needs to start; ``call`` is the pickled (function, args, kwargs)."""

    settings: JobSettings
    attempt: int
    place: Place
    backend: str  # of the ranks' group
    devices: tuple[str, ...]  # of this job on this host, by local rank; (): as the worker sees them
    master: tuple[str, int]
    call: bytes
    scheduler: tuple[str, Any] | None = None  # address and Security, where futures travel
    path: tuple[str, ...] = ()  # where to import from: the driver's, and before it the worker's
    store: str = ""  # the file of the store that ranks share; "": rank 0 serves it at ``master``

    @property
    def rank(self) -> int:
        return self.place.rank


@dataclass(frozen=True)
class Outcome:
    """What the Dask task of a rank returns: the pickled value, or why there is none."""

    rank: int
    value: bytes | None
    problem: str = ""


class Cause(Enum):
    """What a rank, or the whole job, failed of."""

    CANCELLED = "cancelled"
    SCHEDULER = "scheduler"
    WORKER = "worker"
    DEATH = "death"
    SILENT = "silent"
    NONFINITE = "nonfinite"  # stop_on_nan: every rank stopped at a step with a NaN or infinity
    ASKED = "asked"  # every rank stopped at a step because `Job.stop` asked for it
    HUNG = "hung"
    START = "start"
    EXCEPTION = "exception"


@dataclass(frozen=True)
class Heard:
    """The agent has heard a beat."""


@dataclass(frozen=True)
class StopRequest:
    """Every rank is to stop at its next report."""

    reason: str


@dataclass(frozen=True)
class Beat:
    """The rank lives."""

    step: int


@dataclass(frozen=True)
class Ready:
    """The function is called now, by the rank's clock."""

    time: float


@dataclass(frozen=True)
class Reported:
    """A row as `metrics.rows.row` makes it."""

    row: dict[str, Any]


@dataclass(frozen=True)
class Saving:
    """Whether the rank waits for a checkpoint from now on."""

    begins: bool


@dataclass(frozen=True)
class Saved:
    """The checkpoint of a step is durable; it took so many seconds."""

    step: int
    seconds: float


@dataclass(frozen=True)
class Chunk:
    """A part of the ``number``-th thing that the rank emits; names may hold any str, so bytes."""

    number: int
    name: bytes
    topic: bytes
    text: bool
    data: bytes
    last: bool


@dataclass(frozen=True)
class Returned:
    """What the function returned, pickled."""

    value: bytes


@dataclass(frozen=True)
class Failed:
    """Why the rank goes no further, and where it was.

    Of an exception: ``text`` is its text, ``name`` its type, ``blob`` itself where it can travel.
    """

    cause: Cause
    step: int
    text: str
    name: str = ""
    trace: str = ""
    blob: bytes | None = None


@dataclass(frozen=True)
class Alive:
    """The agent lives."""


@dataclass(frozen=True)
class Started:
    """The rank's process exists."""

    pid: int


@dataclass(frozen=True)
class Log:
    """What the rank printed since the last one."""

    text: str


@dataclass(frozen=True)
class Done:
    """The function has returned so many bytes; its process waits for its peers."""

    value_bytes: int = 0


@dataclass(frozen=True)
class Down:
    """The rank's process is gone."""


@dataclass(frozen=True)
class TaskEnded:
    """The Dask task of a rank has ended; its future says how."""

    future: Any


@dataclass(frozen=True)
class Waits:
    """Why ranks start later."""

    text: str


Relayed: TypeAlias = Ready | Reported | Saving | Saved | Chunk | Failed
FromRank: TypeAlias = Beat | Returned | Relayed
ToRank: TypeAlias = Launch | Heard | StopRequest
FromAgent: TypeAlias = Alive | Started | Log | Done | Down | Relayed
ToDriver: TypeAlias = FromAgent | TaskEnded | Waits


_Out = TypeVar("_Out")
_In = TypeVar("_In")


class Channel(Generic[_Out, _In]):
    """One end of the socket pair between a rank and its agent; any thread may send."""

    def __init__(self, descriptor: int) -> None:
        self._connection = Connection(descriptor)
        self._sending = threading.Lock()

    def send(self, message: _Out) -> None:
        """Send a message; `OSError` where nobody listens any more."""
        with self._sending:
            self._connection.send(message)

    def receive(self, seconds: float) -> _In | None:
        """The next message, or None after ``seconds``; `EOFError` at the other end's end."""
        if not self._connection.poll(seconds):
            return None
        try:
            message: _In = self._connection.recv()
        except ConnectionResetError as err:
            raise EOFError from err
        return message

    def close(self) -> None:
        self._connection.close()
