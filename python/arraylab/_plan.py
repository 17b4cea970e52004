"""Test plans: built, checked, expanded and carried out."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _native
from ._array import Array
from ._frames import convert
from ._run import Run
from ._settings import text_of


def plans() -> list[str]:
    """Names of the plans that ship.

    >>> "quick" in arraylab.plans()
    True
    """
    return _native.plan_names()


class Plan:
    """A test plan, checked.

    >>> plan = arraylab.Plan.of({"title": "One read", "stages": {"reads": {"settings": {"rw": "randread", "bs": "4k"}}}})
    >>> plan.cases()["case"].len()
    1
    """

    def __init__(self, name: str, text: str):
        _native.plan_parse(name, text)
        #: Its name.
        self.name = name
        #: Its YAML.
        self.text = text

    @classmethod
    def load(cls, name_or_path: str | os.PathLike[str]) -> "Plan":
        """A plan by the name under which it ships, or from a file."""
        return cls(*_native.plan_load(os.fspath(name_or_path)))

    @classmethod
    def of(cls, plan: "Plan | str | os.PathLike[str] | Mapping[str, Any]", name: str = "plan") -> "Plan":
        """The plan itself, one by its name or path, or one of a dictionary in the plan language."""
        if isinstance(plan, Plan):
            return plan
        if isinstance(plan, Mapping):
            return cls(name, json.dumps(dict(plan), indent=2))
        return cls.load(plan)

    def cases(
        self,
        *,
        stages: Sequence[str] = (),
        only: Mapping[str, Any] | None = None,
        set: Mapping[str, Any] | None = None,
        to: str = "polars",
    ) -> Any:
        """The cases as ``arraylab expand --json`` has them, with estimated time and bytes written."""
        return convert(_native.plan_cases(self.name, self.text, list(stages), _only(only), _set(set)), to)

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Writes the text to a file, which ``arraylab`` takes as a plan."""
        target = Path(path)
        target.write_text(self.text)
        return target

    def __repr__(self) -> str:
        return f"<Plan {self.name}>"


def run(
    plan: Plan | str | os.PathLike[str] | Mapping[str, Any],
    target: str | Array | Sequence[str],
    *,
    out: str | os.PathLike[str] | None = None,
    stages: Sequence[str] = (),
    only: Mapping[str, Any] | None = None,
    set: Mapping[str, Any] | None = None,
    seed: int = 1,
    exact: bool = False,
    threads: int | None = None,
    engine: str | None = None,
    array_driver: str | None = None,
    overwrite_data: Sequence[str] = (),
    progress: Callable[[dict[str, Any]], None] | bool = True,
) -> Run:
    """Carries out a plan as ``arraylab run`` does, and opens the run. ``target`` is a target of the command
    (``twin:e2700``, ``/dev/sdx``, ``nbd://…``) or an :class:`Array`. Data on a device is overwritten only with the ID that
    arraylab printed for it, in ``overwrite_data``. Without ``out`` the run is kept below ``runs/``, as the command does. ``progress=True`` prints a line on a terminal or in a notebook.

    >>> import tempfile, pathlib
    >>> out = pathlib.Path(tempfile.mkdtemp()) / "run"
    >>> run = arraylab.run("quick", "twin:composite-flash", out=out, set={"runtime": 1}, progress=False)
    >>> run.results()["status"].unique().to_list()
    ['done']
    """
    of = Plan.of(plan)
    out = _directory(of, out)
    name = os.fspath(plan) if isinstance(plan, (str, os.PathLike)) else None
    with tempfile.TemporaryDirectory(prefix="arraylab-") as kept:
        root = Path(kept)
        if isinstance(target, Array):
            targets = [target._target(root)]
        else:
            targets = [target] if isinstance(target, str) else list(target)
        shown = _Shown() if progress is True else None
        _native.carry_out(
            name or str(of.write(root / f"{of.name}.yaml")),
            targets,
            os.fspath(out),
            seed=seed,
            stages=list(stages),
            only=_only(only),
            set=_set(set),
            exact=exact,
            threads=threads,
            consents=list(overwrite_data),
            array_driver=array_driver,
            engine=engine,
            on_progress=shown or (progress if callable(progress) else None),
        )
        if shown:
            shown.end()
    return Run(out)


def _directory(plan: Plan, out: str | os.PathLike[str] | None) -> Path:
    """Where a run is kept."""
    return Path("runs") / f"{plan.name}-{_native.new_run_id()}" if out is None else Path(out)


#: How often a line of progress is written.
_SHOWN_EVERY_S = 0.2


class _Shown:
    """A line of progress that is written over, on a terminal or in a notebook; nothing elsewhere."""

    def __init__(self) -> None:
        import sys

        self._stream = sys.stderr
        self._is_shown = self._stream.isatty() or "ipykernel" in sys.modules
        self._width = 0
        self._next_s = 0.0

    def __call__(self, news: dict[str, Any]) -> None:
        if "notice" in news:
            text = news["notice"]
        elif time.monotonic() < self._next_s and news["share"] < 1:
            return
        else:
            self._next_s = time.monotonic() + _SHOWN_EVERY_S
            left = news["time_left_s"]
            text = f"{news['cases_ended']} of {news['cases_total']} cases, {100 * news['share']:.0f} %"
            text += "" if left is None else f", {left:.0f} s left"
        if self._is_shown:
            self._stream.write("\r" + text.ljust(self._width))
            self._stream.flush()
            self._width = max(self._width, len(text))

    def end(self) -> None:
        if self._is_shown and self._width:
            self._stream.write("\n")


def _only(only: Mapping[str, Any] | None) -> list[tuple[str, list[str]]]:
    chosen = []
    for key, values in (only or {}).items():
        many = values if isinstance(values, (list, tuple)) else [values]
        chosen.append((key, [text_of(key, value) for value in many]))
    return chosen


def _set(changed: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    return [(key, text_of(key, value)) for key, value in (changed or {}).items()]
