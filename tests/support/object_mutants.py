"""Objects of kernels, damaged in a thousand ways; run as a program, it links those that pass.

Usage: ``python object_mutants.py FOLDER SEED COUNT``: mutants of the cached kernels in FOLDER are
checked (`speedcube.kernel.elf`) and, where nothing is found, linked. It prints how many passed the
check; each mutant's number goes to standard error first, to be found where the process dies.
"""

from __future__ import annotations

import random
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HEADER: Final = 82  # bytes of an entry before its payload
EXTREMES: Final = (0, 1, -1, 2**15, 2**31 - 1, 2**31, 2**63 - 1)


def tables(code: bytes) -> list[tuple[int, int]]:
    """Where header, sections, symbols, names and relocations lie: what a linker reads."""
    (start,), (count,) = struct.unpack_from("<Q", code, 40), struct.unpack_from("<H", code, 60)
    spans = [(0, 64), (start, start + 64 * count)]
    for k in range(count):
        _, kind, _, _, offset, size = struct.unpack_from("<IIQQQQ", code, start + 64 * k)
        if kind in (2, 3, 4, 9):
            spans.append((offset, offset + size))
    return [(begin, end) for begin, end in spans if end > begin]


def mutant(code: bytes, rng: random.Random) -> bytes:
    """``code`` with one to four damages in its tables."""
    changed, spans = bytearray(code), tables(code)
    for _ in range(rng.choice([1, 1, 1, 2, 4])):
        begin, end = rng.choice(spans)
        at, how = rng.randrange(begin, end), rng.random()
        if how < 0.4:
            changed[at] ^= 1 << rng.randrange(8)
        elif how < 0.7:
            changed[at] = rng.choice([0, 1, 127, 128, 255, rng.randrange(256)])
        elif how < 0.95:
            width = rng.choice([2, 4, 8])
            at = begin + (at - begin) // width * width
            value = rng.choice([*EXTREMES, len(code), len(code) - 1, rng.getrandbits(64)])
            changed[at : at + width] = (value & 256**width - 1).to_bytes(width, "little")
        else:
            return bytes(changed[: rng.randrange(len(changed))])
    return bytes(changed)


def mutants(codes: list[bytes], seed: int, count: int) -> Iterator[bytes]:
    """``count`` mutants, the same for each ``seed``."""
    rng = random.Random(seed)
    for _ in range(count):
        yield mutant(rng.choice(codes), rng)


def main(folder: str, seed: str, count: str) -> None:
    from speedcube.kernel import elf
    from speedcube.kernel.llvm.compile import load_object

    codes = [path.read_bytes()[HEADER:] for path in sorted(Path(folder).glob("*.kernel"))]
    passed = 0
    for number, code in enumerate(mutants(codes, int(seed), int(count))):
        print(number, file=sys.stderr, flush=True)
        if elf.fault(code, elf.NATIVE) is None:
            passed += 1
            try:
                load_object(code)
            except RuntimeError:
                continue
    print(passed)


if __name__ == "__main__":
    main(*sys.argv[1:])
