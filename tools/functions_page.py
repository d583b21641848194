"""docs/functions.md: every public name of NumPy, the Array API and dask.array, and what it is here.

    python tools/functions_page.py [--check]

Names that are there say how they are computed and why their bits are the same everywhere; the
others why they are not, and what to do instead. ``--check`` writes nothing, and ends with 1 where
the page is not what this would write.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

import dask
import numpy as np

import speedcube as sc
from speedcube.api.missing import table
from speedcube.engine import laws
from speedcube.ops import ALIASES

PAGE: Final = Path(__file__).parents[1] / "docs" / "functions.md"

# The main namespace of the Array API, version 2025.12, complex numbers and extensions included.
ARRAY_API: Final = """
abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh
bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor bool
broadcast_arrays broadcast_shapes broadcast_to can_cast ceil clip complex128 complex64 concat conj
copysign cos cosh count_nonzero cumulative_prod cumulative_sum diff divide e empty empty_like equal
exp expand_dims expm1 eye fft finfo flip float32 float64 floor floor_divide from_dlpack full
full_like greater greater_equal hypot iinfo imag inf int16 int32 int64 int8 isdtype isfinite isin
isinf isnan less less_equal linalg linspace log log10 log1p log2 logaddexp logical_and logical_not
logical_or logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis
multiply nan negative newaxis nextafter nonzero not_equal ones ones_like permute_dims pi positive
pow prod real reciprocal remainder repeat reshape result_type roll round searchsorted sign signbit
sin sinh sort sqrt square squeeze stack std subtract sum take take_along_axis tan tanh tensordot
tile tril triu trunc uint16 uint32 uint64 uint8 unique_all unique_counts unique_inverse
unique_values unstack var vecdot where zeros zeros_like
"""

SCANS: Final = "cumsum cumprod cumulative_sum cumulative_prod prod"
AT_ONCE: Final = """
array2string array_repr array_str broadcast frombuffer fromfile fromregex genfromtxt load loadtxt
nditer
argwhere asarray_chkfinite compute flatnonzero fromiter histogram_bin_edges
intersect1d ladder mask_indices ndenumerate nonzero persist polydiv polyfit polymul roots setdiff1d
setxor1d tril_indices
tril_indices_from trim_zeros triu_indices triu_indices_from union1d unique unique_all unique_counts
unique_inverse unique_values
"""
THROUGH: Final = {
    **dict.fromkeys(
        ["sort", "unique", "unique_values", "union1d", "intersect1d", "setdiff1d", "setxor1d"],
        "sort",
    ),
    **dict.fromkeys(["argsort", "lexsort", "argtopk", "argpartition", "unique_all"], "argsort"),
    **dict.fromkeys(
        [
            "median",
            "percentile",
            "quantile",
            "nanmedian",
            "nanpercentile",
            "nanquantile",
            "topk",
        ],
        "order_statistics",
    ),
    "partition": "partition",
    **dict.fromkeys(["matmul", "matvec", "vecmat"], "matmul"),
    **dict.fromkeys(["einsum", "inner", "tensordot"], "contract"),
    **dict.fromkeys(["bincount", "histogram", "histogram2d", "histogramdd"], "count"),
}
THROUGH_DASK: Final = """
apply_along_axis apply_gufunc as_gufunc atop blockwise from_array from_dask_array from_delayed
from_npy_stack from_tiledb from_zarr gufunc map_blocks map_overlap overlap push reduction
reshape_blockwise to_hdf5 to_npy_stack to_tiledb
"""
OF_BLOCKS: Final = """
apply_along_axis apply_gufunc as_gufunc atop blockwise gufunc map_blocks map_overlap reduction
"""
VIEWS: Final = """
array_split asanyarray ascontiguousarray asarray asfortranarray require
atleast_1d atleast_2d atleast_3d broadcast_arrays
broadcast_to conj conjugate copy diagonal dsplit expand_dims flip fliplr flipud from_dlpack from_npy
from_parquet hsplit matrix_transpose meshgrid moveaxis permute_dims ravel real repeat reshape
rollaxis rot90 split squeeze swapaxes tile transpose unstack vsplit array rechunk unify_chunks
"""
PIECES: Final = """
append block c_ column_stack concat concatenate delete dstack hstack insert pad r_ resize roll
row_stack
stack vstack
"""
WRITES: Final = """
save savetxt savez savez_compressed store to_zarr
"""
TELLS: Final = """
broadcast_shapes can_cast common_type errstate finfo geterr index_exp ndindex s_ seterr iinfo
iscomplexobj isdtype isrealobj isscalar issubdtype
iterable may_share_memory min_scalar_type ndim promote_types result_type shape shares_memory size
einsum_path cache on errors random Array newaxis
False_ ScalarType True_ base_repr binary_repr exceptions format_float_positional
format_float_scientific get_printoptions info isfortran little_endian long longlong memmap
mintypecode ndarray poly1d polynomial printoptions sctypeDict set_printoptions testing typecodes
typename typing ulong ulonglong
"""
LAW_OF: Final = {
    "amax": "max", "amin": "min", "around": "rint", "bitwise_invert": "invert",
    "bitwise_left_shift": "left_shift", "bitwise_not": "invert",
    "bitwise_right_shift": "right_shift", "cumulative_prod": "cumprod",
    "cumulative_sum": "cumsum", "isnull": "isnan", "lcm": "gcd",
    "notnull": "isnan", "round": "rint", "trace": "sum", "vdot": "dot",
    "vecdot": "dot",
}  # fmt: skip


class Row(NamedTuple):
    """One name: who has it, what it is here, and its law or the reason."""

    name: str
    owners: str
    how: str
    text: str


def public(module: ModuleType) -> set[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name for name in dir(module) if not name.startswith("_") and hasattr(module, name)}


def rows() -> list[Row]:
    """A row for each name."""
    from dask import array as dask_array

    owners: dict[str, Iterable[str]] = {
        "NumPy": public(np),
        "Array API": ARRAY_API.split(),
        "dask.array": public(dask_array) - set(sys.builtin_module_names),
        "speedcube": sc.__all__,
    }
    names = sorted({name for known in owners.values() for name in known})
    names.sort(key=str.lower)
    return [row(name, [who for who, known in owners.items() if name in known]) for name in names]


def row(name: str, owners: list[str]) -> Row:
    others = ", ".join(who for who in owners if who != "speedcube")
    if "speedcube" in owners:
        return Row(name, others or "ours alone", how(name), law(name))
    if why := table.refused(name):
        return Row(name, others, "refused", why)
    return Row(name, others, "later", table.later(name))


def how(name: str) -> str:
    """In which way a name that is there is computed."""
    if name in THROUGH and name not in AT_ONCE.split():
        return "a stage"
    for word, names in (("scan", SCANS), ("computes at once", AT_ONCE), ("Dask", THROUGH_DASK)):
        if name in names.split():
            return {"Dask": "through Dask"}.get(word, word)
    value: Any = getattr(sc, name)
    if name == "vectorize":  # a class that is called as a function
        return "fused"
    if name in WRITES.split():
        return "writes at once"
    if name in TELLS.split() or isinstance(value, (type, float, ModuleType)):
        return "a name"
    return "fused"


def law(name: str) -> str:
    """Why its bits are the same everywhere."""
    known = LAW_OF.get(name, ALIASES.get(name, name))
    if known in laws.OPERATIONS:
        return laws.OPERATIONS[known]
    known = THROUGH.get(name, known)
    for pairs in (laws.REDUCTIONS, laws.SCANS, laws.THROUGH):
        if known in pairs:
            return _with_law(*pairs[known])
    for names, text in (
        (VIEWS, "a view"),
        (PIECES, "views, region by region"),
        (TELLS, ""),
        (WRITES, "that of what is written"),
        ("all any count_nonzero", laws.WRAPPING[1]),
    ):
        if name in names.split():
            return text
    if how(name) == "a name":
        return ""
    if name in OF_BLOCKS.split():
        return "none: what the function does with blocks is its own"
    return "computed by Dask" if how(name) == "through Dask" else "that of its parts"


def _with_law(kind: str, how: str) -> str:
    return f"{kind}: {how}" if kind == laws.NO_LAW else how


def versions() -> str:
    """Whose names are listed."""
    numpys, dasks = (".".join(one.__version__.split(".")[:2]) for one in (np, dask))
    return (
        f"NumPy {numpys}, of the Array API {sc.__array_api_version__} and of `dask.array` {dasks}"
    )


def page(table_of: list[Row]) -> str:
    counts = Counter(one.how for one in table_of)
    words = (
        "fused",
        "scan",
        "a stage",
        "through Dask",
        "computes at once",
        "a name",
        "refused",
        "later",
    )
    lines = [
        "# Functions",
        "",
        f"Every public name of {versions()}, and what",
        "it is in speedcube. `python tools/functions_page.py` writes this page from the package.",
        "",
        "| word | means | names |",
        "|---|---|---|",
        *(f"| {word} | {MEANINGS[word]} | {counts[word]} |" for word in words),
        "",
        "| of | names | there | refused | later |",
        "|---|---|---|---|---|",
        *(shares(table_of, who) for who in ("NumPy", "Array API", "dask.array")),
        "",
        *goals(table_of),
        "",
        "| name | of | here | law, or what instead |",
        "|---|---|---|---|",
        *(f"| `{one.name}` | {one.owners} | {one.how} | {one.text} |" for one in table_of),
    ]
    return "\n".join(lines) + "\n"


MEANINGS: Final = {
    "fused": "lazy; part of the kernel that reads it, or a reduction with a kernel of its own",
    "scan": "lazy; elements are taken in their order by a kernel of its own",
    "a stage": "lazy; a stage of its own takes all elements: sorts, selects, multiplies matrices",
    "through Dask": "lazy; Dask computes it",
    "computes at once": "values are computed when it is called",
    "a name": "a dtype, a number, or what tells of arrays",
    "refused": "not here, and what to do instead",
    "later": "not here yet",
}


def shares(table_of: list[Row], who: str) -> str:
    mine = [one.how for one in table_of if who in one.owners]
    refused, later = mine.count("refused"), mine.count("later")
    there = len(mine) - refused - later
    return f"| {who} | {len(mine)} | {there} | {refused} | {later} |"


# Functions for these are not counted: by the first words of their reasons in `missing.table`.
APART: Final = (
    "text and files", "NumPy prints", "there are no dates", "arrays have no layout",
    "kernels raise no floating-point warnings",
)  # fmt: skip
OF_DASK: Final = ("it is of Dask itself",)


def np_functions(table_of: list[Row]) -> list[Row]:
    """NumPy's functions: what can be called and is no type."""
    return [
        one
        for one in table_of
        if "NumPy" in one.owners.split(", ")
        and callable(known := getattr(np, one.name))
        and not isinstance(known, type)
    ]


