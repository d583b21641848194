"""Options and the kernel cache of the test session."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings

# Several tests share the cores: how long one takes says nothing.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")

_OWN_CACHE: list[str] = []


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write tests/golden/*.json anew instead of comparing with them",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Two tests at a time, which the suite was tried with; those of GPUs share the device: one."""
    return 2 if "not gpu" in config.option.markexpr else 0


def pytest_configure(config: pytest.Config) -> None:
    """Kernels of this session go to a directory of its own, gone at its end; workers share it."""
    if not hasattr(config, "workerinput"):
        directory = tempfile.mkdtemp(prefix="speedcube-kernels-")
        _OWN_CACHE.append(directory)
        os.environ["SPEEDCUBE_CACHE_DIR"] = directory


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
