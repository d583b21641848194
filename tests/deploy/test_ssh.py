"""The file for SSH on a server of this machine: certificates copied, arrays, nothing left."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
import sshd

DEPLOY: Final = Path(__file__).parents[2] / "docs" / "deploy"
ROWS: Final = "20000"

pytestmark = [pytest.mark.slow, pytest.mark.cluster]
pytest.importorskip("asyncssh")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The settings of a client of our server."""
    absent = sshd.missing()
    if absent:
        pytest.skip(f"an SSH server is not installed: there is no {', '.join(absent)}")
    with sshd.sshd(tmp_path_factory.mktemp("sshd")) as settings:
        yield settings


def start(client: Path, *words: str, hosts: str = ",".join(sshd.HOSTS)) -> tuple[int, str, str]:
    """The exit code and output of the file, run as its page says."""
    command = [sys.executable, str(DEPLOY / "ssh" / "cluster.py"), "--hosts", hosts]
    command += ["--ssh-config", str(client), "--threads", "1", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    return done.returncode, done.stdout, done.stderr


def left() -> list[str]:
    """Workers and schedulers that SSH started, and folders of certificates."""
    listed = subprocess.run(["ps", "-wweo", "args"], capture_output=True, text=True).stdout
    running = [line for line in listed.splitlines() if "distributed.cli.dask_spec" in line]
    return running + [str(path) for path in Path("/tmp").glob("speedcube-" + "[0-9a-f]" * 16)]


def nothing_left() -> bool:
    """Whether all has ended, if it is given half a minute."""
    deadline = time.monotonic() + 60
    while left() and time.monotonic() < deadline:
        time.sleep(0.2)
    return left() == []


def test_arrays_on_two_workers(client: Path) -> None:
    code, printed, errors = start(client, str(DEPLOY / "arrays.py"), "--rows", ROWS)
    assert code == 0, errors
    core = [sys.executable, str(DEPLOY / "arrays.py"), "--on", "core", "--rows", ROWS]
    alone = subprocess.run(core, capture_output=True, text=True, check=True).stdout
    assert re.fullmatch(rf"{ROWS} rows: [0-9a-f]{{64}}\n", alone)
    assert printed.endswith(alone)
    assert nothing_left()


def test_its_exit_code_is_the_programs(client: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("import sys; print(sys.argv[2]); sys.exit(3)")
    code, printed, errors = start(client, str(program))
    assert code == 3, errors
    assert printed.strip().splitlines()[-1].startswith("tls://")
    assert nothing_left()


def test_a_host_that_does_not_let_us_in(client: Path, tmp_path: Path) -> None:
    """Nothing starts, and the host is named."""
    text = client.read_text().replace("Host one two", "Host one")
    settings = tmp_path / "client"
    settings.write_text(text + "Host two\n    HostName 127.0.0.1\n    Port 1\n")
    code, _, errors = start(settings, str(DEPLOY / "arrays.py"))
    assert code == 1
    assert "two: " in errors
    assert "Connection refused" in errors
    assert "Traceback" not in errors
    assert nothing_left()
