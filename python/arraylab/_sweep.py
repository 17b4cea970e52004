"""Large studies: the cases of a plan in shards, on this machine or by HyperQueue on Slurm, PBS or any hosts."""

from __future__ import annotations

import builtins
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from . import _command, _native
from ._array import Array
from ._error import ArraylabError
from ._plan import Plan, _directory, _only, _set
from ._run import Run
from ._waiting import as_completed

#: Attempts at a shard before the sweep fails.
ATTEMPTS = 3
#: Shards of a sweep that does not say how many, where there are cases for as many.
SHARDS = 50
#: How often ended shards are looked for, in seconds.
LOOK_S = 0.2

#: Carries out a shard, or goes on with what a killed process left of it; its exit status is kept beside its directory.
_SHARD = """
command=$0; directory=$1; shift
if [ -f "$directory/manifest.json" ]; then "$command" run --resume "$directory" --threads 1
else rm -rf "$directory"; "$command" run "$@" --out "$directory" --threads 1; fi
status=$?; echo $status > "$directory.part" && mv "$directory.part" "$directory.status"; exit $status
"""

Progress = Callable[[dict[str, Any]], None]


def sweep(
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    target: str | Array,
    *,
    out: str | os.PathLike[str] | None = None,
    on: str = "local",
    shards: int | None = None,
    workers: int | None = None,
    stages: Sequence[str] = (),
    only: Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int = 1,
    exact: bool = False,
    progress: Progress | None = None,
) -> Run:
    """Carries out a plan on a twin in shards and merges them: the run in ``out`` is the one that ``arraylab run`` would have made.

    ``on`` is ``"local"``, ``"hyperqueue"`` (a server and workers on this machine, for as long as it takes) or
    ``"hyperqueue:SERVER_DIR"`` (a running server, whose workers may be on Slurm or PBS and see the same file system). A shard
    whose process was killed is taken up where it was. ``progress`` is called with ``{"shard", "of", "status", "attempt"}``;
    the status is ``done``, ``retried`` or ``failed``.

    >>> import tempfile, pathlib
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "run"
    >>> run = arraylab.sweep("quick", "twin:composite-flash", out=out, shards=2, workers=1, set={"runtime": 1})
    >>> len(run.cases)
    5
    """
    of = Plan.of(plan)
    directory = _directory(of, out).absolute()
    if directory.exists() and any(directory.iterdir()):
        raise ArraylabError(f"{directory} exists and is not empty\nhint: name another directory with out")
    most = _native.plan_shards(of.name, of.text, list(stages), _only(only), _set(set))
    total = min(SHARDS, most) if shards is None else shards
    if not isinstance(total, int) or not 1 <= total <= most:
        raise ArraylabError(
            f"`{shards}` is no number of shards\nhint: 1 to {most}; cases that rest on each other stay together"
        )
    parts = directory.with_name(directory.name + ".shards")
    parts.mkdir(parents=True, exist_ok=True)
    name = os.fspath(plan) if isinstance(plan, (str, os.PathLike)) else str(of.write(parts / f"{of.name}.yaml"))
    twin = target._target(parts) if isinstance(target, Array) else target
    if not twin.startswith("twin:"):
        raise ArraylabError(f"`{twin}` is no twin\nhint: shards measure beside each other; a real array is tested by `arraylab run`")
    run = [name, "--target", twin, "--seed", str(seed)]
    run += [word for stage in stages for word in ("--stage", stage)]
    run += [word for key, values in _only(only) for word in ("--only", f"{key}={','.join(values)}")]
    run += [word for key, value in _set(set) for word in ("--set", f"{key}={value}")]
    run += ["--exact"] if exact else []
    command = _command.path()

    def arguments(shard: int) -> list[str]:
        return ["sh", "-c", _SHARD, command, str(parts / f"{shard}"), *run, "--shard", f"{shard}/{total}"]

    # What an earlier sweep that was interrupted has done stays done.
    waiting = [shard for shard in range(1, total + 1) if _status(parts, shard) != 0]
    with _executor(on, workers or os.cpu_count() or 1) as carry_out:
        for attempt in range(1, ATTEMPTS + 1):
            for shard in waiting:
                (parts / f"{shard}.status").unlink(missing_ok=True)
            failed = []
            for shard in carry_out(parts, {shard: arguments(shard) for shard in waiting}):
                status = _status(parts, shard)
                is_last = attempt == ATTEMPTS or status == 2
                word = "done" if status == 0 else "failed" if is_last else "retried"
                if progress:
                    progress({"shard": shard, "of": total, "status": word, "attempt": attempt})
                if status != 0:
                    failed.append(shard)
                if word == "failed":
                    raise ArraylabError(f"shard {shard} of {total} failed: {_log(parts, shard)}", status or 3)
            waiting = failed
            if not waiting:
                break
    merged = subprocess.run(
        [command, "merge", *(str(parts / f"{shard}") for shard in range(1, total + 1)), "--out", str(directory)],
        capture_output=True,
        text=True,
    )
    if merged.returncode:
        raise ArraylabError(merged.stderr.strip().removeprefix("error: "), merged.returncode)
    shutil.rmtree(parts)
    return Run(directory)


