"""Ctrl-C in the middle of a read: it ends soon, no thread reads on, and the next one works."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
    import os, signal, sys, threading, time
    import numpy as np
    import speedcube as sc

    class Slow:
        shape, dtype, chunks = (400, 1 << 17), np.dtype("f8"), (4, 1 << 17)
        reads, pause = 0, {pause}

        def __getitem__(self, key):
            Slow.reads += 1
            if Slow.pause and Slow.reads == 6:
                os.kill(os.getpid(), signal.SIGINT)
            time.sleep(Slow.pause)
            return np.ones((key[0].stop - key[0].start, key[1].stop - key[1].start))

    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background ignores it
    x = sc.from_array(Slow())
    program = {program}
    program(x[:8]).compute(on="core")  # what is loaded for it
    Slow.reads, start = 0, time.monotonic()
    try:
        program(x).compute(on="{on}")
        sys.exit("it went on")
    except KeyboardInterrupt:
        pass
    assert Slow.reads < 40, Slow.reads
    done = Slow.reads
    time.sleep(0.5)
    assert Slow.reads <= done + 1, "a thread reads on"
    assert not [t for t in threading.enumerate() if t.name == "speedcube-reader"]
    Slow.pause = 0
    want = program(np.ones((400, 1 << 17)))
    assert np.array_equal(program(x).compute(on="{on}"), want)
    print("as before")
"""


@pytest.mark.parametrize("on", ["core", "cores:2"])
@pytest.mark.parametrize(
    "program", ["lambda a: a.sum(axis=1)", "lambda a: a.max(axis=0)", "lambda a: a.cumsum(axis=0)"]
)
def test_ctrl_c_ends_a_read(program: str, on: str) -> None:
    text = textwrap.dedent(PROGRAM).format(program=program, on=on, pause=0.05)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "as before\n"), done.stderr
