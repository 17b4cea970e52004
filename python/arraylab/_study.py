"""Studies: variants of an array under several loads, as one tidy frame."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from . import _native
from ._array import Array
from ._error import ArraylabError
from ._simulate import simulate
from ._waiting import as_completed

#: The most simulations of one study; more are for `arraylab.sweep`.
STUDY_LIMIT = 100_000


def study(
    array: Array | str | os.PathLike[str],
    *,
    changes: Mapping[str, Sequence[Any]] | None = None,
    loads: Sequence[Mapping[str, Any]] = ({"rw": "randread", "bs": "4k", "iodepth": 32},),
    seeds: Sequence[int] = (1,),
    threads: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Any:
    """Simulates every combination of changed values, loads and seeds, in threads. The frame has a row for each: the changed
    values under their paths, ``seed``, and the columns of the results. ``progress`` is called with how many are done of how many.

    >>> frame = arraylab.study(
    ...     "flashsystem-840",
    ...     changes={"fabric.ports": [4, 8]},
    ...     loads=[{"rw": "randread", "bs": "4k", "iodepth": 8, "runtime": 1}],
    ... )
    >>> frame["fabric.ports"].to_list()
    [4, 8]
    """
    import polars

    base = Array.of(array)
    paths = list(changes or {})
    values = [list(one) if isinstance(one, (list, tuple, range)) else [one] for one in (changes or {}).values()]
    variants = [
        (combination, _changed(base, dict(zip(paths, combination)))) for combination in itertools.product(*values)
    ]
    tasks = [(variant, load, seed) for variant in variants for load in loads for seed in seeds]
    if not 0 < len(tasks) <= STUDY_LIMIT:
        raise ArraylabError(f"the study has {len(tasks)} simulations\nhint: 1 to {STUDY_LIMIT}; `arraylab.sweep` takes more")
    stop = _native.Stop()

    def one(task: Any) -> Any:
        (combination, changed), load, seed = task
        frame = simulate(changed, seed=seed, stop=stop, **load).results()
        named = [polars.lit(value).alias(path) for path, value in zip(paths, combination)]
        return frame.drop("plan", "stage", "target").select(*named, polars.lit(seed).alias("seed"), polars.all())

    frames: list[Any] = [None] * len(tasks)
    with ThreadPoolExecutor(max_workers=threads or os.cpu_count() or 1) as pool:
        futures = {pool.submit(one, task): place for place, task in enumerate(tasks)}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                frames[futures[future]] = future.result()
                if progress:
                    progress(done, len(tasks))
        except BaseException:
            # Ctrl-C reaches this thread alone: the others are told.
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return polars.concat(frames, how="diagonal_relaxed")


def _changed(array: Array, values: Mapping[str, Any]) -> Array:
    for path, value in values.items():
        array = array.replace(path, value)
    return array
