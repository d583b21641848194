"""A network that is far away: hosts as network namespaces, and what lies between them.

    python wire.py --between r1 r2 r3 --delay 0.05 --drop 0.02 --cut 20

forwards what arrives at one interface to the others, later, and not all of it; after SIGUSR1 none
of it for a while. It works on frames, so it sees every connection, whoever opens it: TCP notices
what is lost and sends it again, as it does on a real network. (Where a kernel has ``netem``, that
does the same.)
"""

from __future__ import annotations

import argparse
import asyncio
import fcntl
import os
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

EVERYTHING: Final = socket.htons(3)  # ETH_P_ALL
OUTGOING: Final = 4  # PACKET_OUTGOING: what we sent ourselves
LARGEST: Final = 65_536
ETHTOOL: Final = 0x8946  # SIOCETHTOOL
# Sums that hardware would add, and frames that it would cut or join: there is none on the way.
OFF: Final = (0x17, 0x1F, 0x24, 0x2C)  # ETHTOOL_STXCSUM, STSO, SGSO, SGRO

NAMES: Final = ("one", "two", "three")
NETWORK: Final = "10.213.8."


# ---------------------------------------------------------------- what lies between


@dataclass
class Wire:
    """Frames on their way between interfaces."""

    ends: dict[str, socket.socket]
    delay: float
    drop: float
    cut: float
    lots: random.Random = field(default_factory=lambda: random.Random(0))
    cut_until: float = 0.0
    known: dict[bytes, str] = field(default_factory=dict)  # the interface behind an address

    def arrived(self, name: str) -> None:
        """Take what has arrived at one end."""
        for _ in range(64):
            try:
                frame, address = self.ends[name].recvfrom(LARGEST)
            except BlockingIOError:
                return
            if address[2] == OUTGOING:
                continue
            self.known[frame[6:12]] = name
            if time.monotonic() < self.cut_until or self.lots.random() < self.drop:
                continue
            there = self.known.get(frame[:6])
            others = [there] if there else [end for end in self.ends if end != name]
            asyncio.get_running_loop().call_later(self.delay, self.send, others, frame)

    def send(self, names: list[str], frame: bytes) -> None:
        for name in names:
            with suppress(OSError):  # a full queue drops frames, as networks do
                self.ends[name].send(frame)

    def cut_now(self) -> None:
        self.cut_until = time.monotonic() + self.cut


async def forward(names: list[str], delay: float, drop: float, cut: float) -> None:
    """Forward frames until SIGTERM."""
    ends = {}
    for name in names:
        plain(name)
        ends[name] = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, EVERYTHING)
        ends[name].bind((name, 0))
        ends[name].setblocking(False)
    wire, loop, ended = Wire(ends, delay, drop, cut), asyncio.get_running_loop(), asyncio.Event()
    for name, end in ends.items():
        loop.add_reader(end, wire.arrived, name)
    loop.add_signal_handler(signal.SIGUSR1, wire.cut_now)
    loop.add_signal_handler(signal.SIGTERM, ended.set)
    print("forwards", flush=True)
    await ended.wait()


def plain(name: str) -> None:
    """Let an interface do nothing that only hardware could undo."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in OFF:
            value = bytearray(struct.pack("II", command, 0))
            address = (ctypes_of(value)).to_bytes(8, sys.byteorder)
            with suppress(OSError):
                fcntl.ioctl(any_socket, ETHTOOL, struct.pack("16s8s", name.encode(), address))


def ctypes_of(value: bytearray) -> int:
    """The address of a buffer, which lives as long as the process: a few bytes each."""
    import ctypes

    buffer = ctypes.create_string_buffer(bytes(value), len(value))
    KEPT.append(buffer)
    return ctypes.addressof(buffer)


KEPT: Final[list[object]] = []


# ---------------------------------------------------------------- hosts


@dataclass(frozen=True)
class Hosts:
    """The hosts, by name: their addresses, and the words before a command that runs on one."""

    addresses: dict[str, str]
    inside: dict[str, list[str]]
    relay: int

    def cut(self) -> None:
        """Let nothing pass for a while."""
        os.kill(self.relay, signal.SIGUSR1)


def why_not() -> str:
    """Why hosts cannot be made here, or nothing."""
    if os.geteuid():
        return "network namespaces need root"
    for program in ("ip", "unshare"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    name = f"sc{os.getpid()}-try"
    done = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True)
    if done.returncode:
        return f"network namespaces are not allowed: {done.stderr.strip()}"
    subprocess.run(["ip", "netns", "del", name], check=True)
    return ""


@contextmanager
def hosts(count: int, delay: float, drop: float, cut: float) -> Iterator[Hosts]:
    """Hosts with names of their own, joined by the wire alone."""
    mark = f"sc{os.getpid() % 10**5}"
    names = NAMES[:count]
    addresses = {name: f"{NETWORK}{i + 1}" for i, name in enumerate(names)}
    listed = "127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for n, a in addresses.items())
    with ExitStack() as stack:
        spaces = {name: f"{mark}-{name}" for name in (*names, "wire")}
        for space in spaces.values():
            ip("netns", "add", space)
            stack.callback(ip, "netns", "del", space)
        ends = {name: f"{mark}w{i}" for i, name in enumerate(names)}
        inside = {}
        for i, name in enumerate(names):
            mine = f"{mark}h{i}"
            ip("link", "add", mine, "type", "veth", "peer", "name", ends[name])
            ip("link", "set", mine, "netns", spaces[name])
            ip("link", "set", ends[name], "netns", spaces["wire"])
            there = ("-n", spaces[name])
            ip(*there, "addr", "add", f"{addresses[name]}/24", "dev", mine)
            for device in ("lo", mine):
                ip(*there, "link", "set", device, "up")
            ip("-n", spaces["wire"], "link", "set", ends[name], "up")
            folder = Path("/etc/netns", spaces[name])  # what `ip netns exec` shows as /etc
            folder.mkdir(parents=True)
            stack.callback(shutil.rmtree, folder)
            (folder / "hosts").write_text(listed)
            enter = ["ip", "netns", "exec", spaces[name]]
            quiet = [*enter, sys.executable, __file__, "--plain", mine]
            subprocess.run(quiet, check=True)
            own = ["unshare", "--uts", "sh", "-c", f'hostname {name}; exec "$@"', "sh"]
            inside[name] = [*enter, *own]
        relay = ["ip", "netns", "exec", spaces["wire"], sys.executable, __file__, "--between"]
        relay += [*ends.values(), "--delay", str(delay), "--drop", str(drop), "--cut", str(cut)]
        process = subprocess.Popen(relay, stdout=subprocess.PIPE, text=True)
        stack.callback(process.wait, 30)
        stack.callback(process.terminate)
        assert process.stdout is not None
        stack.callback(process.stdout.close)
        assert process.stdout.readline() == "forwards\n"
        yield Hosts(addresses, inside, process.pid)


def ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plain")
    parser.add_argument("--between", nargs="+")
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--drop", type=float, default=0.0)
    parser.add_argument("--cut", type=float, default=0.0)
    asked = parser.parse_args()
    if asked.plain:
        plain(asked.plain)
    else:
        asyncio.run(forward(asked.between, asked.delay, asked.drop, asked.cut))