def dask_functions(table_of: list[Row]) -> list[Row]:
    """dask.array's functions: what can be called and is no type."""
    from dask import array as dask_array

    mine = [one for one in table_of if "dask.array" in one.owners.split(", ")]
    known = [(one, getattr(dask_array, one.name)) for one in mine]
    return [one for one, value in known if callable(value) and not isinstance(value, type)]


def apart(functions: list[Row], reasons: tuple[str, ...] = APART) -> list[str]:
    """The names of those that are left out for these reasons."""
    known = table.REFUSED.items()
    named = " ".join(names for why, names in known if why.startswith(reasons)).split()
    return [one.name for one in functions if one.name in named]


def counted(table_of: list[Row]) -> tuple[list[Row], list[Row], list[Row]]:
    """NumPy's and Dask's functions without those `APART`, and the Array API's."""
    every, dasks = np_functions(table_of), dask_functions(table_of)
    functions = [one for one in every if one.name not in apart(every)]
    api = [one for one in table_of if "Array API" in one.owners]
    return functions, api, [one for one in dasks if one.name not in apart(dasks, OF_DASK)]


def share(listed: list[Row]) -> tuple[int, int, float]:
    """How many are there, of how many, in percent."""
    there = sum(one.how not in ("refused", "later") for one in listed)
    return there, len(listed), 100 * there / len(listed)


