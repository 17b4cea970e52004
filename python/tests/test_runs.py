"""Frames of runs are what the command prints."""

import csv
import io
import math

import numpy as np
import polars
import pyarrow
import pytest
from conftest import LONG, command, json_lines

import arraylab

#: Every shipped plan on its twin, as short as its verdicts allow to read it.
SHORTENED = [
    ("quick", "flashsystem-840", ["runtime=0.1", "ramp_time=0.02"], []),
    ("acceptance", "composite-flash", ["runtime=0.05", "ramp_time=0.01"], ["bs=4k,1m"]),
    ("features", "reduced-flash", ["runtime=0.1", "ramp_time=0.02"], []),
    ("purchase", "all-nvme-raid6", ["runtime=0.1", "ramp_time=0.02"], []),
    ("calibrate", "all-nvme-raid6", ["runtime=0.1", "ramp_time=0.02"], ["bs=4k"]),
    ("flashsystem-840", "flashsystem-840", ["runtime=0.05", "ramp_time=0.01"], []),
    ("raid-levels", "raid-levels", ["runtime=0.2", "ramp_time=0.05"], ["disks=4,12"]),
    ("e2700", "e2700", ["runtime=0.2"], ["bs=4k,512k"]),
    ("storpool", "storpool", ["runtime=0.4", "ramp_time=0.1"], []),
    ("dorado-2100-g2", "dorado-2100-g2", ["runtime=0.02", "ramp_time=0.01"], ["bs=16k", "numjobs=8,64"]),
    ("snia-composite-blocks", "small-flash", ["runtime=0.02"], []),
    ("snia-cross-stimulus-recovery", "small-flash", ["runtime=0.1"], []),
    ("snia-demand-intensity", "small-flash", ["runtime=0.02"], []),
    ("snia-host-idle-recovery", "small-flash", ["runtime=0.02"], [], ["settle", "wait-5"]),
    ("snia-iops", "small-flash", ["runtime=0.02"], []),
    ("snia-latency", "small-flash", ["runtime=0.1"], []),
    ("snia-throughput", "small-flash", ["runtime=0.1"], []),
    ("snia-write-saturation", "small-flash", ["runtime=0.1"], []),
    ("dorado-2100-g2-short", "dorado-2100-g2,shrink=400", ["runtime=0.5"], []),
]

#: Those that take longest: compared in `make test-long` alone.
IN_FULL = {"storpool", "e2700", "calibrate", "features", "snia-iops", "snia-demand-intensity", "snia-host-idle-recovery", "snia-write-saturation"}
COMPARED = [one for one in SHORTENED if LONG or one[0] not in IN_FULL]


def flat(value, name=""):
    """Members with dots in their names, nulls left out."""
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = ((str(index), item) for index, item in enumerate(value))
    else:
        return {} if value is None else {name: value}
    found = {}
    for key, inner in pairs:
        found |= flat(inner, f"{name}.{key}" if name else key)
    return found


def same(cell, value):
    """Equal; a column that has whole numbers and fractions holds fractions, one that has texts too holds texts."""
    if isinstance(cell, str) and not isinstance(value, str):
        return cell == (str(value).lower() if isinstance(value, bool) else str(value)) or float(cell) == value
    return cell == value and isinstance(cell, bool) == isinstance(value, bool)


@pytest.mark.parametrize("shortened", COMPARED, ids=[one[0] for one in COMPARED])
def test_frames_equal_the_command(tmp_path, shortened):
    """Proves that results and findings of each shipped plan, in `make test` of 11 of 19, have exactly the values of `--json`, and that
    CSV and Parquet read back equal."""
    plan, twin, changed, only, *stages = shortened
    out = tmp_path / "run"
    words = [word for stage in sum(stages, []) for word in ("--stage", stage)]
    words += [word for setting in changed for word in ("--set", setting)]
    words += [word for choice in only for word in ("--only", choice)]
    command("run", plan, "--target", f"twin:{twin}", "--out", out, *words, check=False)
    run = arraylab.open(out)
    for frame, printed in [
        (run.results(), json_lines(command("results", out, "--json").stdout)),
        (run.findings(), json_lines(command("findings", out, "--json").stdout)),
        (run.claims(), json_lines(command("claims", out, "--json").stdout)),
    ]:
        assert frame.height == len(printed)
        for row, line in zip(frame.iter_rows(named=True), printed):
            known = flat(line)
            assert {name for name, cell in row.items() if cell is not None} == set(known)
            for name, value in known.items():
                assert same(row[name], value), (name, row[name], value)
    assert run.results().columns == next(csv.reader(io.StringIO(command("results", out, "--csv").stdout)))
    run.write_csv(tmp_path / "csv")
    run.write_parquet(tmp_path / "parquet")
    command("export", out, "--format", "csv", "--out", tmp_path / "exported")
    command("export", out, "--format", "parquet", "--out", tmp_path / "exported-parquet")
    for name in ("results", "samples", "counters", "events"):
        frame = getattr(run, name)()
        assert (tmp_path / "exported" / f"{name}.csv").read_bytes() == (tmp_path / "csv" / f"{name}.csv").read_bytes()
        assert polars.read_parquet(tmp_path / "exported-parquet" / f"{name}.parquet").equals(frame)
        assert polars.read_parquet(tmp_path / "parquet" / f"{name}.parquet").equals(frame)
        texts = frame.cast({polars.Categorical: polars.String})
        read = polars.read_csv(tmp_path / "csv" / f"{name}.csv", schema=texts.schema)
        assert read.equals(texts), name


