"""Runs: what was measured or simulated, as frames."""

from __future__ import annotations

import builtins
import html
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _native
from ._error import ArraylabError
from ._frames import convert
from ._native import Histogram

if TYPE_CHECKING:
    from .charts import Chart

#: Percentiles that storage people ask for.
PERCENTS = (50.0, 95.0, 99.0, 99.9)


def open(directory: str | os.PathLike[str]) -> "Run":
    """Opens a run directory. Nothing but its list of cases is read before it is asked for.

    >>> import arraylab, pathlib
    >>> run = arraylab.open(EXAMPLE_RUN)
    >>> run.plan
    'quick'
    """
    return Run(directory)


class Run:
    """A run directory, open for reading; another process may still be writing it.

    Every method that gives a table has ``to``: ``"polars"`` (a frame over Rust's own memory), ``"numpy"`` (a dictionary of
    arrays) or ``"arrow"`` (an object with the Arrow C stream interface, for PyArrow, DuckDB or pandas).
    """

    def __init__(self, directory: str | os.PathLike[str]):
        self._native = _native.Run(os.fspath(directory))
        #: The run directory.
        self.directory = Path(directory)

    @property
    def facts(self) -> dict[str, Any]:
        """Plan, version, seed, targets and how far the run is."""
        facts: dict[str, Any] = json.loads(self._native.facts_json())
        return facts

    @property
    def plan(self) -> str:
        """Name of the plan."""
        return str(self.facts["plan"])

    @property
    def cases(self) -> list["Case"]:
        """The cases, in the order of the plan."""
        return [Case(self, *case) for case in self._case_list()]

    def case(self, name: str | int) -> "Case":
        """One case by its name, ``stage/name`` or number, counted from 0.

        >>> arraylab.open(EXAMPLE_RUN).case(0).stage
        'corners'
        """
        found = self._select(name, None)
        if len(found) != 1:
            raise ArraylabError(f"`{name}` is {len(found)} cases\nhint: name it `stage/name`, or by its number")
        return Case(self, *found[0])

    def results(self, *, sustained: bool = True, to: str = "polars") -> Any:
        """A row for each case that has an outcome: the columns of ``arraylab results --csv``.

        The columns ``sustained.*`` are the level after a write cliff or from steady state on. A run keeps it with each case; where one
        does not, its samples are read for it, unless ``sustained`` is false.

        >>> run = arraylab.open(EXAMPLE_RUN)
        >>> run.results().select("case", "iops").height
        5
        """
        return convert(self._native.results(sustained), to)

    def samples(
        self,
        case: str | int | Iterable[str | int] | None = None,
        *,
        stage: str | None = None,
        to: str = "polars",
    ) -> Any:
        """A row for each interval, load and direction of the chosen cases (all without a choice). Times are nanoseconds since
        the start of the case's load; ``iops`` and ``bw_bytes_per_s`` are over the interval. An interval in which nothing completed has
        ``ios`` 0 and no direction.

        >>> samples = arraylab.open(EXAMPLE_RUN).samples(0)
        >>> samples["ios"].sum() > 0
        True
        """
        return convert(self._native.samples(self._indexes(case, stage)), to)

    def scan_samples(self) -> Any:
        """The samples of all cases as a polars LazyFrame: cases are read one after the other when it is collected, and only the
        columns that are used are kept. For runs of many millions of rows.

        >>> lazy = arraylab.open(EXAMPLE_RUN).scan_samples()
        >>> lazy.select("ios").sum().collect().item() > 0
        True
        """
        import polars
        from polars.io.plugins import register_io_source

        schema = convert(self._native.samples([])).schema

        def batches(columns: list[str] | None, predicate: Any, rows: int | None, _size: int | None) -> Iterator[Any]:
            for index, *_ in self._case_list():
                frame = convert(self._native.samples([index]))
                if predicate is not None:
                    frame = frame.filter(predicate)
                if columns is not None:
                    frame = frame.select(columns)
                if rows is not None:
                    frame = frame.head(rows)
                    rows -= frame.height
                yield frame
                if rows == 0:
                    return

        return register_io_source(batches, schema=polars.Schema(schema), is_pure=True)

    def counters(
        self,
        case: str | int | Iterable[str | int] | None = None,
        *,
        stage: str | None = None,
        to: str = "polars",
    ) -> Any:
        """A row for each value of each counter of host, array or twin; names end in their unit."""
        return convert(self._native.counters(self._indexes(case, stage)), to)

    def events(self, *, to: str = "polars") -> Any:
        """The event log."""
        return convert(self._native.events(), to)

    def findings(self, *, to: str = "polars") -> Any:
        """What the samples show, as ``arraylab findings --json`` has it; members of members have dots in their names."""
        return convert(self._native.findings(), to)

    def claims(self, *, to: str = "polars") -> Any:
        """The plan's claims with their verdicts, as ``arraylab claims --json`` has them."""
        return convert(self._native.claims(), to)

    def histogram(
        self,
        case: str | int | Iterable[str | int] | None = None,
        direction: str = "read",
        *,
        stage: str | None = None,
        load: str | Sequence[str] | None = None,
        between_s: tuple[float, float] | None = None,
        to: str = "polars",
    ) -> Any:
        """The filled bins of :meth:`latencies`: a row for each, with ``low_ns`` (in it), ``high_ns`` (above it) and ``ios``.

        >>> arraylab.open(EXAMPLE_RUN).histogram(None, "read").columns
        ['low_ns', 'high_ns', 'ios']
        """
        return convert(self.latencies(case, direction, stage=stage, load=load, between_s=between_s).bins(), to)

    def latencies(
        self,
        case: str | int | Iterable[str | int] | None = None,
        direction: str = "read",
        *,
        stage: str | None = None,
        load: str | Sequence[str] | None = None,
        between_s: tuple[float, float] | None = None,
    ) -> Histogram:
        """Latencies of one direction, merged over the chosen cases and loads; with ``between_s`` over the intervals between two times of
        a case's load, in seconds.

        >>> latencies = arraylab.open(EXAMPLE_RUN).latencies(None, "read")
        >>> latencies.percentile_ns(50) <= latencies.percentile_ns(99.9)
        True
        """
        loads = [load] if isinstance(load, str) else list(load or [])
        indexes = self._indexes(case, stage)
        if between_s is None:
            return self._native.histogram(indexes, direction, loads)
        first_s, last_s = between_s
        if not 0 <= first_s <= last_s < 1e9:
            raise ArraylabError(f"`{between_s}` are no times\nhint: two times in seconds, such as (10, 60)")
        return self._native.histogram_between(indexes, direction, loads, round(first_s * 1e9), round(last_s * 1e9))

    def percentiles(
        self,
        by: str | Sequence[str] = ("stage", "case"),
        percents: Sequence[float] = PERCENTS,
        directions: Sequence[str] = ("read", "write"),
    ) -> Any:
        """Percentiles of merged histograms: a row for each group of cases and direction. ``by`` are columns of the results
        (``settings.bs``, or ``bs`` for short). Percentiles are never averaged.

        >>> arraylab.open(EXAMPLE_RUN).percentiles(by="bs").columns[:3]
        ['settings.bs', 'direction', 'ios']
        """
        import polars

        results = self.results(sustained=False)
        names = [by] if isinstance(by, str) else list(by)
        names = [name if name in results.columns else f"settings.{name}" for name in names]
        for name in names:
            if name not in results.columns:
                raise ArraylabError(f"there is no column `{name}`\nhint: there are {', '.join(results.columns)}")
        index_of = {(stage, case): index for index, stage, case, _ in self._case_list()}
        rows: list[dict[str, Any]] = []
        for key, group in results.group_by(names, maintain_order=True):
            cases = [index_of[stage, case] for stage, case in group.select("stage", "case").iter_rows()]
            for direction in directions:
                merged = self._native.histogram(cases, direction, [])
                if merged.ios == 0:
                    continue
                row = dict(zip(names, key)) | {"direction": direction, "ios": merged.ios}
                row["latency_ns.mean"] = merged.mean_ns
                row |= {f"latency_ns.p{percent:g}": merged.percentile_ns(percent) for percent in percents}
                rows.append(row)
        return polars.DataFrame(rows, infer_schema_length=None)

    def report(self, format: str = "html") -> str:
        """The report as ``html``, ``md`` or ``json``."""
        return _native.report_text(self._native, format)

    def charts(self) -> list["Chart"]:
        """The charts of the report, in its order."""
        from .charts import Chart

        return [Chart(svg, title=title, section=section) for section, title, svg in _native.report_charts(self._native)]

    def write_csv(self, directory: str | os.PathLike[str]) -> list[Path]:
        """Writes ``results.csv``, ``samples.csv``, ``counters.csv``, ``events.csv``; the same columns as the frames."""
        target = Path(directory)
        target.mkdir(parents=True, exist_ok=True)
        return [Path(path) for path in self._native.write_csv(os.fspath(target))]

    def write_parquet(self, directory: str | os.PathLike[str]) -> list[Path]:
        """Writes the same as Parquet files."""
        target = Path(directory)
        target.mkdir(parents=True, exist_ok=True)
        written = []
        for name in ("results", "samples", "counters", "events"):
            path = target / f"{name}.parquet"
            part = path.with_suffix(".part")
            getattr(self, name)().write_parquet(part)
            part.replace(path)
            written.append(path)
        return written

    def _case_list(self) -> list[tuple[int, str, str, str]]:
        return self._native.cases()

    def _select(self, case: Any, stage: str | None) -> list[tuple[int, str, str, str]]:
        chosen = self._case_list()
        if stage is not None:
            stages = {known for _, known, _, _ in chosen}
            if stage not in stages:
                raise ArraylabError(f"there is no stage `{stage}`\nhint: there are {', '.join(sorted(stages))}")
            chosen = [known for known in chosen if known[1] == stage]
        if case is None:
            return chosen
        found: list[tuple[int, str, str, str]] = []
        for one in [case] if isinstance(case, (str, int)) else case:
            if isinstance(one, Case):
                one = one.index
            if isinstance(one, int):
                matches = [known for known in chosen if known[0] == one]
            else:
                matches = [known for known in chosen if one in (known[2], f"{known[1]}/{known[2]}")]
            if not matches:
                raise ArraylabError(
                    f"there is no case `{one}`\nhint: one of {', '.join(name for _, _, name, _ in chosen[:8])}"
                    + (" …" if len(chosen) > 8 else "")
                )
            found += [match for match in matches if match not in found]
        return found

    def _indexes(self, case: Any, stage: str | None) -> list[int]:
        return [index for index, *_ in self._select(case, stage)]

    def __repr__(self) -> str:
        facts = self.facts
        return f"<Run of {facts['plan']} on {', '.join(facts['targets'])}, {len(self._case_list())} cases>"

    def _repr_html_(self) -> str:
        facts = self.facts
        table = self.results(sustained=False, to="numpy")
        names = [name for name in ("stage", "case", "status", "iops", "bw_bytes_per_s") if name in table]
        names += [name for name in ("read.latency_ns.mean", "write.latency_ns.mean") if name in table]
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        rows = []
        for row in builtins.range(min(len(table[names[0]]), 20)):
            cells = "".join(f"<td>{html.escape(_shown(table[name][row]))}</td>" for name in names)
            rows.append(f"<tr>{cells}</tr>")
        left = len(table[names[0]]) - len(rows)
        origin = ": simulated, not measured" if any(target.startswith("twin:") for target in facts["targets"]) else ""
        more = f"<p>and {left} cases more</p>" if left > 0 else ""
        return (
            f"<p><b>{html.escape(facts['plan'])}</b> on {html.escape(', '.join(facts['targets']))}{origin}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>{more}"
        )


