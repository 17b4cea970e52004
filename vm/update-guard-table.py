#!/usr/bin/env python3
"""Writes the rows that the tests of vm/tests/classes.sh found into the table of docs/guard.md.

    update-guard-table.py [LOGS]...       directories of a run's logs (target/vm/logs/classes)

Rows of classes that were not tried stay; new classes come last. Only the rows are generated: whether they are as they should be is for
the tests, which fail where a use is neither refused nor read-only of another path.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main():
    found = {}
    for directory in sys.argv[1:] or [ROOT / "target/vm/logs/classes"]:
        for log in sorted(Path(directory).glob("*.log")):
            for line in log.read_text(errors="replace").splitlines():
                if line.startswith("| "):
                    found[line.split("|")[1].strip()] = line
    if not found:
        print("error: no rows in these logs\nhint: vm/run.py --binary PATH classes", file=sys.stderr)
        return 2
    tests = (ROOT / "vm/tests/classes.sh").read_text()
    uses = re.search(r"^USES=\((.*)\)$", tests, re.MULTILINE)[1].split()
    document = ROOT / "docs/guard.md"
    before, heading, rest = document.read_text().partition("| class |")
    rows = rest.splitlines()[2:]
    end = next((n for n, line in enumerate(rows) if not line.startswith("| ")), len(rows))
    table = {line.split("|")[1].strip(): line for line in rows[:end]} | found
    lines = [" ".join([heading, *(use.replace("_", " ") + " |" for use in uses)]), "|---" * (len(uses) + 1) + "|", *table.values(), *rows[end:]]
    document.write_text(before + "\n".join(lines) + "\n")
    print(f"{len(found)} of {len(table)} rows were found in the logs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
