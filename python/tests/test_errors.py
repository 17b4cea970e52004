"""Wrong arguments: an error with a hint, never a panic."""

import random
import string

import numpy as np
import pytest
from conftest import LONG

import arraylab

#: What anyone may pass by mistake.
VALUES = [
    None, True, False, 0, 1, -1, 2**31, 2**32, 2**63, 2**64, -(2**63), 10**30, 0.0, -0.5, 1e308, float("nan"), float("inf"),
    "", "x", "\0", "4k", "10s", "randread", "flashsystem-840", "nope", "../x", "/", "a" * 10_000, "é☃", "[0]", "drives.count", "a=b", ",",
    b"bytes", [], [1], ["a"], (), {}, {"a": 1}, {"stages": {}}, {"bs": -1}, set(), object(), range(3), np.array([1, 2]), np.array([[1]]),
    np.array(["read"]), np.array([1.5]), np.zeros(0), np.int64(3), len, arraylab.Array,
]  # fmt: skip


def calls(run, twin, array, plan):
    """Public functions with how many arguments they take at most, and keywords that they know."""
    return [
        (arraylab.open, 1, []),
        (arraylab.Array.load, 1, []),
        (arraylab.Array, 2, []),
        (arraylab.Array.of, 2, []),
        (array.replace, 2, []),
        (arraylab.Plan.load, 1, []),
        (arraylab.Plan, 2, []),
        (arraylab.Plan.of, 2, []),
        (plan.cases, 0, ["stages", "only", "set", "to"]),
        (run.results, 0, ["sustained", "to"]),
        (run.samples, 1, ["stage", "to"]),
        (run.counters, 1, ["stage", "to"]),
        (run.events, 0, ["to"]),
        (run.case, 1, []),
        (run.histogram, 2, ["stage", "load", "to"]),
        (run.latencies, 2, ["stage", "load", "between_s"]),
        (run.percentiles, 3, []),
        (run.report, 1, []),
        (arraylab.Histogram().percentile_ns, 1, []),
        (arraylab.Histogram().__add__, 1, []),
        (twin.run, 4, ["job"]),
        (twin.act, 1, ["at_ns", "drive"]),
        (arraylab.Twin, 1, ["seed", "twin"]),
        (arraylab.charts.over_time, 3, ["direction"]),
        (arraylab.charts.lines, 4, ["x_scale", "y_scale", "x_format"]),
        (arraylab.charts.by_setting, 3, ["series"]),
        (lambda *given, **named: arraylab.simulate(*given, runtime=0.001, **named), 1,
         ["rw", "bs", "iodepth", "numjobs", "seed", "rwmixread", "events", "twin", "size", "rate_iops"]),
        (lambda *given, **named: arraylab.study(*given, **named), 1, ["changes", "loads", "seeds"]),
        (lambda *given, **named: arraylab.run(*given, out="/nonexistent/run", progress=False, **named), 2, ["stages", "only", "set", "seed"]),
        (lambda *given, **named: arraylab.sweep(*given, out="/nonexistent/run", **named), 2, ["on", "shards", "workers"]),
        (lambda *given, **named: arraylab.fit(*given, evaluations=1, simulate_s=0.001, **named), 2, ["parameters", "plan", "hold_out"]),
    ]  # fmt: skip


#: What Python itself raises for values of the wrong type, and the system for paths.
EXPECTED = (arraylab.ArraylabError, TypeError, ValueError, OverflowError, AttributeError, OSError, KeyError, IndexError)


def test_wrong_arguments_never_panic(example_run, tmp_path, monkeypatch):
    """Proves that 10,000 calls of public functions with wrong arguments, in `make test` 1,000, raise an error or work, and that none of
    them panics."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(1)
    public = calls(
        arraylab.open(example_run), arraylab.Twin("small-flash"), arraylab.Array.load("flashsystem-840"), arraylab.Plan.load("quick")
    )
    raised = worked = 0
    count = 10_000 if LONG else 1_000
    for _ in range(count):
        function, most, keywords = rng.choice(public)
        given = [rng.choice(VALUES) for _ in range(rng.randint(0, most))]
        if rng.random() < 0.3:
            given = ["".join(rng.choices(string.printable, k=rng.randint(0, 12))) if isinstance(one, str) else one for one in given]
        named = {name: rng.choice(VALUES) for name in keywords if rng.random() < 0.4}
        try:
            function(*given, **named)
            worked += 1
        except EXPECTED:
            raised += 1
        except Exception as error:
            # polars raises its own kinds for wrong columns.
            assert type(error).__module__.startswith(("polars", "numpy")), (function, given, named, error)
            raised += 1
    assert raised > count / 2 and worked > count / 100
    print(f"{raised} refused, {worked} worked")


def test_errors_are_the_commands():
    """Proves that an error has the text, hint and exit status of the command."""
    from conftest import command

    refused = command("run", "quick", "--target", "twin:flashsytem-840", "--out", "/tmp/none", check=False)
    with pytest.raises(arraylab.ArraylabError) as error:
        arraylab.run("quick", "twin:flashsytem-840", out="/tmp/none", progress=False)
    assert refused.stderr.strip() == f"error: {error.value}"
    assert (error.value.exit_status, refused.returncode) == (2, 2)
    assert error.value.hint
