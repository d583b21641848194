"""Imports inside speedcube point one way, and optional packages load only where they are used.

``faults`` reads one source text; the first test feeds it the package, the others feed it small
texts that break each rule, so that a checker that sees nothing cannot pass.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

import pytest

SOURCE: Final = Path(__file__).resolve().parents[1] / "src"

# Lowest first; a module may import its own layer and those below. docs/design.md draws the same.
LAYERS: Final = (
    ("__about__", "errors", "exit_codes", "files", "numbers", "dtypes", "ops", "philox"),
    ("expr",),
    ("plan", "kernel"),
    ("engine",),
    ("interop",),
    ("api", "random"),
    ("commands", "compat", "petnames", "cli", "__init__", "__main__"),
)
RANK: Final = {name: rank for rank, names in enumerate(LAYERS) for name in names}
TOP: Final = len(LAYERS) - 1
# One layer, but neither imports the other: the engine joins them.
STRANGERS: Final = {"plan", "kernel"}
# ``train`` stands beside the layers: it uses these, and only the top layer imports it.
TRAIN_USES: Final = {"__about__", "errors", "files", "numbers", "engine"}
# A part of it alone knows arrays: it turns rows of them into batches.
DATA: Final = ("train", "data")
DATA_USES: Final = TRAIN_USES | {"expr", *LAYERS[RANK["api"]]}

# (file, imported module) pairs that may import speedcube inside a function, each with its reason.
LATE_IMPORTS: Final = frozenset(
    # Loads PyTorch and Triton at its top: for ranks on a GPU that can run it.
    {("speedcube/petnames/train_function.py", "speedcube.petnames.fast.steps")}
)

# Installed by extras or slow to import: inside functions or under TYPE_CHECKING only.
LAZY: Final = (
    "cupy",
    "cupy_backends",
    "cupyx",
    "dask.array",
    "dask.dataframe",
    "dask.distributed",
    "dask_cuda",
    "distributed",
    "matplotlib",
    "mlflow",
    "optuna",
    "pandas",
    "pyarrow",
    "tensorboard",
    "torch",
    "trackio",
    "triton",
    "wandb",
    "zarr",
)
# Only a rank that has these imports them, late: they load what they need at their top.
IN_RANKS: Final = tuple(
    f"speedcube/petnames/fast/{name}.py" for name in ("kernels", "network", "steps")
)
TYPE_CHECKING: Final = ("TYPE_CHECKING", "typing.TYPE_CHECKING")


class Import(NamedTuple):
    """One imported module or name, with where it stands."""

    line: int
    name: str  # absolute and dotted; ``from a import b`` gives a.b
    in_function: bool
    typing_only: bool


def imports(file: str, text: str) -> Iterator[Import]:
    """Yield every import in ``text``, whose path below src is ``file``."""
    package = list(Path(file).parent.parts)

    def walk(node: ast.AST, in_function: bool, typing_only: bool) -> Iterator[Import]:
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            names = [f"{stem}.{alias.name}" for alias in node.names]
        else:
            names = []
        for name in names:
            yield Import(node.lineno, name, in_function, typing_only)  # type: ignore[attr-defined]
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            in_function = True
        guarded: list[ast.stmt] = []
        if isinstance(node, ast.If) and ast.unparse(node.test) in TYPE_CHECKING:
            guarded = node.body
        for child in ast.iter_child_nodes(node):
            yield from walk(child, in_function, typing_only or child in guarded)

    yield from walk(ast.parse(text, file), False, False)


def part(dotted: str) -> str:
    """Return the module or subpackage of speedcube that a dotted name is in: the layers' unit."""
    name = [*dotted.split("."), "__init__"][1]
    return name if name in RANK or name == "train" else "__init__"


def may_import(importer: str, imported: str) -> bool:
    """Whether the layers let one part of speedcube import another."""
    if importer == imported:
        return True
    if importer in ("train", "train/data"):
        return imported in (TRAIN_USES if importer == "train" else {*DATA_USES, "train"})
    if imported == "train":
        return RANK[importer] == TOP
    return RANK[imported] <= RANK[importer] and {importer, imported} != STRANGERS


