"""Tables of the native module as polars frames, NumPy arrays or Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._error import ArraylabError
from ._native import Table

#: What a table may become.
FORMS = ("polars", "numpy", "arrow")


def convert(table: Table, to: str = "polars") -> Any:
    """A polars frame over the table's own memory, a dictionary of NumPy arrays, or the Arrow stream itself."""
    if to == "polars":
        try:
            import polars
        except ImportError:
            raise ArraylabError(
                'polars is not installed\nhint: pip install "arraylab[frames]", or ask for to="numpy"'
            ) from None
        return polars.DataFrame(table)
    if to == "numpy":
        return {name: column(table, name) for name in table.columns}
    if to == "arrow":
        return table
    raise ArraylabError(f"there is no form `{to}`\nhint: {', '.join(FORMS)}")


class _Memory:
    """A column's memory, which lives as long as its table."""

    def __init__(self, table: Table, address: int, kind: str, length: int):
        self.table = table
        self.__array_interface__ = {"data": (address, True), "shape": (length,), "typestr": kind, "version": 3}


def column(table: Table, name: str) -> np.ndarray:
    """A column as an array: read-only over the table's memory where it is numbers without gaps, else a copy. Missing numbers
    become NaN, missing texts None."""
    parts = table.numpy_parts(name)
    if parts[0]:
        _, address, kind, length = parts
        return np.asarray(_Memory(table, address, kind, length)) if length else np.empty(0, kind)
    values = parts[1]
    known = [value for value in values if value is not None]
    if known and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known):
        return np.array([np.nan if value is None else value for value in values], dtype=float)
    if known and len(known) == len(values) and all(isinstance(value, bool) for value in known):
        return np.array(values, dtype=bool)
    return np.array(values, dtype=object)
