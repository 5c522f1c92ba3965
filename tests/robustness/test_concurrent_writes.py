"""Arrays that another thread writes to while they are read: each call gives an answer, or says what
is wrong with a number. None meets a number that it has checked and that is another one by now.

NumPy lets the interpreter go while it copies, so that the writer and the call really overlap.
"""

import json
import subprocess
import sys
import textwrap

import pytest

SETUP = """
import faulthandler, json, os, tempfile, threading
import numpy as np
import wyrmling as wy
import wyrmling.sampling
from wyrmling import _core

faulthandler.dump_traceback_later(100, exit=True)
COUNT = 20_000
rng = np.random.default_rng(0)

def flipped(good, bad):
    # An array, and what makes it the one and the other in turn.
    array = good.copy()
    def flip():
        np.copyto(array, bad)
        np.copyto(array, good)
    return array, flip

def indices(dtype=np.int64, below=1000):
    good = rng.integers(0, below, COUNT).astype(dtype)
    bad = good.copy()
    bad[::3] = below if np.dtype(dtype).kind == "u" else -below - 1
    return flipped(good, bad)

def floats(*shape, dtype=np.float32):
    good = rng.normal(size=shape).astype(dtype)
    bad = good.copy()
    bad.reshape(-1)[::3] = np.nan
    return flipped(good, bad)

def overlapping(flips, call, times=60):
    done, outcomes = threading.Event(), {}
    def write():
        while not done.is_set():
            for flip in flips:
                flip()
    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(times):
            try:
                call()
                kind = "ok"
            except Exception as e:
                kind = type(e).__name__
                if "bug" in str(e):
                    raise
            outcomes[kind] = outcomes.get(kind, 0) + 1
    finally:
        done.set()
        writer.join()
    return outcomes
"""

# Each makes `flips` and `call`.
READERS = {
    "IndexInput": """
        a, flip = indices()
        w = wy.Parameter(np.ones((1000, 2)))
        flips, call = [flip], lambda: w[wy.IndexInput(a)].sum().backward()
    """,
    "value of an IndexInput": """
        a, flip = indices(np.uint32)
        w, i = wy.Parameter(np.ones((1000, 2))), wy.IndexInput([0])
        y = w[i].sum()
        def call():
            i.value = a
            y.item()
        flips = [flip]
    """,
    "lookup": """
        a, flip = indices(np.int32)
        w = wy.Variable(np.ones((1000, 2)))
        flips, call = [flip], lambda: w[a].sum().backward()
    """,
    "take": """
        a, flip = indices()
        w = wy.Variable(np.ones(1000))
        flips, call = [flip], lambda: np.take(w, a).sum().backward()
    """,
    "take_along_axis": """
        a, flip = indices()
        w = wy.Variable(np.ones(COUNT))
        flips, call = [flip], lambda: np.take_along_axis(w, a, 0).sum().backward()
    """,
    "program": """
        a, flip = indices(np.uint64)
        w, i = wy.Parameter(np.ones((1000, 2))), wy.IndexInput([0])
        program = wy.freeze(w[i].sum())
        flips, call = [flip], lambda: program.value_and_grad({i: a})
    """,
    "fit": """
        a, flip = indices(np.uint32)
        w, i = wy.Parameter(np.ones((1000, 2))), wy.IndexInput([0])
        program = wy.freeze(w[i].sum())
        sgd = wy.SGD(lr=1e-9)
        flips, call = [flip], lambda: wy.fit(program, {i: a}, optimizer=sgd, batch_size=256)
    """,
    "fit of floats": """
        a, flip = floats(COUNT)
        w, s = wy.Parameter(np.float32(1.0)), wy.Input(np.zeros(1, np.float32))
        program = wy.freeze((w * s).sum())
        sgd = wy.SGD(lr=1e-9)
        flips, call = [flip], lambda: wy.fit(program, {s: a}, optimizer=sgd, batch_size=256)
    """,
    "known items": """
        (a, flip), (b, other) = indices(), indices()
        i = wy.IndexInput([0])
        flips = [flip, other]
        call = lambda: wy.sampling.Uniform(1000, positives=(a, b), given=i)
    """,
    "popularity": """
        a, flip = floats(COUNT)
        np.abs(a, out=a)
        flips, call = [flip], lambda: wy.sampling.Popularity(a)
    """,
    "parameter": """
        a, flip = floats(COUNT, dtype=float)
        flips, call = [flip], lambda: wy.Parameter(a)
    """,
    "value of a parameter": """
        a, flip = floats(COUNT, dtype=float)
        w = wy.Parameter(np.zeros(COUNT))
        def call():
            try:
                w.value = a
            finally:
                assert np.isfinite(w.value).all()
        flips = [flip]
    """,
    "sparse gradient": """
        a, flip = indices()
        values = np.ones((COUNT, 2))
        flips, call = [flip], lambda: wy.SparseGrad(a, values, (1000, 2)).coalesce().to_dense()
    """,
    "pairs": """
        (a, flip), (b, other) = indices(np.uint32), indices(np.uint32)
        flips, call = [flip, other], lambda: _core.Csr(a, b, 1000, 1000)
    """,
    "selected pairs": """
        a, flip = indices(np.uint32)
        one = np.arange(1000, dtype=np.uint32)
        pairs = _core.Csr(one, one, 1000, 1000)
        flips, call = [flip], lambda: pairs.select(a)
    """,
    "ranking": """
        (users, flip), (items, other) = floats(100, 16), floats(5000, 16)
        bias, third = floats(5000)
        flips, call = [flip, other, third], lambda: _core.top_k(users, items, bias, None, 10)
    """,
    "evaluation": """
        (users, flip), (items, other) = floats(100, 16), floats(5000, 16)
        bias, third = floats(5000)
        one = np.arange(100, dtype=np.uint32)
        train, test = _core.Csr(one, one, 100, 5000), _core.Csr(one, one + 100, 100, 5000)
        flips = [flip, other, third]
        call = lambda: _core.evaluate_ranking(users, items, bias, train, test, 10, True)
    """,
    "file of arrays": """
        from wyrmling import tensor_files
        (a, flip), (b, other) = floats(100, 16), indices(np.uint32)
        path = os.path.join(tempfile.mkdtemp(), "arrays")
        def call():
            tensor_files.write(path, tensor_files.Contents("example/1", {}, {"a": a, "b": b}))
            # What was written can be read.
            tensor_files.read(path, ["example/1"])
        flips = [flip, other]
    """,
    "grouped pairs": """
        a, flip = indices(np.uint32)
        ends = np.arange(len(a) + 1, dtype=np.uint64)
        def call():
            pairs = _core.Csr.from_parts(ends, a, 1000)
            assert pairs.indices.max() < 1000
        flips = [flip]
    """,
    "interactions": """
        from wyrmling.data import Interactions
        (a, flip), (b, other) = indices(np.uint32), indices(np.uint32)
        names = [str(k) for k in range(1000)]
        flips = [flip, other]
        def call():
            Interactions(a, b, names, names).split(seed=0)
    """,
    "pickle": """
        import pickle
        a, flip = floats(COUNT, dtype=float)
        flips, call = [flip], lambda: pickle.loads(pickle.dumps(wy.Parameter(a)))
    """,
}


@pytest.mark.parametrize("reader", READERS)
def test_arrays_that_are_written_meanwhile(reader: str) -> None:
    code = (
        SETUP + textwrap.dedent(READERS[reader]) + "\nprint(json.dumps(overlapping(flips, call)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = json.loads(done.stdout)
    assert set(outcomes) <= {"ok", "IndexError", "ValueError", "FloatingPointError"}, outcomes
