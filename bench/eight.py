"""What several GPUs of one machine do: figures of arrays, or of training, in nine minutes.

    python bench/eight.py [arrays|training] [--data FILE.csv] [--dry] [--gpus N]

`bench/eight.sh` is the command. Each step is one of the commands here, cut to the GPUs that exist.
It has seconds of its own, and those that earlier steps left; a step that takes longer is stopped,
and that is said. Files begin with the machine, like ``h200x8-``. ``--dry`` prints the commands.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from speedcube.__about__ import __version__
from speedcube.engine import machine

ROOT: Final = Path(__file__).resolve().parents[1]
WHOLE: Final = 535.0  # seconds of a command
LEAST: Final = 3.0  # with fewer left, a step is not begun
TAIL: Final = 6000  # characters of a step's output that are kept
PACKAGES: Final = ("numpy", "dask", "distributed", "dask-cuda", "torch", "triton", "llvmlite")


@dataclass(frozen=True)
class Step:
    """A command: its words after ``python``, its seconds, its file, the packages it needs."""

    name: str
    words: tuple[str, ...]
    seconds: float
    file: str = ""
    needs: tuple[str, ...] = ()
    prints: bool = False  # the file is what it prints


@dataclass
class Done:
    """What became of a step."""

    name: str
    command: str
    ended: str = ""
    seconds: float = 0.0
    limit: float = 0.0
    file: str = ""
    output: str = field(default="", repr=False)


def rungs(count: int) -> list[str]:
    """The rungs of GPUs where there are ``count``, fewest GPUs first."""
    some = [f"gpus:{few}" for few in (2, 4) if few < count]
    return ["gpu", *some, "gpus", *cluster()]


def cluster() -> list[str]:
    """A process for each GPU, which dask-cuda makes."""
    return ["cuda-cluster"] * (find_spec("dask_cuda") is not None)


def worlds(count: int) -> list[str]:
    """The numbers of ranks that are measured."""
    return [str(few) for few in (1, 2, 4, 8) if few <= count]


def tests() -> list[str]:
    """The files with tests of several GPUs."""
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    return [str(one.relative_to(ROOT)) for one in files if "mark.multigpu" in one.read_text()]


def arrays(count: int, file: Any) -> list[Step]:
    """Tests, bits, sums, the first article's ladder, and order."""
    several = ";".join(rungs(count))
    pytest = ("-m", "pytest", "-m", "multigpu", "-q", "-p", "no:cacheprovider", *tests())
    verify = ("-m", "speedcube", "verify", "--on", ",".join(["gpus", *cluster()]), "--json")
    sums = ("bench/gpu.py", "--only", "expressions", "--on", several, "--json", file("sums"))
    ladder = ("-m", "speedcube", "ladder", "--preset", "rocklin", "--no-dask")
    ladder += ("--on", ",".join(rungs(count)), "--json", file("ladder"))
    ladder += ("--plot", file("ladder", "png")) if find_spec("matplotlib") else ()
    few = ";".join(["gpu", "gpus", *cluster()])
    order = ("bench/order_rungs.py", "--on", few, "--json", file("order"))
    return [
        Step("tests", pytest, 150, needs=("pytest", "cupy", "torch")),
        Step("verify", verify, 95, file("verify"), ("cupy",), prints=True),
        Step("sums", sums, 110, file("sums"), ("cupy",)),
        Step("ladder", ladder, 80, file("ladder"), ("cupy",)),
        Step("order", order, 100, file("order"), ("cupy",)),
    ]


# Of how many GPUs: ranks of a trial, and seconds that each trains. With ranks of 1, 2 and 4 the 27
# trials fill eight GPUs; 27 of one rank would leave five of eight idle in the last round.
TRIALS: Final = {1: ("1", "4"), 2: ("1", "8"), 4: ("1,2,4", "8"), 8: ("1,2,4", "14")}


def training(count: int, file: Any, data: str | None) -> list[Step]:
    """Epochs and the time to a loss, the start of ranks, and a sweep."""
    several = ",".join(worlds(count))
    names = ("bench/petnames.py", "--gpus", several, "--repeat", "3", "--json", file("petnames"))
    names += ("--data", data) if data else ()
    on = f"gpus:{count}"
    jobs = ("bench/train_jobs.py", "--on", on, "--repeat", "3", "--json", file("start-scaling"))
    ranks, seconds = TRIALS[max(few for few in TRIALS if few <= count)]
    sweep = ("bench/train_sweep.py", "--on", on, "--gpus", ranks, "--seconds", seconds)
    sweep += ("--json", file("sweep"))
    return [
        Step("pet names", names, 180, file("petnames"), ("torch", "triton")),
        Step("start and scaling", jobs, 175, file("start-scaling"), ("torch",)),
        Step("sweep", sweep, 180, file("sweep"), ("torch",)),
    ]


def facts() -> dict[str, Any]:
    """The machine, its driver, the versions, the date and the load."""
    asked = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    answer = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.splitlines()
    name, driver = (word.strip() for word in answer[0].split(","))
    known = {"speedcube": __version__, "python": platform.python_version()}
    for package in (*PACKAGES, "cupy-cuda13x", "cupy-cuda12x"):
        try:
            known[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "gpu": name,
        "gpus": machine.gpu_count(),
        "driver": driver,
        "cores": machine.cores(),
        "versions": known,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "load": os.getloadavg(),
    }


