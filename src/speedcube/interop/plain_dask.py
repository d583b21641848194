"""`on`: everything inside the block runs on one rung, plain ``dask.array`` code too.

speedcube's own rung is a context variable. For plain Dask code the block changes Dask's settings:
the scheduler, the array and data frame backends, and the plugins of `cupy_backend`. Those belong to
the process.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, ContextDecorator, ExitStack
from contextvars import Token
from functools import cache, lru_cache
from importlib.util import find_spec
from threading import get_ident
from typing import Any, Final, TypeAlias

from ..engine import rungs
from ..engine.clusters import named
from ..engine.clusters.client import client_for
from ..engine.clusters.rung_names import is_name, one_name
from ..engine.rungs import Rung
from ..errors import ParameterError
from . import cupy_backend
from .also import Also
from .dask_settings import Changed, Plain, is_usual, setting
from .schedulers import GivenClient, LazyClient, OneGpu, gpu_device

Settings: TypeAlias = dict[str, Any]  # by section
Path: TypeAlias = str | os.PathLike[str]


class Block(ContextDecorator):
    """What `on` gives: a ``with`` block or a decorator, as often as wanted, nested too."""

    def __init__(self, where: Any, strict: bool | None = None, checkpoint: Any = None) -> None:
        self._where, self._strict, self._checkpoint = where, strict, checkpoint
        self._entered: dict[int, list[Entered | Also]] = {}  # by thread

    def __enter__(self) -> None:
        where = self._where
        entered: Entered | Also
        if self._strict is not None or self._checkpoint is not None:
            entered = Also(self._strict, self._checkpoint, None if where is None else Block(where))
        elif type(where) is str and where == "core":  # as small computations do each time
            entered = Entered(where, _core())
        elif is_name(where):
            entered = _entered_rung(where)
        else:
            entered = _entered_client(where)
        thread = get_ident()
        if thread in self._entered:
            self._entered[thread].append(entered)
        else:
            self._entered[thread] = [entered]

    def __exit__(self, *error: Any) -> None:
        self._entered[get_ident()].pop().leave(*error)

    def __repr__(self) -> str:
        strict = "" if self._strict is None else f", strict={self._strict}"
        kept = "" if self._checkpoint is None else f", checkpoint={self._checkpoint!r}"
        return f"speedcube.on({self._where!r}{strict}{kept})"


def on(where: Any = None, *, strict: bool | None = None, checkpoint: Path | None = None) -> Block:
    """Run speedcube's arrays, and plain Dask code, on ``where`` inside the block.

    ========================== ============================================= =========
    ``where``                  plain Dask code runs on                       chunks
    ========================== ============================================= =========
    core                       the synchronous scheduler                     NumPy
    cores, cores:2             the threaded scheduler, that many threads     NumPy
    cores:10x8                 a ``LocalCluster``, ten processes of eight    NumPy
                               threads, started by the first computation
                               that needs it, closed when the block ends
    gpu, gpu:3                 the synchronous scheduler, on that GPU        CuPy
    ["cores", "gpus"]          as ``gpus``; speedcube's arrays on both       CuPy
    gpus, gpus:0,2,            a ``LocalCUDACluster``, one worker a GPU,     CuPy
    cuda-cluster               started by the first computation that needs
                               it, closed when the block ends
    a Client, a cluster,       its workers                                   as before
    an address, a file                                                       the block
    ========================== ============================================= =========

    Chunks are chosen where an array is made: ``da.ones``, ``da.random.default_rng(0).normal``,
    ``da.from_array`` of NumPy data inside ``on("gpu")`` give CuPy chunks; call ``x.to_backend()``
    on an array that was made before. ``compute`` then gives CuPy arrays, as Dask does. Data frames
    follow (``dataframe.backend``) where cuDF and dask-cudf are installed.

    The rung of speedcube's arrays belongs to the thread or asyncio task that entered the block.
    Dask's settings belong to the process: other threads see them as well, and two threads that
    want different ones have to take turns. All of it is restored at the end of the block, also
    after an exception; what was changed inside (``dask.config.set``) goes with it.

    Parameters
    ----------
    where : str, Client, cluster or address, optional
        As in the table; where it is left out the rung stays, and `strict` is to be given.
    strict : bool, optional
        Whether what no law covers (BLAS, LAPACK, a Dask array) is refused: `LawError`.
    checkpoint : str or path, optional
        A directory that keeps how far long reductions have come, on ``core``, ``cores`` and
        clusters: a program that is killed and started again goes on there, with the same bits.
        Files are removed when a result is made.

    Returns
    -------
    Block
        For ``with``, or as a decorator; for as many blocks as wanted, nested too.

    Raises
    ------
    RungError
        At the start of the block, if this machine lacks the rung.
    SchedulerError
        At the start of the block, if no scheduler answers.
    CheckpointError
        If nothing can be kept in the directory, or another program keeps the same there.

    Examples
    --------
    >>> with sc.on("core"):
    ...     float(sc.ones(10).sum())
    10.0
    """
    if where is None and strict is None and checkpoint is None:
        raise ParameterError(
            "on() takes a rung, such as 'cores', strict=True, checkpoint=, or several of them"
        )
    where = one_name(where)
    if checkpoint is not None and is_name(where) and where.startswith("gpu"):
        raise ParameterError(f"checkpoint= works on core, cores and clusters, not on {where!r}")
    return Block(where, strict, checkpoint)


class Entered:
    """What a block has changed: Dask's settings, the rung of this thread or task, and others."""

    __slots__ = ("_others", "_settings", "_token")

    def __init__(
        self,
        where: Any,
        settings: tuple[Settings, ...] | Plain,
        others: AbstractContextManager[Any] | None = None,
    ) -> None:
        self._others = others
        self._settings = Changed(settings)
        self._token: Token[Any] = rungs.run_on(where)

    def leave(self, *error: Any) -> None:
        """Put everything back."""
        self._settings.undo()
        try:
            if self._others is not None:
                self._others.__exit__(*error)
        finally:
            rungs.run_no_longer(self._token)


