"""Charts that storage people draw, by the report's own chart code.

Each gives a :class:`Chart`, which a notebook shows and ``write`` puts into an SVG file. The frames are there for plots of your own.
"""

from __future__ import annotations

import base64
import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from . import _native
from ._error import ArraylabError
from ._run import PERCENTS, Run

#: Quantities of samples, with axis label, unit and divisor.
_QUANTITIES = {
    "iops": ("I/Os a second", "", 1),
    "bw_bytes_per_s": ("Bandwidth", "MB/s", 1e6),
    "latency_ns.mean": ("Mean latency", "ms", 1e6),
    "latency_ns.p50": ("Median latency", "ms", 1e6),
    "latency_ns.p95": ("95th percentile", "ms", 1e6),
    "latency_ns.p99": ("99th percentile", "ms", 1e6),
    "latency_ns.p99.9": ("99.9th percentile", "ms", 1e6),
    "latency_ns.max": ("Largest latency", "ms", 1e6),
}


class Chart:
    """A drawing as SVG, with a title and a description for those who cannot see it."""

    def __init__(self, svg: str, *, title: str = "", section: str = ""):
        #: The drawing.
        self.svg = svg
        #: Its title.
        self.title = title
        #: The section of the report that it stands in, if any.
        self.section = section

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Writes an SVG file."""
        target = Path(path)
        target.write_text(self.svg)
        return target

    def __repr__(self) -> str:
        return f"<Chart {self.title!r}>"

    def _repr_html_(self) -> str:
        # An image keeps the style of the drawing out of the notebook's page.
        data = base64.b64encode(self.svg.encode()).decode()
        return f'<img alt="{self.title}" src="data:image/svg+xml;base64,{data}">'


def lines(
    title: str,
    x: tuple[str, str],
    y: tuple[str, str],
    series: Mapping[str, Iterable[tuple[float, float | None]]],
    *,
    x_scale: str = "linear",
    y_scale: str = "zero",
    x_format: str = "number",
) -> Chart:
    """Lines of points (x, y); a y of None is a gap. An axis is its label and unit; scales are ``linear``, ``zero``, ``log2``,
    ``log10``; formats ``number``, ``bytes``, ``seconds``.

    >>> chart = arraylab.charts.lines("Reads", ("Depth", ""), ("IOPS", ""), {"A": [(1, 10.0), (2, 19.0)]})
    >>> chart.svg.startswith("<svg")
    True
    """
    points = [
        (str(label), [(float(at), None if value is None or math.isnan(value) else float(value)) for at, value in line])
        for label, line in series.items()
    ]
    svg = _native.chart_svg(title, (*x, x_scale, x_format), (*y, y_scale, "number"), points)
    return Chart(svg, title=title)


def over_time(run: Run, case: Any = None, quantity: str = "iops", *, direction: str | None = None) -> Chart:
    """A quantity of the samples over the time of one case, a line for each direction (and load, where there are several).

    >>> arraylab.charts.over_time(arraylab.open(EXAMPLE_RUN), 0).title
    'I/Os a second over time'
    """
    label, unit, divisor = _quantity(quantity)
    samples = run.samples(case if case is not None else 0, to="numpy")
    series: dict[str, list[tuple[float, float | None]]] = {}
    loads = sorted({load for load in samples["load"]})
    for row in range(len(samples["start_ns"])):
        of = samples["direction"][row]
        if of is None or (direction is not None and of != direction):
            continue
        name = of if len(loads) == 1 else f"{samples['load'][row]}, {of}"
        series.setdefault(name, []).append((samples["end_ns"][row] / 1e9, float(samples[quantity][row]) / divisor))
    return lines(f"{label} over time", ("Time", "s"), (label, unit), series, x_format="seconds")


def response_curve(runs: Run | Mapping[str, Run], *, by: str = "iodepth", quantity: str = "mean") -> Chart:
    """Latency against I/Os a second: the curve with its knee, a point for each case in order of ``by``.

    >>> arraylab.charts.response_curve(arraylab.open(EXAMPLE_RUN)).title
    'Response time against I/Os a second'
    """
    many = {"": runs} if isinstance(runs, Run) else runs
    series = {}
    for name, run in many.items():
        results = run.results(sustained=False)
        points = []
        for row in results.sort(f"settings.{by}").iter_rows(named=True):
            known = [
                (row[f"{direction}.ios"], row[f"{direction}.latency_ns.{quantity}"])
                for direction in ("read", "write")
                if row.get(f"{direction}.ios")
            ]
            ios = sum(count for count, _ in known)
            if ios and quantity == "mean":
                points.append((row["iops"], sum(count * latency for count, latency in known) / ios / 1e6))
            elif ios:
                points.append((row["iops"], max(latency for _, latency in known) / 1e6))
        series[name] = sorted(points)
    return lines(
        "Response time against I/Os a second", ("I/Os a second", ""), (f"Latency, {quantity}", "ms"), series, x_scale="zero"
    )


def percentiles(
    run: Run, cases: Any = None, direction: str = "read", *, percents: Iterable[float] = (*PERCENTS, 99.99)
) -> Chart:
    """Latency by percentile, a line for each case.

    >>> arraylab.charts.percentiles(arraylab.open(EXAMPLE_RUN), 0, "write").title
    'Latency of writes by percentile'
    """
    wanted = list(percents)
    series = {}
    for index, stage, name, _ in run._select(cases, None):
        histogram = run.latencies(index, direction)
        if histogram.ios:
            # Nines are evenly spaced: 90 is 1, 99 is 2, 99.9 is 3.
            points = [(-math.log10(1 - percent / 100), histogram.percentile_ns(percent)) for percent in wanted]
            series[f"{stage}/{name}"] = [(at, None if value is None else value / 1e6) for at, value in points]
    return lines(
        f"Latency of {direction}s by percentile", ("Percentile in nines: 1 is 90 %, 2 is 99 %, 3 is 99.9 %", ""), ("Latency", "ms"), series, y_scale="log10"
    )


def by_setting(frame: Any, setting: str, quantity: str = "iops", *, series: str | None = None) -> Chart:
    """A column of a frame of results against a setting, a line for each value of another: block sizes, depths, shares.

    >>> run = arraylab.open(EXAMPLE_RUN)
    >>> arraylab.charts.by_setting(run.results(), "settings.bs").title
    'iops by settings.bs'
    """
    for name in (setting, quantity, *([series] if series else [])):
        if name not in frame.columns:
            raise ArraylabError(f"there is no column `{name}`\nhint: there are {', '.join(frame.columns)}")
    divisor, unit = (1e6, "ms") if "latency_ns" in quantity else (1e6, "MB/s") if quantity.endswith("bytes_per_s") else (1, "")
    groups: dict[str, list[tuple[float, float | None]]] = {}
    for row in frame.iter_rows(named=True):
        if row[setting] is None or row[quantity] is None:
            continue
        name = "" if series is None else f"{series.removeprefix('settings.')} {row[series]}"
        groups.setdefault(name, []).append((float(row[setting]), row[quantity] / divisor))
    doubling = setting.removeprefix("settings.") in ("bs", "iodepth", "numjobs")
    return lines(
        f"{quantity} by {setting}",
        (setting.removeprefix("settings."), ""),
        (quantity.removesuffix("_bytes_per_s"), unit),
        {name: sorted(points) for name, points in groups.items()},
        x_scale="log2" if doubling else "linear",
        x_format="bytes" if setting.endswith("bs") else "number",
    )


def _quantity(name: str) -> tuple[str, str, float]:
    if name not in _QUANTITIES:
        raise ArraylabError(f"there is no quantity `{name}` of samples\nhint: {', '.join(_QUANTITIES)}")
    return _QUANTITIES[name]
