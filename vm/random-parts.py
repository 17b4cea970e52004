#!/usr/bin/env python3
"""Runs many random combinations of vm/tests/random.sh in parts, each in machines of its own, and continues where it was stopped.

    random-parts.py --binary PATH [--seed N] [--count 500] [--part 60] [--state DIR] [--for SECONDS]

A part that has passed is not run again, as long as --state is kept. Exit status: 0 all combinations passed, 1 a part failed or was not
run for want of time, 2 nothing could be run.
"""

import argparse
import re
import subprocess
import sys
import time
from pathlib import Path

VM = Path(__file__).resolve().parent
# A combination takes 3 s on average on an idle host, many times that beside builds; deadlines of its own end one that hangs.
SECONDS_A_COMBINATION = 60
BOOTS_S = 900


def tried_of(part):
    """Combinations that a part tried, those that were written and those refused, by what its tests printed."""
    sums = [0, 0, 0]
    for log in part.glob("logs/random/*.log"):
        if end := re.search(r"^(\d+) combinations: (\d+) written, (\d+) refused$", log.read_text(errors="replace"), re.MULTILINE):
            sums = [a + int(b) for a, b in zip(sums, end.groups())]
    return sums


def has_passed(part):
    junit = part / "junit.xml"
    return junit.exists() and re.search(r'<testsuites tests="[1-9]\d*" failures="0"', junit.read_text()) is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True, help="the arraylab that is tested")
    parser.add_argument("--seed", type=int, default=1, help="of the first combination; each further one has the next (1)")
    parser.add_argument("--count", type=int, default=500, help="how many combinations (500)")
    parser.add_argument("--part", type=int, default=60, help="combinations of a part (60)")
    parser.add_argument("--state", type=Path, default=VM.parent / "target/vm-random", help="where results lie (target/vm-random)")
    parser.add_argument("--for", type=int, default=0, dest="seconds", help="begin no part after so many seconds (0: all parts)")
    arguments = parser.parse_args()
    started, failed, left, sums = time.monotonic(), [], 0, [0, 0, 0]
    for first in range(0, arguments.count, arguments.part):
        count = min(arguments.part, arguments.count - first)
        seed = arguments.seed + first
        part = arguments.state / f"{seed}-{count}"
        if not has_passed(part):
            if arguments.seconds and time.monotonic() - started > arguments.seconds:
                left += count
                continue
            limit = BOOTS_S + SECONDS_A_COMBINATION * count
            command = [VM / "run.py", "--binary", arguments.binary, "--seed", seed, "--random", count, "--limit", limit]
            status = subprocess.run([str(word) for word in [*command, "--state", part, "random"]], check=False).returncode
            if status == 2:
                return 2
            if status != 0:
                failed.append(part)
        sums = [a + b for a, b in zip(sums, tried_of(part))]
    print(f"{sums[0]} of {arguments.count} combinations from seed {arguments.seed} passed: {sums[1]} written, {sums[2]} refused")
    for part in failed:
        print(f"FAIL {part}")
    if left:
        print(f"{left} were not run: the same command continues")
    return 1 if failed or left else 0


if __name__ == "__main__":
    sys.exit(main())
