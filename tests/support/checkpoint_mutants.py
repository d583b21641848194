"""Checkpoints that somebody has tampered with: each is refused by our error, or is valid.

Run as a program: ``python checkpoint_mutants.py 10000 DIRECTORY`` prints one JSON object. It runs
in a process of its own because an audit hook cannot be taken back.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import random
import resource
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch

from speedcube.train import checkpoint
from speedcube.train.checkpoint import manifest
from speedcube.train.ranks import rng

FORBIDDEN = {
    *("pickle.find_class", "exec", "compile", "os.system", "os.exec", "os.posix_spawn"),
    *("subprocess.Popen", "socket.connect", "import", "ctypes.dlopen", "marshal.loads"),
}
HOSTILE = [
    *(
        None,
        True,
        -1,
        0,
        1,
        2**31,
        2**63,
        2**64,
        10**30,
        0.5,
        -0.0,
        1e308,
        "",
        "x",
        "../x",
        "/dev/zero",
    ),
    *(
        [],
        {},
        [[]],
        [[], []],
        [1, 2, 3],
        {"tensor": "x"},
        {"dict": [[1, 2], [1, 2]]},
        {"int": "0x"},
    ),
    *(
        {"tuple": 3},
        {"float": "zz"},
        {"str": "c0"},
        {"counter": [1]},
        {"tensor": "checkpoint.w", "dtype": "float64"},
        [2**40, 2**40],
    ),
    *(
        {"int": "9" * 9000},
        "F64",
        "float64",
        "BOOL",
        [0, 2**62],
        [-1, 4],
        [4, 2],
        "rank-1.safetensors",
    ),
]
TOKENS = [
    *(
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"9" * 5000,
        b"[" * 3000,
        b'{"a":' * 3000,
        b"\x00",
        b"\xff\xfe",
    ),
    *(
        b'"',
        b"\\",
        b"\\u0000",
        b"\\ud800",
        b"-1",
        b"null",
        b"true",
        b"{}",
        b'"step":1,',
        b",,",
        b"../",
    ),
]
HOOKED = {"on": False}
SEEN: Counter[str] = Counter()


def hook(event: str, arguments: tuple[Any, ...]) -> None:
    if HOOKED["on"] and event in FORBIDDEN:
        SEEN[event] += 1


def value() -> dict[str, Any]:
    return {
        "w": torch.rand(3, 4),
        "b": [torch.zeros(2, dtype=torch.bfloat16), (1, 2.5, None, "text")],
        7: {True: np.arange(3.0), None: np.float32(2)},
        "big": 2**80,
        "nan": float("nan"),
        "bytes": b"abc",
    }


def tampered(raw: bytes, chance: random.Random) -> bytes:
    """Return bytes with some changed, removed, doubled or put in."""
    mutant = bytearray(raw)
    for _ in range(chance.choice([1, 1, 2, 8])):
        start = chance.randrange(len(mutant) + 1)
        stop = min(len(mutant), start + chance.choice([0, 1, 1, 2, 8, 64, 1000]))
        mutant[start:stop] = chance.choice(
            [b"", chance.randbytes(stop - start), chance.choice(TOKENS), mutant[start:stop] * 2]
        )
    return bytes(mutant)


def places(node: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) in a JSON value."""
    inner = node.items() if isinstance(node, dict) else enumerate(node)
    pairs: list[tuple[Any, Any]] = []
    for key, item in inner:
        pairs.append((node, key))
        if isinstance(item, dict | list):
            pairs += places(item)
    return pairs


def altered(node: Any, chance: random.Random) -> Any:
    """Return a JSON value with some inner value replaced, removed, renamed or moved."""
    node = json.loads(json.dumps(node))
    for _ in range(chance.choice([1, 1, 1, 3])):
        pairs = places(node) if isinstance(node, dict | list) else []
        if not pairs:
            return node
        container, key = chance.choice(pairs)
        action = chance.randrange(5)
        if action <= 1:
            container[key] = chance.choice(HOSTILE)
        elif action == 2:
            del container[key]
        elif action == 3:
            other, name = chance.choice(pairs)
            container[key] = json.loads(
                json.dumps(other.get(name) if isinstance(other, dict) else 1)
            )
        elif isinstance(container, dict):
            container[chance.choice(["x", "__metadata__", "dtype", "rng", "tuple"])] = (
                container.pop(key)
            )
    return node


def structured(raw: bytes, chance: random.Random) -> bytes:
    """Return a safetensors file whose header is JSON, and says something else."""
    length = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8 : 8 + length])
    if chance.random() < 0.6:
        part = chance.choice(["checkpoint", "rng"])
        tree = altered(json.loads(header["__metadata__"][part]), chance)
        header["__metadata__"][part] = json.dumps(tree)
    else:
        header = altered(header, chance)
    text = json.dumps(header).encode()
    stated = chance.choice([len(text)] * 20 + [0, 1, len(text) + 1, 2**31, 2**63, 2**64 - 1])
    return stated.to_bytes(8, "little") + text + raw[8 + length :]


def signed(body: dict[str, Any]) -> bytes:
    """Return a manifest whose own SHA-256 is right."""
    body.pop("sha256", None)
    return json.dumps(body | {"sha256": manifest._digest(body)}).encode()


def mutate(path: Path, about: bytes, data: bytes, chance: random.Random) -> None:
    """Write a checkpoint that is not quite the one given."""
    body = json.loads(about)
    kind = chance.randrange(5)
    if kind == 0:
        about = tampered(about, chance)
    elif kind == 1:
        body = altered(body, chance)
        about = signed(body) if isinstance(body, dict) else b"[]"
    elif kind == 2:
        data = tampered(data, chance)
    else:  # the manifest vouches for the file, so that the parser sees it
        data = structured(data, chance) if kind == 3 else tampered(data, chance)
        body["files"][0] |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        about = signed(body)
    for name, raw in (("manifest.json", about), ("rank-0.safetensors", data)):
        (path / name).unlink()  # a file that is cut and written anew would go to the disk at once
        (path / name).write_bytes(raw)


def outcome(root: Path) -> str:
    """Read what is there in every way; name what came of it."""
    try:
        saved = checkpoint.newest(root, 1)
        assert saved is not None
        _ = saved.value, saved.metrics, saved.skipped, repr(saved)
        state = saved.rng(0)
        if state is not None:
            rng.restore(state)
    except checkpoint.CheckpointError:
        return "refused"
    except BaseException as error:
        traceback.print_exc()
        return type(error).__name__
    return "valid"


def main(count: int, root: Path) -> dict[str, Any]:
    chance = random.Random(21)
    saved = checkpoint.save(root, 5, value(), {0: rng.capture()}, metrics={"loss": 0.5})
    about, data = (
        (saved.path / name).read_bytes() for name in ("manifest.json", "rank-0.safetensors")
    )
    sys.addaudithook(hook)
    outcomes: Counter[str] = Counter()
    before = 0
    for number in range(-200, count):  # what is imported late is imported by the first
        HOOKED["on"] = number >= 0
        if number == 0:
            before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        mutate(saved.path, about, data, chance)
        came = outcome(root)
        outcomes[came] += number >= 0
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    events = dict(SEEN)
    pickle.loads(b"cos\ngetpid\n.")  # which the hook must see, or it sees nothing
    return {
        "outcomes": outcomes,
        "events": events,
        "control": SEEN["pickle.find_class"],
        "grown": grown,  # KiB
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(main(int(sys.argv[1]), Path(sys.argv[2]))))