def faults(file: str, text: str) -> list[str]:
    """Return what is wrong with the imports of one source text: file, line, rule."""
    parts = Path(file).parts
    here = "train/data" if parts[1:3] == DATA else parts[1].removesuffix(".py")
    if here not in RANK and here not in ("train", "train/data"):
        return [f"{file}:1: {here!r} has no layer: name it in LAYERS of tests/test_architecture.py"]
    found = []
    for line, name, in_function, typing_only in imports(file, text):
        where = f"{file}:{line}: "
        if name.split(".")[0] == "speedcube":
            target = part(name)
            if not may_import(here, target):
                found.append(where + f"layers point one way: {here} may not import {target}")
            if in_function and (file, name) not in LATE_IMPORTS:
                found.append(where + f"{name} is imported inside a function: not in LATE_IMPORTS")
        elif not in_function and not typing_only and file not in IN_RANKS:
            found += [
                where + f"{lazy} is optional or slow to load: import it inside a function"
                for lazy in LAZY
                if f"{name}.".startswith(f"{lazy}.")
            ]
    return found


def test_the_package_keeps_the_rules() -> None:
    paths = sorted(SOURCE.glob("speedcube/**/*.py"))
    assert paths, f"no sources below {SOURCE}"
    found = [
        fault
        for path in paths
        for fault in faults(path.relative_to(SOURCE).as_posix(), path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("file", "text", "rule"),
    [
        ("ops.py", "from .expr import nodes", "ops may not import expr"),
        ("expr/nodes.py", "from ..kernel.ir import Body", "expr may not import kernel"),
        ("expr/nodes.py", "import speedcube.api.array", "expr may not import api"),
        ("expr/nodes.py", "from speedcube import Array", "expr may not import __init__"),
        ("expr/__init__.py", "from .. import engine", "expr may not import engine"),
        ("plan/plan.py", "from ..kernel import ir", "plan may not import kernel"),
        ("kernel/ir.py", "from .. import dtypes, plan", "kernel may not import plan"),
        ("interop/a.py", "from ..api.array import Array", "interop may not import api"),
        ("api/array.py", "from ..cli import main", "api may not import cli"),
        ("api/array.py", "from ..train import run", "api may not import train"),
        ("train/run.py", "from ..expr import nodes", "train may not import expr"),
        ("train/run.py", "from ..api.array import Array", "train may not import api"),
        ("train/data/a.py", "from ...kernel import ir", "train/data may not import kernel"),
        ("train/data/a.py", "from ... import Array", "train/data may not import __init__"),
        ("expr/a.py", "if TYPE_CHECKING:\n    from ..api import A", "expr may not import api"),
        ("cli.py", "def f():\n    from . import dtypes", "inside a function"),
        ("cli.py", "class A:\n    async def f(self):\n        import speedcube.ops", "inside a"),
        ("novel.py", "", "'novel' has no layer"),
        ("engine/gpu.py", "import cupy", "cupy is optional"),
        ("engine/gpu.py", "try:\n    import cupy.cuda as c\nexcept ImportError: ...", "cupy is"),
        ("engine/gpu.py", "if not TYPE_CHECKING:\n    import torch", "torch is optional"),
        ("petnames/fast/__init__.py", "import triton", "triton is optional"),
        ("interop/a.py", "if TYPE_CHECKING: ...\nelse:\n    import zarr", "zarr is optional"),
        ("interop/a.py", "from dask import array", "dask.array is optional or slow"),
        ("interop/a.py", "from dask.array.core import f", "dask.array is optional or slow"),
        ("engine/a.py", "class A:\n    import distributed", "distributed is optional or slow"),
    ],
)
def test_a_broken_rule_is_found(file: str, text: str, rule: str) -> None:
    (fault,) = faults(f"speedcube/{file}", text)
    line = text.count("\n", 0, text.rfind("import")) + 1
    assert fault.startswith(f"speedcube/{file}:{line}: ")
    assert rule in fault


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("dtypes.py", "from .errors import DTypeError"),
        ("engine/a.py", "from ..plan import plan\nfrom ..kernel import ir\nfrom . import b"),
        ("__init__.py", "from .api.array import Array\nfrom . import random, train"),
        ("commands/a.py", "import speedcube as sc\nfrom ..train import run"),
        ("train/a.py", "from ..engine.machine import table\nfrom .data.b import c"),
        ("train/data/a.py", "from ...api.array import Array\nfrom .. import b\nfrom .c import d"),
        ("engine/a.py", "import dask\nimport dask.threaded\nimport cupyish, torchlike"),
        ("engine/a.py", "def f():\n    import cupy\n    from dask.array import Array"),
        ("petnames/fast/kernels.py", "import torch\nimport triton.language"),
        ("api/array.py", "if typing.TYPE_CHECKING:\n    import cupy"),
    ],
)
def test_what_the_rules_allow_is_let_through(file: str, text: str) -> None:
    assert faults(f"speedcube/{file}", text) == []


def test_importing_speedcube_loads_no_optional_package() -> None:
    code = f"import sys, speedcube; print(*(name for name in {LAZY} if name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == []
