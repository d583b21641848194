"""What others put into, or on the way to, the kernel cache is neither run nor waited for."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import socket
import stat
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final, NoReturn

import pytest

from speedcube.kernel import cache, own_directory
from speedcube.kernel.cache import SECRET, KernelCache, content_key
from speedcube.kernel.own_directory import OwnDirectory

KEY: Final = content_key("planted")
PAYLOAD: Final = b"a kernel" * 40
OTHER: Final = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as another user")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Path]:
    """A directory that another user can walk to, in a sticky one."""
    where = Path(f"/tmp/speedcube-test-{os.urandom(8).hex()}")
    where.mkdir(mode=0o755)
    yield where
    shutil.rmtree(where)


def signed_as_before(key: bytes, payload: bytes) -> bytes:
    """An entry with all that whoever knows the format can write."""
    start = cache.MAGIC + cache.VERSION.to_bytes(2, "little") + key
    return start + hashlib.sha256(payload).digest() + payload


def refused(where: Path) -> str:
    """Why a directory is not used."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        store = KernelCache(where)
    assert not store.usable
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) is None
    (warning,) = caught
    assert "chmod" not in str(warning.message)
    return store.problem


# Entries ------------------------------------------------------------------------------------------


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(8 << 30)


def _listening(path: Path) -> None:
    here = os.open(path.parent, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"/proc/self/fd/{here}/{path.name}")
    os.close(here)


def _linked(path: Path) -> None:
    target = path.with_name("target")
    target.write_bytes(signed_as_before(KEY, PAYLOAD))
    path.symlink_to(target)


def _opened(path: Path) -> None:
    path.write_bytes(signed_as_before(KEY, PAYLOAD))
    path.chmod(0o666)


def _twice(path: Path) -> None:
    path.write_bytes(signed_as_before(KEY, PAYLOAD))
    os.link(path, path.with_name("twin"))


PLANTS: Final[dict[str, Callable[[Path], object]]] = {
    "signed by what is public": lambda p: p.write_bytes(signed_as_before(KEY, PAYLOAD)),
    "8 GiB without contents": _sparse,
    "a pipe": os.mkfifo,
    "a socket": _listening,
    "a link": _linked,
    "writable by others": _opened,
    "a second name": _twice,
    "a directory": os.mkdir,
    "nothing": lambda p: p.touch(),
}


@pytest.mark.parametrize("kind", PLANTS)
@pytest.mark.parametrize("name", ["entry", "secret"])
def test_a_planted_entry_is_removed_at_once(tmp_path: Path, kind: str, name: str) -> None:
    before = KernelCache(tmp_path / "k")
    path = before.path(KEY) if name == "entry" else before.directory / SECRET
    path.unlink(missing_ok=True)
    PLANTS[kind](path)
    begin = time.monotonic()
    store = KernelCache(tmp_path / "k")
    assert store.get(KEY) is None
    assert time.monotonic() - begin < 2, "nobody read it"
    assert store.usable
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) == KernelCache(tmp_path / "k").get(KEY) == PAYLOAD
    assert stat.S_IMODE(path.lstat().st_mode) == 0o600


def test_an_entry_of_another_directory_is_not_used(tmp_path: Path) -> None:
    """A copy: what a backup, an archive or another user's directory brings."""
    one, other = KernelCache(tmp_path / "a"), KernelCache(tmp_path / "b")
    one.put(KEY, PAYLOAD)
    shutil.copy(one.path(KEY), other.path(KEY))
    assert other.get(KEY) is None
    assert not other.path(KEY).exists()


def test_processes_that_begin_at_once_have_one_secret(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from speedcube.kernel.cache import KernelCache\n"
        "print(KernelCache(Path(sys.argv[1]))._secret.hex())"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "k")]
    racing = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    assert len({process.communicate(timeout=60)[0] for process in racing}) == 1
    assert stat.S_IMODE((tmp_path / "k" / SECRET).stat().st_mode) == 0o600


@as_root
def test_another_users_entry_is_not_used(tmp_path: Path) -> None:
    store = KernelCache(tmp_path / "k")
    store.put(KEY, PAYLOAD)
    os.chown(store.path(KEY), OTHER, OTHER)
    assert store.get(KEY) is None
    assert not store.path(KEY).exists()


# Directories --------------------------------------------------------------------------------------


def test_a_directory_that_was_open_is_to_be_deleted(place: Path) -> None:
    (place / "k").mkdir()
    (place / "k").chmod(0o777)
    assert "others may write to it" in refused(place / "k")
    assert "(delete it)" in refused(place / "k")