def prefix(gpu: str, count: int) -> str:
    """``h200x8`` of "NVIDIA H200"."""
    words = [word for word in gpu.lower().split() if word not in ("nvidia", "tesla")]
    return f"{words[0]}x{count}"


def run(step: Step, limit: float, known: dict[str, Any]) -> Done:
    """The step, stopped with all that it started once ``limit`` seconds are over."""
    done = Done(step.name, "python " + shlex.join(step.words), limit=round(limit, 1))
    missing = [package for package in step.needs if not find_spec(package)]
    if missing:
        done.ended = f"not run: {', '.join(missing)} cannot be imported"
        return done
    if limit < LEAST:
        done.ended = f"not run: {limit:.0f} s were left"
        return done
    print(f"== {step.name}: {done.command} (at most {limit:.0f} s)", flush=True)
    start = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, *step.words],
        cwd=ROOT,
        text=True,
        stdout=subprocess.PIPE,
        stderr=None if step.prints else subprocess.STDOUT,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    lines: list[str] = []
    reader = threading.Thread(target=_hear, args=(process, step.prints, lines), daemon=True)
    reader.start()
    done.ended = _ended(process, limit)
    reader.join(5)
    done.seconds = round(time.monotonic() - start, 2)
    output = "".join(lines)
    if step.prints and output:
        Path(step.file).write_text(output)
    done.output = "" if step.prints and done.ended == "finished" else output[-TAIL:]
    done.file = _signed(step.file, known, done)
    return done


def _hear(process: subprocess.Popen[str], quiet: bool, lines: list[str]) -> None:
    """Its lines, shown as they come."""
    assert process.stdout is not None
    with process.stdout as output:
        for line in output:
            lines.append(line)
            if not quiet:
                print(line, end="", flush=True)


def _ended(process: subprocess.Popen[str], limit: float) -> str:
    """How it ended, and that nothing of it goes on."""
    try:
        code = process.wait(limit)
        said = "finished" if code == 0 else f"failed with exit code {code}"
    except subprocess.TimeoutExpired:
        said = f"stopped: it did not end in {limit:.0f} s"
    for one, patience in ((signal.SIGTERM, 3.0), (signal.SIGKILL, 1.0)):
        try:
            os.killpg(process.pid, one)
        except ProcessLookupError:
            break
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            continue
    return said


def _signed(path: str, known: dict[str, Any], done: Done) -> str:
    """The file's name, with the machine written into it; "" where there is none."""
    if not path or not Path(path).is_file():
        return ""
    try:
        content = json.loads(Path(path).read_text().replace(f"{Path(path).parent}/", ""))
    except ValueError:  # stopped while it wrote
        return f"{Path(path).name} (cut off)"
    command = done.command.replace(f"{Path(path).parent}/", "")
    content["measured on"] = {**known, "step": command, "ended": done.ended}
    Path(path).write_text(json.dumps(content, indent=1) + "\n")
    return Path(path).name


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("part", nargs="?", choices=("arrays", "training"), default="arrays")
    parser.add_argument(
        "--data",
        default=os.environ.get("PETNAMES_CSV"),
        help="the register of pet licences, a CSV file, for training (default: $PETNAMES_CSV, or "
        "else the city's portal is asked)",
    )
    parser.add_argument("--dry", action="store_true", help="print the commands")
    parser.add_argument("--gpus", type=int, help="how many to plan for (default: this machine's)")
    parser.add_argument("--seconds", type=float, default=WHOLE, help="of all steps together")
    asked = parser.parse_args()
    count = asked.gpus or machine.gpu_count()
    if not count:
        print("bench/eight.sh measures GPUs, and none is visible", file=sys.stderr)
        return 2
    known = facts() if machine.gpu_count() else {"gpu": "gpu"}
    start = prefix(known["gpu"], count)
    folder = Path(os.environ.get("OUT_DIR") or ROOT / "measurements")

    def file(name: str, kind: str = "json") -> str:
        return str(folder / f"{start}-{name}.{kind}")

    steps = arrays(count, file) if asked.part == "arrays" else training(count, file, asked.data)
    if not cluster():
        print("dask-cuda is not installed: cuda-cluster is left out")
    if asked.dry:
        for step in steps:
            print(f"{step.seconds:.0f} s: python {shlex.join(step.words)}")
        return 0
    folder.mkdir(parents=True, exist_ok=True)
    return whole(steps, asked.seconds, known, Path(file(asked.part)))


def whole(steps: list[Step], seconds: float, known: dict[str, Any], path: Path) -> int:
    """All steps, one after the other, and what became of each; 1 where one did not finish."""
    ends = time.monotonic() + seconds
    dones: list[Done] = []
    for place, step in enumerate(steps):
        later = sum(each.seconds for each in steps[place + 1 :])
        dones.append(run(step, ends - time.monotonic() - later, known))
        report = {**known, "command": "bash bench/eight.sh " + " ".join(sys.argv[1:])}
        report["steps"] = [asdict(done) for done in dones]
        path.write_text(json.dumps(report, indent=1) + "\n")
    print("== all steps")
    for done in dones:
        print(f"{done.name:18s} {done.seconds:6.1f} s  {done.ended}  {done.file}")
    return int(any(done.ended != "finished" for done in dones))


if __name__ == "__main__":
    sys.exit(main())
