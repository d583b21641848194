"""What programs of matrices and spectra take stays below what their plans promise."""

from __future__ import annotations

import subprocess
import sys
import tracemalloc
from typing import Final

import numpy as np
import pytest

import speedcube as sc

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc/self/status is Linux's")

_MEASURE: Final = """
import sys
import numpy as np
import speedcube as sc

rng = np.random.default_rng(0)

def inputs(n):
    return {
        "a": sc.asarray(rng.normal(size=(n, n))),
        "t": sc.asarray(rng.normal(size=(n * n // 16, 16))),
        "i": sc.asarray(rng.integers(-(2**40), 2**40, (n, n))),
        "z": sc.asarray(rng.normal(size=(n, 2 * n)).view(complex)),
        "n": n, "sc": sc,
    }

def bytes_of(name):
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith(name)).split()[1]) * 1024

text = sys.argv[1]
(sc.random.default_rng(0).normal(size=2000).sum() + 0).compute(on="core")  # LLVM is loaded
sc.linalg.inv(inputs(300)["a"]).compute(on="core")  # and the buffers of BLAS
eval(text, inputs(64)).compute(on="core")
array = eval(text, inputs(1200))
promised = array.plan(on="core").peak_bytes
before = bytes_of("VmRSS")
array.compute(on="core")
print(bytes_of("VmHWM") - before, promised)
"""

PROGRAMS: Final = {
    "product": "sc.exp(a) @ a.T + 1",
    "six inverses, one after the other": (
        "sc.linalg.inv(sc.linalg.inv(sc.linalg.inv("
        "sc.linalg.inv(sc.linalg.inv(sc.linalg.inv(a + n * sc.eye(n)))))))"
    ),
    "cholesky": "sc.linalg.cholesky(a @ a.T + n * sc.eye(n))",
    "eigh": "sc.linalg.eigh(a + a.T)[1]",
    "singular vectors of a tall matrix": "sc.linalg.svd(t, full_matrices=False)[0]",
    "einsum": "sc.einsum('ij,kj->ik', a, sc.exp(a))",
    "large integers": "i @ i.T",
    "spectrum along columns": "abs(sc.fft.fft(a, axis=0))",
    "there and back": "sc.fft.irfft2(sc.fft.rfft2(a) * 2)",
    "four spectra": "sc.fft.fft(sc.fft.fft(sc.fft.fft(sc.fft.fft(z, axis=0)), axis=0))",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_growth_stays_below_the_promise(name: str) -> None:
    command = [sys.executable, "-c", _MEASURE, PROGRAMS[name]]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    grown, promised = map(int, found.stdout.split())
    assert 0 <= grown <= promised
    assert promised < 400e6  # so that it says something: arrays have 11.5 or 23 MB


def test_results_that_were_read_are_let_go() -> None:
    """Of a chain of six, two results are held at a time; a result that is asked for stays."""
    a = sc.asarray(np.random.default_rng(0).normal(size=(400, 400)) + 20 * np.eye(400))
    once = sc.linalg.inv(a)
    many = sc.linalg.inv(sc.linalg.inv(sc.linalg.inv(sc.linalg.inv(sc.linalg.inv(once)))))
    many.compute(on="core")
    tracemalloc.start()
    try:
        many.compute(on="core")
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert taken < 3.5 * a.nbytes
    first, last = sc.compute(once, many, on="core")
    np.testing.assert_allclose(last, np.asarray(a), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(first, np.linalg.inv(np.asarray(a)), rtol=1e-9, atol=1e-12)
