"""Columns of Parquet files as arrays."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import DataFileError, DTypeError, ParameterError, ParameterTypeError
from ...interop.readers.parquet import (
    ParquetColumn,
    RowGroups,
    no_values,
    opened,
    rows_of,
    short,
)
from ...interop.readers.remote import files_at, is_address
from ...interop.readers.zarr_files import shown_place
from ...late import dask, glob
from ..array import Array
from .tiles import read_by_tiles


def from_parquet(
    path: Any,
    columns: str | Sequence[str] | None = None,
    *,
    fill: Any = None,
    chunks: Any = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Any:
    """Open columns of Parquet files; row groups are read, each once a pass, when they are computed.

    Parameters
    ----------
    path : str, Path, or list of them
        A file, a pattern such as ``"part-*.parquet"``, a folder (with the files of its folders), or
        a list of files. Each may be an address of a file system that fsspec has, such as
        ``s3://bucket/x.parquet``. Rows of several follow one another, in the order of the list or
        of the names, where ``part.10`` comes after ``part.9``.
    columns : str or sequence of str, optional
        A column's name gives an array; several give a dict of them, as None does for all columns
        of numbers.
    fill : number or dict, optional
        What stands where a row has no value; a dict has one for each column. As a rule NaN, where
        the column is of floats.
    chunks : optional
        The grid that the arrays show, if not that of the row groups; no value depends on it.
    storage_options : dict, optional
        For the file system of an address: names, keys. They are never shown.

    Returns
    -------
    Array or dict of str to Array
        Arrays of one axis, as long as there are rows, of the columns' dtypes.

    Raises
    ------
    ImportError
        Without pyarrow: it comes with ``pip install "speedcube[parquet]"``.
    FileNotFoundError
        If there is no such file.
    ValueError
        For what is no Parquet, a column that there is not, files whose columns differ; and, if
        `fill` says nothing, for rows without a value of a column of integers or truths. When it is
        computed, for a row group that does not decode, which is named.
    TypeError
        For a column that holds no numbers.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> pq.write_table(pa.table({"t": [1.5, None], "n": [3, 4]}), "two.parquet")
    >>> sc.nansum(sc.from_parquet("two.parquet", "t")).compute()
    np.float64(1.5)
    >>> table = sc.from_parquet("two.parquet")
    >>> (table["t"] * table["n"])[0].compute()
    np.float64(4.5)
    """
    paths = _paths(path, storage_options)
    names = [columns] if isinstance(columns, str) else columns
    if names is not None and not all(isinstance(name, str) for name in names):
        raise ParameterTypeError(f"columns= takes a name or several, not {columns!r}")
    found = _found(paths, names, storage_options)
    values = fill if isinstance(fill, Mapping) else dict.fromkeys(found, fill)
    if unknown := sorted(set(map(str, values)) - set(found)):
        raise ParameterError(f"fill= names columns that are not read: {unknown}")
    arrays = {
        name: read_by_tiles(tiles, np.dtype(tiles.kind), _grid(tiles, chunks))
        for name, tiles in _readers(paths, found, values, storage_options).items()
    }
    return arrays[columns] if isinstance(columns, str) else arrays


def the_column(path: Any, name: str | None) -> Array:
    """The column ``name``, or the only one."""
    if name is None:
        names = opened(_paths(path, None)[0]).schema_arrow.names
        if len(names) != 1:
            raise DataFileError(f"{path}: name one of its columns: {names}")
        name = str(names[0])
    array: Array = from_parquet(path, name)
    return array


def is_parquet(place: str) -> bool:
    """Whether ``place`` is one of Parquet's by its name, or a folder of such."""
    named = place.partition("?")[0] if "://" in place else place
    if named.endswith((".parquet", ".pq")):
        return True
    return os.path.isdir(place) and bool(_inside(place))


def _paths(path: Any, options: Mapping[str, Any] | None) -> list[str]:
    """The files that ``path`` means, in the order of their rows."""
    if isinstance(path, (list, tuple)):
        if not path:
            raise DataFileError("no files were given")
        return [one for each in path for one in _paths(each, options)]
    place = os.fspath(path)
    place = os.fsdecode(place) if isinstance(place, bytes) else place
    if is_address(place):
        return sorted(files_at(place, ".parquet", options), key=dask.utils.natural_sort_key)
    if os.path.isdir(place):
        files = _inside(place)
        if not files:
            raise DataFileError(f"{place} is a folder without .parquet files")
        return files
    if glob.has_magic(place) and not os.path.lexists(place):
        files = sorted(glob.glob(place, recursive=True), key=dask.utils.natural_sort_key)
        if not files:
            raise FileNotFoundError(errno.ENOENT, "no file has such a name", place)
        return files
    return [place]


