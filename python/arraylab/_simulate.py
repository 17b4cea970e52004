"""Loads on twins."""

from __future__ import annotations

import atexit
import json
import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from . import _native
from ._array import Array
from ._error import ArraylabError
from ._run import Run
from ._settings import text_of

#: Length of a load that does not say how long it runs, in seconds.
RUNTIME_S = 10

atexit.register(_native.remove_temporary_directories)


class Simulation(Run):
    """A simulated load: a run whose directory goes when the object goes."""

    def __init__(self, directory: _native.TemporaryDirectory, array: Array, plan_text: str):
        super().__init__(directory.path / "run")
        self._kept = directory
        #: The array that was simulated.
        self.array = array
        #: The plan that was carried out. Kept as `simulate.yaml`, `arraylab run simulate.yaml` with the same target and seed gives the same
        #: bytes; under another name it is another draw of addresses, because a case's seed is made of the names of plan, stage and case.
        self.plan_text = plan_text

    def keep(self, directory: str | os.PathLike[str]) -> Run:
        """Moves the run to a directory of its own, where the command finds it too."""
        import shutil

        shutil.copytree(self.directory, directory)
        return Run(directory)


def simulate(
    array: Array | str | os.PathLike[str] | Mapping[str, Any],
    *,
    seed: int = 1,
    exact: bool = False,
    twin: Mapping[str, Any] | None = None,
    events: Sequence[Mapping[str, Any]] | None = None,
    interval: str | float | None = None,
    progress: Callable[[dict[str, Any]], None] | None = None,
    stop: _native.Stop | None = None,
    **settings: Any,
) -> Simulation:
    """Runs one load on the twin of an array, in simulated time; the numbers are those of ``arraylab run`` with
    :attr:`Simulation.plan_text` as ``simulate.yaml``.

    ``settings`` are fio's: ``rw="randread", bs="4k", iodepth=32, numjobs=4, runtime="10s"``. Numbers are bytes, seconds and percent,
    texts may have units. ``twin`` are settings and switches of the array (``raid=5``), ``events`` timed events as plans have
    them (``{"at": "5s", "action": "drive-failure"}``), ``exact`` simulates a long load from end to end, ``interval`` is the time between samples (a plan's
    ``watch.interval``, 5 s or a tenth of a short load without it).

    The interpreter is free meanwhile: many may run in threads. Ctrl-C stops it. ``progress`` is called with a dictionary
    (``share``, 0 to 1).

    >>> simulation = arraylab.simulate("composite-flash", rw="randrw", rwmixread=70, bs="8k", iodepth=8, runtime="1s")
    >>> simulation.results()["iops"][0] > 0
    True
    """
    of = Array.of(array)
    for name, value in settings.items():
        if not isinstance(value, (str, int, float, bool, list, dict)):
            raise ArraylabError(f"`{name}` is a {type(value).__name__}\nhint: a setting is a number or a text, such as 4096 or 4k")
    load = {"runtime": RUNTIME_S} | settings
    stage: dict[str, Any] = {"settings": load}
    if events:
        stage["events"] = [dict(event) for event in events]
    plan: dict[str, Any] = {"title": "One load", "stages": {"simulate": stage}}
    if interval is not None:
        plan["watch"] = {"interval": interval}
    # Goes with the simulation, or with what is raised.
    directory = _native.TemporaryDirectory(tempfile.mkdtemp(prefix="arraylab-"))
    root = directory.path
    plan_text = json.dumps(plan, indent=2)
    (root / "simulate.yaml").write_text(plan_text)
    target = of._target(root) + "".join(f",{_switch(name, value)}" for name, value in (twin or {}).items())
    _native.carry_out(
        str(root / "simulate.yaml"),
        [target],
        str(root / "run"),
        seed=seed,
        exact=exact,
        threads=1,
        on_progress=progress,
        stop=stop,
    )
    simulation = Simulation(directory, of, plan_text)
    state = simulation.case(0).state
    if state != "done":
        raise ArraylabError(simulation._native.error_of(0) or f"the load ended as {state}", 3)
    return simulation


def _switch(name: str, value: Any) -> str:
    """A setting of a twin as a target has it, where a comma would begin the next one."""
    text = text_of(name, value)
    if not re.fullmatch(r"[^,=\s]+", text):
        raise ArraylabError(f"`{text}` is no value of a twin's setting")
    return f"{name}={text}"
