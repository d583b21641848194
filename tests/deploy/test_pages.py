"""The pages and files of docs/deploy: what they name is there, and what they start is guarded."""

from __future__ import annotations

import os
import re
import shutil
import ssl
import stat
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from cryptography import x509

import speedcube as sc

DEPLOY: Final = Path(__file__).parents[2] / "docs" / "deploy"
PAGES: Final = sorted(DEPLOY.glob("*.md"))
SCRIPTS: Final = sorted([*DEPLOY.glob("*/*.sh"), *DEPLOY.glob("*/*.sbatch")])
PROGRAMS: Final = sorted(DEPLOY.glob("**/*.py"))
PLAIN: Final = re.compile(r"tcp://|0\.0\.0\.0|--host[ =]|protocol[= ]tcp")


def by_name(path: Path) -> str:
    return path.name


def test_every_way_has_a_page_that_says_costs_and_ports() -> None:
    names = ["jupyterhub", "kubernetes", "one-machine", "slurm", "spot", "ssh"]
    assert [page.stem for page in PAGES] == names
    for page in PAGES:
        headings = re.findall(r"^## (.*)$", page.read_text(), re.MULTILINE)
        assert {"What it costs", "Ports"} <= set(headings), page.name


@pytest.mark.parametrize("page", PAGES, ids=by_name)
def test_what_a_page_starts_is_there(page: Path) -> None:
    blocks = re.findall(r"^```\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)
    named = re.findall(r"(?<![\w/$.-])(\w[\w/-]*\.(?:py|sh|sbatch|yaml))\b", "\n".join(blocks))
    assert named
    assert [name for name in named if not (DEPLOY / name).is_file()] == []


def test_every_file_is_named_on_a_page() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    files = {path.relative_to(DEPLOY).as_posix() for path in DEPLOY.glob("*/*") if path.is_file()}
    files |= {path.name for path in DEPLOY.glob("*.py")}
    files = {name for name in files if "__pycache__" not in name}
    assert {name for name in files if f"({name})" not in text and f" {name}" not in text} == set()


@pytest.mark.parametrize("script", SCRIPTS, ids=by_name)
def test_a_script_is_sound(script: Path) -> None:
    text = script.read_text()
    assert text.startswith("#!/bin/bash\n")
    assert "set -euo pipefail" in text
    assert "umask 077" in text
    done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    if script.suffix == ".sh":
        assert os.access(script, os.X_OK)
    if shutil.which("shellcheck"):
        done = subprocess.run(["shellcheck", str(script)], capture_output=True, text=True)
        assert done.stdout == ""


@pytest.mark.parametrize("program", PROGRAMS, ids=by_name)
def test_a_program_says_what_it_is(program: Path) -> None:
    text = program.read_text()
    compile(text, str(program), "exec")
    assert text.startswith('"""')
    assert '\nif __name__ == "__main__":\n' in text  # workers import a program's file again


@pytest.mark.parametrize("file", [*SCRIPTS, *PROGRAMS], ids=by_name)
def test_nothing_listens_without_certificates(file: Path) -> None:
    """No address without TLS, and what is left of Dask's pages at 127.0.0.1."""
    text = file.read_text()
    assert PLAIN.findall(text) == []
    starts = re.findall(r"dask_scheduler|dask_worker|Nanny\(|SSHCluster\(|SLURMCluster\(", text)
    if starts:
        assert re.search(r"tls|Security\.temporary|DASK_CONFIG", text) or "Nanny(" in text
        assert re.search(r"dashboard.address[\"=: ]+\"?127\.0\.0\.1:0", text)


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """What a command does in the folder of these files."""
    given = {**os.environ, **variables}
    return subprocess.run(words, cwd=DEPLOY, env=given, capture_output=True, text=True, timeout=120)


def test_a_notebooks_first_cell() -> None:
    """As it stands, where nobody named a cluster."""
    done = run(sys.executable, "jupyterhub/notebook.py")
    assert done.returncode == 0, done.stderr
    x = sc.random.default_rng(0).normal(size=(100_000, 1_000))
    assert done.stdout.strip() == float(x.mean().compute(on="cores")).hex()


def test_where_there_is_no_slurm(tmp_path: Path) -> None:
    pytest.importorskip("dask_jobqueue")
    shared = tmp_path / "shared"
    command = (sys.executable, "slurm/jobqueue.py", "--shared", str(shared))
    done = run(*command, PATH=str(tmp_path), HOME=str(tmp_path))
    assert (done.returncode, done.stdout) == (1, "")
    assert "has no sbatch, so no SLURM: run this on a login node" in done.stderr
    assert not shared.exists()
    done = run("bash", "slurm/cluster.sbatch", "arrays.py", SLURM_SUBMIT_DIR="")
    assert (done.returncode, done.stdout) == (1, "")
    assert "submit this with sbatch" in done.stderr


# ---------------------------------------------------------------- certificates


def made(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DEPLOY / "certificates.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_certificates(tmp_path: Path) -> None:
    """Nobody else can read them, they fit together, and Dask takes them."""
    folder = tmp_path / "new" / "tls"
    done = made(str(folder))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert mode(folder) == 0o700
    assert {path.name: mode(path) for path in folder.iterdir()} == dict.fromkeys(
        ("cert.pem", "key.pem", "dask.yaml"), 0o600
    )
    certificate = x509.load_pem_x509_certificate((folder / "cert.pem").read_bytes())
    now = datetime.now(UTC)
    assert certificate.not_valid_before_utc < now - timedelta(minutes=50)
    assert timedelta(days=29) < certificate.not_valid_after_utc - now <= timedelta(days=30)
    context = ssl.create_default_context(cafile=str(folder / "cert.pem"))
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    settings: dict[str, Any] = yaml.safe_load((folder / "dask.yaml").read_text())["distributed"]
    assert settings["comm"]["require-encryption"] is True
    assert settings["comm"]["timeouts"] == {"tcp": "60s"}
    pair = {"cert": str(folder / "cert.pem"), "key": str(folder / "key.pem")}
    assert settings["comm"]["tls"] == {
        "ca-file": pair["cert"], "scheduler": pair, "worker": pair, "client": pair,
    }  # fmt: skip
    assert settings["scheduler"]["http"] == settings["worker"]["http"] == {"routes": []}


def test_certificates_for_elsewhere(tmp_path: Path) -> None:
    assert made(str(tmp_path / "tls"), "--at", "/etc/speedcube").returncode == 0
    text = (tmp_path / "tls" / "dask.yaml").read_text()
    assert str(tmp_path) not in text
    assert text.count("/etc/speedcube/cert.pem") == 4


def test_two_clusters_have_two_certificates_and_none_is_overwritten(tmp_path: Path) -> None:
    assert made(str(tmp_path / "one")).returncode == made(str(tmp_path / "two")).returncode == 0
    keys = [(tmp_path / name / "key.pem").read_bytes() for name in ("one", "two")]
    assert keys[0] != keys[1]
    again = made(str(tmp_path / "one"))
    assert again.returncode == 1
    assert "is not empty: name a folder that is new" in again.stderr
    assert (tmp_path / "one" / "key.pem").read_bytes() == keys[0]
