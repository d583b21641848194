"""Options, drawn examples and the kernel cache of the test session."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

import dask
import pytest
from hypothesis import is_hypothesis_test, settings

from speedcube.engine.known import drawn, memory
from speedcube.engine.machine import gpu_count
from speedcube.engine.stepwise import choice

# An ordinary run draws the same examples every time, whoever ran what before. With `-m slow`, or
# with a seed, examples are new; the seed is shown, and repeats them. No deadline: several tests
# share the cores, so how long one takes says nothing.
settings.register_profile("ordinary", deadline=None, derandomize=True, database=None)
# Named in full: where CI is set, Hypothesis begins with settings of its own.
settings.register_profile("drawn", deadline=None, derandomize=False, database=None, print_blob=True)
SEED = "hypothesis_seed"

# Folders whose tests look at kernels, however few elements they have.
OF_KERNELS: Final = frozenset({"engine", "expr", "kernel", "plan"})

_OWN_CACHE: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write tests/golden/*.json anew instead of comparing with them",
    )
    parser.addoption(
        "--by-kernels",
        action="store_true",
        help="kernels make everything, few elements too, which users get from NumPy's functions",
    )


def draws_anew(config: pytest.Config) -> bool:
    """Whether this run is to draw new examples: of the slow tests, or of a seed."""
    expression = config.option.markexpr
    return config.getoption(SEED) is not None or (
        "slow" in expression and "not slow" not in expression
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two tests at a time, which the suite was tried with; those of GPUs share the device: one."""
    return 2 if "not gpu" in config.option.markexpr else 0


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Set which examples are drawn, and where kernels are kept; drawn numbers are not.

    Tests compare what rungs draw: each draws its own. Hypothesis is told the seed when its own hook
    runs, after this. Kernels of this session go to a directory of its own, gone at its end; workers
    share it.
    """
    settings.load_profile("drawn" if draws_anew(config) else "ordinary")
    if draws_anew(config) and config.getoption(SEED) is None:
        setattr(config.option, SEED, str(secrets.randbits(32)))  # workers are given our options
    dask.config.set({drawn.SETTING: 0})
    if not hasattr(config, "workerinput"):
        directory = tempfile.mkdtemp(prefix="speedcube-kernels-")
        _OWN_CACHE.append(directory)
        os.environ["SPEEDCUBE_CACHE_DIR"] = directory


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """What repeats this run's examples, beside what failed."""
    if draws_anew(config):
        seed = config.getoption(SEED)
        terminalreporter.line(f"examples were new; --hypothesis-seed={seed} draws them again")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where examples are new, tests that draw them are among the slow ones."""
    if draws_anew(config):
        for item in items:
            if is_hypothesis_test(getattr(item, "obj", None)):
                item.add_marker(pytest.mark.slow)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Few elements are made as users get them, but where kernels are what is tested.

    Tests of several GPUs are also marked gpu: one GPU is no machine for them.
    """
    folder = item.path.relative_to(Path(__file__).parent).parts[0]
    on_gpu = item.get_closest_marker("gpu")  # which few elements do not reach otherwise
    kernels = item.config.getoption("--by-kernels") or on_gpu or folder in OF_KERNELS
    several, first = (-1, -1) if kernels else (choice.MOST, choice.FIRST)
    choice.Limits.several, choice.Limits.first = several, first
    if item.get_closest_marker("multigpu") and gpu_count() < 2:
        pytest.skip(f"needs two GPUs; this machine has {gpu_count()}")


def pytest_unconfigure(config: pytest.Config) -> None:
    while _OWN_CACHE:
        shutil.rmtree(_OWN_CACHE.pop(), ignore_errors=True)


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def golden() -> Path:
    """Where golden files are."""
    return Path(__file__).parent / "golden"


@pytest.fixture(autouse=True)
def dealt_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs are dealt out to cores however brief they are: tests have few elements.

    `engine/test_brief.py` asks for what users have.
    """
    monkeypatch.setattr(memory, "_has_few", lambda found: False)
