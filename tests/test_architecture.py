"""The rules of the house: which way imports point, and how large and how named its rooms are.

``faults`` reads one source text, the rules after it read a tree of them (path -> text). One test
feeds each rule the package, others feed it small texts that break it, so that a checker that sees
nothing cannot pass.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple, TypeAlias

import pytest

SOURCE: Final = Path(__file__).resolve().parents[1] / "src"

# Lowest first; a module may import its own layer and those below. docs/design.md draws the same.
LAYERS: Final = (
    (
        "__about__",
        "early",
        "late",
        "dataclass",
        "errors",
        "exit_codes",
        "files",
        "numbers",
        "shown",
        "strict_json",
        "dtypes",
        "ops",
        "philox",
    ),
    ("expr",),
    ("plan", "kernel"),
    ("engine",),
    ("interop",),
    ("api", "random"),
    ("linalg", "fft", "ma", "stats"),
    ("commands", "compat", "petnames", "cli", "__init__", "__main__"),
)
RANK: Final = {name: rank for rank, names in enumerate(LAYERS) for name in names}
TOP: Final = len(LAYERS) - 1
# Who may import what users import, ``speedcube`` itself.
ENTRANCES: Final = ("cli", "__main__")
# One layer, but neither imports the other: the engine joins the first two and chooses between the
# printers, which share meaning (the IR, the folds, the streams) and no schedule.
STRANGERS: Final = ({"plan", "kernel"}, {"kernel/llvm", "kernel/cuda"})
# ``train`` stands beside the layers: it uses these, and only the top layer imports it.
TRAIN_USES: Final = {
    "__about__",
    "dataclass",
    "late",
    "errors",
    "files",
    "numbers",
    "shown",
    "strict_json",
    "engine",
}
# A part of it alone knows arrays: it turns rows of them into batches.
DATA: Final = ("train", "data")
DATA_USES: Final = TRAIN_USES | {"expr", *LAYERS[RANK["api"]]}

# Inside ``train``, lowest first: what crosses processes, then rank, worker, driver, many jobs.
TRAIN_FLOORS: Final = (
    ("environment", "pickling", "checkpoint", "metrics"),
    ("events", "messages", "patience", "reports", "trackers"),
    ("ranks",),
    ("worker", "data"),
    ("driver",),
    ("sweeps",),
    ("__init__",),
)
FLOOR: Final = {name: floor for floor, names in enumerate(TRAIN_FLOORS) for name in names}

# (file, imported module) pairs that may import speedcube inside a function, each with its reason.
LATE_IMPORTS: Final = frozenset(
    {
        # Loads PyTorch and Triton at its top: for ranks on a GPU that can run it.
        ("speedcube/petnames/train_function.py", "speedcube.petnames.fast.steps"),
        # Loads NumPy's random numbers and ours: for who has a matrix projected.
        ("speedcube/linalg/compressed.py", "speedcube.random.default_rng"),
        # Loads distributed at its top, whose classes it derives from: for who starts a cluster.
        ("speedcube/engine/clusters/own.py", "speedcube.engine.clusters.private.StartError"),
        ("speedcube/engine/clusters/own.py", "speedcube.engine.clusters.private.private"),
        # Loads dask at its top, of whose class its own is one: for who writes later.
        ("speedcube/api/files/saving.py", "speedcube.api.files.later.Writing"),
        ("speedcube/api/files/storing.py", "speedcube.api.files.later.Writing"),
    }
)

Tree: TypeAlias = Mapping[str, str]  # path below src -> source text

MODULES: Final = 16  # in a folder, besides its __init__
LINES: Final = 300  # of a module

# Modules that are longer, each with its reason.
LONG: Final[dict[str, str]] = {"speedcube/__init__.py": "a line for each public name"}
# Names that several classes bear. This list only shrinks.
REPEATED: Final[frozenset[str]] = frozenset()
# Programs that are built on training as its users are.
USERS: Final = ("petnames", "compat")
# The folders of training that its users are offered, by what each lists in ``__all__``.
OFFERED: Final = ("checkpoint", "reports", "trackers")

# Installed by extras or slow to import: inside functions or under TYPE_CHECKING only.
LAZY: Final = (
    "cupy",
    "cupy_backends",
    "cupyx",
    "dask",
    "dask_cuda",
    "distributed",
    "einops",
    "llvmlite",
    "matplotlib",
    "mlflow",
    "numcodecs",
    "optuna",
    "pandas",
    "pyarrow",
    "tensorboard",
    "torch",
    "trackio",
    "triton",
    "wandb",
    "xarray",
    "zarr",
)
# Only who has these, a rank or a cluster, or xarray, imports them, late: they load what they need
# at their top.
LOADED_LATE: Final = (
    *(f"speedcube/compat/for_xarray/{name}.py" for name in ("adapters", "manager", "teaching")),
    *(f"speedcube/petnames/fast/{name}.py" for name in ("kernels", "network", "steps")),
    "speedcube/api/files/later.py",
    "speedcube/engine/clusters/private.py",
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
    if imported == "__init__":  # what users import is made of these, and they of none of it
        return importer in ENTRANCES
    return RANK[imported] <= RANK[importer] and {importer, imported} not in STRANGERS


def room(dotted: str) -> str:
    """Return the folder of a dotted name below speedcube, two levels deep: kernel/llvm."""
    return "/".join(dotted.split(".")[1:3])


def floor(stem: str) -> int:
    """Return the floor of a module or folder of train; what train exports is its ``__init__``'s."""
    return FLOOR.get(stem, FLOOR["__init__"])


