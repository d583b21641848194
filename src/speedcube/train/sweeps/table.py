"""Results as a pandas DataFrame and as Parquet."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...files import write_whole
from ..metrics.rows import Scalar
from .trials import TrialResult

TEXT = ("status", "error", "out")
NUMBERS = ("value", "best", "seconds", "target_seconds")


def frame(results: Sequence[TrialResult], names: Sequence[str]) -> Any:
    """A row for each result; parameters in the columns ``params_<name>``."""
    import pandas as pd

    columns: dict[str, Any] = {
        name: [getattr(result, name) for result in results]
        for name in ("number", "status", "value", "best", "steps", "seconds", "target_seconds")
    }
    columns["ranks"] = [result.ranks for result in results]
    for name in names:
        columns[f"params_{name}"] = _column([result.params[name] for result in results])
    columns["error"] = [result.error for result in results]
    columns["out"] = [str(result.out) for result in results]
    table = pd.DataFrame(columns)
    return table.astype(dict.fromkeys(TEXT, "string") | dict.fromkeys(NUMBERS, "float64"))


def _column(values: list[Scalar]) -> list[Any]:
    """Values of one type as they are, else as JSON texts: a column has one type."""
    kinds = {type(value) for value in values if value is not None}
    one = len(kinds) <= 1 or kinds == {int, float}
    return values if one else [None if value is None else json.dumps(value) for value in values]


def to_parquet(table: Any, path: Path, mode: int | None = None) -> None:
    """Write a table; the file is there whole or not at all."""
    write_whole(path, table.to_parquet(engine="pyarrow", index=False), mode=mode)