class Case:
    """One case of a run."""

    def __init__(self, run: Run, index: int, stage: str, name: str, state: str):
        self._run = run
        #: Its number in the plan, from 0.
        self.index = index
        #: Its stage.
        self.stage = stage
        #: Its name within the stage.
        self.name = name
        #: ``done``, ``failed``, ``refused``, ``not-settable``, ``begun`` or ``pending``.
        self.state = state

    def samples(self, *, to: str = "polars") -> Any:
        """Its samples."""
        return self._run.samples(self.index, to=to)

    def counters(self, *, to: str = "polars") -> Any:
        """Its counters."""
        return self._run.counters(self.index, to=to)

    def histogram(self, direction: str = "read", *, to: str = "polars") -> Any:
        """The filled bins of its latencies of one direction."""
        return self._run.histogram(self.index, direction, to=to)

    def latencies(self, direction: str = "read") -> Histogram:
        """Its latencies of one direction."""
        return self._run.latencies(self.index, direction)

    def __repr__(self) -> str:
        return f"<Case {self.index} {self.stage}/{self.name}, {self.state}>"

    def _repr_html_(self) -> str:
        from . import charts

        chart = charts.over_time(self._run, self.index)
        return f"<p><b>{html.escape(self.stage)}/{html.escape(self.name)}</b>, {self.state}</p>{chart._repr_html_()}"


def compare(before: Run, after: Run) -> Any:
    """Two runs of the same cases, each metric beside its noise, as ``arraylab compare --json`` has it: a list of dictionaries."""
    return json.loads(_native.compare_json(before._native, after._native))


def _shown(value: Any) -> str:
    if value is None or value != value:
        return "–"
    return f"{value:,.1f}" if isinstance(value, float) else str(value)
