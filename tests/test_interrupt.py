"""Ctrl-C ends what takes long, soon. The bound is generous: the machine may be loaded, and each of
the calls would last for many times as long."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")

SETUP = """
import faulthandler, os, signal, sys, threading, time
import numpy as np
import wyrmling as wy

faulthandler.dump_traceback_later(90, exit=True)
rang = []

def ring():
    time.sleep(0.5)
    rang.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)

def interrupted(call):
    threading.Thread(target=ring, daemon=True).start()
    try:
        call()
    except KeyboardInterrupt:
        took = time.monotonic() - rang.pop()
        assert took < 5.0, took
        return
    raise AssertionError("it was not interrupted")

def for_ever(call):
    def loop():
        while True:
            call()
    return loop
"""

CALLS = {
    # 2 · 9000³ operations.
    "an eager product": """
    x = wy.Variable(np.ones((9000, 9000), np.float32))
    interrupted(lambda: x @ x)
    """,
    "its gradient": """
    x = wy.Variable(np.ones((9000, 9000), np.float32))
    y = wy.Variable(np.ones((9000, 1), np.float32))
    z = x @ y
    big = wy.Variable(np.ones((9000, 9000), np.float32))
    def both():
        (big @ big).sum().backward()
    interrupted(both)
    """,
    "a program of one large step": """
    x = wy.Variable(np.ones((9000, 9000), np.float32))
    s = wy.Input(np.ones((2, 9000), np.float32), name="s")
    w = wy.Parameter(np.ones((9000, 9000), np.float32), name="w")
    program = wy.freeze((s @ w).sum())
    long = np.ones((40_000, 9000), np.float32)
    interrupted(lambda: program.run({s: long}))
    """,
    "a program of many steps": """
    s = wy.Input(np.ones((2, 2)), name="s")
    y = s
    for _ in range(2000):
        y = np.exp(np.sin(y) @ s * 1e-9)
    program = wy.freeze(y.sum())
    long = np.ones((1000, 1000))
    interrupted(lambda: program.value_and_grad({s: long}))
    """,
    "steps on a huge parameter": """
    w = wy.Parameter(np.zeros(8_000_000, np.float32))
    w.sum().backward()
    adam = wy.Adam()
    interrupted(for_ever(lambda: adam.step([w])))
    # Whole steps were made: all elements are alike.
    value = w.value
    assert (value == value[0]).all()
    """,
    "an elementwise operator on many numbers": """
    x = wy.Variable(np.ones(50_000_000))
    interrupted(for_ever(lambda: np.sin(x)))
    """,
    "training": """
    w, i = wy.Parameter(np.zeros((1000, 8))), wy.IndexInput([0])
    loss = (w[i] - 1.0).square().sum()
    column = np.zeros(1_000_000, np.int64)
    interrupted(lambda: wy.fit(loss, {i: column}, optimizer=wy.SGD(lr=1e-9), epochs=10**6))
    """,
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_long_call(call: str) -> None:
    code = SETUP + textwrap.dedent(CALLS[call]) + "\nprint('done', flush=True)\nos._exit(0)\n"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "done", done.stderr[-2000:]
