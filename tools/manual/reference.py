"""The pages that programs write: every public name from its docstring, commands from their help."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from typing import Any, Final, NamedTuple

import speedcube as sc
from speedcube import errors, fft, linalg, ma, random, stats, train


class Page(NamedTuple):
    """One page of names: those of modules whose names begin so, below ``speedcube``."""

    name: str
    title: str
    says: str
    modules: tuple[str, ...]


PAGES: Final = (
    Page("array", "The array", "What users hold: `speedcube.Array`.", ("api.array",)),
    Page(
        "creating",
        "Creating arrays",
        "Data of your own, constants, ranges, and arrays like others.",
        ("api.sources", "api.creation", "api.namespace.ranges", "api.namespace.likes"),
    ),
    Page(
        "files",
        "Opening and writing files",
        "Data larger than memory. [Files](../files.md) says what is read when.",
        ("api.files", "api.blocks.reading", "api.blocks.storing", "api.of_numpy.reading"),
    ),
    Page(
        "asking",
        "Asking for values, and where they are computed",
        "[Rungs](../rungs.md) has the names of the places.",
        ("api.together", "interop.plain_dask", "commands.ladder"),
    ),
    Page(
        "elementwise",
        "Functions of each element",
        "[Accuracy](../accuracy.md) says how exact they are.",
        (
            "api.elementwise",
            "api.functions.ufuncs",
            "api.functions.comparing",
            "api.functions.floats",
            "api.functions.bits",
            "api.complexes",
            "api.tracing",
        ),
    ),
    Page(
        "reductions",
        "Sums, means and other reductions",
        "[Exact sums](../explanation/exact-sums.md) says how they are made.",
        (
            "api.reductions",
            "api.dot",
            "api.functions.nans",
            "api.functions.extremes",
            "api.functions.statistics",
            "api.functions.covariances",
        ),
    ),
    Page(
        "shapes",
        "Shapes, axes and joining",
        "Views copy nothing.",
        ("api.shapes", "api.joining", "api.namespace", "api.of_numpy.layout"),
    ),
    Page(
        "indexing",
        "Indexing, choosing and scattering",
        "[Indexing](../indexing.md) says what differs from NumPy.",
        ("api.indexing", "api.take", "api.scatter"),
    ),
    Page(
        "order",
        "Order, sets, histograms and groups",
        "[Order](../order.md) has the laws.",
        ("api.order", "api.grouping"),
    ),
    Page(
        "numerical",
        "Differences, polynomials, signals and windows",
        "NumPy's functions of lines and polynomials.",
        ("api.functions",),
    ),
    Page(
        "blocks",
        "Functions of blocks",
        "dask.array's functions. [Dask](../dask.md) says what a block is.",
        ("api.blocks",),
    ),
    Page(
        "products",
        "Products of matrices",
        "[Matrices](../matrices.md) says which of their bits have a law.",
        ("linalg",),
    ),
)
PACKAGES: Final[tuple[tuple[Any, str, str], ...]] = (
    (linalg, "speedcube.linalg", "Linear algebra. [Matrices](../matrices.md) has the laws."),
    (fft, "speedcube.fft", "Fourier transforms. They have no law of bits."),
    (ma, "speedcube.ma", "Masked arrays, with the values and masks of numpy.ma's."),
    (stats, "speedcube.stats", "What samples look like, and tests of them."),
    (
        random,
        "speedcube.random",
        "Random numbers. [Random numbers](../random.md) has the promises.",
    ),
    (train, "speedcube.train", "PyTorch jobs. [Training](../training.md) explains them."),
    (errors, "speedcube.errors", "Every error. [Errors](errors.md) has them by message."),
)
COMMANDS: Final = (
    (),
    ("ladder",),
    ("verify",),
    ("doctor",),
    ("rng",),
    ("petnames",),
    ("petnames", "train"),
    ("petnames", "generate"),
    ("petnames", "sweep"),
    ("petnames", "report"),
)
CONSTANTS: Final = "constants"


def home(name: str) -> str:
    """Which page of `PAGES` has a public name of speedcube."""
    thing = getattr(sc, name)
    module = getattr(thing, "__module__", None) or type(thing).__module__
    if inspect.ismodule(thing) or module.partition(".")[0] in ("numpy", "builtins"):
        return CONSTANTS
    path = module.removeprefix("speedcube.")
    fitting = [
        (len(start), page.name)
        for page in PAGES
        for start in page.modules
        if path.startswith(start)
    ]
    if not fitting:
        raise LookupError(f"no page of tools/manual/reference.py has {name} of {module}")
    return max(fitting)[1]


def documented(prefix: str, name: str, thing: object) -> str:
    """A name as Sphinx is asked for it."""
    if inspect.isclass(thing):
        members = "" if issubclass(thing, Exception) else "\n   :members:\n   :inherited-members:"
        return f".. autoclass:: {prefix}.{name}{members}"
    if callable(thing):
        return f".. autofunction:: {prefix}.{name}"
    return f".. py:data:: {prefix}.{name}"


def of_names(title: str, says: str, prefix: str, things: dict[str, object]) -> str:
    """A page of names, each from its docstring."""
    blocks = "\n\n".join(documented(prefix, name, thing) for name, thing in things.items())
    return f"# {title}\n\n{says}\n\n```{{eval-rst}}\n{blocks}\n```\n"


def constants(names: list[str]) -> str:
    """The names that have no docstring of ours: NumPy's dtypes, numbers, and modules."""
    rows = []
    for name in names:
        thing = getattr(sc, name)
        what = (
            "a module, on a page of its own"
            if inspect.ismodule(thing)
            else f"NumPy's `{thing.__name__}`"
            if hasattr(thing, "__name__")
            else f"`{thing!r}`"
        )
        rows.append(f"| `speedcube.{name}` | {what} |")
    return (
        "# Dtypes, constants and modules\n\n| name | what it is |\n|---|---|\n"
        + "\n".join(rows)
        + "\n"
    )


