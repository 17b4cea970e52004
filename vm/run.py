#!/usr/bin/env python3
"""Boots the test machine, runs the tests of vm/tests in it, and writes their results as JUnit XML.

    run.py --binary PATH [--smoke] [--list] [--seed N] [GROUP | GROUP/TEST]...

A test is a bash function of vm/tests/GROUP.sh named test_* or smoke_*; --smoke runs the latter alone, in one machine for all
groups. Otherwise each group has a machine of its own. A machine that hangs, panics or cannot be cleaned is ended, and what is
left runs in a fresh one. Exit status: 0 all passed, 1 a test failed, 2 nothing could be run.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

VM = Path(__file__).resolve().parent
TEST_DEADLINE_S = 120
# 11 s on an idle host; four machines at once on two cores took 240 s.
BOOT_DEADLINE_S = 420
# Putting away after a test.
GRACE_S = 90
# The machine says every 5 s that it runs processes.
ALIVE_DEADLINE_S = 120
POLL_S = 0.5
# A look that comes so much later than the one before shows that this process was stopped or got no processor.
LATE_LOOK_S = 2
# Time that the host takes from a machine extends the limit of all tests, but never beyond so many times it on the clock.
LIMIT_FACTOR = 5
DISKS = ["s0", "s1", "s2", "s3", "s4", "s5", "mp", "n01", "n02", "nm"]
# Two host-side characters that XML 1.0 forbids would make the file unreadable.
NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd]")


@dataclass
class Test:
    group: str
    name: str
    deadline_s: int
    status: str = "not run"
    seconds: float = 0.0
    # Of QEMU while it ran, with what putting away after it took.
    processor_s: float = 0.0
    log: str = ""

    def __str__(self):
        return f"{self.group}/{self.name}"


@dataclass
class Group:
    name: str
    tests: list = field(default_factory=list)
    options: dict = field(default_factory=dict)


def read_group(path):
    """Tests and options of one file: the text is enough, nothing is executed."""
    group = Group(path.stem)
    deadline_s = TEST_DEADLINE_S
    for line in path.read_text().splitlines():
        if option := re.match(r"# vm-(memory|disk|append|qemu): (.*)", line):
            group.options[option[1]] = option[2]
        elif deadline := re.match(r"# deadline: (\d+)$", line):
            deadline_s = int(deadline[1])
        elif function := re.match(r"((?:test|smoke)_\w+) *\(\)", line):
            group.tests.append(Test(group.name, function[1], deadline_s))
        if not line.startswith("#"):
            deadline_s = TEST_DEADLINE_S
    return group


class Limit:
    """Time for all tests, without what the host took from the machines that have run."""

    def __init__(self, seconds):
        self.seconds, self.began, self.starved_s = seconds, time.monotonic(), 0.0

    def is_over(self, starved_s=0.0):
        """With what was taken from a machine that still runs."""
        passed_s = time.monotonic() - self.began
        return passed_s - self.starved_s - starved_s > self.seconds or passed_s > LIMIT_FACTOR * self.seconds


class Machine:
    """One boot: a share with the tests to run, disks, and QEMU."""

    def __init__(self, image, directory, binary, seed, long):
        self.image, self.directory, self.binary, self.seed, self.long = image, directory, binary, seed, long
        self.share = directory / "share"
        # Seconds that the host gave the machine no processor: those that its thread which waited longest was ready to run, so that
        # they are never more than have passed, and those that the machine or this process was stopped (SIGSTOP); of each thread; and
        # what it was when a file of the machine was first seen.
        self.starved_s, self.stopped_s, self.waited_ns, self.starved_at = 0.0, 0.0, {}, {}
        self.looked_at, self.processor_s, self.accounted_s = time.monotonic(), 0.0, 0.0
        shutil.rmtree(directory, ignore_errors=True)
        (directory / "disks").mkdir(parents=True)
        (self.share / "results").mkdir(parents=True)

    def prepare(self, tests, random_count):
        for name in ["guest.sh", "lib.sh", "put-away.sh"]:
            shutil.copy(VM / name, self.share)
        shutil.copytree(VM / "tests", self.share / "tests")
        shutil.copy(VM.parent / "docs/guard.md", self.share)
        # A link would lead nowhere inside; a copy of 100 MB takes a tenth of a second.
        shutil.copy(self.binary, self.share / "arraylab")
        plan = "".join(f"{test.group} {test.name} {test.deadline_s}\n" for test in tests)
        (self.share / "plan").write_text(plan)
        rounds = "1 2" if self.long else "1"
        (self.share / "settings").write_text(f"SEED={self.seed}\nRANDOM_COUNT={random_count}\nROUNDS='{rounds}'\n")
        (self.share / "starved").write_text("0\n")

    def command(self, options):
        image, disks = self.image, self.directory / "disks"
        further = options.get("qemu", "")
        for disk in DISKS + re.findall(r"file=DISKS/(\w+)", further):
            subprocess.run(["truncate", "-s", options.get("disk", "256M"), disks / disk], check=True)

        def drive(name, disk, extra=""):
            # The machine's flushes end in the emulator: what a host's crash would leave of these files is nobody's concern, and a busy
            # host takes seconds for an fsync.
            return ["-drive", f"file={disks / disk},format=raw,if=none,cache=unsafe,id={name}{extra}"]

        # Without "enhanced" string instructions, which a kernel takes for the fastest way to copy and TCG carries out byte by byte.
        command = ["-accel", "tcg,thread=multi", "-cpu", "max,-erms,-fsrm", "-m", options.get("memory", "1500"), "-smp", "2"]
        command += ["-display", "none", "-no-reboot", "-serial", f"file:{self.directory / 'serial.log'}"]
        command += ["-monitor", "none", "-nic", "none"]
        command += ["-L", image / "qemu/usr/share/qemu", "-L", image / "qemu/usr/share/seabios"]
        command += ["-kernel", image / "vmlinuz", "-initrd", image / "initrd"]
        # no_timer_check: on a loaded host the kernel now and then takes the timer for broken and panics.
        # At random addresses TCG translates every program anew at each start: a process takes 6 ms without them, and 28 ms with.
        append = "console=ttyS0 quiet panic=5 no_timer_check norandmaps nokaslr mitigations=off nvme.poll_queues=2 "
        command += ["-append", append + options.get("append", "")]
        command += ["-drive", f"file={image / 'root.ext4'},format=raw,if=none,id=root,snapshot=on"]
        command += ["-device", "virtio-blk-pci,drive=root"]
        command += ["-virtfs", f"local,path={self.share},mount_tag=lab,security_model=none"]
        command += ["-device", "virtio-rng-pci"]
        for adapter in range(3):
            command += ["-device", f"virtio-scsi-pci,id=hba{adapter}"]
        for n in range(6):
            command += drive(f"s{n}", f"s{n}", ",discard=unmap")
            command += ["-device", f"scsi-hd,drive=s{n},bus=hba0.0,scsi-id={n},serial=LAB-S{n},wwn=0x500000000000010{n}"]
        for path in (1, 2):
            command += drive(f"mp{path}", "mp", ",file.locking=off")
            device = f"scsi-hd,drive=mp{path},bus=hba{path}.0,share-rw=on,serial=LAB-MP,wwn=0x5000000000000200,id=path{path}"
            command += ["-device", device]
        command += ["-device", "nvme,id=nv0,serial=LAB-N0"]
        for n in (1, 2):
            command += drive(f"n0{n}", f"n0{n}", ",discard=unmap") + ["-device", f"nvme-ns,drive=n0{n},bus=nv0,nsid={n}"]
        # Controllers of one NVMe subsystem must have one serial number.
        command += ["-device", "nvme-subsys,id=sub0,nqn=lab", "-device", "nvme,id=nva,serial=LAB-NM,subsys=sub0"]
        command += ["-device", "nvme,id=nvb,serial=LAB-NM,subsys=sub0"]
        command += drive("nm", "nm") + ["-device", "nvme-ns,drive=nm,bus=nva,nsid=1,shared=on"]
        # The emulator brings its own libc and is started by its own loader, so that nothing of the host's is mixed in.
        libraries = sorted({str(path.parent) for path in (image / "qemu").rglob("*.so*")})
        loader = [image / "qemu/lib64/ld-linux-x86-64.so.2", "--library-path", ":".join(libraries)]
        emulator = loader + [image / "qemu/usr/bin/qemu-system-x86_64"] + command + further.replace("DISKS", str(disks)).split()
        return [str(argument) for argument in emulator]

    def run(self, tests, options, random_count, limit):
        """Boots, watches until the machine is off, and fills in the results of `tests`. Why it was ended, or None."""
        self.prepare(tests, random_count)
        environment = dict(os.environ, QEMU_MODULE_DIR=str(self.image / "qemu/usr/lib/x86_64-linux-gnu/qemu"))
        with open(self.directory / "qemu.log", "wb") as log:
            process = subprocess.Popen(
                self.command(options), env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        keep_priority(process.pid)
        ended_because = None
        try:
            started = time.monotonic()
            while True:
                try:
                    process.wait(timeout=POLL_S)
                    break
                except subprocess.TimeoutExpired:
                    self.tell_starvation(process.pid)
                    self.account(tests)
                    ended_because = self.overdue(tests, started, limit)
                    if ended_because:
                        break
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.collect(tests, ended_because)
        return ended_because

    def tell_starvation(self, pid):
        """Deadlines here and in the guest are extended by it: on a busy host a machine may get no processor for minutes, and somebody may
        stop it, or this process, and let it go on later."""
        for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            try:
                self.waited_ns[path.parent.name] = int(path.read_text().split()[1])
            except (OSError, IndexError):
                continue  # it has ended meanwhile
        waited_s = max(self.waited_ns.values(), default=0) / 1e9
        before, now = self.starved_s, time.monotonic()
        passed_s, self.looked_at = now - self.looked_at, now
        if passed_s > LATE_LOOK_S or self.is_stopped(pid):
            self.stopped_s += max(0.0, passed_s - (waited_s + self.stopped_s - before))
        self.starved_s = waited_s + self.stopped_s
        if int(self.starved_s) > int(before):
            # Replaced, so that the guest never reads half a number.
            (self.share / "starved.new").write_text(f"{int(self.starved_s)}\n")
            os.replace(self.share / "starved.new", self.share / "starved")

    def is_stopped(self, pid):
        """Also notes the processor time that QEMU has taken."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return False  # it has ended meanwhile
        self.processor_s = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
        return fields[0] == "T"

    def account(self, tests):
        """Adds the processor time since the last look to the test that has begun last; what was before the first is the boot's."""
        begun = [test for test in tests if (self.share / "results" / f"{test}.begin").exists()]
        if begun:
            begun[-1].processor_s += self.processor_s - self.accounted_s
        self.accounted_s = self.processor_s

    def age_s(self, path):
        """Since a file was written, without the time that the machine had no processor."""
        written_at = path.stat().st_mtime
        return time.time() - written_at - (self.starved_s - self.starved_at.setdefault((path, written_at), self.starved_s))

    def overdue(self, tests, started, limit):
        """What has taken too long, seen from outside: the guest may be past saying so."""
        now = time.monotonic()
        if limit.is_over(self.starved_s):
            return "the time for all tests is over"
        results, alive = self.share / "results", self.share / "alive"
        begun = [(test, results / f"{test}.begin") for test in tests]
        begun = [(test, path) for test, path in begun if path.exists()]
        if not begun:
            late = now - started - self.starved_s > BOOT_DEADLINE_S
            return "the machine did not start its tests" if late else None
        test, path = begun[-1]
        if self.age_s(path) > test.deadline_s + GRACE_S:
            return f"{test} hung the machine"
        return f"{test} stopped the machine" if alive.exists() and self.age_s(alive) > ALIVE_DEADLINE_S else None

    def collect(self, tests, ended_because):
        results = self.share / "results"
        for test in tests:
            begin, end, log = (results / f"{test}.{kind}" for kind in ("begin", "end", "log"))
            if not begin.exists():
                continue
            test.log = NOT_XML.sub("?", log.read_text(errors="replace")) if log.exists() else ""
            words = end.read_text().split(maxsplit=1) if end.exists() else []
            if len(words) == 2:
                test.seconds, test.status = float(words[0]), words[1].strip()
            else:
                test.seconds = time.time() - begin.stat().st_mtime
                test.status = ended_because or "the machine ended during it (its console is serial.log)"


