"""Scripts that hold a parameter's table while other code wants it.

They run in processes of their own, so that a hang is a failure and not the end of the tests.
"""

import subprocess
import sys
import textwrap

LIMIT = 60

SETUP = """
import copy, faulthandler, io, json, os, pickle, signal, sys, threading, time
import numpy as np
import wyrmling as wy

faulthandler.dump_traceback_later(50, exit=True)
W = wy.Parameter(np.ones((4, 2)), name="W")
V = wy.Parameter(np.ones(3), name="V")
i = wy.IndexInput([0])
sgd = wy.SGD(lr=1e-3)
other = wy.freeze((W[i] * V[[0]]).sum())
"""


def run(script: str) -> str:
    code = SETUP + textwrap.dedent(script)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# What code may do that a run calls, and whether it reads or changes the parameter.
ENTRIES = """
def assign():
    W.value = np.zeros((4, 2))

def step():
    W.zero_grad()
    (W * W).sum().backward()
    sgd.step([W])

def train(threads):
    wy.fit(other, {i: np.array([0, 1])}, optimizer=wy.SGD(lr=1e-3), threads=threads, batch_size=1)

READS = {
    "print": lambda: print(W, file=io.StringIO()),
    "repr": lambda: repr(W),
    "value": lambda: W.value,
    "item": lambda: W[0, 0].item(),
    "lookup": lambda: W[[0, 1]].value,
    "graph": lambda: (W * 2.0).sum().item(),
    "backward": lambda: (W * W).sum().backward(),
    "freeze": lambda: wy.freeze((W * W).sum()).run(),
    "run": lambda: other.run({i: [0]}),
    "value_and_grad": lambda: other.value_and_grad({i: [0]}),
    "pickle": lambda: pickle.dumps(W.value),
}
FREE = {"grad": lambda: W.grad, "shape": lambda: W.shape, "zero_grad": lambda: W.zero_grad()}
WRITES = {"assign": assign, "step": step, "fit 1": lambda: train(1)}
ALL = {**READS, **FREE, **WRITES, "fit 2": lambda: train(2)}

def outcome(f):
    try:
        f()
    except Exception as e:
        return f"{type(e).__name__}: {e}"
    return "ok"
"""

# Holders: each calls `inside()` once while it holds W.
HOLDERS = {
    "fit 1": "hold_by_fit(threads=1)",
    "fit 2": "hold_by_fit(threads=2)",
    "fit 2 deterministic": "hold_by_fit(threads=2, deterministic=True)",
    "run": "program.run({i: [0]})",
    "value_and_grad": "program.value_and_grad({i: [0]})",
}

HOLD = """
found = {}
inside = lambda: None
lock = threading.Lock()

@wy.primitive
def probe(x):
    global inside
    with lock:
        work, inside = inside, lambda: None
    work()
    return np.asarray(x) * 1.0

probe.defvjp(lambda g, ans, x: g)
program = wy.freeze((probe(W[i]) * 2.0).sum())

def hold_by_sampler(**kwargs):
    def draw(rng, shape):
        probe(0.0)
        return np.zeros(shape, int)

    j = wy.IndexInput([0])
    loss = (W[i] * W[j]).sum()
    sample = {j: wy.sampling.Custom(draw, 4)}
    wy.fit(loss, {i: np.array([0, 1])}, sample=sample, optimizer=wy.SGD(lr=1e-3), **kwargs)

def hold_by_fit(**kwargs):
    wy.fit(program, {i: np.array([0, 1, 2, 3])}, optimizer=wy.SGD(lr=1e-3), batch_size=1, **kwargs)
"""
