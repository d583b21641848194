"""What is loaded at its first use."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path

import dask
import pytest
from dask.callbacks import Callback

import speedcube as sc
from speedcube import late
from speedcube.engine.staging import late as of_gpus

FIRST = """
import sys, speedcube as sc
from speedcube import late
assert not hasattr(late.dask, "__wrapped__") and "dask" not in sys.modules
assert not late.watched() and "dask" not in sys.modules
print(float(sc.arange(4.0).sum().compute(on="core")))
import dask
print(late.dask.config is dask.config, isinstance(dask.delayed(1), late.delayed.Delayed))
"""


def test_modules_come_with_their_first_attribute() -> None:
    run = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, check=True)
    first, second = run.stdout.splitlines()
    assert first == "6.0"
    assert second == "True True"


def test_attributes_are_those_that_the_module_has_now(monkeypatch: pytest.MonkeyPatch) -> None:
    assert late.dask.config is dask.config
    monkeypatch.setattr(dask, "config", "another")
    assert late.dask.config == "another"
    with pytest.raises(AttributeError, match="module 'dask' has no attribute 'nothing'"):
        late.dask.nothing  # noqa: B018


def paths() -> list[tuple[str, str]]:
    """Each late module as the types have it, and as it is loaded."""
    found = []
    for module in (late, of_gpus):
        assert module.__file__ is not None
        known = {}
        package = str(module.__package__)
        for node in ast.walk(ast.parse(Path(module.__file__).read_text())):
            if isinstance(node, ast.Import):
                known |= {one.asname: one.name for one in node.names if one.asname}
            if isinstance(node, ast.ImportFrom) and node.level:
                above = import_module("." * node.level + (node.module or ""), package).__name__
                known |= {one.asname: f"{above}.{one.name}" for one in node.names if one.asname}
        known |= {"task_spec": "dask._task_spec"}
        ones = {name: one for name, one in vars(module).items() if isinstance(one, late.Late)}
        assert set(ones) == set(module.__all__) - {"Late", "setting", "watched"}
        found += [(known[name], one.__name__) for name, one in ones.items()]
    return found


def test_types_and_programs_see_the_same_modules() -> None:
    for typed, loaded in paths():
        assert typed == loaded
        assert import_module(loaded)
    assert late.delayed.Delayed is import_module("dask.delayed").Delayed


# Each of these computes in ways of its own.
ON_CORES = """
import sys, numpy as np, speedcube as sc
x = sc.asarray(np.arange(3000.0)).reshape(30, 100)
for on in ("core", "cores"):
    for one in (x + 1, x.sum(), x.mean(0), x.max(1), sc.cumsum(x, axis=1), sc.cumprod(x, axis=0)):
        one.compute(on=on)
    sc.compute(x.sum(), x.max(), x.std(), on=on)
    sc.sort(x.ravel()).compute(on=on), sc.median(x).compute(on=on), (x @ x.T).compute(on=on)
    x[x > 3].compute(on=on), sc.histogram(x, 10)[0].compute(on=on)
sc.unique(x), sc.linalg.svd(x), sc.fft.fft(x).compute()
ways = ("engine.gpu", "engine.ordering.on_gpu", "kernel.cuda")
print(*(name for name in ways if f"speedcube.{name}" in sys.modules))
"""


def test_what_runs_on_cores_loads_nothing_for_gpus() -> None:
    code = [sys.executable, "-c", ON_CORES]
    run = subprocess.run(code, capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_callbacks_see_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not late.watched()
    seen = []
    with Callback(pretask=lambda key, *_: seen.append(key)):
        assert late.watched()
        sc.arange(10.0).sum().compute(on="cores:2")
    assert seen
    assert not late.watched()
    monkeypatch.setitem(sys.modules, "dask.callbacks", types.ModuleType("dask.callbacks"))
    assert not late.watched()  # it is being loaded by another thread


# Loops, small programs and reductions of what lies in memory need no scheduler.
NO_DASK = """
import sys, numpy as np, speedcube as sc
x = sc.asarray(np.arange(3000.0).reshape(30, 100))
for one in (x + 1, (x * 2 + 1).sum(), x.mean(0), x.std(1), x @ x.T, x.max(1)):
    one.compute()
print(*{"dask", "psutil", "yaml"}.intersection(sys.modules), x.plan().reason)
"""


def alone(code: str, home: Path, **variables: str) -> str:
    """What ``code`` prints where no setting of the caller's is seen."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("DASK_")}
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env=kept | {"HOME": str(home)} | variables,
    )
    return run.stdout.strip()


def test_what_needs_no_scheduler_loads_no_dask(tmp_path: Path) -> None:
    assert alone(NO_DASK, tmp_path).startswith("least predicted time")


RUNG = "import speedcube as sc; print(sc.arange(9.0).sum().plan().reason)"


def test_dasks_settings_count_before_it_is_loaded(tmp_path: Path) -> None:
    asked = "Dask's scheduler is 'synchronous'"
    assert alone(RUNG, tmp_path, DASK_SCHEDULER="synchronous") == asked
    folder = tmp_path / ".config" / "dask"
    folder.mkdir(parents=True)
    (folder / "dask.yaml").write_text("# scheduler: synchronous\n\n")
    assert alone(RUNG, tmp_path).startswith("least predicted time")
    (folder / "mine.yaml").write_text("scheduler: synchronous\n")
    assert alone(RUNG, tmp_path) == asked
    loaded = f"import dask; dask.config.set(scheduler='threads'); {RUNG}"
    assert alone(loaded, tmp_path) == "Dask's scheduler is 'threads'"
