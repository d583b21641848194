"""What blocks of `on` give Dask as its scheduler: one GPU, or a cluster that is not started yet."""

from __future__ import annotations

from typing import Any

from ..dataclass import dataclass
from ..engine.clusters import named
from ..late import dask


def gpu_device(number: int) -> Any:
    """The CuPy device, for a with statement."""
    import cupy

    return cupy.cuda.Device(number)


@dataclass(frozen=True)
class OneGpu:
    """Dask's synchronous scheduler on one GPU, in whichever thread computes."""

    speedcube_rung: str
    device: int

    def __call__(self, graph: Any, keys: Any, **options: Any) -> Any:
        """Run ``graph``: Dask's interface of schedulers."""
        with gpu_device(self.device):
            return dask.local.get_sync(graph, keys, **options)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()  # Dask sends its settings to worker processes: no scheduler there


@dataclass(frozen=True)
class LazyClient:
    """Stands for the client of the cluster ``which``, which starts when Dask asks for ``get``.

    Dask takes for a client what has "Client" in the name of its class and has ``get``.
    """

    speedcube_rung: str
    which: named.Which
    asynchronous = False

    @property
    def get(self) -> Any:
        """The scheduler function of the client."""
        return named.client_of(self.which).get

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()


@dataclass(frozen=True)
class GivenClient:
    """Stands for a client of the user's, which cannot be pickled.

    A cluster of this process that starts a worker inside the block sends it Dask's settings.
    """

    speedcube_rung: Any  # the client
    asynchronous = False

    @property
    def get(self) -> Any:
        """The scheduler function of the client."""
        return self.speedcube_rung.get

    def __reduce__(self) -> tuple[Any, ...]:
        return type(None), ()
