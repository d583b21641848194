"""The documentation's programs run, and say what their pages say."""

from __future__ import annotations

import importlib
import importlib.util
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pytest

import speedcube as sc
from speedcube.ops import ELEMENTARY, OPS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PACKAGE: Final = ROOT / "src/speedcube"
# The folders below speedcube that docs/design.md explains, in its order: the layers.
ROOMS: Final = (
    "expr",
    "plan",
    "kernel",
    "kernel/lower",
    "kernel/math",
    "kernel/exact",
    "kernel/llvm",
    "kernel/cuda",
    "engine",
    "interop",
    "api",
    "random",
    "linalg",
    "fft",
    "ma",
    "stats",
    "train",
    "train/driver",
    "train/worker",
    "train/ranks",
    "train/metrics",
    "train/checkpoint",
    "train/data",
    "train/trackers",
    "train/sweeps",
    "train/reports",
    "commands",
    "petnames",
    "petnames/fast",
    "compat",
)


def test_from_scratch_runs() -> None:
    """The whole idea in one file: any number of workers gives the same bits."""
    done = subprocess.run(
        [sys.executable, "-W", "error", str(DOCS / "from-scratch.py")],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    total, by_workers = done.stdout.splitlines()[-2:]
    value = float(re.fullmatch(r"sum of \(x \+ 1\)\[::2, ::2\]: (\S+)", total)[1])  # type: ignore[index]
    hexes = re.findall(r"(\d+): '(0x[^']+)'", by_workers)
    assert [int(count) for count, _ in hexes] == [1, 2, 3, 7]
    assert {float.fromhex(text) for _, text in hexes} == {value}


def test_from_scratch_stays_short_and_explained() -> None:
    """Its sections are numbered, stand in the order of the folders, and each checks itself."""
    text = (DOCS / "from-scratch.py").read_text()
    assert len(text.splitlines()) <= 200
    sections = re.split(r"^# (\d+)\. ([\w/, ]+): ", text, flags=re.MULTILINE)[1:]
    numbers, folders, bodies = sections[::3], sections[1::3], sections[2::3]
    assert [int(number) for number in numbers] == list(range(1, len(numbers) + 1))
    places = [ROOMS.index(room) for rooms in folders for room in rooms.split(", ")]
    assert places == sorted(places)
    assert len(places) >= 6
    assert all(body.rstrip().splitlines()[-1].startswith("assert ") for body in bodies)


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


README: Final = ROOT / "README.md"
PAGES: Final = (
    README,
    ROOT / "CONTRIBUTING.md",
    ROOT / "CHANGELOG.md",
    *sorted(DOCS.rglob("*.md")),
)


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if python_blocks(page)],
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_programs_on_a_page_compile(page: Path) -> None:
    for block in python_blocks(page):
        compile(block, str(page), "exec")


# The programs of a page in their order, each with what makes it small, for terabytes take minutes
# on a core, and what keeps it on cores where the page says GPUs. A program that is run as it stands
# prints what its comments say.
AS_IT_STANDS: Final[dict[str, str]] = {}
PROGRAMS: Final[tuple[tuple[str, tuple[dict[str, str], ...]], ...]] = (
    (
        "README.md",
        (
            AS_IT_STANDS,
            {r"\b100_000": "1_000"},
            {r"\b500_000": "1_000", '"gpus"': '"cores"'},
        ),
    ),
    ("docs/arrays.md", (AS_IT_STANDS,) * 5),
    ("docs/files.md", (AS_IT_STANDS,) * 2),
    ("docs/rungs.md", (AS_IT_STANDS, AS_IT_STANDS)),
    ("docs/sums.md", (AS_IT_STANDS,)),
    (
        "docs/dask.md",
        (
            {r"\b500000": "1000", r"\b10000": "100"},
            AS_IT_STANDS,
            AS_IT_STANDS,
            {r"\b10_000": "1_000", r"\b2_500": "250", '"gpus?"': '"cores:2"'},
        ),
    ),
    ("docs/batches.md", ({r"\b10\*\*9": "10**4", r"\b16_384": "1_000", "25": "2"},)),
)


