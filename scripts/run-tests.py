#!/usr/bin/env python3
"""Runs the tests of the workspace side by side; `cargo test` runs one binary after the other, and many of them wait.

    run-tests.py [--tolerant NAME=COMMAND]... [--computing NAME=COMMAND]... [--only TEXT] [--list] [-- CARGO ARGUMENTS]

Cargo builds the binaries and names them. Each is a job, or several by the beginnings of its tests' names; the documentation tests are
a job, and so is each command of the shell that an option adds. Three queues share the processors:

  timed      what measures or waits in real time, one job at a time. Whatever is in no list below is here.
  tolerant   what runs processes and wants nothing of them in time: after `timed`, several jobs at once.
  computing  what computes alone: from the beginning, with the scheduler's idle policy, in the time that the others leave over.

The output of a job is printed as a whole when it ends. What failed is listed at the end by name. Exit status: 0 all passed, 1 a job
failed, 2 nothing could be run. Processor times are of a job and the processes that it waited for.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CARGO = os.environ.get("CARGO", "cargo")
PROCESSORS = len(os.sched_getaffinity(0))
TIMED, TOLERANT, COMPUTING = "timed", "tolerant", "computing"
IS_LONG = os.environ.get("ARRAYLAB_LONG") == "1"
# Jobs at once. Tolerant ones wait now and then. In full, tests that compute have bounds on their time too: then one job after the other.
WORKERS = {TIMED: 1, TOLERANT: 1, COMPUTING: 1} if IS_LONG else {TIMED: 1, TOLERANT: PROCESSORS + 1, COMPUTING: PROCESSORS}
# Queues that run together.
PHASES = [[TIMED], [TOLERANT], [COMPUTING]] if IS_LONG else [[TIMED, COMPUTING], [TOLERANT, COMPUTING]]


def idle_words():
    """Returns the words before a command that gives way to all others; where a container forbids the idle policy, the lowest priority."""
    chrt = ["chrt", "--idle", "0"]
    try:
        if subprocess.run([*chrt, "true"], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0:
            return chrt
    except OSError:
        pass
    return ["nice", "-n", "19"]


IDLE = [] if IS_LONG else idle_words()


def give_way(session):
    """Lowers the share of a session where the kernel schedules by sessions: there its policy counts within the session alone."""
    if IS_LONG:
        return
    try:
        Path(f"/proc/{session}/autogroup").write_text("19")
    except OSError:
        # No such kernel, or no right to do it: the words before the command are all there is.
        pass


# Jobs that are not timed, in the order of their start: the longest first. A job is a binary (package/target), or the tests in some
# modules of one. Names without a binary or module are an error.
QUEUES = {
    TOLERANT: {
        "arraylab/it": ["command_line", "documented_commands", "examples", "export", "large_campaigns", "pdf", "questions", "shards"],
        "explore/latency": [],
        "report/accessibility": [],
    },
    COMPUTING: {
        "sizing/front": [],
        "sizing/bottlenecks": [],
        "arraylab/it": [
            "decoders", "docs_examples", "evidence", "experiments", "fits", "import", "kept_levels", "library", "mechanisms", "methods",
            "shipped_plans", "size_runs", "trends", "verdicts",
        ],
        "twin/fast_forward": [],
        "twin/dorado_2100_g2": [],
        "arraylab/reports": [],
        "sizing/headroom": [],
        "evidence/redaction": [],
        "export/round_trip": [],
        "campaign/fast_forward": [],
    },
}  # fmt: skip
# Packages whose tests compute alone, as far as they are not named above.
COMPUTING_PACKAGES = ["array", "findings", "fit", "house", "library", "plan", "sizing", "twin", "units"]
# How often it is said what runs, where nothing else is.
SAY_EVERY_S = 60
# Lines of a job without failed tests that are shown at the end.
LAST_LINES = 15


@dataclass
class Job:
    """A process whose output is kept until it ends."""

    name: str
    command: list
    queue: str
    directory: Path = ROOT
    environment: dict = field(default_factory=dict)
    status: int | None = None
    seconds: float = 0.0
    processor_s: float = 0.0
    output: str = ""
    process: int | None = None

    def run(self):
        """Runs it to its end in a session of its own, so that what it leaves behind can be ended with it."""
        began = time.monotonic()
        environment = os.environ | self.environment
        with tempfile.TemporaryFile() as output:
            started = subprocess.Popen(
                [*(IDLE if self.queue == COMPUTING else []), *self.command],
                cwd=self.directory, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip
            self.process = started.pid
            if self.queue == COMPUTING:
                give_way(started.pid)
            _, status, used = os.wait4(started.pid, 0)
            started.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            self.output = output.read().decode(errors="replace")
        self.seconds, self.processor_s = time.monotonic() - began, used.ru_utime + used.ru_stime
        self.status = started.returncode

    def failed_tests(self):
        """Names of the tests that failed, as the test harnesses of Rust and Python print them."""
        rust = re.findall(r"^test (\S+)(?: - .*)? \.\.\. FAILED$", self.output, re.MULTILINE)
        documented = re.findall(r"^test (\S+ - .*) \.\.\. FAILED$", self.output, re.MULTILINE)
        python = re.findall(r"^(?:FAILED|ERROR) (\S+)", self.output, re.MULTILINE)
        return list(dict.fromkeys([name for name in rust if not any(one.startswith(name) for one in documented)] + documented + python))


def build(cargo_arguments):
    """Builds all test binaries, and returns what cargo says of each: name, path, directory of its package, environment."""
    words = [CARGO, "test", "--workspace", "--locked", "--no-run", "--message-format=json-render-diagnostics", *cargo_arguments]
    built = subprocess.run(words, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    if built.returncode != 0:
        sys.exit(f"error: {' '.join(words)} ended with {built.returncode}")
    binaries = []
    for line in built.stdout.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("reason") != "compiler-artifact" or not message["profile"]["test"] or not message["executable"]:
            continue
        directory = Path(message["manifest_path"]).parent
        kind = message["target"]["kind"][0]
        name = f"{directory.name}/{message['target']['name'] if kind == 'test' else kind}"
        environment = {"CARGO": CARGO, "CARGO_MANIFEST_DIR": str(directory), "CARGO_PKG_NAME": directory.name}
        binaries.append((name, message["executable"], directory, environment))
    return sorted(binaries)


def jobs_of(binaries):
    """One job for each binary, or for each queue that parts of it are in."""
    jobs = []
    for name, path, directory, environment in binaries:
        parts = {queue: listed[name] for queue, listed in QUEUES.items() if name in listed}
        default = COMPUTING if name.split("/")[0] in COMPUTING_PACKAGES else TIMED
        whole = next((queue for queue, modules in parts.items() if not modules), None)
        if whole or not parts:
            jobs.append(Job(name, [path], whole or default, directory, environment))
            continue
        listed = subprocess.run([path, "--list"], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
        rest = re.findall(r"^(.*): test$", listed, re.MULTILINE)
        for queue, modules in (parts | {default: None}).items():
            if strangers := [module for module in modules or [] if not any(test.startswith(f"{module}::") for test in rest)]:
                sys.exit(f"error: {name} has no tests in {strangers}, which scripts/run-tests.py names")
            tests = rest if modules is None else [test for test in rest if test.split("::")[0] in modules]
            jobs.append(Job(f"{name} ({queue})", [path, "--exact", *tests], queue, directory, environment))
            rest = [test for test in rest if test not in tests]
    known = {name for name, *_ in binaries}
    if strangers := [name for listed in QUEUES.values() for name in listed if name not in known]:
        sys.exit(f"error: scripts/run-tests.py names binaries that are not there: {', '.join(strangers)}")
    return jobs


class Runner:
    """Workers of the three queues."""

    def __init__(self, jobs, added):
        place = {name: number for listed in QUEUES.values() for number, name in enumerate(listed)} | dict.fromkeys(added, -1)
        jobs.sort(key=lambda job: place.get(job.name.split(" ")[0], len(place)))
        self.waiting = {queue: [job for job in jobs if job.queue == queue] for queue in WORKERS}
        self.jobs, self.running, self.done = jobs, [], []
        self.lock, self.is_stopped = threading.Lock(), False
        self.said_at = time.monotonic()
        self.began = time.monotonic()

    def work(self, queue):
        """Takes one job after the other."""
        while True:
            with self.lock:
                if self.is_stopped or not self.waiting[queue]:
                    return
                job = self.waiting[queue].pop(0)
                self.running.append(job)
            try:
                job.run()
            except OSError as error:
                job.status, job.output = 127, f"cannot be started: {error}\n"
            with self.lock:
                self.running.remove(job)
                self.done.append(job)
                mark = "ok" if job.status == 0 else f"FAILED with {job.status}"
                head = f"{job.name} {mark}: {job.seconds:.1f} s, {job.processor_s:.1f} s of processors"
                self.say(f"=== {head} [{len(self.done)}/{len(self.jobs)}, {self.passed():.0f} s]\n{job.output.strip()}\n")

    def passed(self):
        """Seconds since the beginning."""
        return time.monotonic() - self.began

    def say(self, text):
        """Prints it, as a whole."""
        print(text, flush=True)
        self.said_at = time.monotonic()

    def run(self):
        """Runs all jobs, phase by phase; what computes may last into the next one."""
        workers = {queue: [threading.Thread(target=self.work, args=(queue,), daemon=True) for _ in range(WORKERS[queue])] for queue in WORKERS}
        for phase in PHASES:
            for thread in (thread for queue in phase for thread in workers[queue] if thread.ident is None):
                thread.start()
            self.wait(workers[phase[0]])
        self.wait(workers[COMPUTING])

    def wait(self, threads):
        """Waits for workers, and says now and then that it does."""
        while any(thread.is_alive() for thread in threads):
            next(thread for thread in threads if thread.is_alive()).join(1)
            with self.lock:
                if time.monotonic() - self.said_at > SAY_EVERY_S:
                    self.say(f"... {self.passed():.0f} s, running: {', '.join(job.name for job in self.running)}")

    def stop(self, number, _frame):
        """Ends everything on Ctrl-C or SIGTERM, and says what was not run."""
        self.is_stopped = True
        for job in list(self.running):
            if job.process:
                try:
                    os.killpg(job.process, signal.SIGINT if number == signal.SIGINT else signal.SIGTERM)
                except ProcessLookupError:
                    pass
        unfinished = [job.name for job in self.jobs if job not in self.done]
        print(f"\nstopped after {self.passed():.0f} s; not finished: {', '.join(unfinished)}", file=sys.stderr, flush=True)
        self.summary()
        os._exit(128 + number)

    def summary(self):
        """Prints counts, and at the end each test that failed. Returns whether all passed."""
        counts = Counter()
        for job in self.done:
            for passed, failed, ignored in re.findall(r"^test result: .*? (\d+) passed; (\d+) failed; (\d+) ignored", job.output, re.MULTILINE):
                counts.update(passed=int(passed), failed=int(failed), ignored=int(ignored))
        processor_s = sum(job.processor_s for job in self.done)
        print(
            f"{len(self.done)} jobs in {self.passed():.0f} s, {processor_s:.0f} s of processors; Rust tests: {counts['passed']} passed, "
            f"{counts['failed']} failed, {counts['ignored']} ignored"
        )
        failed = [job for job in self.done if job.status != 0]
        for job in failed:
            tests = job.failed_tests()
            if not tests:
                print(f"--- last lines of {job.name}\n" + "\n".join(job.output.strip().splitlines()[-LAST_LINES:]))
        for job in failed:
            for test in job.failed_tests() or [f"ended with {job.status}"]:
                print(f"FAILED {job.name}: {test}")
        sys.stdout.flush()
        return not failed


def main():
    """Reads the arguments, builds, runs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for queue in (TOLERANT, COMPUTING):
        parser.add_argument(f"--{queue}", action="append", default=[], metavar="NAME=COMMAND", help=f"a {queue} job more, before the others")
    parser.add_argument("--only", metavar="TEXT", help="only jobs whose name has this text")
    parser.add_argument("--list", action="store_true", help="print the jobs by queue, and run nothing")
    words = sys.argv[1:]
    split = words.index("--") if "--" in words else len(words)
    arguments, cargo_arguments = parser.parse_args(words[:split]), words[split + 1 :]
    jobs = []
    for queue in (TOLERANT, COMPUTING):
        for name, _, command in (one.partition("=") for one in getattr(arguments, queue)):
            jobs.append(Job(name, ["sh", "-c", command], queue))
    added = [job.name for job in jobs]
    jobs += jobs_of(build(cargo_arguments))
    jobs.append(Job("documentation", [CARGO, "test", "--workspace", "--locked", "--doc", *cargo_arguments], COMPUTING))
    if arguments.only:
        jobs = [job for job in jobs if arguments.only in job.name]
    if not jobs:
        print("error: no job to run", file=sys.stderr)
        return 2
    runner = Runner(jobs, added)
    if arguments.list:
        for queue, waiting in runner.waiting.items():
            print(f"{queue}, {WORKERS[queue]} at once: {', '.join(job.name for job in waiting)}")
        return 0
    signal.signal(signal.SIGINT, runner.stop)
    signal.signal(signal.SIGTERM, runner.stop)
    runner.run()
    return 0 if runner.summary() else 1


if __name__ == "__main__":
    sys.exit(main())
