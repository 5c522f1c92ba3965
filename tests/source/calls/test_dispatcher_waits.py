"""Ctrl-C, other threads and forks while functions that were compiled run, or are made."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from interrupting import INTERRUPTED

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and forks are those of POSIX")

SETUP = (
    INTERRUPTED
    + """
from dispatching import Case, FLOAT, dispatcher, square, unary
from wyrmling._core import IrBuilder, Specialization, SpecializationTable

def endless(native):
    b = IrBuilder("endless")
    x = b.parameter(0, "float")
    loop, end = b.block(), b.block()
    y = b.parameter(loop, "float")
    b.jump(loop, [x])
    b.switch(loop)
    more = b.compute("less_number", [y, b.constant(0.0)])
    b.branch(more, end, [], loop, [b.apply("mul", [y, b.constant(0.999999)])])
    b.switch(end)
    b.returns([y])
    return b.finish().compile(native)
"""
)

TASKS = {
    "a run is interrupted": """
        for native in (True, False):
            call = Case(None, unary(compiled=endless(native))).call
            for _ in range(2):
                interrupted(call, 1.0)
            interrupted(endless(native), [1.0])
    """,
    "others run meanwhile": """
        call = Case(None, unary(compiled=endless(True))).call
        count, stop = [0], []

        def work():
            while not stop:
                count[0] += 1

        thread = threading.Thread(target=work)
        thread.start()
        for _ in range(2):
            before = count[0]
            interrupted(call, 1.0)
            assert count[0] > before
        stop.append(True)
        thread.join()
    """,
    "a wait for another thread is interrupted": """
        begun, done = threading.Event(), threading.Event()

        def specialize(args, kwargs):
            begun.set()
            done.wait()
            return unary()

        call = dispatcher(len, specialize, lambda *_: None, SpecializationTable())
        thread = threading.Thread(target=call, args=(2.0,))
        thread.start()
        begun.wait()
        interrupted(call, 2.0)
        done.set()
        thread.join()
        assert call(2.0) == 4.0
    """,
    "making is interrupted": """
        def specialize(args, kwargs):
            if not made:
                time.sleep(60)
            return unary()

        made = []
        call = dispatcher(len, specialize, lambda *_: None, SpecializationTable())
        interrupted(call, 2.0)
        made.append(1)
        assert call(2.0) == 4.0
    """,
    "a child makes what a thread of the parent was making": """
        begun, done = threading.Event(), threading.Event()

        def specialize(args, kwargs):
            if not begun.is_set():
                begun.set()
                done.wait()
            return unary()

        call = dispatcher(len, specialize, lambda *_: None, SpecializationTable())
        threads = [threading.Thread(target=call, args=(2.0,)) for _ in range(3)]
        threads[0].start()
        begun.wait()
        [thread.start() for thread in threads[1:]]
        time.sleep(0.2)
        child = os.fork()
        if child == 0:
            os._exit(0 if call(3.0) == 9.0 else 1)
        _, status = os.waitpid(child, 0)
        assert status == 0, status
        done.set()
        [thread.join() for thread in threads]
    """,
}


@pytest.mark.parametrize("task", TASKS)
def test_while_functions_run_or_are_made(task: str) -> None:
    code = SETUP + textwrap.dedent(TASKS[task])
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