def _entered_client(where: Any) -> Entered:
    client = client_for(where)
    with ExitStack() as stack:
        stack.enter_context(client.as_current())
        # The client itself, since its being current does not reach the threads of the block.
        return Entered(where, ({"scheduler": GivenClient(client)},), stack.pop_all())


def _entered_rung(where: str) -> Entered:
    rung = rungs.described(where, "sc.on")
    settings = _SETTINGS[rung.kind](rung)
    if not rung.devices and rung.cluster is None:
        return Entered(where, settings)
    if rung.kind == "gpu":
        device = gpu_device(rung.devices[0])
        device.__enter__()
        try:
            return Entered(where, settings, device)
        except BaseException:
            device.__exit__()
            raise
    with ExitStack() as stack:
        stack.enter_context(named.block(rung.cluster or rung.devices))
        return Entered(where, settings, stack.pop_all())


def _core(_: Any = None) -> tuple[Settings, ...] | Plain:
    if is_usual():
        return _ONLY_SYNCHRONOUS
    plugins, tasks = _plugins(), _by_tasks()
    if plugins is _UNCHANGED and tasks is _UNCHANGED:
        return _ONLY_SYNCHRONOUS
    return _SYNCHRONOUS, plugins, tasks


def _cores(rung: Rung) -> tuple[Settings, ...]:
    threads = {"scheduler": "threads", "num_workers": rung.workers, "pool": None}
    return threads, _NUMPY, _plugins(), _by_tasks()


def _gpu(rung: Rung) -> tuple[Settings, ...]:
    return _one_gpu(rung), _cupy(), _plugins(cupy_backend.plugin), _by_tasks()


@lru_cache(maxsize=64)
def _one_gpu(rung: Rung) -> Settings:
    return {"scheduler": OneGpu(rung.name, rung.devices[0])}


def _gpus(rung: Rung) -> tuple[Settings, ...]:
    scheduler = LazyClient(rung.name, rung.devices)
    return {"scheduler": scheduler}, _cupy(), _plugins(cupy_backend.plugin), _BY_TASKS


def _processes(rung: Rung) -> tuple[Settings, ...]:
    assert rung.processes is not None
    scheduler = LazyClient(rung.name, rung.processes)
    return {"scheduler": scheduler}, _NUMPY, _plugins(), _BY_TASKS


_SETTINGS: Final[dict[str, Callable[[Rung], tuple[Settings, ...] | Plain]]] = {
    "core": _core,
    "cores": _cores,
    "gpu": _gpu,
    "gpus": _gpus,
    "cuda-cluster": _gpus,
    "processes": _processes,
}

_NUMPY: Final = {"array": {"backend": "numpy"}, "dataframe": {"backend": "pandas"}}
_SYNCHRONOUS: Final = {"scheduler": "synchronous", **_NUMPY}
_ONLY_SYNCHRONOUS: Final = Plain(_SYNCHRONOUS)
_UNCHANGED: Final[Settings] = {}
# How Dask moves data between chunks. Its other way, p2p, needs a distributed scheduler and NumPy.
_BY_TASKS: Final = {
    "array": {"rechunk": {"method": "tasks"}},
    "dataframe": {"shuffle": {"method": "tasks"}},
}


def _by_tasks() -> Settings:
    # With an active client Dask plans for p2p, whatever the scheduler.
    return _BY_TASKS if rungs.active_client() is not None else _UNCHANGED


def _plugins(*ours: Any) -> Settings:
    """The array plugins of the user, and ``ours``."""
    theirs = setting("array_plugins")
    if not theirs:
        return {"array_plugins": ours} if ours else _UNCHANGED
    others = [one for one in theirs if one is not cupy_backend.plugin]
    return {"array_plugins": (*others, *ours)}


@cache
def _cupy() -> Settings:
    """Asked once: to look for a package takes longer than a small computation."""
    settings = {"array": {"backend": cupy_backend.register()}}
    if _has_cudf():
        settings["dataframe"] = {"backend": "cudf"}
    return settings


def _has_cudf() -> bool:
    return bool(find_spec("cudf") and find_spec("dask_cudf"))