def crossing(file: str, name: str) -> str | None:
    """Return the rule that an import breaks inside one layer: strangers, or train's floors."""
    parts = Path(file).parts
    mine, theirs = "/".join(parts[1:3]), room(name)
    if {mine, theirs} in STRANGERS:
        return f"strangers: {mine} may not import {theirs}"
    if parts[1] != "train" or not f"{theirs}/".startswith("train/"):
        return None
    stem = parts[2].removesuffix(".py")
    if stem not in FLOOR:
        return f"{stem!r} has no floor: name it in TRAIN_FLOORS of tests/test_architecture.py"
    if floor(theirs.removeprefix("train").removeprefix("/")) > floor(stem):
        return f"train's floors: {mine} may not import {theirs}"
    return None


def faults(file: str, text: str) -> list[str]:
    """Return what is wrong with the imports of one source text: file, line, rule."""
    parts = Path(file).parts
    here = "train/data" if parts[1:3] == DATA else parts[1].removesuffix(".py")
    if here not in RANK and here not in ("train", "train/data"):
        return [f"{file}:1: {here!r} has no layer: name it in LAYERS of tests/test_architecture.py"]
    wrong = []
    for line, name, in_function, typing_only in imports(file, text):
        where = f"{file}:{line}: "
        if name.split(".")[0] == "speedcube":
            target = part(name)
            if not may_import(here, target):
                wrong.append(where + f"layers point one way: {here} may not import {target}")
            elif broken := crossing(file, name):
                wrong.append(where + broken)
            if in_function and (file, name) not in LATE_IMPORTS:
                wrong.append(where + f"{name} is imported inside a function: not in LATE_IMPORTS")
        elif not in_function and not typing_only and file not in LOADED_LATE:
            wrong += [
                where + f"{lazy} is optional or slow to load: import it inside a function"
                for lazy in LAZY
                if f"{name}.".startswith(f"{lazy}.")
            ]
    return wrong


@cache
def package() -> Tree:
    """Return the sources of speedcube: path below src -> text."""
    paths = sorted(SOURCE.glob("speedcube/**/*.py"))
    assert paths, f"no sources below {SOURCE}"
    return {p.relative_to(SOURCE).as_posix(): p.read_text(encoding="utf-8") for p in paths}


def test_the_package_keeps_the_rules_of_imports() -> None:
    broken = [fault for file, text in package().items() for fault in faults(file, text)]
    assert not broken, "\n" + "\n".join(broken)


@pytest.mark.parametrize(
    ("file", "text", "rule"),
    [
        ("ops.py", "from .expr import nodes", "ops may not import expr"),
        ("expr/nodes.py", "from ..kernel.ir import Body", "expr may not import kernel"),
        ("expr/nodes.py", "import speedcube.api.array", "expr may not import api"),
        ("expr/nodes.py", "from speedcube import Array", "expr may not import __init__"),
        ("commands/a.py", "import speedcube as sc", "commands may not import __init__"),
        ("expr/__init__.py", "from .. import engine", "expr may not import engine"),
        ("plan/plan.py", "from ..kernel import ir", "plan may not import kernel"),
        ("kernel/ir.py", "from .. import dtypes, plan", "kernel may not import plan"),
        ("interop/a.py", "from ..api.array import Array", "interop may not import api"),
        ("kernel/llvm/a.py", "from ..cuda import emit", "kernel/llvm may not import kernel/cuda"),
        ("kernel/cuda/a.py", "import speedcube.kernel.llvm.text", "may not import kernel/llvm"),
        ("train/ranks/a.py", "from ..driver import job", "train/ranks may not import train/driver"),
        ("train/metrics/a.py", "from ..ranks.emit import emit", "may not import train/ranks"),
        ("train/worker/a.py", "from .. import Job", "train/worker may not import train/Job"),
        (
            "train/messages.py",
            "from . import sweeps",
            "train/messages.py may not import train/sweeps",
        ),
        ("train/novel/a.py", "from .. import messages", "'novel' has no floor"),
        ("api/array.py", "from ..cli import main", "api may not import cli"),
        ("api/array.py", "from ..train import run", "api may not import train"),
        ("train/driver/a.py", "from ...expr import nodes", "train may not import expr"),
        ("train/driver/a.py", "from ...api.array import Array", "train may not import api"),
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
        ("interop/a.py", "from dask import array", "dask is optional or slow"),
        ("interop/a.py", "from dask.array.core import f", "dask is optional or slow"),
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
        ("cli.py", "import speedcube as sc\nfrom .train import run"),
        ("train/sweeps/a.py", "from ...engine.machine import table\nfrom ..data.b import c"),
        (
            "train/driver/a.py",
            "from ..worker.agent import b\nfrom .. import checkpoint\nfrom . import d",
        ),
        ("kernel/cuda/a.py", "from ..math.streams import b\nfrom .. import ir\nfrom . import emit"),
        (
            "train/data/a.py",
            "from ...api.array import Array\nfrom ..ranks import b\nfrom .c import d",
        ),
        ("engine/a.py", "from ..late import dask\nimport daskish, cupyish, torchlike"),
        ("engine/a.py", "def f():\n    import cupy\n    from dask.array import Array"),
        ("petnames/fast/kernels.py", "import torch\nimport triton.language"),
        ("api/array.py", "if typing.TYPE_CHECKING:\n    import cupy"),
    ],
)
def test_what_the_rules_allow_is_let_through(file: str, text: str) -> None:
    assert faults(f"speedcube/{file}", text) == []