def public(module: Any) -> dict[str, object]:
    """The public names of a module, and what they are."""
    names = getattr(module, "__all__", None) or [
        name
        for name, thing in vars(module).items()
        if inspect.isclass(thing) and thing.__module__ == module.__name__
    ]
    return {name: getattr(module, name) for name in names}


def commands() -> str:
    """The command line, from its own help."""
    shown = {**os.environ, "COLUMNS": "96", "NO_COLOR": "1", "TERM": "dumb"}
    text = "# The command line\n\nEach text is what `--help` prints. "
    text += "[Commands](../commands.md) has the exit codes.\n"
    for words in COMMANDS:
        command = [sys.executable, "-m", "speedcube", *words, "--help"]
        told = subprocess.run(command, capture_output=True, text=True, check=True, env=shown)
        plain = "\n".join(line.rstrip() for line in told.stdout.strip("\n").splitlines())
        text += f"\n## `{' '.join(('speedcube', *words))}`\n\n```\n{plain}\n```\n"
    return text


def pages() -> dict[str, str]:
    """Every page of the reference that is made: its path in the manual, and its text."""
    by_page: dict[str, dict[str, object]] = {page.name: {} for page in PAGES}
    others = []
    for name in sc.__all__:
        where = home(name)
        if where == CONSTANTS:
            others.append(name)
        else:
            by_page[where][name] = getattr(sc, name)
    made = {
        f"reference/{page.name}.md": of_names(
            page.title, page.says, "speedcube", by_page[page.name]
        )
        for page in PAGES
    }
    for module, prefix, says in PACKAGES:
        path = f"reference/{prefix.replace('.', '-')}.md"
        made[path] = of_names(prefix, says, prefix, public(module))
    made["reference/constants.md"] = constants(others)
    made["reference/command-line.md"] = commands()
    return made


def listed(made: dict[str, str]) -> str:
    """A list of links to the pages that are made, for the reference's own page."""
    rows = []
    for path, text in made.items():
        title = re.match(r"# (.*)", text)
        assert title
        rows.append(f"* [{title[1]}]({path.removeprefix('reference/')})")
    return "\n## Every public name\n\n" + "\n".join(rows) + "\n"
