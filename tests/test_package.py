"""The public surface is the list ``speedcube.__all__``, and the list tells the truth."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import speedcube


def test_names_are_sorted_and_listed_once() -> None:
    assert list(speedcube.__all__) == sorted(set(speedcube.__all__))


@pytest.mark.parametrize("name", speedcube.__all__)
def test_a_name_is_public_and_there(name: str) -> None:
    assert not name.startswith("_")
    assert hasattr(speedcube, name), f"speedcube.__all__ promises {name}"


# A name of a package that is a module on purpose: users go into it.
SUBPACKAGES = {
    *(f"speedcube.{name}" for name in ("errors", "fft", "linalg", "ma", "random", "stats")),
    *(f"speedcube.{name}" for name in ("exceptions", "polynomial", "testing", "typing")),  # NumPy's
    *("speedcube.overlap", "speedcube.api.blocks.overlap"),  # a module of Dask's, too
    *("speedcube.special", "speedcube.api.blocks.special"),  # where SciPy looks for functions
    *(f"speedcube.compat.dask_pytorch_ddp.{name}" for name in ("data", "dispatch", "results")),
}

# A module that bears a public name of its package replaces it once it is imported.
REPLACED = """
import importlib, json, pkgutil, sys, types
import speedcube
known, names = set(sys.modules), ["speedcube"]
for module in pkgutil.walk_packages(speedcube.__path__, "speedcube."):
    if module.name.endswith("__main__"):
        continue
    try:
        importlib.import_module(module.name)
        names.append(module.name)
    except ImportError as err:  # of PyTorch, Triton and others that are not installed
        assert not (err.name or "").startswith("speedcube"), err
replaced = []
for name in names:
    package = sys.modules[name]
    for public in getattr(package, "__all__", ()):
        one = getattr(package, public)  # a late module is one on purpose
        if isinstance(one, types.ModuleType) and not isinstance(one, speedcube.late.Late):
            replaced.append(f"{name}.{public}")
print(json.dumps([len(names), replaced]))
"""


def test_no_module_bears_a_public_name_of_its_package() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", REPLACED], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    count, replaced = json.loads(run.stdout.splitlines()[-1])
    assert count > 250
    assert set(replaced) == SUBPACKAGES


# Slow to load, and needed by few programs, or later: clusters, the ladder, close matches of names,
# LLVM, random numbers, what runs on GPUs, parts of the standard library.
LATE = ("asyncio", "dask", "difflib", "distributed", "rich", "ssl", "speedcube.commands", "typer")
LATE += ("llvmlite", "numpy.random", "speedcube.random")
LATE += ("speedcube.engine.gpu", "speedcube.engine.ordering.on_gpu", "speedcube.kernel.cuda")
LATE += ("concurrent", "fractions", "hashlib", "html", "importlib.abc", "json", "logging")
LATE += ("multiprocessing", "random", "shutil", "socket", "tempfile", "uuid", "zipfile")


def test_importing_the_package_loads_nothing_that_few_programs_need() -> None:
    code = f"import sys, speedcube; print(*(name for name in {LATE} if name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.split() == []
    assert speedcube.ladder.__module__ == "speedcube.commands.ladder.climb"
    assert speedcube.random.default_rng is sys.modules["speedcube.random"].default_rng


# Loading asks Python to look for garbage less often, and leaves it as it was: after an error, too.
LOADED = """
import gc, json, sys
gc.set_threshold(701, 9, 9)
if sys.argv[1] == "fails":
    sys.modules["pathlib"] = None
try:
    import speedcube
except ImportError:
    kept = [[] for _ in range(250_000)]  # after which Python looks for garbage
print(json.dumps([gc.isenabled(), gc.get_threshold(), len(gc.callbacks), sorted(sys.modules)]))
"""


@pytest.mark.parametrize("way", ["works", "fails"])
def test_garbage_is_collected_as_before(way: str) -> None:
    run = subprocess.run([sys.executable, "-c", LOADED, way], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    enabled, threshold, callbacks, modules = json.loads(run.stdout)
    assert (enabled, threshold, callbacks) == (True, [701, 9, 9], 0)
    assert ("speedcube" in modules) == (way == "works")


# What loading made is among what lives long, so that the first look is not at all of it.
AGED = """
import gc, sys
if sys.argv[1] == "frozen":
    gc.freeze()
import speedcube
frozen, old = gc.get_freeze_count(), len(gc.get_objects(generation=2))
print(frozen > 0, old > 50_000)
"""


@pytest.mark.parametrize(("way", "said"), [("as it was", "False True"), ("frozen", "True False")])
def test_what_a_program_froze_stays_frozen(way: str, said: str) -> None:
    run = subprocess.run([sys.executable, "-c", AGED, way], capture_output=True, text=True)
    assert run.stdout.strip() == said, run.stderr