def folders(tree: Tree) -> dict[str, set[str]]:
    """Return what stands in each folder: modules without ``.py``, and folders with a ``/``."""
    inside: defaultdict[str, set[str]] = defaultdict(set)
    for file in tree:
        path = PurePosixPath(file)
        if path.stem != "__init__":
            inside[path.parent.as_posix()].add(path.stem)
        for folder in list(path.parents)[:-2]:
            inside[folder.parent.as_posix()].add(f"{folder.name}/")
    return dict(inside)


def crowded(tree: Tree) -> list[str]:
    """Return the folders with more modules than one sees at a glance."""
    counts = {
        folder: sum(not name.endswith("/") for name in names)
        for folder, names in folders(tree).items()
    }
    return [f"{folder}: {n} modules" for folder, n in counts.items() if n > MODULES]


def prefixed(tree: Tree) -> list[str]:
    """Return the words that begin three siblings' names (cuda_loops ...): they ask for a folder."""
    wrong = []
    for folder, names in folders(tree).items():
        families: defaultdict[str, list[str]] = defaultdict(list)
        for name in sorted(names):
            head, line, _ = name.strip("_").partition("_")
            if line:
                families[head].append(name)
        wrong += [f"{folder}: {', '.join(family)}" for family in families.values() if family[2:]]
    return wrong


def top_classes(body: list[ast.stmt]) -> Iterator[str]:
    """Yield the classes of a module, those under a condition too."""
    for node in body:
        if isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from top_classes([n for n in ast.walk(node) if isinstance(n, ast.ClassDef)])


def repeated(tree: Tree) -> dict[str, list[str]]:
    """Return the classes at the top of several modules, by name."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for file, text in tree.items():
        for name in top_classes(ast.parse(text, file).body):
            places[name].append(file)
    return {name: files for name, files in places.items() if len(files) > 1}


def long(tree: Tree) -> dict[str, int]:
    """Return the lines of modules that are longer than `LINES`."""
    counts = {file: len(text.splitlines()) for file, text in tree.items()}
    return {file: count for file, count in counts.items() if count > LINES}


def exported(text: str) -> set[str]:
    """Return the names in ``__all__`` of one module."""
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def private(tree: Tree) -> list[str]:
    """Return what `USERS` import of training that its own users are not offered."""
    offered = {"speedcube.train"}
    for folder in ("", *(f"/{name}" for name in OFFERED)):
        home = f"speedcube.train{folder}".replace("/", ".")
        names = exported(tree.get(f"speedcube/train{folder}/__init__.py", ""))
        offered |= {home, *(f"{home}.{name}" for name in names)} if names else set()
    return [
        f"{file}:{line}: {name} is no public name of speedcube.train"
        for file, text in tree.items()
        if file.split("/")[1] in USERS
        for line, name in sorted({*imported(file, text), *reached(text)})
        if f"{name}.".startswith("speedcube.train.") and name not in offered
    ]


def imported(file: str, text: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of every import."""
    for line, name, *_ in imports(file, text):
        yield line, name


