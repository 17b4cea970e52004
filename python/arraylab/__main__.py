"""`python -m arraylab`: the command, and what is this package's: `sweep` and Parquet files."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from . import _command
from ._error import ArraylabError
from ._run import Run
from ._sweep import sweep


def main(words: list[str]) -> int:
    """Runs `sweep` and `export-parquet` here, every other command in the program."""
    if words[:1] == ["export-parquet"] and len(words) == 3:
        return _export_parquet(*words[1:])
    if words[:1] != ["sweep"]:
        program = _command.path()
        os.execv(program, [program, *words])
    parser = argparse.ArgumentParser(
        prog="arraylab sweep",
        description="Carry out a plan on a twin in shards and merge them into one run.",
        epilog="Example:\n  arraylab sweep raid-levels --target twin:raid-levels --on hyperqueue --shards 50 --workers 2 --out run",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("plan", metavar="PLAN", help="a shipped plan's name, or a file")
    parser.add_argument("--target", required=True, metavar="T", help="twin:NAME[,key=value]…")
    parser.add_argument("--on", default="local", metavar="WHERE", help="local, hyperqueue or hyperqueue:SERVER_DIR (default: local)")
    parser.add_argument("--shards", type=int, metavar="N", help="into how many parts the cases are cut (default: 50, or as many as cases)")
    parser.add_argument("--workers", type=int, metavar="W", help="how many shards at once (default: one a processor)")
    parser.add_argument("--out", required=True, metavar="DIR", help="the run directory")
    parser.add_argument("--stage", action="append", default=[], metavar="STAGE", help="only these stages")
    parser.add_argument("--only", action="append", default=[], metavar="K=V[,V]", help="only cases with these values")
    parser.add_argument("--set", action="append", default=[], metavar="K=V", help="a setting of every case")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--exact", action="store_true", help="simulate every load from end to end")
    parser.add_argument("--json", action="store_true", help="a JSON object for each shard on standard output")
    given = parser.parse_args(words[1:])

    def show(news: dict[str, Any]) -> None:
        if given.json:
            print(json.dumps(news), flush=True)
        else:
            print(f"shard {news['shard']} of {news['of']}: {news['status']} (attempt {news['attempt']})", file=sys.stderr, flush=True)

    try:
        run = sweep(
            given.plan,
            given.target,
            out=given.out,
            on=given.on,
            shards=given.shards,
            workers=given.workers,
            stages=given.stage,
            only={key: values.split(",") for key, values in map(_pair, given.only)},
            set=dict(map(_pair, given.set)),
            seed=given.seed,
            exact=given.exact,
            progress=show,
        )
    except ArraylabError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print(f"interrupted; the same command goes on with {given.out}.shards", file=sys.stderr)
        return 130
    print(f"done: {len(run.cases)} cases; see `arraylab results {given.out}`", file=sys.stderr)
    return 0


def _export_parquet(run: str, out: str) -> int:
    """What `arraylab export RUN --format parquet --out DIR` becomes."""
    directory = Path(out)
    try:
        if directory.exists():
            raise ArraylabError(f"{out} exists\nhint: name another directory")
        part = directory.with_name(directory.name + ".part")
        Run(run).write_parquet(part)
        part.rename(directory)
    except ArraylabError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    print(directory)
    return 0


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key and equals and value):
        raise ArraylabError(f"`{text}` is not KEY=VALUE\nhint: for example bs=4k")
    return key, value


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
