"""What `linalg.py` does not ask: stacks, other dtypes, turned and strided arrays, all of einsum.

Each row as there: pairs of runs on one core, alternating in one process, the same text built and
computed in each run; a ratio is the least of NumPy's over the least of ours.

    taskset -c 0 python bench/linalg_wide.py --json measurements/linalg/wide-core.json
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
from linalg import RNG, facts, integers, measured, normal, positive

from speedcube.engine.routines.threads import blas_threads


def complexes(*shape: int, dtype: str = "complex128") -> Any:
    return (normal(*shape) + 1j * normal(*shape)).astype(dtype)


def well(*shape: int, dtype: str = "float64") -> Any:
    """A stack of matrices that have inverses."""
    size = shape[-1]
    return (normal(*shape) + size * np.eye(size)).astype(dtype)


def _of(*shapes: tuple[int, ...], dtype: str = "float64") -> Callable[[], tuple[Any, ...]]:
    return lambda: tuple(normal(*shape, dtype=dtype) for shape in shapes)


ROWS: Final[dict[str, tuple[str, Callable[[], tuple[Any, ...]]]]] = {
    # Stacks.
    "matmul (1000, 3, 3)": ("a @ b", _of((1000, 3, 3), (1000, 3, 3))),
    "matmul (1000, 3, 3) float32": ("a @ b", _of((1000, 3, 3), (1000, 3, 3), dtype="float32")),
    "matmul (100, 50, 50)": ("a @ b", _of((100, 50, 50), (100, 50, 50))),
    "matmul (50, 200, 200)": ("a @ b", _of((50, 200, 200), (50, 200, 200))),
    "matmul (100, 50, 50) @ (50, 50)": ("a @ b", _of((100, 50, 50), (50, 50))),
    "solve (1000, 3, 3) (1000, 3, 1)": (
        "np.linalg.solve(a, b)",
        lambda: (well(1000, 3, 3), normal(1000, 3, 1)),
    ),
    "inv (1000, 3, 3)": ("np.linalg.inv(a)", lambda: (well(1000, 3, 3),)),
    "inv (100, 50, 50)": ("np.linalg.inv(a)", lambda: (well(100, 50, 50),)),
    "det (1000, 3, 3)": ("np.linalg.det(a)", lambda: (well(1000, 3, 3),)),
    "slogdet (1000, 3, 3)": ("np.linalg.slogdet(a)", lambda: (well(1000, 3, 3),)),
    "eigh (1000, 3, 3)": ("np.linalg.eigh(a)", lambda: (well(1000, 3, 3),)),
    "svd (1000, 3, 3)": ("np.linalg.svd(a)", lambda: (well(1000, 3, 3),)),
    "qr (1000, 3, 3)": ("np.linalg.qr(a)", lambda: (well(1000, 3, 3),)),
    "cholesky (1000, 3, 3)": (
        "np.linalg.cholesky(a)",
        lambda: ((lambda m: m @ m.swapaxes(1, 2))(well(1000, 3, 3)),),
    ),
    # Float32 and complex128.
    "matmul 300 float32": ("a @ b", _of((300, 300), (300, 300), dtype="float32")),
    "matmul 300 complex128": ("a @ b", lambda: (complexes(300, 300), complexes(300, 300))),
    "matmul 1000 complex128": ("a @ b", lambda: (complexes(1000, 1000), complexes(1000, 1000))),
    "matmul 300 complex64": (
        "a @ b",
        lambda: tuple(complexes(300, 300, dtype="complex64") for _ in "ab"),
    ),
    "matmul 300 float32 by float64": (
        "a @ b",
        lambda: (normal(300, 300, dtype="float32"), normal(300, 300)),
    ),
    "matmul 300 int64 by float64": ("a @ b", lambda: (integers(300, 300), normal(300, 300))),
    "matmul 300 float64 by complex128": ("a @ b", lambda: (normal(300, 300), complexes(300, 300))),
    "solve 300 float32": (
        "np.linalg.solve(a, b)",
        lambda: (well(300, 300, dtype="float32"), normal(300, dtype="float32")),
    ),
    "solve 300 complex128": (
        "np.linalg.solve(a, b)",
        lambda: (complexes(300, 300), complexes(300)),
    ),
    "inv 300 float32": ("np.linalg.inv(a)", lambda: (well(300, 300, dtype="float32"),)),
    "inv 300 complex128": ("np.linalg.inv(a)", lambda: (complexes(300, 300),)),
    "eigh 200 complex128": (
        "np.linalg.eigh(a)",
        lambda: ((lambda m: m + m.conj().T)(complexes(200, 200)),),
    ),
    "svd 200 complex128": ("np.linalg.svd(a)", lambda: (complexes(200, 200),)),
    "qr 300 complex128": ("np.linalg.qr(a)", lambda: (complexes(300, 300),)),
    "cholesky 300 complex128": (
        "np.linalg.cholesky(a)",
        lambda: ((lambda m: m @ m.conj().T)(complexes(300, 300)),),
    ),
    "eig 100 complex128": ("np.linalg.eig(a)", lambda: (complexes(100, 100),)),
    "eigvals 200": ("np.linalg.eigvals(a)", _of((200, 200))),
    "eigvalsh 300": ("np.linalg.eigvalsh(a)", lambda: (positive(300),)),
    "svdvals 300": ("np.linalg.svd(a, compute_uv=False)", _of((300, 300))),
    # Turned and strided.
    "a.T @ b, 500": ("a.T @ b", _of((500, 500), (500, 500))),
    "a @ b.T, 500": ("a @ b.T", _of((500, 500), (500, 500))),
    "a.T @ a, (3000, 100)": ("a.T @ a", _of((3000, 100))),
    "a.T @ b, (100000, 10)": ("a.T @ b", _of((100_000, 10), (100_000, 10))),
    "a @ b[:, ::2], 500": ("a @ b[:, ::2]", _of((500, 500), (500, 1000))),
    "a[::-1] @ b, 500": ("a[::-1] @ b", _of((500, 500), (500, 500))),
    "a @ v, 1000": ("a @ b", _of((1000, 1000), (1000,))),
    "a.T @ v, 1000": ("a.T @ b", _of((1000, 1000), (1000,))),
    "a @ v, (100000, 10)": ("a @ b", _of((100_000, 10), (10,))),
    "v @ v, 1000": ("a @ b", _of((1000,), (1000,))),
    "v @ v, 1e6": ("a @ b", _of((1_000_000,), (1_000_000,))),
    "vdot of complex 1e5": ("np.vdot(a, b)", lambda: (complexes(100_000), complexes(100_000))),
    "inv of a.T, 300": ("np.linalg.inv(a.T)", lambda: (well(300, 300),)),
    "solve, 1000 by 100": ("np.linalg.solve(a, b)", lambda: (well(1000, 1000), normal(1000, 100))),
    "solve, 100": ("np.linalg.solve(a, b)", lambda: (well(100, 100), normal(100))),
    "inv, 100": ("np.linalg.inv(a)", lambda: (well(100, 100),)),
    "det, 300": ("np.linalg.det(a)", lambda: (well(300, 300),)),
    "slogdet, 300": ("np.linalg.slogdet(a)", lambda: (well(300, 300),)),
    "lstsq (10000, 10)": ("np.linalg.lstsq(a, b)[0]", _of((10_000, 10), (10_000,))),
    "lstsq (1000, 100)": ("np.linalg.lstsq(a, b)[0]", _of((1000, 100), (1000,))),
    "qr (10000, 20)": ("np.linalg.qr(a)", _of((10_000, 20))),
    "qr (1000, 100)": ("np.linalg.qr(a)", _of((1000, 100))),
    "svd (10000, 20)": ("np.linalg.svd(a, full_matrices=False)", _of((10_000, 20))),
    "svd (1000, 100)": ("np.linalg.svd(a, full_matrices=False)", _of((1000, 100))),
    "svd (100, 1000)": ("np.linalg.svd(a, full_matrices=False)", _of((100, 1000))),
    "pinv (300, 100)": ("np.linalg.pinv(a)", _of((300, 100))),
    "matrix_rank 200": ("np.linalg.matrix_rank(a)", _of((200, 200))),
    "cond 200": ("np.linalg.cond(a)", _of((200, 200))),
    "cholesky, 300": ("np.linalg.cholesky(a)", lambda: (positive(300),)),
    "multi_dot": (
        "np.linalg.multi_dot([a, b, a])",
        _of((500, 30), (30, 500)),
    ),
    "matrix_power 200, 5": ("np.linalg.matrix_power(a, 5)", _of((200, 200))),
    "matrix_power 200, -2": ("np.linalg.matrix_power(a, -2)", lambda: (well(200, 200),)),
    "matrix_power 3, 10": ("np.linalg.matrix_power(a, 10)", _of((3, 3))),
    # Einsum and its neighbours.
    "ij,jk->ik 300": ("np.einsum('ij,jk->ik', a, b)", _of((300, 300), (300, 300))),
    "bij,bjk->bik (100, 30, 30)": (
        "np.einsum('bij,bjk->bik', a, b)",
        _of((100, 30, 30), (100, 30, 30)),
    ),
    "ij,ij->i 1000": ("np.einsum('ij,ij->i', a, b)", _of((1000, 1000), (1000, 1000))),
    "ij,ij->i (100000, 3)": ("np.einsum('ij,ij->i', a, b)", _of((100_000, 3), (100_000, 3))),
    "ij,ij-> 1000": ("np.einsum('ij,ij->', a, b)", _of((1000, 1000), (1000, 1000))),
    "i,j->ij 1000": ("np.einsum('i,j->ij', a, b)", _of((1000,), (1000,))),
    "i,i-> 1000": ("np.einsum('i,i->', a, b)", _of((1000,), (1000,))),
    "ijk->ik (100, 100, 100)": ("np.einsum('ijk->ik', a)", _of((100, 100, 100))),
    "ij->j 1000": ("np.einsum('ij->j', a)", _of((1000, 1000))),
    "ij->ji 1000": ("np.einsum('ij->ji', a)", _of((1000, 1000))),
    "ii 1000": ("np.einsum('ii', a)", _of((1000, 1000))),
    "ii->i 1000": ("np.einsum('ii->i', a)", _of((1000, 1000))),
    "ij,j->i 1000": ("np.einsum('ij,j->i', a, b)", _of((1000, 1000), (1000,))),
    "ij,j->ij 1000": ("np.einsum('ij,j->ij', a, b)", _of((1000, 1000), (1000,))),
    "ijk,kl->ijl (100, 50, 30)": ("np.einsum('ijk,kl->ijl', a, b)", _of((100, 50, 30), (30, 40))),
    "bi,ij,bj->b": (
        "np.einsum('bi,ij,bj->b', a, b, a)",
        _of((1000, 30), (30, 30)),
    ),
    "tensordot (100, 30, 40), 1": ("np.tensordot(a, b, 1)", _of((100, 30, 40), (40, 50))),
    "tensordot axes 0": ("np.tensordot(a, b, ((0,), (0,)))", _of((200, 30, 10), (200, 40))),
    "dot (30, 40, 50)": ("np.dot(a, b)", _of((30, 40, 50), (50, 60))),
    "inner 300": ("np.inner(a, b)", _of((300, 300), (300, 300))),
    "vecdot (1000, 100)": ("np.vecdot(a, b)", _of((1000, 100), (1000, 100))),
    "kron 30": ("np.kron(a, b)", _of((30, 30), (30, 30))),
    "kron 3": ("np.kron(a, b)", _of((3, 3), (3, 3))),
    "outer 1000": ("np.outer(a, b)", _of((1000,), (1000,))),
    "outer 10": ("np.outer(a, b)", _of((10,), (10,))),
    "cross (100000, 3)": ("np.cross(a, b)", _of((100_000, 3), (100_000, 3))),
    "trace 1000": ("np.trace(a)", _of((1000, 1000))),
    # Spectra.
    "fft (1000, 1000) axis 0": ("np.fft.fft(a, axis=0)", _of((1000, 1000))),
    "fft (1000, 1000) axis 1": ("np.fft.fft(a, axis=1)", _of((1000, 1000))),
    "fft (1000, 1000) of complex": ("np.fft.fft(a)", lambda: (complexes(1000, 1000),)),
    "fft2 (512, 512)": ("np.fft.fft2(a)", _of((512, 512))),
    "fft2 (512, 512) of complex": ("np.fft.fft2(a)", lambda: (complexes(512, 512),)),
    "ifft2 of fft2 (512, 512)": ("np.fft.ifft2(np.fft.fft2(a))", _of((512, 512))),
    "rfft2 (512, 512)": ("np.fft.rfft2(a)", _of((512, 512))),
    "fftn (64, 64, 64)": ("np.fft.fftn(a)", _of((64, 64, 64))),
    "fft of 65536": ("np.fft.fft(a)", _of((65_536,))),
    "fft of 10007": ("np.fft.fft(a)", _of((10_007,))),
    "fft of 99991": ("np.fft.fft(a)", _of((99_991,))),
    "fft of 5000, n=8192": ("np.fft.fft(a, 8192)", _of((5000,))),
    "fft of 1e5 float32": ("np.fft.fft(a)", _of((100_000,), dtype="float32")),
    "rfft of 1e5": ("np.fft.rfft(a)", _of((100_000,))),
    "ifft of complex 1e5": ("np.fft.ifft(a)", lambda: (complexes(100_000),)),
    "irfft of complex 50001": ("np.fft.irfft(a)", lambda: (complexes(50_001),)),
    "fftshift of fft 1e5": ("np.fft.fftshift(np.fft.fft(a))", _of((100_000,))),
    "abs(fft) 1e4": ("np.abs(np.fft.fft(a))", _of((10_000,))),
    "abs(fft2) 512": ("np.abs(np.fft.fft2(a))", _of((512, 512))),
    "convolution by fft": (
        "np.fft.irfft(np.fft.rfft(a) * np.fft.rfft(b))",
        _of((100_000,), (100_000,)),
    ),
    "fft of a.T rows": ("np.fft.fft(a.T)", _of((1000, 300))),
    "fft (1000, 16)": ("np.fft.fft(a)", _of((1000, 16))),
    "fftfreq 1000": ("np.fft.fftfreq(1000) * a", _of((1000,))),
    # Norms.
    **{
        f"norm {order} of 1000 x 1000": (f"np.linalg.norm(a, {order})", _of((1000, 1000)))
        for order in ("1", "np.inf", "-1", "'fro'")
    },
    **{
        f"norm {order} of 200 x 200": (f"np.linalg.norm(a, {order})", _of((200, 200)))
        for order in ("2", "'nuc'")
    },
    **{
        f"norm {order} of 1e5": (f"np.linalg.norm(a, {order})", _of((100_000,)))
        for order in ("0", "1", "2", "3", "np.inf")
    },
    "norm of 1e6": ("np.linalg.norm(a)", _of((1_000_000,))),
    "norm of 100": ("np.linalg.norm(a)", _of((100,))),
    "norm axis 0 of 1000 x 1000": ("np.linalg.norm(a, axis=0)", _of((1000, 1000))),
    "norm axis 1 of 1000 x 1000": ("np.linalg.norm(a, axis=1)", _of((1000, 1000))),
    "norm 1 axis 1 of 1000 x 1000": ("np.linalg.norm(a, 1, axis=1)", _of((1000, 1000))),
    "norm axis 1 of (1000, 3)": ("np.linalg.norm(a, axis=1)", _of((1000, 3))),
    "norm of complex 1e5": ("np.linalg.norm(a)", lambda: (complexes(100_000),)),
    "a / norm, rows of 3": (
        "a / np.linalg.norm(a, axis=1, keepdims=True)",
        _of((100_000, 3)),
    ),
    # Statistics and lines.
    "cov (10, 10000)": ("np.cov(a)", _of((10, 10_000))),
    "cov (100, 1000)": ("np.cov(a)", _of((100, 1000))),
    "corrcoef (100, 1000)": ("np.corrcoef(a)", _of((100, 1000))),
    "corrcoef of two": ("np.corrcoef(a, b)", _of((10_000,), (10_000,))),
    "polyfit 10000, 3": ("np.polyfit(a, b, 3)", _of((10_000,), (10_000,))),
    "polyfit 100, 2": ("np.polyfit(a, b, 2)", _of((100,), (100,))),
    "polyval 1e5": ("np.polyval(b, a)", _of((100_000,), (5,))),
    "convolve 10000 by 100": ("np.convolve(a, b)", _of((10_000,), (100,))),
    "convolve 100 by 5": ("np.convolve(a, b)", _of((100,), (5,))),
    "convolve 1e6 by 5, same": ("np.convolve(a, b, 'same')", _of((1_000_000,), (5,))),
    "correlate 10000 by 100": ("np.correlate(a, b, 'full')", _of((10_000,), (100,))),
    "interp 1e5 in 1000": (
        "np.interp(a, b, c)",
        lambda: (
            RNG.uniform(0, 1000, 100_000),
            np.arange(1000.0),
            normal(1000),
        ),
    ),
    "histogram 1e6": ("np.histogram(a)", _of((1_000_000,))),
    "histogram 1e5, 100": ("np.histogram(a, 100)", _of((100_000,))),
    "histogram 1e5, range": ("np.histogram(a, 50, (-3, 3))", _of((100_000,))),
    "histogram2d 1e5": ("np.histogram2d(a, b, 20)", _of((100_000,), (100_000,))),
    "vander 1000": ("np.vander(a, 5)", _of((1000,))),
    # Products as programs have them.
    "normal equations": ("np.linalg.solve(a.T @ a, a.T @ b)", _of((3000, 20), (3000,))),
    "layer": ("np.maximum(a @ b + c, 0)", _of((512, 256), (256, 128), (128,))),
    "quadratic form": ("a @ b @ a", _of((300,), (300, 300))),
    "gram minus mean": ("(a - a.mean(0)).T @ (a - a.mean(0)) / len(a)", _of((5000, 30))),
    "distances": (
        "(a**2).sum(1)[:, None] - 2 * a @ b.T + (b**2).sum(1)",
        _of((500, 20), (400, 20)),
    ),
    "softmax of scores": (
        "np.exp(a @ b.T) @ b",
        lambda: (normal(300, 16) / 4, normal(300, 16) / 4),
    ),
    "integers 100": ("a @ b", lambda: (integers(100, 100), integers(100, 100))),
    "integers 10": ("a @ b", lambda: (integers(10, 10), integers(10, 10))),
    "integers (1000, 3, 3)": ("a @ b", lambda: (integers(1000, 3, 3), integers(1000, 3, 3))),
    "int32 500": ("a @ b", lambda: tuple(integers(500, 500, dtype="int32") for _ in "ab")),
    "uint8 300": ("a @ b", lambda: tuple(abs(integers(300, 300)).astype("uint8") for _ in "ab")),
    "integers v @ v, 1e5": ("a @ b", lambda: (integers(100_000), integers(100_000))),
    "integers tensordot": (
        "np.tensordot(a, b, 1)",
        lambda: (integers(40, 30, 20), integers(20, 30)),
    ),
    "integers ij,ij->i": (
        "np.einsum('ij,ij->i', a, b)",
        lambda: (integers(1000, 100), integers(1000, 100)),
    ),
    "integers matrix_power": (
        "np.linalg.matrix_power(a, 5)",
        lambda: (integers(100, 100, most=5),),
    ),
    "bool 100": ("a @ b", lambda: (normal(100, 100) > 1, normal(100, 100) > 1)),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", default="", help="rows whose name or text has this in it")
    parser.add_argument("--part", default="0/1", help="every n-th row, beginning with one: k/n")
    options = parser.parse_args()
    first, step = map(int, options.part.split("/"))
    found: dict[str, Any] = {}
    with blas_threads(1):
        for name, (text, arrays) in list(ROWS.items())[first::step]:
            if options.only in name or options.only in text:
                found[name] = {"text": text, **measured(text, arrays(), "core")}
                one = found[name]
                took = f"{min(one['ours']) * 1e6:10.0f} {min(one['theirs']) * 1e6:10.0f} us"
                print(f"{one['ratio']:8.2f} {took}  {name}", flush=True)
    if options.json:
        table = {**facts("core"), "rows": found}
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
