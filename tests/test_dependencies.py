"""The bounds, the lowest versions that are tested and the documents name the same packages."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
NEEDS_A_GPU = {"cuda12", "cuda13", "train-cuda12"}  # not in constraints-lowest.txt


def _direct() -> list[tuple[str, str]]:
    """Where each direct dependency is asked for, and its requirement."""
    requirements = [("build", r) for r in PROJECT["build-system"]["requires"]]
    requirements += [("needed", r) for r in PROJECT["project"]["dependencies"]]
    requirements += [(extra, r) for extra, asked in EXTRAS.items() for r in asked]
    return [(where, r) for where, r in requirements if not r.startswith("speedcube[")]


def _name(requirement: str) -> str:
    return re.split(r"[\[<>=!~; ]", requirement)[0]


def _release(version: str) -> tuple[int, ...]:
    parts = [int(part) for part in version.split(".")]
    return tuple(parts + [0] * (4 - len(parts)))


def _pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


@pytest.mark.parametrize(("where", "requirement"), _direct(), ids=lambda value: value)
def test_bounds(where: str, requirement: str) -> None:
    """Each has a lower bound; `make test-lowest` installs just that, `make test` nothing lower."""
    bound = re.search(r"(?:>=|==)([\d.]+)(?:\.\*)?", requirement)
    assert bound, f"{requirement!r} of {where} has no lower bound"
    name, least = _name(requirement), _release(bound[1].rstrip("."))
    if where in NEEDS_A_GPU or name == "torch":  # torch's lowest runs on GPU machines only
        return
    assert _release(_pins("constraints-lowest.txt")[name]) == least, requirement
    assert _release(_pins("constraints.txt")[name]) >= least, requirement


def test_the_two_lists_of_pins_differ_only_where_they_must() -> None:
    direct = {_name(requirement) for _, requirement in _direct()}
    lowest, newest = _pins("constraints-lowest.txt"), _pins("constraints.txt")
    others = (lowest.keys() & newest.keys()) - direct
    assert {n: lowest[n] for n in others} == {n: newest[n] for n in others}


def test_each_dependency_and_extra_is_explained() -> None:
    text = (ROOT / "docs/dependencies.md").read_text()
    missing = [r for _, r in _direct() if f"`{_name(r)}`" not in text]
    missing += [extra for extra in EXTRAS if f"`{extra}`" not in text]
    assert not missing, f"docs/dependencies.md gives no reason for {missing}"


def test_a_release_is_told_of_one_version() -> None:
    """In the package, and in the words to cite it by."""
    version = PROJECT["project"]["version"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text()
