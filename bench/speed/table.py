"""The whole table. It was chosen before any row of it was made faster, and rows only join it."""

from __future__ import annotations

import re
from typing import Final

import speedcube as sc
from speedcube.api import of_numpy

from . import elementwise, generated, reductions
from .rows import Row

ROWS: Final[tuple[Row, ...]] = (*reductions.rows(), *elementwise.rows(), *generated.rows())
BY_NAME: Final[dict[str, Row]] = {row.name: row for row in ROWS}

# Names that are no rows, by the reason.
GROUPS: Final = {
    "a dtype or a number": """
        bool bool_ byte cdouble complex128 complex64 complexfloating csingle double dtype e
        euler_gamma float16 float32 float64 floating generic half
        inexact inf int16 int32 int64 int8 int_ intc integer intp nan newaxis number pi short
        signedinteger single ubyte uint uint16 uint32 uint64 uint8 uintc uintp unsignedinteger
        ushort""",
    "tells of an array or a dtype": """
        broadcast_shapes can_cast common_type errstate finfo geterr index_exp ndindex s_ seterr
        iinfo iscomplexobj isdtype isrealobj isscalar
        issubdtype iterable may_share_memory min_scalar_type ndim promote_types result_type shape
        shares_memory size""",
    "a view, as others that are rows": """
        array_split asanyarray ascontiguousarray atleast_1d atleast_2d atleast_3d broadcast_arrays
        conj conjugate copy diagonal dsplit flipud from_dlpack hsplit imag matrix_transpose ravel
        real rollaxis split transpose unstack vsplit""",
    "indices and assignment: bench/indexing.py": """
        argwhere choose compress copyto extract fill_diagonal flatnonzero nonzero place put
        put_along_axis putmask select""",
    "computed by NumPy, or by a Python function, at once": """
        apply_over_axes fromiter ndenumerate polydiv polyfit roots""",
    "computed by Dask over our blocks (bench/workloads.py has some)": """
        apply_along_axis apply_gufunc as_gufunc atop blockwise coarsen from_array from_delayed
        from_npy_stack from_tiledb from_zarr gufunc map_blocks map_overlap overlap push rechunk
        reduction reshape_blockwise shuffle special to_hdf5 to_npy_stack to_tiledb
        unify_chunks""",
    "written to files: bench/files.py": """
        save store to_zarr""",
    "made of others that are rows": """
        asarray_chkfinite c_ concat diag_indices diag_indices_from diagflat empty empty_like
        fromfunction frompyfunc geomspace identity indices ix_ kron logspace mask_indices mgrid
        ogrid ravel_multi_index resize r_ row_stack trace tri tril_indices tril_indices_from
        trim_zeros
        triu_indices triu_indices_from unravel_index vectorize""",
}
# NumPy's modules.
OF_NUMPY: Final = ("exceptions", "polynomial", "testing", "typing")
# Public names that compute nothing, each with what it is.
NO_OPERATIONS: Final = {
    "Array": "the class",
    "array": "a copy of the data, by NumPy or CuPy",
    "cache": "a block; bench/together.py has several results",
    "checkpointed": "a loop: bench/faults.py",
    "compute": "of several arrays: bench/together.py",
    "errors": "a module",
    "stats": "a module: what it has is made of others that are rows, or Dask's",
    "fft": "a module: NumPy's library and what surrounds it",
    "from_dask_array": "a door: Dask computes the data",
    "from_npy": "a door: the data are a file",
    "from_parquet": "a door: the data are files (bench/pipelines.py)",
    "ladder": "a program",
    "linalg": "a module: bench/linalg.py",
    "ma": "a module: arrays and masks, which `where` and sums have rows for",
    "on": "where it runs",
    "open": "a door: the data are files",
    "persist": "of several arrays",
    "random": "a module: bench/draws.py has every method, some are rows here, too",
    **{name: reason for reason, names in GROUPS.items() for name in names.split()},
    **dict.fromkeys((*of_numpy.__all__, *OF_NUMPY), "NumPy's own, or what NumPy reads and writes"),
}
# Names of rows in another spelling, and what is composed of operations that have rows:
# bench/composed.py has the commonest of these beside NumPy.
SPELLINGS: Final = """
amax amin arccos arccosh arcsin arcsinh arctan arctan2 arctanh around bitwise_left_shift bitwise_not
bitwise_right_shift mod true_divide
"""
COMPOSED: Final = """
allclose angle array_equal array_equiv average bartlett bitwise_count blackman convolve copysign
corrcoef correlate cov cross deg2rad degrees diff divmod ediff1d fabs fix float_power fmax fmin
fmod frexp gcd gradient hamming hanning heaviside i0 interp isclose iscomplex iscomplexobj isneginf
isnull isposinf isreal isrealobj kaiser lcm ldexp logaddexp logaddexp2 modf moment nan_to_num
nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar
nextafter notnull packbits piecewise poly polyadd polyder polyint polymul polysub polyval ptp
rad2deg radians real_if_close reciprocal sinc spacing trapezoid unpackbits unwrap vander
"""

# Sorting, selecting and counting: bench/order.py has their rows.
ORDER: Final = """
argpartition argsort argtopk bincount digitize histogram histogram2d histogram_bin_edges histogramdd
intersect1d isin lexsort median nanmedian nanpercentile nanquantile partition percentile quantile
searchsorted setdiff1d setxor1d sort sort_complex topk union1d unique unique_all unique_counts
unique_inverse unique_values
"""
# Groups: bench/groups.py; scattered sums: bench/order.py.
GROUPED: Final = """
Groups csr_matvec groupby groupby_reduce mode rank segment_max segment_min segment_sum value_counts
"""


# Products of matrices: bench/linalg.py.
MATRICES: Final = "einsum einsum_path inner matvec tensordot vecmat"


def not_covered() -> list[str]:
    """The public names that no row calls."""
    called = {name for row in ROWS for name in re.findall(r"\.(\w+)", row.text)}
    known = {*called, *NO_OPERATIONS, *SPELLINGS.split(), *COMPOSED.split(), *ORDER.split()}
    known |= {*GROUPED.split(), *MATRICES.split()}
    return [name for name in sc.__all__ if name not in known]