def _status(parts: Path, shard: int) -> int | None:
    """Exit status of a shard; None where its process was killed or has not ended."""
    try:
        return int((parts / f"{shard}.status").read_text())
    except (FileNotFoundError, ValueError):
        return None


def _log(parts: Path, shard: int) -> str:
    """What a shard wrote last."""
    try:
        text = (parts / f"{shard}.log").read_text(errors="replace").strip()
    except FileNotFoundError:
        return "it was not begun"
    place = text.rfind("error: ")
    return text[place + len("error: ") :] if place >= 0 else text[-500:]


Tasks = dict[int, list[str]]


@contextmanager
def _executor(on: str, workers: int) -> Iterator[Callable[[Path, Tasks], Iterator[int]]]:
    """What carries out shards and tells which have ended."""
    if on == "local":
        yield lambda parts, tasks: _locally(parts, tasks, workers)
        return
    kind, _, server = on.partition(":")
    if kind != "hyperqueue":
        raise ArraylabError(f"a sweep cannot go on `{on}`\nhint: local, hyperqueue or hyperqueue:SERVER_DIR")
    if importlib.util.find_spec("hyperqueue") is None:
        raise ArraylabError('hyperqueue is not installed\nhint: pip install "arraylab[sweep]"')
    yield lambda parts, tasks: _by_hyperqueue(server or None, workers, parts, tasks)


def _locally(parts: Path, tasks: Tasks, workers: int) -> Iterator[int]:
    """Shards as processes of this machine."""
    processes: dict[int, subprocess.Popen[bytes]] = {}
    is_over = threading.Event()

    def one(shard: int) -> int:
        if is_over.is_set():
            return shard
        with open(parts / f"{shard}.log", "wb") as log:
            # A session of its own: Ctrl-C comes to this process, which ends the others in order.
            process = subprocess.Popen(tasks[shard], stdout=log, stderr=log, start_new_session=True)
            processes[shard] = process
            process.wait()
        return shard

    pool = ThreadPoolExecutor(max_workers=workers)
    try:
        for future in as_completed([pool.submit(one, shard) for shard in tasks]):
            yield future.result()
    except BaseException:
        is_over.set()
        for process in processes.values():
            if process.poll() is None:
                # The group: the shell and the command below it.
                os.killpg(process.pid, 15)
        raise
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _by_hyperqueue(server: str | None, workers: int, parts: Path, tasks: Tasks) -> Iterator[int]:
    """Shards as tasks of one job, submitted by a process of its own."""
    given = {
        "server": server,
        "workers": workers,
        "directory": str(parts),
        "tasks": [
            {"name": f"shard {shard}", "arguments": arguments, "log": str(parts / f"{shard}.log")}
            for shard, arguments in tasks.items()
        ],
    }
    with builtins.open(parts / "hyperqueue.log", "w+") as log:
        client = subprocess.Popen(
            [sys.executable, "-m", "arraylab._hyperqueue"], stdin=subprocess.PIPE, stdout=log, stderr=log, text=True
        )
        try:
            assert client.stdin is not None
            client.stdin.write(json.dumps(given))
            client.stdin.close()
            left = list(tasks)
            while True:
                is_over = client.poll() is not None
                ended = [shard for shard in left if _status(parts, shard) is not None]
                yield from ended
                left = [shard for shard in left if shard not in ended]
                if is_over:
                    break
                time.sleep(LOOK_S)
        finally:
            if client.poll() is None:
                client.kill()
                client.wait()
        if client.returncode:
            log.seek(0)
            raise ArraylabError(f"HyperQueue: {log.read().strip()[-500:]}", 3)
    # Killed: they have no status.
    yield from left
