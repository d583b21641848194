"""Another user of this machine, who tries every way in at the given ports of 127.0.0.1.

Run as a program by root: ``python stranger.py PORT ...`` prints what got through as a JSON object.
It loads what it needs before it becomes that user, who may be unable to read where Python lies.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from distributed.comm import connect
from distributed.security import Security
from torch import distributed as dist

NOBODY = 65534
SECONDS = 2
LONGEST = 8  # seconds for everything
PAGES = ("/", "/health", "/metrics", "/info/main/workers.html", "/json/counts.json", "/status")


def scheduler(port: int, protocol: str, security: Security) -> bool:
    """Whether a Dask server answers a question; a worker or a nanny would, too."""

    async def ask() -> bool:
        address, arguments = (
            f"{protocol}://127.0.0.1:{port}",
            security.get_connection_args("client"),
        )
        comm = await connect(address, timeout=SECONDS, **arguments)
        await comm.write({"op": "identity", "reply": True})
        return bool(await asyncio.wait_for(comm.read(), SECONDS))

    return asyncio.run(ask())


def said(port: int, what: bytes) -> bytes:
    """What is answered to bytes; TLS tells a stranger that it has not understood."""
    with socket.create_connection(("127.0.0.1", port), SECONDS) as connection:
        connection.settimeout(SECONDS)
        connection.sendall(what)
        answer = connection.recv(100)
    return b"" if answer.startswith(b"\x15\x03") else answer


def pages(port: int) -> bool:
    """Whether anything is an HTTP server."""
    return any(b"HTTP" in said(port, f"GET {p} HTTP/1.0\r\n\r\n".encode()) for p in PAGES)


def store(port: int) -> bool:
    """Whether it is a store of PyTorch's."""
    there = dist.TCPStore("127.0.0.1", port, 2, False, timedelta(seconds=SECONDS))
    there.set("mine", "yes")
    return bool(there.get("mine") == b"yes")


WAYS: dict[str, Callable[[int], Any]] = {
    "a Dask client": lambda port: scheduler(port, "tcp", Security()),
    "a Dask client with a certificate": lambda port: scheduler(port, "tls", CERTIFICATE),
    "bytes": lambda port: bool(said(port, b"\x00\x01\x02\x03" * 64)),
    "HTTP": pages,
    "a store": store,
}
CERTIFICATE = Security.temporary()


def attempt(way: str, port: int, through: list[str]) -> None:
    try:
        if WAYS[way](port):
            through.append(f"{way} at {port}")
    except (OSError, RuntimeError, TimeoutError, dist.DistError):
        pass


def main(ports: list[int]) -> dict[str, Any]:
    asyncio.run(asyncio.sleep(0))
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    through: list[str] = []
    tries = [
        threading.Thread(target=attempt, args=(way, port, through), daemon=True)
        for port in ports
        for way in WAYS
    ]
    for one in tries:
        one.start()
    deadline = time.monotonic() + LONGEST
    for one in tries:  # PyTorch waits for ever for the first word of what is no store
        one.join(max(0, deadline - time.monotonic()))
    return {"uid": os.getuid(), "tries": len(tries), "through": sorted(through)}


if __name__ == "__main__":
    print(json.dumps(main([int(port) for port in sys.argv[1:]])), flush=True)
    os._exit(0)
