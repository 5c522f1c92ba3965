"""Calls that take long: other threads go on, and signals end them.

A pipe to which nobody writes makes a call as long as it needs to be.
"""

import os
import signal
import threading
from pathlib import Path
from types import FrameType

import pytest

from wyrmling.datasets import read_interactions

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pipes and signals are those of POSIX")


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_other_threads_go_on(pipe: Path) -> None:
    # Only if the reader lets go of the interpreter can the writer run.
    writer = threading.Thread(target=pipe.write_text, args=("ann,tea\nbob,rye\n" * 50_000,))
    writer.start()
    assert len(read_interactions(pipe)) == 100_000
    writer.join()


class Rung(Exception):
    """What the handler of a signal raises."""


def test_what_a_signal_handler_raises_ends_the_call(pipe: Path) -> None:
    def ring(_number: int, _frame: FrameType | None) -> None:
        raise Rung

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Rung):
            read_interactions(pipe)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_handlers_that_return_do_not_end_it(pipe: Path) -> None:
    rung = threading.Event()
    before = signal.signal(signal.SIGALRM, lambda *_: rung.set())

    def write() -> None:
        rung.wait()
        pipe.write_text("ann,tea\n")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        assert len(read_interactions(pipe)) == 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        writer.join()