def of_masked() -> tuple[list[str], list[str]]:
    """The functions of dask.array.ma, and those of them that are there."""
    from dask.array import ma

    known = [
        name
        for name in sorted(public(ma))
        if getattr(getattr(ma, name), "__module__", "").startswith(("dask.array.ma", "numpy.ma"))
        and not name.startswith("normalize")
        and not isinstance(getattr(ma, name), type)
    ]
    return known, [name for name in known if name in sc.ma.__all__]


def goals(table_of: list[Row]) -> list[str]:
    functions, api, dasks = map(share, counted(table_of))
    masked, there = of_masked()
    return [
        "Of NumPy's functions without those for text files, printing, calendars, memory layout and",
        f"error state {functions[0]} of {functions[1]} are there: {functions[2]:.1f} %.",
        f"Of the Array API {api[0]} of {api[1]} are there: {api[2]:.0f} %.",
        f"Of dask.array's functions without those of Dask itself {dasks[0]} of {dasks[1]} are",
        f"there: {dasks[2]:.1f} %.",
        f"Of dask.array.ma's functions {len(there)} of {len(masked)} are there, in `speedcube.ma`:",
        listed(there) + ".",
        "",
        "Not counted of NumPy's functions: " + listed(apart(np_functions(table_of))) + ".",
        "",
        "Not counted of dask.array's functions: "
        + listed(apart(dask_functions(table_of), OF_DASK))
        + ".",
    ]


def listed(names: Iterable[str]) -> str:
    return " ".join(f"`{name}`" for name in names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; 1 where it differs")
    options = parser.parse_args()
    text = page(rows())
    if not options.check:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        raise SystemExit(f"{PAGE.name} is out of date: python tools/functions_page.py")


if __name__ == "__main__":
    main()
