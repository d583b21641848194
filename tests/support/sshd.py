"""An SSH server of this user on a port of ours, with keys made for it, gone afterwards."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

HOSTS: Final = ("one", "two")  # names by which this machine can be reached

SERVER: Final = """
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host
AuthorizedKeysFile {folder}/user.pub
PidFile none
PasswordAuthentication no
KbdInteractiveAuthentication no
PubkeyAuthentication yes
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
AllowUsers {user}
Subsystem sftp internal-sftp
"""

CLIENT: Final = """
Host {hosts}
    HostName 127.0.0.1
    Port {port}
    User {user}
    IdentityFile {folder}/user
    IdentitiesOnly yes
    UserKnownHostsFile {folder}/known
    StrictHostKeyChecking yes
"""


def missing() -> list[str]:
    """The programs that are not installed here."""
    return [name for name in ("sshd", "ssh", "scp", "ssh-keygen") if program(name) is None]


def program(name: str) -> str | None:
    """Where a program lies: the server is not on every user's path."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


@contextmanager
def sshd(folder: Path) -> Iterator[Path]:
    """Start one with its files in ``folder``; the settings of a client of it."""
    with socket.socket() as ours:
        ours.bind(("127.0.0.1", 0))
        port = ours.getsockname()[1]
    for name in ("host", "user"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(key, check=True, timeout=60)
    public = (folder / "host.pub").read_text()
    (folder / "known").write_text(f"[127.0.0.1]:{port} {public}")
    said = {"folder": folder, "port": port, "user": getpass.getuser(), "hosts": " ".join(HOSTS)}
    (folder / "server").write_text(SERVER.format(**said))
    client = folder / "client"
    client.write_text(CLIENT.format(**said))
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # the server refuses to start without
    log = folder / "log"
    server = subprocess.Popen([str(program("sshd")), "-D", "-f", folder / "server", "-E", log])
    try:
        deadline = time.monotonic() + 30
        test = ["ssh", "-F", client, "-o", "BatchMode=yes", HOSTS[0], "true"]
        while subprocess.run(test, capture_output=True, timeout=60).returncode:
            assert server.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        yield client
    finally:
        server.terminate()
        server.wait()
