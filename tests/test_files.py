"""Files written whole: what is there, before and after, with which permissions."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from speedcube import files
from speedcube.files import write_whole


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_made_and_replaced(tmp_path: Path, durable: bool) -> None:
    path = tmp_path / "page.html"
    write_whole(path, b"first", durable=durable)
    write_whole(str(path), b"second, longer", durable=durable)
    assert path.read_bytes() == b"second, longer"
    assert os.listdir(tmp_path) == ["page.html"]


def test_permissions(tmp_path: Path) -> None:
    path = tmp_path / "file"
    before = os.umask(0o027)
    try:
        write_whole(path, b"of the umask")
        assert mode(path) == 0o640
        path.chmod(0o664)
        write_whole(path, b"of the file before")
        assert mode(path) == 0o664
        write_whole(path, b"of the caller", mode=0o600)
        assert mode(path) == 0o600
    finally:
        os.umask(before)


def test_a_link_is_replaced(tmp_path: Path) -> None:
    other, link = tmp_path / "other", tmp_path / "link"
    other.write_bytes(b"stays")
    link.symlink_to(other)
    write_whole(link, b"new")
    assert not link.is_symlink()
    assert [other.read_bytes(), link.read_bytes()] == [b"stays", b"new"]


@pytest.mark.parametrize("step", ["fsync", "replace"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_what_fails_leaves_the_old_file_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, error: BaseException
) -> None:
    def failing(*_: object, **places: object) -> None:
        raise error

    path = tmp_path / "file"
    path.write_bytes(b"old")
    with monkeypatch.context() as patch:
        patch.setattr(files.os, step, failing)
        with pytest.raises(type(error)):
            write_whole(path, b"new", durable=True)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


def test_only_what_is_durable_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    sync, replace = os.fsync, os.replace
    monkeypatch.setattr(files.os, "fsync", lambda handle: (done.append("fsync"), sync(handle)))
    monkeypatch.setattr(
        files.os,
        "replace",
        lambda *names, **places: (done.append("name"), replace(*names, **places)),
    )
    write_whole(tmp_path / "file", b"content")
    write_whole(tmp_path / "file", b"content", durable=True)
    assert done == ["name", "fsync", "name"]


def test_no_directory_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "none" / "file", b"content")


KILLED = """
import os, sys
from speedcube import files
files.os.replace = lambda *names, **places: os._exit(9)
files.write_whole(sys.argv[1], b"new")
"""


def test_a_killed_process_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    run = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert run.returncode == 9
    assert path.read_bytes() == b"old"
    (draft,) = set(os.listdir(tmp_path)) - {"file"}
    assert draft.startswith(".speedcube-")
    assert draft.endswith(".part")