def small(program: str, changes: dict[str, str]) -> str:
    """``program`` with each of ``changes`` made, none in vain."""
    for pattern, replacement in changes.items():
        program, count = re.subn(pattern, replacement, program)
        assert count, f"{pattern} is not in the program"
    return program


@pytest.mark.parametrize(
    ("page", "number", "changes"),
    [
        pytest.param(page, number, changes, id=f"{page}-{number}")
        for page, programs in PROGRAMS
        for number, changes in enumerate(programs)
    ],
)
def test_a_program_of_a_page_runs(page: str, number: int, changes: dict[str, str]) -> None:
    blocks = python_blocks(ROOT / page)
    assert len(blocks) == len(dict(PROGRAMS)[page]), "a program of the page is not run"
    done = subprocess.run(
        [sys.executable, "-c", small(blocks[number], changes)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    if changes is AS_IT_STANDS:
        printed = re.findall(r"^ *print\(.*\)  # (.*)$", blocks[number], re.MULTILINE)
        assert printed
        assert done.stdout.splitlines() == printed


@pytest.mark.slow
@pytest.mark.cluster
def test_the_training_of_its_page_and_its_sweep_run(tmp_path: Path) -> None:
    """As one program, on two cores where the page says GPUs."""
    (training,) = python_blocks(DOCS / "training.md")
    sweep, page = python_blocks(DOCS / "sweeps.md")
    program = tmp_path / "program.py"
    sweep = small(sweep, {'"gpus:4"': '"cores:2"', r"\[1, 2, 4\]": "[1, 2]"})
    program.write_text(training + sweep + textwrap.indent(page, "    "))
    done = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    table = pd.read_parquet(tmp_path / "runs/sweep/trials.parquet")
    assert table["status"].tolist() == ["finished"] * 6
    assert table["steps"].tolist() == [25] * 6
    assert table["target_seconds"].notna().any()
    assert len(re.findall(r"^\d+ \d", done.stdout, re.MULTILINE)) == 25  # the training's rows
    assert "<h1>What fit learned</h1>" in (tmp_path / "page.html").read_text()


def prose(text: str) -> str:
    """A page without its programs and their output."""
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def anchors(text: str) -> set[str]:
    """What the headings of a page are called in links, as GitHub has it."""
    headings = re.findall(r"^#+ (.*)$", prose(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(page: Path, text: str) -> list[str]:
    """The relative links of a page that lead nowhere: to no file, or to no heading of one."""
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", prose(text)):
        path, _, anchor = link.partition("#")
        if "://" in path:
            continue
        end = page.parent / path if path else page
        if not end.exists() or (anchor and anchor not in anchors(end.read_text())):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_of_a_page_leads_somewhere(page: Path) -> None:
    assert broken_links(page, page.read_text()) == []


def test_a_broken_link_is_seen() -> None:
    """By a checker that knows headings, and leaves programs and other sites alone."""
    good = "[a](docs/index.md) [b](docs/same-bits.md#check-it) [c](https://x.org/y) [d](#figures)"
    assert broken_links(README, f"{good}\n```\n[x](absent.md)\n```\n") == []
    bad = "[a](docs/absent.md) [b](docs/same-bits.md#absent) [c](#absent) ![d](docs/absent.png)"
    assert broken_links(README, bad) == re.findall(r"\((.*?)\)", bad)
    assert anchors("# What is `here`, and not?\n") == {"what-is-here-and-not"}


def test_the_readme_is_short_and_the_index_lists_every_page() -> None:
    assert len(README.read_text().splitlines()) <= 150
    index = (DOCS / "index.md").read_text()
    listed = re.findall(r"\]\(([^)]+)\)", index)
    assert len(listed) == len(set(listed))
    pages = {page.name for page in DOCS.glob("*.*") if page.suffix in (".md", ".py")}
    assert {name for name in listed if "/" not in name} == pages - {"index.md"}


def test_the_design_page_stands_in_the_order_of_the_folders() -> None:
    text = (DOCS / "design.md").read_text()
    headings = re.findall(r"^##+ ([\w/]+)$", text, re.MULTILINE)
    assert tuple(headings) == ROOMS
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} <= set(ROOMS)
    table = (ROOT / "CONTRIBUTING.md").read_text()
    absent = {room for room in ROOMS if "/" not in room and f"`{room}/`" not in table}
    roots = {path.name for path in PACKAGE.glob("*.py") if not path.name.startswith("__")}
    absent |= roots - set(re.findall(r"\w+\.py", table))
    assert not absent, f"CONTRIBUTING.md does not say what {absent} are for"


def absent_paths(text: str) -> list[str]:
    """The paths in backticks that are not in the tree, the package or the section's folder."""
    absent = []
    for section in re.split(r"^##+ ", text, flags=re.MULTILINE):
        room = PACKAGE / section.partition("\n")[0]
        for path in re.findall(r"`([\w/.-]+(?:\.(?:py|md|txt|toml)|/))`", section):
            if not any((folder / path).exists() for folder in (ROOT, PACKAGE, room, room.parent)):
                absent.append(path)
    return absent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_path_on_a_page_is_there(page: Path) -> None:
    assert absent_paths(page.read_text()) == []


def test_a_path_that_is_not_there_is_seen() -> None:
    assert (
        absent_paths("## expr\n`nodes.py` `views.py` `expr/space.py` `kernel/` `README.md`") == []
    )
    assert absent_paths("## expr\n`absent.py` `plan/nodes.py` `absent/`") == [
        "absent.py",
        "plan/nodes.py",
        "absent/",
    ]


def test_what_same_bits_shows_is_there() -> None:
    """Every measurement that the page names exists, and says equal."""
    page = (DOCS / "same-bits.md").read_text()
    named = re.findall(r"`([\w-]+\.json)`", page)
    assert len(named) >= 4
    files = {name: json.loads((ROOT / "measurements" / name).read_text()) for name in named}
    runs = files["verify-2cores.json"]["runs"]
    assert [run["machine"]["simd"] for run in runs] == ["avx512", "avx2", "plain"]
    assert all(run["equal"] and run["list"] == "stream v1" for run in runs)
    figures = files["h200-elementary.json"]["figures"].values()
    assert all(figure["bits of the CPU"] for figure in figures)
    by_name: dict[str, set[str]] = {}
    for row in files["h200x4-bench-gpu.json"]["rows"]:
        by_name.setdefault(row["name"], set()).add(row["bits"])
    assert all(len(bits) == 1 for bits in by_name.values())


def test_the_accuracy_page_is_what_its_files_say() -> None:
    """Generated by one command from what is committed, and every promise on it kept."""
    program = [sys.executable, str(ROOT / "tools" / "accuracy_page.py"), "--stdout"]
    done = subprocess.run(program, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (DOCS / "accuracy.md").read_text(), "run tools/accuracy_page.py"
    points = json.loads((ROOT / "measurements" / "accuracy-points.json").read_text())["figures"]
    every = json.loads((ROOT / "measurements" / "accuracy-every-float32.json").read_text())[
        "figures"
    ]
    assert {f"{op} float64" for op in ELEMENTARY} <= set(points)
    assert set(every) == {op for op in ELEMENTARY if OPS[op].arity == 1}
    for name, figure in points.items():
        limit = 2.0 if name == "gammaln float64" else 1.0 if "float64" in name else 0.502
        assert figure["ulps"] <= limit, name
        assert figure["points"] >= 1_000_000
    for op, figure in every.items():
        assert figure["ulps"] <= 0.502, op
        assert figure["special values wrong"] == 0


def test_the_page_of_random_numbers() -> None:
    """Its programs run, its table counts calls as they are counted, no method is left out."""
    page = DOCS / "random.md"
    names: dict[str, Any] = {}
    for block in python_blocks(page):
        exec(block, names)
    assert names["rng"].bit_generator.calls == 3
    rows = re.findall(r"^\| (\d) \| (`.*`) \|$", page.read_text(), re.MULTILINE)
    assert len(rows) == 7
    counted = {name: int(n) for n, text in rows for name in re.findall(r"`(\w+)`", text)}
    for name, calls in counted.items():
        rng = sc.random.default_rng(7)
        getattr(rng, name)(*ARGUMENTS.get(name, ()))
        assert rng.bit_generator.calls == calls, name
    for k in (2, 5):
        rng = sc.random.default_rng(7)
        rng.multinomial(9, [1 / k] * k)
        rng.multivariate_hypergeometric([3] * k, 4)
        assert rng.bit_generator.calls == 2 * 2 * (k - 1)
    for options, calls in [({}, 1), ({"replace": False}, 2), ({"p": [0.5, 0.5]}, 2)]:
        rng = sc.random.default_rng(7)
        rng.choice(2, 2, **options)
        assert rng.bit_generator.calls == calls
    methods = {n for n in dir(sc.random.Generator) if n[0] != "_"} - {"entropy", "spawn_key"}
    assert methods == {*counted, "multinomial", "multivariate_hypergeometric", "choice"}


# What a method needs; the others need nothing.
ARGUMENTS: Final[dict[str, tuple[Any, ...]]] = {
    "binomial": (9, 0.5),
    "dirichlet": ([1.0, 2.0, 3.0],),
    "hypergeometric": (5, 6, 7),
    "integers": (9,),
    "multivariate_normal": ([0, 0], [[1, 0], [0, 1]]),
    "noncentral_f": (2, 3, 1),
    "permuted": ([1, 2, 3],),
    "shuffle": ([1, 2, 3],),
    "triangular": (0, 1, 2),
    **{name: (2, 0.5) for name in ("beta", "f", "negative_binomial", "noncentral_chisquare")},
    **{name: (1, 1) for name in ("vonmises", "wald")},
    **{name: (3,) for name in ("bytes", "permutation", "spawn", "standard_t", "zipf")},
    **{name: (0.5,) for name in ("chisquare", "gamma", "geometric", "logseries", "pareto")},
    **{name: (0.5,) for name in ("power", "standard_gamma", "weibull")},
}


def glossary() -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """The words with the names of where they live, and the words that are not used."""
    page, _, unused = (DOCS / "glossary.md").read_text().partition("## Words we do not use")
    words = re.findall(r"^\| \*\*(.+?)\*\* \| [^|]+ \| ([^|]+) \|$", page, re.MULTILINE)
    return words, re.findall(r"^\| (?!not \|)([^|-]+) \| ([^|]+) \|$", unused, re.MULTILINE)


def lives(name: str) -> bool:
    """Whether ``name``, below speedcube, is a module or something in one; or a path of the tree."""
    if "/" in name:
        return (ROOT / name).exists()
    module, _, attribute = f"speedcube.{name}".rpartition(".")
    try:
        return hasattr(importlib.import_module(module), attribute) or bool(
            importlib.util.find_spec(f"{module}.{attribute}")
        )
    except ModuleNotFoundError:
        return False


def test_each_word_of_the_glossary_lives_where_it_says() -> None:
    words, unused = glossary()
    assert len(words) >= 60
    names = [word for word, _ in words]
    assert len(names) == len(set(names)), "a word has two meanings"
    assert len(unused) >= 10
    assert not set(names) & {word for word, _ in unused}
    homes = {word: re.findall(r"`([\w./]+)`", where) for word, where in words}
    assert [word for word, where in homes.items() if not where] == []
    lost = [(word, name) for word, where in homes.items() for name in where if not lives(name)]
    assert lost == []


def test_what_lives_nowhere_is_seen() -> None:
    assert lives("engine.rungs.resolve")
    assert lives("tests/golden")
    for name in ("engine.rungs.Absent", "engine.absent", "absent.Absent", "tests/absent"):
        assert not lives(name), name