def test_no_shipped_plan_is_left_out():
    """Proves that every plan that ships is among those whose frames `make test-long` compares."""
    assert IN_FULL < set(arraylab.plans())
    assert sorted(plan for plan, *_ in SHORTENED) == sorted(arraylab.plans())


def test_samples_add_up(example_run):
    """Proves that the counted samples of a case have the I/Os of its result, in every form."""
    run = arraylab.open(example_run)
    results = run.results()
    counted = run.samples().filter(~polars.col("is_ramp"))
    for row in results.iter_rows(named=True):
        of_case = counted.filter((polars.col("stage") == row["stage"]) & (polars.col("case") == row["case"]))
        for direction in ("read", "write"):
            ios = of_case.filter(polars.col("direction") == direction)["ios"].sum()
            assert ios == (row[f"{direction}.ios"] or 0)
            histogram = run.latencies(f"{row['stage']}/{row['case']}", direction)
            assert histogram.ios == ios
            assert histogram.percentile_ns(99) == row[f"{direction}.latency_ns.p99"]
            whole = run.latencies(f"{row['stage']}/{row['case']}", direction, between_s=(0, 1e6))
            first, rest = (run.latencies(f"{row['stage']}/{row['case']}", direction, between_s=span) for span in ((0, 0.6), (0.6, 9)))
            assert whole.ios == ios and 0 <= first.ios <= ios and (first + rest).ios <= ios
    lazy = run.scan_samples().filter(polars.col("direction") == "read").select("ios", "case").collect()
    assert lazy["ios"].sum() == run.samples().filter(polars.col("direction") == "read")["ios"].sum()
    arrow = pyarrow.table(run.samples(to="arrow"))
    assert arrow.num_rows == run.samples().height
    assert run.samples().to_pandas()["ios"].sum() == run.samples()["ios"].sum()


def test_arrays_share_memory_and_outlive_their_run(example_run):
    """Proves that numbers without gaps are not copied, cannot be written to and stay when run and table are gone."""
    samples = arraylab.open(example_run).samples(to="numpy")
    ios = samples["ios"]
    expected = ios.tolist()
    assert not ios.flags.owndata and not ios.flags.writeable
    del samples
    for _ in range(50):
        arraylab.open(example_run).samples(to="numpy")
    assert ios.tolist() == expected
    gaps = arraylab.open(example_run).results(to="numpy")["write.latency_ns.mean"]
    assert gaps.dtype == np.float64 and any(math.isnan(value) for value in gaps)
    with pytest.raises(arraylab.ArraylabError, match="there is no column `write.iosp`"):
        arraylab._frames.column(arraylab.open(example_run)._native.results(False), "write.iosp")


def test_merged_percentiles(example_run):
    """Proves that percentiles of a group come from the merged histogram, as a sum of histograms has them."""
    run = arraylab.open(example_run)
    grouped = run.percentiles(by="bs", percents=[50, 99.9])
    for row in grouped.iter_rows(named=True):
        cases = run.results().filter(polars.col("settings.bs") == row["settings.bs"])
        merged = arraylab.Histogram()
        for stage, case in cases.select("stage", "case").iter_rows():
            merged = merged + run.latencies(f"{stage}/{case}", row["direction"])
        assert run.histogram(None, row["direction"])["ios"].sum() == run.latencies(None, row["direction"]).ios
        assert (merged.ios, merged.mean_ns) == (row["ios"], row["latency_ns.mean"])
        assert merged.percentile_ns(99.9) == row["latency_ns.p99.9"]
        bins = arraylab._frames.convert(merged.bins())
        assert bins["ios"].sum() == merged.ios and (bins["high_ns"] > bins["low_ns"]).all()


def test_pictures(example_run):
    """Proves that every chart is well-formed XML of its own with title, description and white ground, and that runs, cases, arrays
    and charts show themselves in a notebook."""
    import xml.etree.ElementTree as xml

    run = arraylab.open(example_run)
    drawn = run.charts() + [
        arraylab.charts.over_time(run, 0),
        arraylab.charts.over_time(run, "mixed/mixed", "latency_ns.p99"),
        arraylab.charts.response_curve({"one": run, "two": run}),
        arraylab.charts.percentiles(run, None, "write"),
        arraylab.charts.by_setting(run.results(), "settings.bs", "write.latency_ns.mean", series="settings.iodepth"),
    ]
    assert len(drawn) > 6
    for chart in drawn:
        root = xml.fromstring(chart.svg)
        assert root.tag == "{http://www.w3.org/2000/svg}svg"
        assert root.find(".//{*}title").text and root.find(".//{*}desc").text
        assert "http" not in chart.svg.replace("http://www.w3.org/2000/svg", "")
    for shown in (run, run.case(0), arraylab.Array.load("flashsystem-840"), arraylab.Array.load("e2700"), drawn[0]):
        assert "<img" in shown._repr_html_() or shown._repr_html_().count("<") > 4
    assert "<svg" in run.report("html") and run.report("md").startswith("#")
    assert len(arraylab.compare(run, run)) == len(run.cases)
