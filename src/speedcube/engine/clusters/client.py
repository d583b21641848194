"""A Dask client of whatever names one: a cluster object, an address or a scheduler file."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from ...errors import SchedulerError
from ...late import futures, json, socket
from .losses import address_of, closed, lost, on_loop, scheduler_of

CONNECT_SECONDS: Final = 5
CLOSE_SECONDS: Final = 1


def client_for(where: Any, any_file: bool = False) -> Any:
    """A Dask client of ``where``: a Client, a cluster object, an address or a scheduler file.

    A scheduler file of another user, or of another scheduler than the one that answers, is refused
    but for ``any_file``.
    """
    import distributed

    if isinstance(where, distributed.Client):
        return _usable(where)
    if isinstance(where, os.PathLike) or names_file(where):
        return _connect(any_file, scheduler_file=os.fspath(where))
    if isinstance(where, str):
        return _connect(any_file, address=where)
    if hasattr(where, "scheduler_address"):
        return _connect(any_file, address=where)
    raise SchedulerError(
        f"{where!r} is not a rung: give a name, a Dask Client, a cluster object, 'tcp://host:port' "
        "or the path of a scheduler file"
    )


def _usable(client: Any) -> Any:
    if client.status in ("closing", "closed"):
        raise closed(client)
    if client.asynchronous:
        raise SchedulerError(
            f"{client} is asynchronous: give a Client made without asynchronous=True, or the "
            f"address {client.scheduler.address!r}, from a thread (asyncio.to_thread)"
        )
    deadline = time.monotonic() + CONNECT_SECONDS
    while client.status == "connecting":  # again: it has lost its scheduler, which may come back
        if time.monotonic() > deadline:
            raise lost(client, address_of(client))
        time.sleep(0.02)
    if client.status != "running":
        raise closed(client)
    return client


def names_file(where: Any) -> bool:
    """Whether ``where`` is the path of a scheduler file: absent, it can still be nothing else."""
    if not isinstance(where, str) or "://" in where:
        return False
    path = Path(where)
    return path.name != where or path.suffix == ".json" or bool(path.suffix and path.exists())


_clients: dict[str, Any] = {}


def _connect(any_file: bool, **where: Any) -> Any:
    """A client, kept for the next computation on the same scheduler."""
    import asyncio

    import distributed

    ((option, value),) = where.items()
    name = str(getattr(value, "scheduler_address", value))
    known = _clients.get(name)
    if known is not None:
        if known.status == "running":
            return known
        _clients.pop(name, None)
        with suppress(Exception):  # it has lost its scheduler: it would go on looking for it
            known.close(timeout=CLOSE_SECONDS)
    try:
        identity = None
        if isinstance(value, str):
            address, identity = (value, None) if option == "address" else _told_in(value)
            if option == "scheduler_file" and not any_file:
                _refuse_others(value, address)
            with futures.ThreadPoolExecutor(1) as thread:  # the caller may be inside an event loop
                thread.submit(asyncio.run, _greet(address)).result()
        client = distributed.Client(**where, timeout=CONNECT_SECONDS, set_as_default=False)
    except SchedulerError:
        raise
    except (OSError, TimeoutError, ValueError, LookupError, TypeError, RuntimeError) as err:
        raise SchedulerError(
            f"no Dask scheduler answers at {name!r} ({option}) within {CONNECT_SECONDS} s: "
            f"{_cause(err)}; check the address and that the scheduler runs: "
            f"speedcube doctor --on {name} says more"
        ) from err
    if identity is not None and not any_file:
        _refuse_stale(client, str(value), str(identity))
    _clients[name] = client
    return client


def _refuse_others(file: str, address: str) -> None:
    """Only this user and root may say where functions and data are sent."""
    owner, own = os.stat(file).st_uid, os.getuid()
    if owner not in (own, 0):
        raise SchedulerError(
            f"the scheduler file {file!r} belongs to user {owner}, not to you ({own}): who wrote "
            "it says where your functions and data are sent; if you know them, give the address in "
            f"it, {address!r}"
        )


def _refuse_stale(client: Any, file: str, told: str) -> None:
    """Who answers at an old address may be anybody's scheduler."""
    found = on_loop(client, lambda: scheduler_of(client).identity(n_workers=0))
    if found["id"] == told:
        return
    address = address_of(client)
    client.close(timeout=CLOSE_SECONDS)
    raise SchedulerError(
        f"the scheduler file {file!r} is of another scheduler ({told}) than the one that answers "
        f"at its address ({found['id']}): it was started again, or somebody else has that port "
        "now; start yours with dask scheduler --scheduler-file PATH again, which writes the file "
        f"anew, or give the address, {address!r}, if you know who answers there"
    )


def _told_in(file: str) -> tuple[str, Any]:
    """The address that a scheduler file holds, and the scheduler's name for itself."""
    try:
        content = json.loads(Path(file).read_text())
        address = content["address"]
        if isinstance(address, str):
            return address, content.get("id")
        problem = f"its address is {address!r}"
    except FileNotFoundError as err:
        raise SchedulerError(
            f"no such scheduler file: {file!r}; start the scheduler with "
            "dask scheduler --scheduler-file PATH, or give its address, 'tcp://host:port'"
        ) from err
    except OSError as err:
        problem = err.strerror or str(err)
    except (ValueError, LookupError, TypeError) as err:
        problem = f"no JSON object with an address ({err})"
    raise SchedulerError(
        f"{file!r} is not a scheduler file: {problem}; give the file that "
        "dask scheduler --scheduler-file PATH has written, or the scheduler's address"
    )


async def _greet(address: str) -> None:
    """Shake hands with a scheduler; a client would wait for ever on one that only listens."""
    import asyncio

    from distributed.comm.addressing import parse_address, parse_host_port
    from distributed.comm.core import connect
    from distributed.security import Security

    arguments = Security().get_connection_args("client")
    try:
        greeting = connect(address, timeout=CONNECT_SECONDS - 1, **arguments)
        comm = await asyncio.wait_for(greeting, CONNECT_SECONDS - 0.5)
    except (OSError, TimeoutError):  # Dask tried until the time was up: once more, to know why
        host_port = parse_host_port(parse_address(address)[1])
        socket.create_connection(host_port, timeout=0.5).close()
        raise
    await comm.close()


def _cause(err: BaseException | None) -> str:
    """What is behind ``err``: what the system says, else the first cause that says anything."""
    texts = []
    while err is not None:
        if isinstance(err, OSError) and err.errno is not None:
            return str(err)
        texts.append(str(err))
        err = err.__cause__ or err.__context__
    return next(filter(None, texts), "no answer")
