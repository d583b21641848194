"""Draw mutants of the package and see which the tests notice.

    python tools/mutants.py --seed 1 --count 60 --workers 2 --out mutants.json

A mutant is a copy of the package with one expression changed: a condition negated, a comparison or
an operator replaced by its neighbour, an integer one off. The tests of its folder run first, then
those of the other folders, to the first that fails. One that lives is a line that no test needs:
find what it is for and test that, or delete it.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, fields
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "speedcube"
FOLDERS = ("expr", "plan", "engine", "random", "kernel")
TESTS = (*FOLDERS, "api", "interop", "commands")
UNKNOWN = "did not end"
MARKS = "not gpu and not multigpu and not slow and not cluster"
COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
COMPUTED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


@dataclass(frozen=True)
class Mutant:
    """An expression of a file, by its place in the source's bytes, and what replaces it."""

    file: str
    line: int
    start: int
    end: int
    before: str
    after: str


def replacement(node: ast.AST) -> ast.expr | None:
    """What a mutant has in place of ``node``; None where it is none of ours."""
    match node:
        case ast.Compare(left, [op], comparators) if type(op) in COMPARED:
            return ast.Compare(left, [COMPARED[type(op)]()], comparators)
        case ast.BinOp(left, op, right) if type(op) in COMPUTED:
            return ast.BinOp(left, COMPUTED[type(op)](), right)
        case ast.BoolOp(op, values):
            return ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), values)
        case ast.UnaryOp(ast.Not(), operand):
            return operand
        case ast.IfExp(test, body, orelse):
            return ast.IfExp(ast.UnaryOp(ast.Not(), test), body, orelse)
        case ast.Constant(value) if type(value) is int:
            return ast.Constant(value + 1)
    return None


def _conditions(tree: ast.AST) -> dict[ast.AST, ast.expr]:
    """Each condition of an if or while, negated."""
    tests = [node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.While))]
    return {test: ast.UnaryOp(ast.Not(), test) for test in tests}


def _passed_over(tree: ast.AST) -> set[ast.AST]:
    """What is no code that computes: annotations, messages of errors, asserts for the types."""
    roots: list[ast.AST | None] = []
    for node in ast.walk(tree):
        match node:
            case ast.arg(annotation=annotation) | ast.AnnAssign(annotation=annotation):
                roots.append(annotation)
            case ast.FunctionDef(returns=returns):
                roots.append(returns)
            case ast.Raise() | ast.Assert() | ast.JoinedStr():
                roots.append(node)
    return {node for root in roots if root is not None for node in ast.walk(root)}


def mutants_of(file: Path) -> list[Mutant]:
    """Every mutant of a module."""
    source = file.read_bytes()
    tree = ast.parse(source)
    begins = [0]
    for line in source.splitlines(keepends=True):
        begins.append(begins[-1] + len(line))
    over, negated = _passed_over(tree), _conditions(tree)
    mutants = []
    for node in ast.walk(tree):
        after = None if node in over else negated.get(node) or replacement(node)
        if after is None or not isinstance(node, ast.expr) or node.end_lineno is None:
            continue
        start = begins[node.lineno - 1] + node.col_offset
        end = begins[node.end_lineno - 1] + (node.end_col_offset or 0)
        name = str(file.relative_to(PACKAGE))
        before = source[start:end].decode()
        mutants.append(Mutant(name, node.lineno, start, end, before, f"({ast.unparse(after)})"))
    return mutants


def order_of_tests(mutant: Mutant) -> list[str]:
    """The folders of tests, the mutant's own first."""
    own = mutant.file.split("/")[0]
    return [str(ROOT / "tests" / name) for name in sorted(TESTS, key=lambda name: name != own)]


def command(mutant: Mutant, processes: int) -> list[str]:
    """Pytest on the tests, to the first that fails."""
    options = ["-qx", "-m", MARKS, "--rootdir", str(ROOT), "-n", str(processes)]
    options += ["-p", "no:cacheprovider", "-p", "no:benchmark"]
    return [sys.executable, "-m", "pytest", *options, *order_of_tests(mutant)]


def run(mutant: Mutant, processes: int, seconds: float) -> dict[str, object]:
    """Whether the tests notice ``mutant``, and the first that did."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="speedcube-mutant-") as folder:
        copy = Path(folder, "src", "speedcube")
        shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        source = (copy / mutant.file).read_bytes()
        changed = source[: mutant.start] + mutant.after.encode() + source[mutant.end :]
        (copy / mutant.file).write_bytes(changed)
        path = os.pathsep.join([str(copy.parent), os.environ.get("PYTHONPATH", "")])
        try:
            ended = subprocess.run(
                command(mutant, processes),
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": path, "TMPDIR": folder},
                timeout=seconds,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                check=False,
            )
            lines = ended.stdout.splitlines()
            first = next((x for x in lines if x.startswith(("FAILED", "ERROR"))), lines[-1:])
            state = "lives" if ended.returncode == 0 else "died"
        except subprocess.TimeoutExpired:
            state, first = UNKNOWN, ""
    took = round(time.monotonic() - began, 1)
    return {**asdict(mutant), "state": state, "by": first, "seconds": took}


def drawn(seed: int, count: int) -> list[Mutant]:
    """``count`` of all mutants."""
    files = [file for name in FOLDERS for file in sorted((PACKAGE / name).rglob("*.py"))]
    every = [mutant for file in files for mutant in mutants_of(file)]
    return random.Random(seed).sample(every, count)


def undecided(file: Path) -> list[Mutant]:
    """Mutants of an earlier run whose tests did not end."""
    names = [f.name for f in fields(Mutant)]
    results = json.loads(file.read_text())
    return [Mutant(**{n: r[n] for n in names}) for r in results if r["state"] == UNKNOWN]


def main() -> None:
    """Draw, run, write what became of each, and print those that live."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--skip", type=int, default=0, help="of those drawn, which ran before")
    parser.add_argument("--again", type=Path, help="a file of --out: those that did not end")
    parser.add_argument("--workers", type=int, default=2, help="mutants at a time")
    parser.add_argument("--processes", type=int, default=0, help="of pytest-xdist for each")
    parser.add_argument("--seconds", type=float, default=1800, help="for one mutant's tests")
    parser.add_argument("--budget", type=float, default=1e9, help="begin none after these seconds")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    mutants = undecided(options.again) if options.again else drawn(options.seed, options.count)
    mutants = mutants[options.skip :]
    end = time.monotonic() + options.budget
    results: list[dict[str, object]] = []

    def one(mutant: Mutant) -> None:
        if time.monotonic() > end:
            return
        result = run(mutant, options.processes, options.seconds)
        results.append(result)
        text = f"{mutant.file}:{mutant.line}: {mutant.before} -> {mutant.after}"
        print(f"{result['state']} ({result['seconds']} s) {text} {result['by']}", flush=True)
        options.out.write_text(json.dumps(results, indent=1) + "\n")

    with ThreadPoolExecutor(options.workers) as pool:
        list(pool.map(one, mutants))
    lived = [result for result in results if result["state"] == "lives"]
    print(f"{len(mutants)} mutants, {len(results)} run, {len(lived)} live")


if __name__ == "__main__":
    main()
