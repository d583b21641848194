"""A Dask client of whatever names one: a cluster object, an address or a scheduler file.

The client's workers must have this package in this version; that is asked once for each worker.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from ... import __about__
from ...errors import SchedulerError, WorkerError

CONNECT_SECONDS: Final = 5


def client_for(where: Any) -> Any:
    """A Dask client of ``where``: a Client, a cluster object, an address or a scheduler file."""
    import distributed

    if isinstance(where, distributed.Client):
        return _usable(where)
    if isinstance(where, os.PathLike) or names_file(where):
        return _connect(scheduler_file=os.fspath(where))
    if isinstance(where, str):
        return _connect(address=where)
    if hasattr(where, "scheduler_address"):
        return _connect(address=where)
    raise SchedulerError(
        f"{where!r} is no rung: give a name, a Dask Client, a cluster object, 'tcp://host:port' "
        "or the path of a scheduler file"
    )


def _usable(client: Any) -> Any:
    if client.status == "closed":
        raise SchedulerError(f"{client} is closed; make a new Client")
    if client.asynchronous:
        raise SchedulerError(
            f"{client} is asynchronous: give a Client made without asynchronous=True, or the "
            f"address {client.scheduler.address!r}, from a thread (asyncio.to_thread)"
        )
    return client


def names_file(where: Any) -> bool:
    """Whether ``where`` is the path of a scheduler file: absent, it can still be nothing else."""
    if not isinstance(where, str) or "://" in where:
        return False
    path = Path(where)
    return path.name != where or path.suffix == ".json" or bool(path.suffix and path.exists())


_clients: dict[str, Any] = {}


def _connect(**where: Any) -> Any:
    """A client, kept for the next computation on the same scheduler."""
    import distributed

    ((option, value),) = where.items()
    name = str(getattr(value, "scheduler_address", value))
    known = _clients.get(name)
    if known is not None and known.status == "running":
        return known
    try:
        if isinstance(value, str):
            address = value if option == "address" else _address_in(value)
            with ThreadPoolExecutor(1) as thread:  # the caller may be inside an event loop
                thread.submit(asyncio.run, _greet(address)).result()
        client = distributed.Client(**where, timeout=CONNECT_SECONDS, set_as_default=False)
    except SchedulerError:
        raise
    except (OSError, TimeoutError, ValueError, LookupError, TypeError, RuntimeError) as err:
        raise SchedulerError(
            f"no Dask scheduler answers at {name!r} ({option}) within {CONNECT_SECONDS} s: "
            f"{_cause(err)}; check the address and that the scheduler runs"
        ) from err
    _clients[name] = client
    return client


def _address_in(file: str) -> str:
    """The address that a scheduler file holds."""
    try:
        address = json.loads(Path(file).read_text())["address"]
        if isinstance(address, str):
            return address
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
        f"{file!r} is no scheduler file: {problem}; give the file that "
        "dask scheduler --scheduler-file PATH has written, or the scheduler's address"
    )


async def _greet(address: str) -> None:
    """Shake hands with a scheduler; a client would wait for ever on one that only listens."""
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


def worker_states(client: Any) -> dict[str, Any]:
    """What the scheduler says of each worker, by address."""
    # Not client.scheduler_info(): a refresh of that, for few workers or none, may come between; and
    # programs replace it to get more than five.
    states: dict[str, Any] = client.sync(client.scheduler.identity, n_workers=-1)["workers"]
    return states


def worker_addresses(client: Any) -> list[str]:
    """Addresses of the client's workers, checked for this package; `WorkerError` without any."""
    addresses = sorted(worker_states(client))
    if not addresses:
        raise WorkerError(f"{client} has no workers; start some, then compute again")
    _check_versions(client, tuple(addresses))
    return addresses


_checked: set[tuple[str, ...]] = set()


def _check_versions(client: Any, workers: tuple[str, ...]) -> None:
    if workers in _checked:
        return

    def version() -> str:  # nested, so that it is sent by value to workers without the package
        from importlib import import_module

        try:
            return str(import_module("speedcube.__about__").__version__)
        except ImportError:
            return "missing"

    for address, installed in client.run(version, workers=list(workers)).items():
        if installed != __about__.__version__:
            missing = installed == "missing"
            state = "does not have speedcube" if missing else f"has speedcube {installed}"
            raise WorkerError(
                f"worker {address} {state}; this process has {__about__.__version__}: install "
                "that version on every worker (client.upload_file is not enough)"
            )
    _checked.add(workers)