def keep_priority(pid):
    """Gives a process in a session of its own the priority of this session, which the scheduler weighs by sessions."""
    try:
        nice = Path("/proc/self/autogroup").read_text().rpartition(" ")[2]
        Path(f"/proc/{pid}/autogroup").write_text(nice)
    except OSError:
        pass  # a kernel without autogroups, or no right to raise a priority


def tail_of(log):
    """The last lines that a test and then the kernel wrote."""
    of_test, mark, of_kernel = log.partition("--- kernel log")
    return of_test.splitlines()[-25:] + [mark] + of_kernel.splitlines()[-10:]


def run_group(name, tests, options, arguments, image, limit):
    """Runs tests in as many machines as it takes. The processor time of all of them, in seconds."""
    waiting, boot, processor_s = tests, 0, 0.0
    while waiting and not limit.is_over():
        boot += 1
        directory = arguments.state / (name if boot == 1 else f"{name}-{boot}")
        machine = Machine(image, directory, arguments.binary, arguments.seed, arguments.long)
        why = machine.run(waiting, options, arguments.random, limit)
        processor_s += machine.processor_s
        # With several machines at once each is starved by the others as well, at the same time.
        limit.starved_s += machine.starved_s / arguments.jobs
        print(
            f"{machine.directory.name}: {machine.processor_s:.0f} s of processor time; the host gave it no processor for"
            f" {machine.starved_s:.0f} s",
            flush=True,
        )
        left = [test for test in waiting if test.status == "not run"]
        for test in waiting:
            if test.status != "not run":
                verdict = "ok  " if test.status == "ok" else "FAIL"
                print(f"{verdict} {test} {test.seconds:.1f} s, {test.processor_s:.0f} s of processor time", flush=True)
                if test.status != "ok":
                    print("\n    ".join(["    " + test.status, *tail_of(test.log)]), flush=True)
        if len(left) == len(waiting):
            serial = machine.directory / "serial.log"
            tail = serial.read_text(errors="replace")[-2000:] if serial.exists() else ""
            tail += (machine.directory / "qemu.log").read_text(errors="replace")[-2000:]
            for test in left:
                test.status, test.log = why or "the machine ended before it", NOT_XML.sub("?", tail)
            print(f"FAIL {name}: {left[0].status}\n{tail}", flush=True)
            break
        waiting = left
    return processor_s


def write_junit(path, groups, seconds):
    tests = [test for group in groups for test in group.tests]
    failures = [test for test in tests if test.status != "ok"]
    lines = ['<?xml version="1.0" encoding="UTF-8"?>']
    lines.append(f'<testsuites tests="{len(tests)}" failures="{len(failures)}" time="{seconds:.1f}">')
    for group in groups:
        bad = sum(test.status != "ok" for test in group.tests)
        spent = sum(test.seconds for test in group.tests)
        lines.append(f'<testsuite name="vm.{group.name}" tests="{len(group.tests)}" failures="{bad}" time="{spent:.1f}">')
        for test in group.tests:
            lines.append(f'<testcase classname="vm.{group.name}" name="{test.name}" time="{test.seconds:.1f}">')
            if test.status != "ok":
                lines.append(f"<failure message={quoteattr(test.status)}>{escape(test.log[-8000:])}</failure>")
            lines.append("</testcase>")
        lines.append("</testsuite>")
    lines.append("</testsuites>")
    path.write_text("\n".join(lines) + "\n")


def chosen_groups(arguments):
    groups = [read_group(path) for path in sorted((VM / "tests").glob("*.sh"))]
    if arguments.smoke:
        for group in groups:
            group.tests = [test for test in group.tests if test.name.startswith("smoke_")]
    for wanted in arguments.tests:
        if not any(wanted in (group.name, str(test)) for group in groups for test in group.tests):
            sys.exit(f"error: no test `{wanted}`\nhint: --list shows them")
    if arguments.tests:
        for group in groups:
            group.tests = [t for t in group.tests if group.name in arguments.tests or str(t) in arguments.tests]
    return [group for group in groups if group.tests]