def _inside(folder: str) -> list[str]:
    """The files of a folder and of its folders, without those that are hidden."""
    found = glob.glob(os.path.join(glob.escape(folder), "**", "*.parquet"), recursive=True)
    shown = [p for p in found if not os.path.relpath(p, folder).startswith("_")]
    return sorted(shown, key=dask.utils.natural_sort_key)


def _found(
    paths: Sequence[str], names: Sequence[str] | None, options: Mapping[str, Any] | None
) -> dict[str, str]:
    """The columns ``names`` of the first file, with their dtypes; None: all that hold numbers."""
    path = shown_place(paths[0])
    file = opened(paths[0], options)
    kinds = {name: _kind(file.schema_arrow, name) for name in file.schema_arrow.names}
    numbers = [name for name, kind in kinds.items() if kind is not None]
    for name in numbers if names is None else names:
        if name not in kinds:
            raise DataFileError(f"{path} has no column {name!r}; it has {list(kinds)}")
        if kinds[name] is None:
            kind = _type_text(file.schema_arrow, name)
            raise DTypeError(
                f"column {name!r} of {path} holds {kind}; only columns of numbers can be read: "
                f"{numbers}"
            )
    if not numbers:
        raise DTypeError(f"{path} has no column of numbers; it has {list(kinds)}")
    return {name: str(kinds[name]) for name in (numbers if names is None else names)}


def _type_text(schema: Any, name: str) -> str:
    at = schema.get_field_index(name)
    return "several columns of this name" if at < 0 else str(schema.field(at).type)


def _kind(schema: Any, name: str) -> str | None:
    """NumPy's text of the dtype of a column; None where it holds no numbers."""
    import pyarrow.types as types

    at = schema.get_field_index(name)
    if at < 0:
        return None
    kind = schema.field(at).type
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        return None
    text: str = np.dtype(kind.to_pandas_dtype()).str
    return text


def _readers(
    paths: Sequence[str],
    found: Mapping[str, str],
    fill: Mapping[str, Any],
    options: Mapping[str, Any] | None,
) -> dict[str, ParquetColumn]:
    """The reader of each column, of all files: they have it, of the same dtype."""
    filled = {name: _filling(name, kind, fill.get(name)) for name, kind in found.items()}
    files = []
    for path in paths:
        shown = shown_place(path)
        with opened(path, options) as file:
            files.append(RowGroups(path, rows_of(file), options))
            for name, kind in found.items():
                own = _kind(file.schema_arrow, name)
                if own != kind:
                    text = (
                        "no column" if name not in file.schema_arrow.names else "another dtype in"
                    )
                    raise DataFileError(
                        f"{shown} has {text} {name!r}, which {shown_place(paths[0])} has as "
                        f"{np.dtype(kind)}"
                    )
                if kind[1] != "f" and filled[name] is None and _says_null(file.metadata, name):
                    raise no_values(shown, name, kind)
    label = short(list(paths))
    return {
        name: ParquetColumn(tuple(files), name, kind, f"{label}:{name}", filled[name])
        for name, kind in found.items()
    }


def _says_null(metadata: Any, name: str) -> bool:
    """Whether the statistics of a column say that rows have no value; they may be absent."""
    at = [k for k in range(metadata.num_columns) if metadata.schema.column(k).path == name]
    for k in range(metadata.num_row_groups):
        for number in at:
            told = metadata.row_group(k).column(number).statistics
            if told is not None and told.has_null_count and told.null_count:
                return True
    return False


def _filling(name: str, kind: str, value: Any) -> Any:
    """``value``, if the dtype ``kind`` has it."""
    if value is None:
        return None
    dtype = np.dtype(kind)
    try:
        if not isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
            raise TypeError
        number = value.item() if isinstance(value, np.generic) else value
        if dtype.kind == "f":
            return float(number)
        made = dtype.type(number)
        if (dtype.kind == "b") != isinstance(number, bool) or made != number:
            raise ValueError
        return made.item()
    except (TypeError, ValueError, OverflowError):
        raise ParameterError(
            f"fill={value!r} does not fit column {name!r}, which is {dtype}"
        ) from None


def _grid(tiles: ParquetColumn, chunks: Any) -> Any:
    """``chunks``, or the grid of the row groups."""
    if chunks in (None, "auto") and tiles.shape != (0,):
        return (tuple(n for n in tiles.groups if n),)
    return chunks
