"""Twins as functions: the command's numbers, in threads, with signals."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
from conftest import LONG, command, json_lines

import arraylab

LOADS = {
    "flashsystem-840": {"rw": "randrw", "rwmixread": 70, "bs": "4k", "iodepth": 16},
    "dorado-2100-g2": {"rw": "randread", "bs": "8k", "iodepth": 8},
    "e2700": {"rw": "randread", "bs": "4k", "iodepth": 8},
    "raid-levels": {"rw": "randwrite", "bs": "16k", "iodepth": 4},
    "storpool": {"rw": "randrw", "rwmixread": 50, "bs": "4k", "iodepth": 32},
    "composite-flash": {"rw": "randwrite", "bs": "4k", "iodepth": 32, "numjobs": 4},
    "nas-raid5": {"rw": "write", "bs": "1m", "iodepth": 4},
}


@pytest.mark.parametrize("array", LOADS)
def test_numbers_of_the_command(tmp_path, array):
    """Proves that `simulate` gives exactly what `arraylab run` gives for the same load, array and seed."""
    load = LOADS[array] | {"runtime": "2s"}
    simulation = arraylab.simulate(array, seed=7, **load)
    (tmp_path / "simulate.yaml").write_text(simulation.plan_text)
    out = tmp_path / "run"
    command("run", tmp_path / "simulate.yaml", "--target", f"twin:{array}", "--seed", "7", "--out", out)
    assert command("results", simulation.directory, "--json").stdout == command("results", out, "--json").stdout
    mine, theirs = simulation.samples(), arraylab.open(out).samples()
    assert mine.equals(theirs)


def test_events_and_switches():
    """Proves that events, switches and `exact` reach the twin."""
    load = {"rw": "randread", "bs": "8k", "iodepth": 16, "runtime": "4s"}
    failed = arraylab.simulate("composite-flash", events=[{"at": "1s", "action": "drive-failure"}], **load)
    assert "drive" in " ".join(failed.events()["text"].cast(str))
    assert arraylab.simulate("composite-flash", exact=True, **load).results()["iops"][0] > 0
    with pytest.raises(arraylab.ArraylabError, match="no_such_switch"):
        arraylab.simulate("composite-flash", twin={"no_such_switch": 1}, **load)


def test_arrays_are_replaced():
    """Proves that replaced values are those of a file that has them, that more links of a bound array are faster, and that what cannot
    be is refused with a hint."""
    array = arraylab.Array.load("flashsystem-840")
    values = {one["path"]: one for one in array.replace("fabric.ports", 4).check()["values"]}
    assert (values["fabric.ports"]["value"], values["fabric.ports"]["origin"]) == (4, "given")
    load = {"rw": "randread", "bs": "64k", "iodepth": 32, "numjobs": 8, "runtime": "1s"}
    few, many = (arraylab.simulate(array.replace("fabric.ports", ports), **load) for ports in (4, 16))
    assert many.results()["iops"][0] > 1.2 * few.results()["iops"][0]
    # The end of a path is enough where one place has it, in an array of parts and in one of a kind.
    assert array.replace("drives.count", 8) == array.replace("groups[0].drives.count", 8)
    disk = arraylab.Array.load("st1000nm0023")
    slow, fast = (arraylab.simulate(disk.replace("drives.rpm", rpm), rw="randread", bs="4k", runtime=20) for rpm in (5400, 15000))
    assert fast.results()["iops"][0] > 1.2 * slow.results()["iops"][0]
    for path, hint in [("fabric.prots", "did you mean `ports`"), ("fabric.ports.x", ""), ("", "keys with dots"), ("groups[9].drives", "")]:
        with pytest.raises(arraylab.ArraylabError) as error:
            array.replace(path, 4)
        assert hint in error.value.hint and error.value.exit_status == 2
    assert arraylab.Array.load("flashsystem-840") == array


def test_many_in_threads():
    """Proves that simulations in eight threads give what they give alone, and that the interpreter is free meanwhile."""
    load = {"rw": "randwrite", "bs": "4k", "iodepth": 32, "runtime": "3s", "exact": True}
    alone = [arraylab.simulate("composite-flash", seed=seed, **load).samples() for seed in range(4)]
    found = {}
    ticks = 0

    def one(number):
        found[number] = arraylab.simulate("composite-flash", seed=number % 4, **load).samples()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        ticks += 1
        time.sleep(0.001)
    assert ticks > 20
    assert all(frame.equals(alone[number % 4]) for number, frame in found.items())
    # One object in many threads: one reads after the other.
    run = arraylab.simulate("composite-flash", **load)
    heights = []
    readers = [threading.Thread(target=lambda: heights.append(run.samples().height)) for _ in range(8)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(60)
    assert len(heights) == 8 and len(set(heights)) == 1


def test_progress_and_interrupt():
    """Proves that progress is told, that an error of the callback stops the run, and that Ctrl-C raises KeyboardInterrupt within the
    interval that is simulated, in a study's threads too, and within a fit."""
    heard = []
    load = {"rw": "randwrite", "bs": "4k", "iodepth": 64, "runtime": "20s", "exact": True}
    arraylab.simulate("composite-flash", progress=heard.append, **load)
    assert heard and heard[-1]["share"] == 1 and all(0 <= one["share"] <= 1 for one in heard if "share" in one)

    def refuse(_news):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        arraylab.simulate("composite-flash", progress=refuse, **load)
    for call in (
        "arraylab.simulate('composite-flash', **load)",
        "arraylab.study('composite-flash', seeds=range(8), loads=[load])",
        "arraylab.fit('composite-flash', to=arraylab.simulate('composite-flash', **load | {'runtime': 1}).results(), "
        "parameters=['drives.read'], simulate_s=600, twin={'exact': 'on'})",
    ):
        script = textwrap.dedent(f"""
            import arraylab, sys, time
            # An interval is five thousand million I/Os: an hour of simulating.
            load = dict(rw='randwrite', bs='4k', iodepth=64, numjobs=4, runtime='20h', interval='1h', exact=True)
            print('begun', flush=True)
            try:
                {call}
            except KeyboardInterrupt:
                print('interrupted', flush=True)
        """)
        process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "begun\n"
        time.sleep(1.5)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        output, _ = process.communicate(timeout=30)
        assert output == "interrupted\n", call
        assert time.monotonic() - began < 20


