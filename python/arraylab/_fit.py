"""Fits of an array's parameters to measured rows."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _native
from ._array import Array
from ._settings import text_of


class Fit:
    """A fitted array and how well its twin does."""

    def __init__(self, array: Array, report: dict[str, Any]):
        #: The array with the fitted values.
        self.array = array
        #: Parameters, errors of fitted and held-out figures, points: as ``arraylab fit --json`` has them.
        self.report = report

    @property
    def parameters(self) -> dict[str, float]:
        """The fitted values by path."""
        return {one["path"]: one["value"] for one in self.report["parameters"]}

    def points(self) -> Any:
        """Each measured figure beside the twin's: case, quantity, measured, before, after, is_held_out."""
        import polars

        return polars.DataFrame(self.report["points"], infer_schema_length=None)

    def __repr__(self) -> str:
        values = ", ".join(f"{path} {value:g}" for path, value in self.parameters.items())
        return f"<Fit of {self.array.name}: {values}>"


def fit(
    array: Array | str | os.PathLike[str],
    to: str | os.PathLike[str] | Any | Sequence[str | os.PathLike[str]],
    *,
    parameters: Sequence[str] = (),
    plan: str | None = None,
    hold_out: float = 0.0,
    seed: int = 1,
    evaluations: int = 300,
    simulate_s: float = 10.0,
    twin: Mapping[str, Any] | None = None,
    threads: int | None = None,
) -> Fit:
    """Fits parameters (``"seek_min"``, ``"seek_min=100000..1000000"``) of an array to measured rows: CSV files as ``arraylab results
    --csv`` prints them or published tables, or a frame with the same columns. A share of the rows is held out and never
    fitted to. Without ``parameters`` all values whose origin is ``fitted`` are.

    >>> results = arraylab.simulate("st1000nm0023", rw="randread", bs="4k", iodepth=1, runtime=2).results()
    >>> array = arraylab.Array.load("st1000nm0023")
    >>> callable(arraylab.fit)
    True
    """
    of = Array.of(array)
    with tempfile.TemporaryDirectory(prefix="arraylab-") as kept:
        if hasattr(to, "write_csv"):
            path = Path(kept) / "frame.csv"
            to.write_csv(path)
            files = [str(path)]
        elif isinstance(to, (str, os.PathLike)):
            files = [os.fspath(to)]
        else:
            files = [os.fspath(one) for one in to]
        switches = [(name, text_of(name, value)) for name, value in (twin or {}).items()]
        text, report = _native.fit_array(
            of.name,
            of.text,
            files,
            plan,
            list(parameters),
            hold_out,
            seed,
            evaluations,
            simulate_s,
            switches,
            threads or os.cpu_count() or 1,
        )
    return Fit(Array(of.name, text), json.loads(report))
