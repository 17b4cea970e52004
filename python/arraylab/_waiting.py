"""Waiting for threads so that Ctrl-C is heard."""

from collections.abc import Collection, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

#: Longest time without a look at signals, in seconds.
LOOK_S = 0.1


def as_completed(futures: Collection[Future[Any]]) -> Iterator[Future[Any]]:
    """The futures as they end. `concurrent.futures.as_completed` waits on a lock without a limit, which no signal ends once polars
    is imported: its handler of SIGINT restarts system calls."""
    left = set(futures)
    while left:
        ended, left = wait(left, timeout=LOOK_S, return_when=FIRST_COMPLETED)
        yield from ended
