"""Files at addresses, by fsspec: which there are, and one of them opened to be read."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from typing import Any

from ...errors import DataFileError, ParameterError
from .zarr_files import shown_place, without_secrets


def is_address(place: str) -> bool:
    """Whether ``place`` is an address, such as ``s3://bucket/x.parquet``."""
    return "://" in place


def open_remote(place: str, options: Mapping[str, Any] | None) -> Any:
    """The file at the address ``place``, from which anything may be read.

    `OSError` for what cannot be opened; names, passwords and tokens are not shown.
    """
    files, inner = _files(place, options)
    try:
        return files.open(inner, "rb")
    except Exception as err:
        raise _failed(place, options, err) from None


def files_at(place: str, ending: str, options: Mapping[str, Any] | None) -> list[str]:
    """The addresses that ``place`` means: a file, a pattern, or what a folder has of ``ending``.

    `FileNotFoundError` where there is none.
    """
    files, inner = _files(place, options)
    try:
        if any(sign in inner for sign in "*["):
            found = files.glob(inner)
        elif files.isfile(inner) or not files.isdir(inner):
            return [place]
        else:
            start = len(inner.rstrip("/")) + 1
            every = (one for one in files.find(inner) if one.endswith(ending))
            found = [one for one in every if not one[start:].startswith("_")]
    except Exception as err:
        raise _failed(place, options, err) from None
    if not found:
        raise FileNotFoundError(errno.ENOENT, "no file has such a name", shown_place(place))
    return [str(files.unstrip_protocol(one)) for one in found]


def _files(place: str, options: Mapping[str, Any] | None) -> tuple[Any, str]:
    """The file system of ``place``, and what it calls it."""
    from fsspec.core import url_to_fs

    try:
        files, inner = url_to_fs(place, **(options or {}))
    except (ImportError, MemoryError):
        raise
    except Exception as err:
        text = without_secrets(f"{type(err).__name__}: {err}", place, options)
        raise ParameterError(f"{shown_place(place)} cannot be opened: {text}") from None
    return files, inner


def _failed(place: str, options: Mapping[str, Any] | None, err: Exception) -> Exception:
    """What is said of ``err``: no such file, another error of a store, or wrong data."""
    shown = shown_place(place)
    if isinstance(err, FileNotFoundError):
        return FileNotFoundError(errno.ENOENT, "there is no such file", shown)
    text = without_secrets(f"{type(err).__name__}: {err}", place, options)
    if isinstance(err, OSError):
        return OSError(err.errno or errno.EIO, text, shown)
    return DataFileError(f"{shown} cannot be opened: {text}")
