"""Plain Dask on the rung just climbed: NumPy chunks on cores, CuPy chunks on GPUs."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from importlib.util import find_spec
from queue import SimpleQueue
from typing import Any, Final

from ...dataclass import dataclass
from ...engine import machine, rungs
from ...engine.rungs import Rung
from ...errors import RungError
from .presets import Experiment

MINUTES: Final = 60.0  # seconds; a run predicted to take longer is replaced by a smaller shape
BUDGET: Final = 6.0  # seconds that the smaller shape may take
PUBLISHED: Final = 10_000**2  # elements of a published chunk
_TRIALS: Final = (1000**2, 1000**2, 2500**2, 6000**2, PUBLISHED)  # the first one warms up
_TRIAL_SECONDS: Final = 0.1


@dataclass(frozen=True)
class DaskTime:
    """``seconds`` for the whole experiment, of which ``shape`` ran, in chunks of ``chunks``."""

    seconds: float
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    scaled: bool


@dataclass(frozen=True)
class DaskPlace:
    """Where plain Dask runs: ``workers`` at a time, ``room`` bytes of free memory for each."""

    workers: int
    room: float
    on_gpu: bool
    compute: Callable[[Any], Any]


def place_of(rung: Rung) -> DaskPlace:
    """Dask's own way to run on ``rung``; `RungError` where it has none."""
    if rung.kind == "client":
        return _client_place(rung.client)
    if rung.devices:
        return _gpu_place(rung)
    if rung.cluster is not None:
        return _client_place(rungs.started(rung).client)
    options: dict[str, Any] = {"scheduler": "single-threaded"}
    if rung.kind == "cores":
        options = {"scheduler": "threads", "num_workers": rung.workers}
    room = machine.free_memory() / rung.workers
    return DaskPlace(rung.workers, room, False, lambda x: x.compute(**options))


def _gpu_place(rung: Rung) -> DaskPlace:
    """One GPU is driven from here; several need a worker process each, as published."""
    room = float(min(_free_on_gpu(device) for device in rung.devices))
    if len(rung.devices) > 1 or rung.kind == "cuda-cluster":
        if not find_spec("dask_cuda"):
            raise RungError("plain Dask needs dask-cuda here (pip install speedcube[cuda13])")
        same = f"cuda-cluster:{','.join(map(str, rung.devices))}"
        name = rung.name if rung.kind == "cuda-cluster" else same
        client = rungs.parse(name, "plain Dask").client
        return DaskPlace(rung.workers, room, True, lambda x: client.compute(x).result())

    def compute(collection: Any) -> Any:
        with _device(rung.devices[0]):
            return collection.compute(scheduler="single-threaded")

    return DaskPlace(1, room, True, compute)


def _client_place(client: Any) -> DaskPlace:
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    threads = sum(worker["nthreads"] for worker in workers)
    limits = [worker["memory_limit"] / worker["nthreads"] for worker in workers]
    room = min((limit for limit in limits if limit), default=machine.free_memory() / threads)
    return DaskPlace(threads, room, False, lambda x: client.compute(x).result())


def _device(number: int) -> Any:
    import cupy

    return cupy.cuda.Device(number)


def _free_on_gpu(number: int) -> int:
    import cupy

    with cupy.cuda.Device(number):
        cupy.get_default_memory_pool().free_all_blocks()
        return int(cupy.cuda.runtime.memGetInfo()[0])