def test_twin_step_by_step():
    """Proves that a trace in parts has the latencies of the trace in one, that a lone read is as fast as `simulate` says, and that each
    shape of its arguments means the same."""
    count = 20_000
    rng = np.random.default_rng(3)
    t_ns = np.sort(rng.integers(0, count * 20_000, count))
    # Far enough apart in the middle that nothing is outstanding there.
    t_ns[count // 2 :] += 1_000_000_000
    op = rng.integers(0, 2, count)
    whole = arraylab.Twin("composite-flash", seed=2)
    lba = rng.integers(0, whole.capacity_bytes // 8192, count) * 16
    one = whole.run(t_ns, op, lba, 8192)
    parts = arraylab.Twin("composite-flash", seed=2)
    first = parts.run(t_ns[: count // 2], op[: count // 2], lba[: count // 2], 8192)
    texts = np.where(op[count // 2 :] == 0, "read", "W")
    rest = parts.run(t_ns[count // 2 :].astype(np.uint64), texts, list(lba[count // 2 :]), np.full(count // 2, 8192))
    assert (np.concatenate([first, rest]) == one).all()
    assert one.dtype == np.int64 and (one > 0).all()
    lone = arraylab.Twin("flashsystem-840").run(np.arange(50) * 1_000_000, "read", np.arange(50) * 80_000, 4096, from_issue=True)
    simulated = arraylab.simulate("flashsystem-840", rw="randread", bs="4k", iodepth=1, runtime=1)
    assert lone.mean() == pytest.approx(simulated.results()["read.latency_ns.mean"][0], rel=0.05)
    assert whole.counters() and whole.now_ns >= t_ns[-1]


# Turns of Python's own loop that take as long as the second in which a million I/Os have to cross, on the machine of docs/python.md's figures.
LOOPS_OF_A_SECOND = 5.5


def loop_s(turns):
    """Seconds of processor time of a loop in Python, which is as much slower on a busy machine as what is measured beside it."""
    began = time.process_time()
    number, table = 12345, {}
    for turn in range(turns):
        number = (number * 1103515245 + 12345) & 0x7FFFFFFF
        table[number & 0xFFFF] = turn
    return time.process_time() - began


def test_speed_of_the_boundary():
    """Proves that a million I/Os cross the boundary in less than a second of a machine that does nothing else, told by a loop in Python
    of the same moment: in the median of five rounds. In full, alone on the machine, by the clock of its processor too."""
    count = 1_000_000
    twin = arraylab.Twin("composite-flash")
    rng = np.random.default_rng(1)
    spent_s, loops = [], []
    for _ in range(5):
        # Nothing of the round before is outstanding.
        t_ns = twin.now_ns + 10_000_000 + np.sort(rng.integers(0, count * 4_000, count))
        lba = rng.integers(0, twin.capacity_bytes // 4096, count) * 8
        a_loop_s = loop_s(count)
        began = time.process_time()
        twin.run(t_ns, "read", lba, 4096)
        spent_s.append(time.process_time() - began)
        loops.append(spent_s[-1] / a_loop_s)
    print(json.dumps({"scenario": "python-trace", "ios_per_s": [round(count / spent) for spent in spent_s], "loops": loops}))
    assert np.median(loops) < LOOPS_OF_A_SECOND
    if LONG:
        assert max(spent_s) < 1


MEMORY = """
import os
import numpy as np
import arraylab

def held_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

looks = []
for _ in range(120):
    simulation = arraylab.simulate("composite-flash", rw="randread", bs="4k", iodepth=4, runtime=0.2)
    simulation.samples(to="numpy")
    twin = arraylab.Twin("small-flash")
    twin.run(np.arange(1000) * 1000, "write", np.arange(1000) * 8, 4096)
    directory = simulation.directory
    del simulation, twin
    assert not directory.exists()
    looks.append(held_bytes())
# The allocator keeps up to one simulation's memory back for the next one, now and then: what is left behind is in every look.
print(min(looks[110:]) - min(looks[30:40]))
"""


def test_a_directory_goes_without_python_code(tmp_path):
    """Proves that a simulation's directory is removed with it and by no instruction of Python's, where a Ctrl-C would be lost, and at the
    end of Python at the latest."""
    simulation = arraylab.simulate("composite-flash", rw="randread", bs="4k", runtime=0.2)
    directory = simulation.directory
    assert directory.exists()
    calls = []
    sys.setprofile(lambda frame, event, _argument: calls.append(frame.f_code.co_name) if event == "call" else None)
    del simulation
    sys.setprofile(None)
    assert calls == [] and not directory.parent.exists()

    # One object that Python does not destroy when it ends, since a thread holds it, and one call that is refused.
    script = textwrap.dedent("""
        import arraylab, threading, time
        held = arraylab.simulate('composite-flash', rw='randread', bs='4k', runtime=0.2)
        threading.Thread(target=lambda held: time.sleep(60), args=(held,), daemon=True).start()
        try:
            arraylab.simulate('composite-flash', rw='randread', bs=5, runtime=0.2)
        except arraylab.ArraylabError:
            print("refused")
    """)
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    ran = subprocess.run([sys.executable, "-c", script], check=True, env=environment, capture_output=True, text=True)
    assert ran.stdout == "refused\n" and list(tmp_path.iterdir()) == []


def test_memory_goes_with_its_object():
    """Proves that 120 simulations and twins leave no memory behind: what the process holds grows by less than 5 MB over the last 80."""
    # A process of its own: in this one the memory of earlier tests (polars, Jupyter, threads) comes and goes by more than that.
    ran = subprocess.run([sys.executable, "-c", MEMORY], capture_output=True, text=True, check=True)
    assert int(ran.stdout) < 5_000_000
