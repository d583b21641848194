"""The group of all ranks: made before the user's function is called, whatever that calls itself.

Programs written for torchrun begin with ``init_process_group``. In a rank it is there already, so
the call is compared with what is there, and does nothing.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Final

from ...errors import ParameterError
from ..messages import Launch
from .store import part, shared

# Groups that were closed, kept to the end of the process. Whoever drops the last reference to one
# of gloo's, a model perhaps, waits for its threads with the interpreter locked. One of those may
# wait for the interpreter, to drop what it holds of Python's: then both wait for ever.
_destroyed: Final[list[Any]] = []
_ABSENT: Final = (None, -1, "undefined")  # PyTorch's words for "as it is"


def join(launch: Launch, device: Any, rendezvous: int | None) -> Any:
    """Initialise torch.distributed; the store that its ranks share."""
    from torch import distributed as dist

    store = shared(launch, rendezvous)
    keywords = {"device_id": device} if "nccl" in launch.backend else {}
    dist.init_process_group(
        launch.backend,
        store=dist.PrefixStore("group", store),
        rank=launch.rank,
        world_size=launch.settings.world_size,
        **keywords,
    )
    _replace_init(launch, device, store)
    return part(store, "speedcube")


def _replace_init(launch: Launch, device: Any, store: Any) -> None:
    """Put a checked call in the place of PyTorch's, under each of its names."""
    from torch import distributed as dist
    from torch.distributed import distributed_c10d

    plain = dist.init_process_group
    signature = inspect.signature(plain)
    count = 0

    @functools.wraps(plain)
    def init_process_group(*args: Any, **kwargs: Any) -> None:
        nonlocal count
        asked = signature.bind(*args, **kwargs).arguments
        check(launch, device, asked)
        timeout = asked.get("timeout")
        if not dist.is_initialized():  # the function has destroyed the group: make another
            count += 1
            plain(
                asked.get("backend") or launch.backend,
                store=dist.PrefixStore(f"group-{count}", store),
                rank=launch.rank,
                world_size=launch.settings.world_size,
                **({"timeout": timeout} if timeout is not None else {}),
            )
        elif timeout is not None:
            distributed_c10d._set_pg_timeout(timeout)

    destroy = dist.destroy_process_group

    @functools.wraps(destroy)
    def destroy_process_group(*args: Any, **kwargs: Any) -> None:
        _destroyed.extend(distributed_c10d._world.pg_map)
        destroy(*args, **kwargs)

    for module in (dist, distributed_c10d):
        module.init_process_group = init_process_group
        module.destroy_process_group = destroy_process_group


def check(launch: Launch, device: Any, asked: dict[str, Any]) -> None:
    """`ParameterError` where a call of init_process_group contradicts the group that is there."""
    size = launch.settings.world_size
    there: dict[str, tuple[Any, Callable[[Any], bool], str]] = {
        "world_size": (
            size,
            lambda value: int(value) == size,
            "train.run(..., ranks=) says how many ranks there are",
        ),
        "rank": (
            launch.rank,
            lambda value: int(value) == launch.rank,
            "train.rank() and the variable RANK have it",
        ),
        "backend": (
            launch.backend,
            lambda value: _same_backend(str(value).lower(), launch.backend, device.type),
            "train.run(..., backend=) chooses it",
        ),
    }
    for name, (value, agrees, way) in there.items():
        wanted = asked.get(name)
        if wanted not in _ABSENT and not agrees(wanted):
            raise ParameterError(
                f"init_process_group({name}={wanted!r}) contradicts {name}={value!r} of the group "
                f"that train.run has made of its ranks: leave it out; {way}"
            )


def _same_backend(asked: str, there: str, device: str) -> bool:
    """Whether ``asked`` means a backend that this group has, for this rank's device or the CPU."""
    have, want = _by_device(there), _by_device(asked)
    if "" in want:  # one name, for every device
        return want[""] in have.values()
    return device in want and want[device] == have.get(device, have.get(""))


def _by_device(backend: str) -> dict[str, str]:
    """The backends by device that "cpu:gloo,cuda:nccl" names; "" is every device."""
    pairs = (part.rpartition(":") for part in backend.split(","))
    return {device: name for device, _, name in pairs}