@as_root
def test_what_was_planted_while_it_was_open_does_not_run_after_it_is_closed(place: Path) -> None:
    """The attack as it was found: entries of another user, and then the advice to chmod."""
    where = place / "k"
    where.mkdir()
    where.chmod(0o777)
    path = where / f"{KEY.hex()[:40]}.kernel"
    (place / "theirs").write_bytes(signed_as_before(KEY, PAYLOAD))
    command = ["cp", str(place / "theirs"), str(path)]
    subprocess.run(command, check=True, user=OTHER, group=OTHER, extra_groups=[])
    assert path.stat().st_uid == OTHER
    where.chmod(0o700)
    store = KernelCache(where)
    assert store.usable
    assert store.get(KEY) is None
    assert not path.exists()


@as_root
@pytest.mark.parametrize("above", ["writable", "another's"])
def test_a_parent_that_others_may_change_is_refused(place: Path, above: str) -> None:
    parent = place / "parent"
    parent.mkdir()
    KernelCache(parent / "between" / "k")
    if above == "writable":
        parent.chmod(0o777)
        assert refused(parent / "between" / "k") == (
            f"others may write to {parent}, on the way to it"
        )
        parent.chmod(0o1777)  # as /tmp is: nobody renames what is not his
        assert KernelCache(parent / "between" / "k").usable
    else:
        os.chown(parent, OTHER, OTHER)
        assert f"{parent}, on the way to it, belongs to another user" in refused(
            parent / "between" / "k"
        )


def test_parents_that_are_made_are_the_owners_alone(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        KernelCache(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(old)
    for name in ("a", "a/b", "a/b/c"):
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o700


def test_links_on_the_way_are_followed_if_they_are_ours(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "home").symlink_to("real")
    store = KernelCache(tmp_path / "home" / "k")
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) == PAYLOAD
    assert (tmp_path / "real" / "k" / SECRET).exists()
    (tmp_path / "k").symlink_to(tmp_path / "home" / ".." / "home" / "k")
    assert KernelCache(tmp_path / "k").get(KEY) == PAYLOAD
    (tmp_path / "round").symlink_to("round")
    assert "ymbolic link" in refused(tmp_path / "round" / "k")


@as_root
def test_another_users_link_is_not_followed(place: Path) -> None:
    (place / "k").mkdir(mode=0o700)
    (place / "link").symlink_to(place / "k")
    os.lchown(place / "link", OTHER, OTHER)
    assert "belongs to another user" in refused(place / "link")


def test_a_directory_that_others_are_let_into_later_is_left(tmp_path: Path) -> None:
    store = KernelCache(tmp_path / "k")
    store.put(KEY, PAYLOAD)
    store.directory.chmod(0o777)
    with pytest.warns(RuntimeWarning, match="others may write to it"):
        assert store.get(KEY) is None


def test_a_group_of_one_may_write_to_parents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where each user has a group of his own, home directories are often open to it."""
    parent = tmp_path / "home"
    parent.mkdir()
    parent.chmod(0o775)
    for private in (True, False):
        monkeypatch.setattr(own_directory, "_private", lambda gid, private=private: private)
        if private:
            assert OwnDirectory(parent / "k").path == parent / "k"
        else:
            assert "others may write to" in refused(parent / "k")


@as_root
def test_a_namespace_shows_the_machines_root_as_nobody(place: Path) -> None:
    """Such as a container of a user has: / and /tmp belong to nobody there."""
    os.chown(place, 1234, 1234)
    child = os.fork()
    if not child:
        _in_a_namespace(place / "k", 1234)
    _, status = os.waitpid(child, 0)
    if os.waitstatus_to_exitcode(status) == 77:
        pytest.skip("this system makes no namespaces for other users")
    assert os.waitstatus_to_exitcode(status) == 0
    assert (place / "k").stat().st_uid == 1234


def _in_a_namespace(where: Path, user: int) -> NoReturn:
    """Make ``where`` as ``user``, who is root in a namespace of his own; the exit code says how."""
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
    libc = ctypes.CDLL(None)
    libc.prctl(4, 1)  # PR_SET_DUMPABLE: what was root may otherwise not write its own map
    if libc.unshare(0x10000000):  # CLONE_NEWUSER
        os._exit(77)
    try:
        Path("/proc/self/uid_map").write_text(f"0 {user} 1")
        if os.geteuid() != 0 or os.stat("/").st_uid != 65534:
            os._exit(77)
        os._exit(0 if OwnDirectory(where).path == where else 1)
    except BaseException as err:
        os.write(2, repr(err).encode())
        os._exit(1)
