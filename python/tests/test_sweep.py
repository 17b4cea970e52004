"""Sweeps and studies: shards by HyperQueue and locally are one run."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import pytest
from conftest import LONG, command

import arraylab


def plan_of(cases):
    """A plan of that many short cases."""
    return {
        "title": "Many cases",
        "defaults": {"runtime": 60 if LONG else 20, "bs": "4k"},
        "stages": {
            "many": {
                "settings": {"rw": "randrw"},
                "matrix": {"rwmixread": list(range(10)), "iodepth": [2, 3, 4, 5, 6, 8, 10, 12, 14, 16][: max(1, cases // 100)],
                                    "numjobs": list(range(1, 11))},
            }
        },
    }  # fmt: skip


def kill_a_shard(parts, times, killed):
    """Kills the process of a shard as often as told, once it has begun."""
    deadline = time.monotonic() + 30
    while len(killed) < times and time.monotonic() < deadline:
        for process in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = open(f"/proc/{process}/cmdline", "rb").read().split(b"\0")
            except OSError:
                continue
            is_shard = words[1:2] == [b"run"] and any(word.startswith(str(parts).encode()) for word in words)
            if is_shard and any(os.path.exists(os.path.join(word.decode(), "manifest.json")) for word in words if word.startswith(str(parts).encode())):
                os.kill(int(process), signal.SIGKILL)
                killed.append(words)
                break
        time.sleep(0.02)


@pytest.mark.parametrize("on", ["hyperqueue", "local"])
def test_killed_shards_are_taken_up(tmp_path, on):
    """Proves that a sweep in which processes are killed twice gives byte for byte the results of one process (1,000 cases in 50
    shards in the long run, a tenth of it here)."""
    cases, shards = (1000, 50) if LONG else (100, 5)
    plan = tmp_path / "many.yaml"
    plan.write_text(json.dumps(plan_of(cases)))
    began = time.monotonic()
    command("run", plan, "--target", "twin:small-flash", "--threads", "2", "--out", tmp_path / "whole")
    alone_s = time.monotonic() - began
    out, killed, news = tmp_path / "swept", [], []
    killer = threading.Thread(target=kill_a_shard, args=(f"{out}.shards", 2, killed))
    killer.start()
    began = time.monotonic()
    run = arraylab.sweep(plan, "twin:small-flash", out=out, on=on, shards=shards, workers=2, progress=news.append)
    swept_s = time.monotonic() - began
    killer.join()
    print(json.dumps({"on": on, "cases": cases, "shards": shards, "alone_s": round(alone_s, 2), "swept_s": round(swept_s, 2), "killed": len(killed)}))
    assert len(killed) == 2
    assert sum(one["status"] == "retried" for one in news) == 2
    assert sorted(one["shard"] for one in news if one["status"] == "done") == list(range(1, shards + 1))
    assert len(run.cases) == cases
    assert command("results", out, "--json").stdout == command("results", tmp_path / "whole", "--json").stdout
    assert run.samples().equals(arraylab.open(tmp_path / "whole").samples())
    assert not os.path.exists(f"{out}.shards")


def test_the_command_finds_the_package(tmp_path):
    """Proves that `arraylab sweep` of the program runs the package, prints a line of JSON for each shard and nothing else, and refuses
    as the others do."""
    environment = os.environ | {"ARRAYLAB_PYTHON": sys.executable}
    words = [arraylab._command.path(), "sweep", "quick", "--target", "twin:small-flash", "--set", "runtime=0.2", "--shards", "2"]
    for on in ("local", "hyperqueue"):
        done = subprocess.run(
            [*words, "--on", on, "--workers", "1", "--out", tmp_path / on, "--json"], capture_output=True, text=True, env=environment
        )
        assert done.returncode == 0, done.stderr
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        assert sorted((line["shard"], line["of"], line["status"], line["attempt"]) for line in lines) == [(1, 2, "done", 1), (2, 2, "done", 1)]
    for wrong, status in ([["--on", "nowhere"], 2], [["--shards", "0"], 2], [["--shards", "50"], 2], [["--set", "x"], 2]):
        done = subprocess.run([*words, "--out", tmp_path / "x", *wrong], capture_output=True, text=True, env=environment)
        assert done.returncode == status and done.stderr.startswith("error: "), (wrong, done.stderr)
        assert not (tmp_path / "x").exists()


def test_a_running_server(tmp_path):
    """Proves that a sweep goes to a HyperQueue server that is already there, by its directory."""
    from hyperqueue import LocalCluster
    from hyperqueue.cluster import WorkerConfig

    with LocalCluster(worker_config=WorkerConfig(cores=1)) as cluster:
        server = cluster.cluster.server_dir
        run = arraylab.sweep("quick", "twin:small-flash", out=tmp_path / "run", on=f"hyperqueue:{server}", shards=2, set={"runtime": 0.2})
    assert {case.state for case in run.cases} == {"done"}


def test_studies_are_tidy():
    """Proves that a study has a row for each variant, load and seed, with what single simulations give."""
    heard = []
    load = {"rw": "randread", "bs": "4k", "iodepth": 16, "runtime": 1}
    frame = arraylab.study(
        "flashsystem-840",
        changes={"fabric.ports": [4, 8], "hosts.count": [1, 2]},
        loads=[load, load | {"bs": "64k"}],
        seeds=[1, 2],
        progress=lambda done, of: heard.append((done, of)),
    )
    assert frame.height == 16 and heard[-1] == (16, 16)
    assert frame.columns[:3] == ["fabric.ports", "hosts.count", "seed"]
    row = frame.row(3, named=True)
    array = arraylab.Array.load("flashsystem-840").replace("fabric.ports", row["fabric.ports"]).replace("hosts.count", row["hosts.count"])
    alone = arraylab.simulate(array, seed=row["seed"], **(load | {"bs": row["settings.bs"]})).results()
    assert alone["iops"][0] == row["iops"]


def test_a_fit_finds_a_value_that_was_changed():
    """Proves that a fit to results of an array gives back the value that was changed before, and that the fitted array is an array."""
    array = arraylab.Array.load("st1000nm0023")
    loads = [{"rw": "randread", "bs": "4k", "iodepth": depth, "runtime": 20} for depth in (1, 4, 16)]
    import polars

    measured = polars.concat([arraylab.simulate(array, **load).results() for load in loads], how="diagonal_relaxed")
    text = array.text.replace("seek_average: { value: 9.6ms,", "seek_average: { value: 13ms,")
    wrong = arraylab.Array("changed", text)
    fitted = arraylab.fit(wrong, to=measured, parameters=["seek_average=5000000..20000000"], simulate_s=20, evaluations=60)
    assert fitted.parameters["groups[0].drives.seek_average"] == pytest.approx(9.6e6, rel=0.03)
    assert fitted.points().height >= 6
    assert "origin: fitted" in fitted.array.text
