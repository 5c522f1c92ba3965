"""What an epoch costs: the processor's time for one thread, the wall's for more.

Where a machine is shared, a thread waits for a core without having worked. The time that the
processor spent in this process does not see that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_busy = False


def machine_is_busy() -> None:
    """From now on several threads are timed by their share of what the processor spent."""
    global _busy
    _busy = True


def clock(threads: int) -> Callable[[], float]:
    """The clock by which work on so many threads is measured, in seconds."""
    if threads == 1:
        return time.process_time
    return (lambda: time.process_time() / threads) if _busy else time.perf_counter


class Laps:
    """Seconds between calls; the first are those since it was made."""

    def __init__(self, threads: int) -> None:
        self._clock = clock(threads)
        self.seconds: list[float] = []
        self._last = self._clock()

    def __call__(self, *_: object) -> None:
        """An epoch has ended; the form of a callback."""
        now = self._clock()
        self.seconds.append(now - self._last)
        self._last = now


@contextmanager
def limited(threads: int) -> Iterator[None]:
    """Has BLAS use so many threads; one, where it is called from several."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=threads, user_api="blas"):
        yield