def reached(text: str) -> Iterator[tuple[int, str]]:
    """Yield what is taken of ``train`` by its attributes, which no import shows."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "train":
            yield node.lineno, f"speedcube.train.{node.attr}"


def offered_modules(text: str) -> set[str]:
    """Return the modules that a package offers as such: ``from . import errors``."""
    return {
        alias.name
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom) and node.level == 1 and node.module is None
        for alias in node.names
    }


def hidden(tree: Tree) -> list[str]:
    """Return the modules that bear a public name of their package: one would replace the other."""
    wrong = []
    for file in tree:
        path = PurePosixPath(file)
        text = tree.get(f"{path.parent}/__init__.py", "")
        if path.stem in exported(text) - offered_modules(text):
            wrong.append(file)
    return wrong


def test_a_folder_has_few_modules_and_no_family_without_a_room() -> None:
    assert crowded(package()) == []
    assert prefixed(package()) == []


def test_a_class_has_a_name_of_its_own() -> None:
    places = repeated(package())
    news = {name: files for name, files in places.items() if name not in REPEATED}
    assert news == {}
    assert set(places) == REPEATED, "a name that is no longer repeated leaves REPEATED"


def test_a_long_module_has_a_reason() -> None:
    assert {file: n for file, n in long(package()).items() if file not in LONG} == {}
    assert set(long(package())) == set(LONG), "a module that is short again leaves LONG"
    assert all(LONG.values())


def test_no_module_bears_a_public_name() -> None:
    assert hidden(package()) == []


def test_programs_train_through_public_names() -> None:
    assert private(package()) == []


def _modules(folder: str, *names: str) -> Tree:
    return {f"speedcube/{folder}/{name}.py": "" for name in names}


@pytest.mark.parametrize(
    ("rule", "tree", "wrong"),
    [
        (crowded, _modules("k", *(f"m{k}" for k in range(17))), ["speedcube/k: 17 modules"]),
        (crowded, _modules("k", "__init__", *(f"m{k}" for k in range(16))), []),
        (prefixed, _modules("k", "c_a", "c_b", "c_c"), ["speedcube/k: c_a, c_b, c_c"]),
        (prefixed, _modules("k", "c", "c_a", "c_b", "cc_c", "__init__", "__main__"), []),
        (
            prefixed,
            {**_modules("k", "c_a", "c_b"), **_modules("k/c_d", "x")},
            ["speedcube/k: c_a, c_b, c_d/"],
        ),
        (repeated, {"speedcube/a.py": "class A: ...", "speedcube/b.py": "class B: ..."}, {}),
        (
            repeated,
            {"speedcube/a.py": "class A: ...", "speedcube/k/b.py": "class A:\n  class B: ..."},
            {"A": ["speedcube/a.py", "speedcube/k/b.py"]},
        ),
        (
            repeated,
            {"speedcube/a.py": "class A: ...", "speedcube/b.py": "if True:\n  class A: ..."},
            {"A": ["speedcube/a.py", "speedcube/b.py"]},
        ),
        (
            hidden,
            {
                "speedcube/t/__init__.py": "from . import x, y\n__all__ = ['rank', 'x', 'y']",
                "speedcube/t/rank.py": "",
                "speedcube/t/ranks.py": "",
                "speedcube/t/x/__init__.py": "",
                "speedcube/t/y.py": "",
            },
            ["speedcube/t/rank.py"],
        ),
        (long, {"speedcube/a.py": "\n" * 300, "b.py": "\n" * 301}, {"b.py": 301}),
        (
            private,
            {
                "speedcube/train/__init__.py": "__all__ = ['run']",
                "speedcube/train/reports/__init__.py": "__all__ = ['draw']",
                "speedcube/petnames/a.py": "from .. import train\nfrom ..train import run, job",
                "speedcube/train/sweeps/__init__.py": "__all__ = ['Sweep']",
                "speedcube/petnames/b.py": "from ..train.reports import draw",
                "speedcube/petnames/c.py": "from .. import train\ntrain.run(train.driver.job)",
                "speedcube/compat/b.py": "from ..train.sweeps import Sweep",
                "speedcube/compat/a.py": "from ..train.driver import placement",
                "speedcube/commands/a.py": "from ..train.driver import placement",
            },
            [
                "speedcube/petnames/a.py:2: speedcube.train.job is no public name of "
                "speedcube.train",
                "speedcube/petnames/c.py:2: speedcube.train.driver is no public name of "
                "speedcube.train",
                "speedcube/compat/b.py:1: speedcube.train.sweeps.Sweep is no public name of "
                "speedcube.train",
                "speedcube/compat/a.py:1: speedcube.train.driver.placement is no public name of "
                "speedcube.train",
            ],
        ),
    ],
)  # fmt: skip
def test_a_rule_of_rooms_and_names_finds_what_breaks_it(
    rule: Callable[[Tree], object], tree: Tree, wrong: object
) -> None:
    assert rule(tree) == wrong


def test_importing_speedcube_loads_no_optional_package() -> None:
    code = f"import sys, speedcube; print(*(name for name in {LAZY} if name in sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == []
