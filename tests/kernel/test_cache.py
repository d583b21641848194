"""The kernel cache: a damaged, foreign or missing entry never changes an answer."""

from __future__ import annotations

import ast
import os
import shutil
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np
import pytest

import speedcube as sc
from speedcube.engine import gpu, tiers
from speedcube.engine.compute import plan_for
from speedcube.engine.prepare import prepare
from speedcube.engine.tiers import Tiers
from speedcube.errors import KernelError
from speedcube.kernel import cache
from speedcube.kernel.cache import KernelCache, content_key
from speedcube.kernel.llvm.compile import FULL, QUICK, _key, build, load
from speedcube.kernel.llvm.simd import targets
from speedcube.kernel.llvm.text import Style
from speedcube.kernel.program import Program

KEY = content_key("test", 1)
PAYLOAD = bytes(range(256)) * 3


@pytest.fixture
def store(tmp_path: Path) -> KernelCache:
    return KernelCache(tmp_path / "kernels")


@pytest.fixture
def filled(store: KernelCache) -> KernelCache:
    store.put(KEY, PAYLOAD)
    return store


def test_what_was_put_is_found(filled: KernelCache) -> None:
    assert filled.get(KEY) == PAYLOAD
    assert (filled.hits, filled.misses) == (1, 0)
    assert KernelCache(filled.directory).get(KEY) == PAYLOAD


def test_an_absent_entry_is_a_miss(store: KernelCache) -> None:
    assert store.get(KEY) is None
    assert (store.hits, store.misses) == (0, 1)


def test_directory_is_the_owners_alone(store: KernelCache) -> None:
    assert stat.S_IMODE(store.directory.stat().st_mode) == 0o700


def test_no_part_files_remain(filled: KernelCache) -> None:
    assert {p.name for p in filled.directory.iterdir()} == {cache.SECRET, filled.path(KEY).name}


def test_a_new_payload_replaces_the_old(filled: KernelCache) -> None:
    filled.put(KEY, b"other")
    assert filled.get(KEY) == b"other"


def test_keys_depend_on_every_part_and_its_ends() -> None:
    keys = {content_key(*p) for p in [("a", "b"), ("ab",), ("a", "b", ""), ("", "ab"), ("b", "a")]}
    assert len(keys) == 5


# Damage -----------------------------------------------------------------------------------------


def damaged(raw: bytes) -> Iterator[tuple[str, bytes]]:
    for length in range(0, len(raw), 29):
        yield f"truncated to {length}", raw[:length]
    yield "one byte short", raw[:-1]
    for at in range(0, len(raw), 17):
        for bit in (0, 7):
            yield f"bit {bit} of byte {at}", raw[:at] + bytes([raw[at] ^ 1 << bit]) + raw[at + 1 :]
    yield "zeros of the same length", bytes(len(raw))
    yield "one byte more", raw + b"\0"
    yield "twice", raw + raw
    yield "another magic", b"X" * 16 + raw[16:]
    yield "another version", raw[:16] + b"\1\0" + raw[18:]
    yield "text", b"this is not a kernel\n"


def test_every_damage_is_a_miss_and_is_removed(filled: KernelCache) -> None:
    path = filled.path(KEY)
    raw = path.read_bytes()
    cases = list(damaged(raw))
    assert len(cases) > 100
    for what, content in cases:
        path.write_bytes(content)
        assert filled.get(KEY) is None, what
        assert not path.exists(), what
    assert filled.hits == 0


def test_an_entry_of_another_key_is_not_used(filled: KernelCache) -> None:
    other = content_key("test", 2)
    filled.path(other).write_bytes(filled.path(KEY).read_bytes())
    assert filled.get(other) is None
    assert filled.get(KEY) == PAYLOAD


def test_a_directory_in_place_of_an_entry(store: KernelCache) -> None:
    store.path(KEY).mkdir()
    assert store.get(KEY) is None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        store.put(KEY, PAYLOAD)
        assert store.get(KEY) in (None, PAYLOAD)
        store.discard(KEY)
    assert not list(store.directory.glob("*.part")), "no part files remain"


def test_a_dangling_link_in_place_of_an_entry(store: KernelCache, tmp_path: Path) -> None:
    store.path(KEY).symlink_to(tmp_path / "nowhere")
    assert store.get(KEY) is None
    store.put(KEY, PAYLOAD)
    assert store.get(KEY) == PAYLOAD
    assert not (tmp_path / "nowhere").exists(), "the link was replaced, not followed"


# Directories that cannot be used -----------------------------------------------------------------


def test_a_file_as_the_parent_is_reported_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    where = tmp_path / "file" / "kernels"
    with pytest.warns(RuntimeWarning, match="is not used: Not a directory") as caught:
        unusable = KernelCache(where)
    assert len(caught) == 1
    assert "set SPEEDCUBE_CACHE_DIR to a directory of yours" in str(caught[0].message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unusable.put(KEY, PAYLOAD)
        assert unusable.get(KEY) is None


def test_a_directory_that_others_may_write_is_refused(tmp_path: Path) -> None:
    where = tmp_path / "open"
    where.mkdir()
    where.chmod(0o777)
    with pytest.warns(RuntimeWarning, match=r"others may write to it, .* \(delete it\)\. "):
        assert not KernelCache(where).usable


def test_another_users_directory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.warns(RuntimeWarning, match="it belongs to another user"):
        assert not KernelCache(tmp_path).usable


def test_a_directory_that_vanishes_is_done_without(filled: KernelCache) -> None:
    shutil.rmtree(filled.directory)
    with pytest.warns(RuntimeWarning, match="is not used: No such file or directory"):
        assert filled.get(KEY) is None
    filled.put(KEY, PAYLOAD)
    assert not filled.usable


@pytest.mark.parametrize(
    ("named", "base", "wanted"),
    [
        ("/x/kernels", "/y", "/x/kernels"),
        ("", "/y", "/y/speedcube"),
        ("", "", "~/.cache/speedcube"),
    ],
    ids=["SPEEDCUBE_CACHE_DIR", "XDG_CACHE_HOME", "home"],
)
def test_default_directory(
    monkeypatch: pytest.MonkeyPatch, named: str, base: str, wanted: str
) -> None:
    monkeypatch.setenv("SPEEDCUBE_CACHE_DIR", named)
    monkeypatch.setenv("XDG_CACHE_HOME", base)
    assert cache.default_directory() == Path(wanted).expanduser()


# Whole kernels ----------------------------------------------------------------------------------


COMPILE = "speedcube.kernel.llvm.compile"
BEST = targets()[0]
STYLES = {"quick": replace(QUICK[BEST], calls=True), "full": FULL[BEST]}


def _program(array: sc.Array) -> Program:
    stage = plan_for(array._expr, "core", None, False)[0].stages[-1]
    return prepare(stage, stage.parts[0], None).program


def _small_program() -> Program:
    return _program(sc.asarray(np.arange(5.0)) + 1)


@pytest.mark.parametrize("style", STYLES.values(), ids=STYLES)
def test_a_kernel_is_compiled_once(
    store: KernelCache, monkeypatch: pytest.MonkeyPatch, style: Style
) -> None:
    which = _small_program(), BEST, style, store
    assert load(*which) is None
    kernels = [build(*which)]
    assert (store.hits, store.misses) == (0, 1)
    monkeypatch.setattr(f"{COMPILE}.compile_object", None)  # calling it would fail
    monkeypatch.setattr(f"{COMPILE}.source", None)  # nor is the text needed
    kernels.append(load(*which))
    assert None not in kernels
    assert store.hits == 1


def test_each_style_program_and_printer_has_its_own_entry(
    store: KernelCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = _small_program(), _program(sc.asarray(np.arange(5.0)) * 2 + 1)
    keys = {_key(p, BEST, style) for p in (one, other) for style in STYLES.values()}
    keys.add(_key(one, "plain", STYLES["full"]))
    monkeypatch.setattr(f"{COMPILE}.generator", lambda name: b"a printer that was changed")
    keys.add(_key(one, BEST, STYLES["full"]))
    assert len(keys) == 6 if BEST != "plain" else 5


PACKAGE: Final = Path(cache.__file__).parents[1]
# What the cache itself and messages are made of; how one array's memory is spanned; what is loaded
# when it is needed.
NO_PART: Final = {"__about__.py", "errors.py", "files.py", "late.py", "shown.py"} | {
    *(f"kernel/{name}.py" for name in ("cache", "elf", "own_directory")),
    "expr/sources/span.py",
}


def _imported(module: str, seen: set[str]) -> set[str]:
    """``module`` of speedcube and what it imports, directly or not, as paths below the package."""
    name = "/".join(module.split(".")[1:]) + ".py"
    if name in seen or not (PACKAGE / name).is_file():
        return seen
    seen.add(name)
    for node in ast.walk(ast.parse((PACKAGE / name).read_text())):
        if isinstance(node, ast.ImportFrom) and node.level:
            stem = ".".join([*module.split(".")[: -node.level], *filter(None, [node.module])])
            for alias in node.names:
                _imported(f"{stem}.{alias.name}", _imported(stem, seen))
    return seen


@pytest.mark.parametrize("printer", ["llvm", "cuda"])
def test_a_changed_printer_has_another_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, printer: str
) -> None:
    """Each module that a compiler's text may depend on, since the compiler imports it.

    One that is new belongs into `cache._PRINTERS`.
    """
    copy = shutil.copytree(PACKAGE, tmp_path / "speedcube")
    monkeypatch.setattr(cache, "__file__", str(copy / "kernel" / "cache.py"))
    keys = [cache.generator.__wrapped__(printer)]
    assert keys == [cache.generator.__wrapped__(printer)]
    printers = _imported(f"speedcube.kernel.{printer}.compile", set())
    assert {"kernel/ir.py", f"kernel/{printer}/loops.py"} < printers
    for name in sorted(printers - NO_PART):
        (copy / name).write_bytes((PACKAGE / name).read_bytes() + b"#")
        keys.append(cache.generator.__wrapped__(printer))
        assert keys[-1] not in keys[:-1], f"{name} does not count"


# Tiers ------------------------------------------------------------------------------------------


@pytest.fixture
def tier(store: KernelCache, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Tiers]:
    """New tiers of one small program, as in a new process; all share ``store``."""
    monkeypatch.setattr(tiers, "kernel_cache", lambda: store)
    monkeypatch.setattr(tiers, "FULL_PAYS", 1000)
    program = _program(sc.exp(sc.asarray(np.arange(5.0))))
    return lambda: Tiers(program, BEST)


def _names(tiers: Tiers) -> list[str]:
    return [name for name, style in STYLES.items() if style in tiers.kernels]


def test_little_work_gets_the_quick_kernel_and_much_work_the_full_one(
    tier: Callable[[], Tiers],
) -> None:
    tier_of_two = tier()
    quick = tier_of_two.kernel(400)
    assert (tier_of_two.kernel(400), _names(tier_of_two)) == (quick, ["quick"])
    full = tier_of_two.kernel(400)  # the thousandth element
    assert full is not quick
    assert tier_of_two.kernel(1) is full
    assert _names(tier_of := tier()) == []
    assert tier_of.kernel(1000) is tier_of.kernels[STYLES["full"]]
    assert _names(tier_of) == ["full"]


def test_full_code_in_the_cache_is_used_at_once(
    tier: Callable[[], Tiers], store: KernelCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [tier()]
    both[0].kernel(1000)
    assert (store.hits, store.misses) == (0, 1)
    monkeypatch.setattr(f"{COMPILE}.compile_object", None)
    both.append(tier())
    both[1].kernel(1)
    assert _names(both[1]) == ["full"]
    assert (store.hits, store.misses) == (1, 1)


def test_a_damaged_full_kernel_is_compiled_anew(
    tier: Callable[[], Tiers], store: KernelCache
) -> None:
    both = [tier()]
    both[0].kernel(1000)
    (path,) = store.directory.glob("*.kernel")
    raw = path.read_bytes()
    path.write_bytes(raw[:100])
    both.append(tier())
    both[1].kernel(1)
    assert path.read_bytes() == raw


_UNSIGNED = """
import sys
from pathlib import Path
import numpy as np, speedcube as sc
from speedcube.engine.compute import plan_for
from speedcube.engine.prepare import prepare
from speedcube.kernel.llvm.compile import FULL, build, load
from speedcube.kernel.llvm.simd import targets
from speedcube.kernel.llvm.text import Style
from speedcube.kernel.cache import KernelCache

store = KernelCache(Path(sys.argv[1]))
stage = plan_for((sc.asarray(np.arange(5.0)) + 1)._expr, "core", None, False)[0].stages[-1]
target = targets()[0]
which = prepare(stage, stage.parts[0], None).program, target, FULL[target], store
kept = [build(*which)]
(path,) = store.directory.glob("*.kernel")
raw = path.read_bytes()
payload = {"empty": b"", "text": b"not an object", "zeros": bytes(4000)}
store.put(raw[18:50], payload[sys.argv[2]])
assert load(*which) is None and not path.exists()
kept.append(build(*which))
print(path.read_bytes() == raw)
print((sc.asarray(np.arange(5.0)) * 3).compute(on="core").tolist())
"""


@pytest.mark.parametrize("payload", ["empty", "text", "zeros"])
def test_a_well_signed_entry_that_is_no_object_is_compiled_anew(
    tmp_path: Path, payload: str
) -> None:
    """Its header and hash are right and its content is not machine code."""
    done = subprocess.run(
        [sys.executable, "-c", _UNSIGNED, str(tmp_path / "k"), payload],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr[-2000:]}"
    assert done.stdout == "True\n[0.0, 3.0, 6.0, 9.0, 12.0]\n"


def test_text_that_llvm_refuses_is_a_kernel_error(
    store: KernelCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"{COMPILE}.source", lambda *which: "define nonsense")
    with pytest.raises(KernelError, match="LLVM refused a kernel"):
        build(_small_program(), BEST, STYLES["full"], store)
    assert not list(store.directory.glob("*.kernel"))


_PROGRAM = """
import sys, warnings
import numpy as np, speedcube as sc
from speedcube.kernel.cache import kernel_cache
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x = sc.asarray(np.arange(3000.0))
    for k in range(int(sys.argv[1])):
        assert ((x * (k + 2)) ** (k % 5 + 1)).sum().compute(on="core") > 0
    print((x * 2 + 1).sum().compute(on="core"), (x - 7).max().compute(on="cores:2"))
print(kernel_cache().hits, kernel_cache().misses, len(caught))
"""
_ANSWER = "9000000.0 2992.0"
_KERNELS = 3  # of the maximum, and of the sum, which the first kernel leaves to another's record


def _run(directory: Path, count: int = 0) -> subprocess.Popen[str]:
    environment = {**os.environ, "SPEEDCUBE_CACHE_DIR": str(directory)}
    return subprocess.Popen(
        [sys.executable, "-c", _PROGRAM, str(count)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _finish(process: subprocess.Popen[str]) -> tuple[str, list[int]]:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    answer, counts = out.splitlines()
    return answer, [int(n) for n in counts.split()]


def test_processes_find_what_others_compiled(tmp_path: Path) -> None:
    assert _finish(_run(tmp_path / "k")) == (_ANSWER, [0, _KERNELS, 0])
    assert _finish(_run(tmp_path / "k")) == (_ANSWER, [_KERNELS, 0, 0])


def test_processes_survive_damaged_kernels(tmp_path: Path) -> None:
    """Every entry damaged in another way, then computed with: right, and repaired."""
    where = tmp_path / "k"
    _finish(_run(where))
    entries = {p: p.read_bytes() for p in where.glob("*.kernel")}
    ways = [
        lambda raw: b"",
        lambda raw: raw[: len(raw) // 2],
        lambda raw: bytes(len(raw)),
        lambda raw: raw[:900] + bytes([raw[900] ^ 4]) + raw[901:],
    ]
    for way in ways:
        for path, raw in entries.items():
            path.write_bytes(way(raw))
        assert _finish(_run(where)) == (_ANSWER, [0, _KERNELS, 0])
        assert {p: p.read_bytes() for p in where.glob("*.kernel")} == entries


def test_racing_processes_give_the_right_answer(tmp_path: Path) -> None:
    where = tmp_path / "k"
    racing = [_run(where, 6) for _ in range(3)]
    for process in racing:
        answer, _ = _finish(process)
        assert answer == _ANSWER
    assert not list(where.glob("*.part"))
    answer, (_, misses, _) = _finish(_run(where, 6))
    assert (answer, misses) == (_ANSWER, 0), "what they left is whole"


def test_without_a_cache_everything_works_and_it_is_said_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert _finish(_run(tmp_path / "file" / "k", 3)) == (_ANSWER, [0, 0, 1])


_FORGETTING = """
import gc
import numpy as np, speedcube as sc
from speedcube.engine import tiers
x = sc.asarray(np.arange(5.0))
for k in range(6):
    assert ((x + k) ** (k + 1)).sum().compute(on="core") > 0
    tiers.tiers.cache_clear()
    gc.collect()
print("alive")
"""


def test_kernels_can_be_forgotten() -> None:
    """The memory of compiled kernels is bounded; dropping one must not take others with it."""
    done = subprocess.run(
        [sys.executable, "-c", _FORGETTING], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr[-2000:]


def test_this_sessions_cache_is_not_the_users() -> None:
    assert cache.kernel_cache().directory == Path(os.environ["SPEEDCUBE_CACHE_DIR"])
    assert tiers.kernel_cache is gpu.kernel_cache is cache.kernel_cache


def test_full_code_that_is_soon_compiled_comes_sooner(tier: Callable[[], Tiers]) -> None:
    x = sc.asarray(np.arange(5.0))
    for _ in range(9):
        x = sc.sin(x)
    long = Tiers(_program(x), BEST)
    assert (long.enough, tier().enough) == (1000 // tiers.SOONER, 1000)
    quick = long.kernel(60)
    assert long.kernel(2) is not quick
    assert long.full is not None