def chunks_for(shape: tuple[int, ...], workers: int, room: float) -> tuple[int, ...]:
    """The published chunks where a quarter of ``room`` bytes holds one, else smaller ones.

    Smaller too where ``workers`` would be left without a chunk.
    """
    chunks = _near_cube(shape, min(PUBLISHED, max(1, int(room / 4 / 8))))
    if _blocks(shape, chunks) >= workers:
        return chunks
    longest = max(range(len(shape)), key=lambda k: shape[k])
    share = min(chunks[longest], -(-shape[longest] // workers))  # as much for each worker
    return (*chunks[:longest], share, *chunks[longest + 1 :])


def _near_cube(shape: tuple[int, ...], points: int) -> tuple[int, ...]:
    """Chunks of at most ``points`` elements, all sides alike but for axes too short for that."""
    chunks = dict.fromkeys(range(len(shape)), 1)
    left = points
    for done, k in enumerate(sorted(chunks, key=lambda k: shape[k])):
        side = int(left ** (1 / (len(shape) - done)) + 1e-9)
        chunks[k] = max(1, min(side, shape[k]))
        left //= chunks[k]
    return tuple(chunks.values())


def _blocks(shape: tuple[int, ...], chunks: tuple[int, ...]) -> int:
    return math.prod(-(-n // c) for n, c in zip(shape, chunks, strict=True))


def time_dask(
    experiment: Experiment, rung: Rung, tell: Callable[[float], None] = lambda seconds: None
) -> DaskTime:
    """Plain Dask's seconds for ``experiment`` on ``rung``, scaled up where it takes minutes.

    ``tell`` is given the seconds that this will take, once they can be guessed.
    """
    start = time.perf_counter()
    place = place_of(rung)
    chunks = chunks_for(experiment.shape, place.workers, place.room)
    per_point = _trial(experiment, place, math.prod(chunks))
    chosen = experiment
    if per_point * experiment.logical / place.workers > MINUTES:
        chosen, chunks = _smaller(experiment, place, chunks, per_point)
    tell(time.perf_counter() - start + per_point * chosen.logical / place.workers)
    seconds = _run(chosen, place, chunks) * experiment.logical / chosen.logical
    return DaskTime(seconds, chosen.shape, chunks, chosen is not experiment)


def _smaller(
    experiment: Experiment, place: DaskPlace, chunks: tuple[int, ...], per_point: float
) -> tuple[Experiment, tuple[int, ...]]:
    """What takes about `BUDGET` seconds, in whole chunks, as many for each worker."""
    while per_point * math.prod(chunks) > 2 * BUDGET and max(chunks) > 1:
        chunks = tuple(-(-c // 2) for c in chunks)
    each = max(1, round(BUDGET / (per_point * math.prod(chunks))))
    small = replace(experiment, shape=(chunks[0] * place.workers * each, *chunks[1:]))
    return (small if small.logical < experiment.logical else experiment), chunks


def _trial(experiment: Experiment, place: DaskPlace, limit: int) -> float:
    """Seconds that a worker takes for one point, from the smallest run that takes a while."""
    seconds, points = 0.0, 1
    for k, wanted in enumerate(_TRIALS):
        if k > 1 and (seconds > _TRIAL_SECONDS or points >= limit):
            break
        points = min(wanted, limit)
        small = replace(experiment, shape=(points * place.workers,))
        seconds = _run(small, place, (points,))
    return seconds / points


def _run(experiment: Experiment, place: DaskPlace, chunks: tuple[int, ...]) -> float:
    collection = experiment.with_dask(_random_state(place.on_gpu), chunks)

    def run() -> float:
        start = time.perf_counter()
        float(place.compute(collection))  # a CuPy value is there once it has been copied
        return time.perf_counter() - start

    return interruptible(run)


def interruptible(run: Callable[[], float]) -> float:
    """``run()`` on another thread: Ctrl-C is heard though NumPy is at work for seconds."""
    done: SimpleQueue[float | BaseException] = SimpleQueue()

    def work() -> None:
        try:
            done.put(run())
        except BaseException as err:
            done.put(err)

    threading.Thread(target=work, name="plain Dask", daemon=True).start()
    outcome = done.get()
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome


def _random_state(on_gpu: bool) -> Any:
    import dask.array

    if not on_gpu:
        return dask.array.random.RandomState(0)
    import cupy

    return dask.array.random.RandomState(0, RandomState=cupy.random.RandomState)