def machines(groups, at_once):
    """The machines to boot: (name, tests, options). A boot costs as much as three tests, so groups with the same options share a
    machine, or as many as run at once; these get about the same work, by the deadlines of their tests."""
    shared = {}
    for group in groups:
        shared.setdefault(tuple(sorted(group.options.items())), []).append(group)
    booted = []
    for those in shared.values():
        parts = [[] for _ in range(min(at_once, len(those)))]
        for group in sorted(those, key=work_s, reverse=True):
            min(parts, key=part_s).append(group)
        booted += parts
    # The longest first: a machine that is begun last leaves a processor idle for as long as it takes.
    booted.sort(key=part_s, reverse=True)
    return [
        ("-".join(group.name for group in part), [test for group in part for test in group.tests], part[0].options)
        for part in booted
    ]


def work_s(group):
    return sum(test.deadline_s for test in group.tests)


def part_s(part):
    return sum(map(work_s, part))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, help="the arraylab that is tested; it must be linked statically")
    parser.add_argument("--smoke", action="store_true", help="tests named smoke_* alone, in one machine")
    parser.add_argument("--long", action="store_true", help="second rounds of kills and power cuts too")
    parser.add_argument("--list", action="store_true", help="print the tests and end")
    parser.add_argument("--state", type=Path, default=VM.parent / "target/vm", help="where results lie (target/vm)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the random combinations (the time)")
    parser.add_argument("--random", type=int, default=60, help="how many random combinations (60)")
    parser.add_argument("--limit", type=int, default=5400, help="seconds for everything, without those that the host takes (5400)")
    parser.add_argument("--jobs", type=int, default=1, help="machines at once (1)")
    parser.add_argument("tests", nargs="*", metavar="GROUP|GROUP/TEST")
    arguments = parser.parse_args()
    groups = chosen_groups(arguments)
    if arguments.list:
        print("\n".join(str(test) for group in groups for test in group.tests))
        return 0
    if not arguments.binary or not arguments.binary.is_file():
        print(f"error: no binary at {arguments.binary}\nhint: vm/build-binary.sh makes one, --binary names it", file=sys.stderr)
        return 2
    started = time.monotonic()
    built = subprocess.run([VM / "build.sh"], stdout=subprocess.PIPE, text=True, check=False)
    if built.returncode != 0:
        return 2
    image = Path(built.stdout.strip())
    arguments.state = arguments.state.resolve()
    arguments.state.mkdir(parents=True, exist_ok=True)
    # Building the machine from nothing is not counted: a mirror may be slow.
    limit = Limit(arguments.limit)
    print(f"seed {arguments.seed}, state in {arguments.state}", flush=True)
    if arguments.smoke:
        jobs = [("smoke", [test for group in groups for test in group.tests], {})]
    else:
        jobs = machines(groups, arguments.jobs)
    with ThreadPoolExecutor(arguments.jobs) as pool:
        processor_s = sum(pool.map(lambda job: run_group(*job, arguments, image, limit), jobs))
    seconds = time.monotonic() - started
    write_junit(arguments.state / "junit.xml", groups, seconds)
    for group in groups:
        for test in group.tests:
            (arguments.state / "logs" / group.name).mkdir(parents=True, exist_ok=True)
            (arguments.state / "logs" / f"{test}.log").write_text(test.log)
    tests = [test for group in groups for test in group.tests]
    failed = sum(test.status != "ok" for test in tests)
    print(
        f"{len(tests) - failed} of {len(tests)} passed in {seconds:.0f} s, {processor_s:.0f} s of processor time in QEMU;"
        f" {arguments.state / 'junit.xml'}"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
