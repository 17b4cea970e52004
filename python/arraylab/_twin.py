"""Twins step by step: a trace in, latencies out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _native
from ._array import Array
from ._error import ArraylabError

#: Bytes of a logical block, as in block traces.
BLOCK_BYTES = 512
_DIRECTIONS = {"read": 0, "r": 0, "write": 1, "w": 1, "trim": 2, "discard": 2, "d": 2}


class Twin:
    """A simulated array that is given operations at given times and keeps its state between calls.

    >>> import numpy as np
    >>> twin = arraylab.Twin("composite-flash")
    >>> t_ns = np.arange(1000) * 10_000
    >>> latency_ns = twin.run(t_ns, "read", np.arange(1000) * 8, 4096)
    >>> latency_ns.shape, bool(latency_ns.min() > 0)
    ((1000,), True)
    """

    def __init__(
        self,
        array: Array | str | os.PathLike[str] | Mapping[str, Any],
        *,
        seed: int = 1,
        twin: Mapping[str, Any] | None = None,
    ):
        #: The array.
        self.array = Array.of(array)
        self._native = _native.Twin(self.array.name, self.array.text, json.dumps(dict(twin or {})), _seed(seed))

    @property
    def capacity_bytes(self) -> int:
        """Bytes that may be addressed."""
        return self._native.capacity_bytes

    @property
    def now_ns(self) -> int:
        """Where its clock stands: operations may be submitted from here on."""
        return self._native.now_ns

    def run(self, t_ns: Any, op: Any, lba: Any, bytes: Any, *, job: Any = 0, from_issue: bool = False) -> np.ndarray:
        """Latencies in nanoseconds (int64, shape of ``t_ns``) of operations at times ``t_ns`` of the twin's clock, in
        order of time; -1 where an operation failed. All of them have completed when it returns.

        ``op`` is ``"read"``, ``"write"``, ``"trim"`` or an array of 0, 1, 2 or of such texts; ``lba`` counts blocks of 512 bytes;
        ``bytes`` is the length; ``job`` says which job of the hosts issues it. A single value stands for all.

        A latency counts from ``t_ns``, as results of loads with a rate do; with ``from_issue`` from the moment at which the host had
        handed the operation over, as fio's ``clat`` and results of loads without a rate do.
        """
        times = _whole(t_ns, "t_ns", np.uint64)
        if times.ndim != 1:
            raise ArraylabError(f"t_ns has {times.ndim} dimensions\nhint: one time for each operation")
        count = len(times)
        blocks = _whole(lba, "lba", np.uint64)
        if blocks.size and int(blocks.max()) > (2**64 - 1) // BLOCK_BYTES:
            raise ArraylabError("an lba is beyond 2^64 bytes\nhint: lba counts blocks of 512 bytes")
        columns = (
            times,
            _spread(_directions(op), count, "op", np.uint8),
            _spread(blocks * np.uint64(BLOCK_BYTES), count, "lba", np.uint64),
            _spread(_whole(bytes, "bytes", np.uint32), count, "bytes", np.uint32),
            _spread(_whole(job, "job", np.uint32), count, "job", np.uint32),
        )
        return np.frombuffer(self._native.run(*columns, bool(from_issue)), dtype=np.int64)

    def act(self, action: str, *, at_ns: int | None = None, **arguments: Any) -> None:
        """Plans an event as plans name it (``drive-failure``), now or at a time of its clock.

        >>> arraylab.Twin("composite-flash").act("drive-failure", at_ns=1_000_000)
        """
        self._native.act(self.now_ns if at_ns is None else at_ns, action, json.dumps(arguments))

    def counters(self) -> dict[str, dict[str, int]]:
        """Counters by part and name; names end in their unit."""
        found: dict[str, dict[str, int]] = {}
        for entity, name, value in self._native.counters():
            found.setdefault(entity, {})[name] = value
        return found

    def take_events(self) -> list[tuple[int, str]]:
        """What happened to the array since it was last asked: time in nanoseconds and text."""
        return self._native.take_events()

    def __repr__(self) -> str:
        return f"<Twin of {self.array.name} at {self.now_ns:,} ns>"


def _seed(seed: Any) -> int:
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**64:
        raise ArraylabError(f"`{seed}` is no seed\nhint: a whole number from 0 to 2^64 - 1")
    return seed


def _whole(values: Any, name: str, kind: Any) -> np.ndarray:
    """Whole numbers of a type that holds them all."""
    given = np.asarray(values)
    if given.size == 0:
        return np.zeros(given.shape, kind)
    if given.dtype.kind not in "iu":
        raise ArraylabError(f"{name} has {given.dtype} in it\nhint: whole numbers")
    limits = np.iinfo(kind)
    if int(given.min()) < limits.min or int(given.max()) > limits.max:
        raise ArraylabError(f"{name} has a value that is not between 0 and {limits.max}")
    return np.asarray(given, dtype=kind, order="C")


def _directions(op: Any) -> np.ndarray:
    given = np.asarray(op)
    if given.dtype.kind in "US":
        texts = given.astype(str)
        values = np.zeros(texts.shape, np.uint8)
        known = np.zeros(texts.shape, bool)
        lower = np.char.lower(texts)
        for text, value in _DIRECTIONS.items():
            here = lower == text
            values[here] = value
            known |= here
        if not known.all():
            raise ArraylabError(f"`{texts[~known].flat[0]}` is no operation\nhint: read, write or trim")
        return values
    return _whole(op, "op", np.uint8)


def _spread(values: np.ndarray, count: int, name: str, kind: Any) -> np.ndarray:
    if values.ndim == 0:
        return np.full(count, values, kind)
    if values.shape != (count,):
        raise ArraylabError(f"{name} has {values.shape} items, t_ns {count}\nhint: equally many, or one for all")
    return np.ascontiguousarray(values, dtype=kind)
