"""Ctrl-C ends what takes long, soon. The bound is generous: the machine may be loaded, and each of
the calls would last for many times as long."""

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable

import numpy as np
import pytest
from interrupting import INTERRUPTED

import wyrmling as wy

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")

SETUP = (
    INTERRUPTED
    + """
import numpy as np
import wyrmling as wy

def cut_short(call):
    # As `interrupted`, of a call that is short on some machines: it is timed first.
    start = time.monotonic()
    call()
    whole = time.monotonic() - start

    def ring():
        time.sleep(whole / 8)
        os.kill(os.getpid(), signal.SIGINT)

    # It gets its turn only if the call lets the interpreter go.
    thread = threading.Thread(target=ring, daemon=True)
    start = time.monotonic()
    ended = None
    try:
        thread.start()
        call()
        ended = time.monotonic() - start
        thread.join()
    except KeyboardInterrupt:
        thread.join()
        if ended is None:
            return
    raise AssertionError(f"it was not interrupted: {whole} s, then {ended} s")

def chain(x, length):
    for _ in range(length):
        x = x * 1.0000001 + 0.5
    return x.sum()

@wy.primitive
def same(x):
    return np.asarray(x) * 1.0

same.defvjp(lambda g, ans, x: g)

def for_ever(call):
    def loop():
        while True:
            call()
    return loop
"""
)

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
    long = np.ones((10_000, 9000), np.float32)
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
    "one step on a huge parameter": """
    w = wy.Parameter(np.zeros(12_000_000, np.float32))
    w.sum().backward()
    adam, before = wy.Adam(), []
    def step():
        before[:] = [w.value]
        adam.step([w])
    cut_short(step)
    assert (w.value == before[0]).all()
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
    "training with one huge step": """
    w = wy.Parameter(np.full((3000, 3000), 1e-4, np.float32))
    s = wy.Input(np.ones((2, 3000), np.float32), name="s")
    loss = (s @ w @ w @ w).sum()
    column = {s: np.ones((8000, 3000), np.float32)}
    interrupted(lambda: wy.fit(loss, column, optimizer=wy.SGD(lr=1e-12), batch_size=8000))
    # What was abandoned lets go by itself; who comes next waits for it.
    v, i = wy.Parameter(np.ones(3)), wy.IndexInput([0])
    column = {i: np.zeros(10, np.int64)}
    assert len(wy.fit(v[i].sum(), column, optimizer=wy.SGD(lr=0.5), batch_size=10).loss) == 1
    assert v.value.tolist() == [-4.0, 1.0, 1.0]
    assert w.value.shape == (3000, 3000)
    """,
    "a product in a program with an operator of the caller's": """
    w = wy.Parameter(np.full((4000, 4000), 1e-4))
    s = wy.Input(np.ones((2, 4000)), name="s")
    program = wy.freeze((same(s) @ w @ w @ w).sum())
    long = np.ones((4000, 4000))
    interrupted(lambda: program.run({s: long}))
    """,
    "planning such a program": """
    s = wy.Input([1.0, 2.0])
    program = wy.freeze(chain(same(s), 30_000))
    lengths = iter(range(3, 100))
    cut_short(lambda: program.run({s: np.ones(next(lengths))}))
    """,
    "freezing a long graph": """
    y = chain(wy.Parameter(np.ones(3)), 40_000)
    cut_short(lambda: wy.freeze(y))
    assert np.isfinite(wy.freeze(y).run())
    """,
    "fitting a long graph": """
    i = wy.IndexInput([0])
    y = chain(wy.Parameter(np.ones((3, 1)))[i], 40_000)
    cut_short(lambda: wy.fit(y, {i: [0]}, optimizer=wy.SGD(lr=1e-9)))
    """,
    "the gradient of a long graph": """
    x = wy.Parameter(np.ones(3))
    y = chain(x, 200_000)
    cut_short(y.backward)
    x.zero_grad()
    y.backward()
    slope = x.grad[0]
    assert 1.0 < slope < 1.1
    """,
    "the gradient of a long graph, as a graph": """
    x = wy.Parameter(np.ones(3))
    y = chain(x, 50_000)
    cut_short(lambda: y.backward(create_graph=True))
    """,
    "a derivative of a long function": """
    cut_short(lambda: wy.grad(lambda x: chain(x, 50_000), mode="trace")(np.ones(3)))
    """,
    "a long graph whose leaf was set": """
    x = wy.Parameter(np.ones(3))
    y = chain(x, 200_000)
    before = y.item()

    def again():
        x.value = x.value
        return y.item()

    cut_short(again)
    assert y.item() == before
    assert y.shape == ()
    """,
    "a special function of many numbers": """
    x = wy.Variable(np.full(2_000_000, 1.5))
    interrupted(for_ever(lambda: wy.special.zeta(x, x)))
    rows = wy.Variable(np.full((1, 1000), 1.5))
    cut_short(lambda: wy.special.zeta(rows, wy.Variable(np.full((1000, 1), 2.5))))
    """,
    "a sort": """
    x = wy.Variable(np.random.default_rng(0).random(2_000_000))
    cut_short(lambda: np.sort(x))
    """,
    "a sort of many rows": """
    x = wy.Variable(np.random.default_rng(0).random((500_000, 16)))
    cut_short(lambda: np.sort(x))
    """,
    "inverses of many matrices": """
    x = wy.Variable(np.broadcast_to(np.eye(3), (500_000, 3, 3)))
    cut_short(lambda: wy.linalg.inv(x))
    """,
    "rows one by one": """
    x = wy.Variable(np.ones(400_000))
    cut_short(lambda: list(x))
    """,
    "rows of a sparse gradient": """
    rows = np.random.default_rng(0).integers(0, 100_000, 2_000_000)
    g = wy.SparseGrad(rows, np.ones((2_000_000, 4)), (100_000, 4))
    cut_short(g.coalesce)
    """,
    "samplers": """
    rng = np.random.default_rng(0)
    counts = rng.random(3_000_000)
    cut_short(lambda: wy.sampling.Popularity(counts))
    pairs = rng.integers(0, 100_000, (2, 3_000_000))
    users = wy.IndexInput([0])
    cut_short(lambda: wy.sampling.Uniform(100_000, positives=tuple(pairs), given=users))
    """,
    "sets of pairs": """
    from wyrmling import _core
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 100_000, (2, 3_000_000)).astype(np.uint32)
    cut_short(lambda: _core.Csr(*pairs, 100_000, 100_000))
    one = _core.Csr(np.zeros(10**5, np.uint32), np.arange(10**5, dtype=np.uint32), 1, 10**5)
    cut_short(lambda: one.select(np.zeros(1024, np.uint32)))
    """,
    "arrays that are read": """
    numbers, indices = np.ones(50_000_000), np.zeros(60_000_000, np.int64)
    cut_short(lambda: wy.Parameter(numbers))
    cut_short(lambda: wy.IndexInput(indices))
    """,
}


@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_a_long_call(call: str) -> None:
    code = SETUP + textwrap.dedent(CALLS[call]) + "\nprint('done', flush=True)\nos._exit(0)\n"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.strip() == "done", done.stderr[-2000:]


class InterruptedAt:
    """An array-like whose n-th conversion is where a signal arrives."""

    def __init__(self, array: np.ndarray, n: int) -> None:
        self.array = array
        self.left = n

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt
        return self.array


@wy.primitive
def as_given(x: np.ndarray, given: list[InterruptedAt]) -> InterruptedAt:
    return given[0]


@pytest.mark.parametrize(
    "convert",
    [
        lambda given: as_given(wy.Variable(np.ones(2)), [given]).value,
        lambda given: wy.take(given, wy.IndexInput([0])).value,
        lambda given: (wy.Variable(np.ones(2)) * given).value,
        lambda given: wy.where(given, wy.Variable(np.ones(2)), 0.0).value,
    ],
    ids=["result of a primitive", "table of integers", "operand", "condition"],
)
def test_ctrl_c_during_a_conversion_is_not_lost(convert: Callable[[InterruptedAt], object]) -> None:
    """However often an object is converted, and whichever time the signal arrives at."""
    for n in range(1, 100):
        given = InterruptedAt(np.array([1, 0]), n)
        try:
            convert(given)
        except KeyboardInterrupt:
            continue
        assert given.left > 0, f"the signal at conversion {n} was lost"
        break
    else:
        raise AssertionError("the object is converted without end")
    assert n > 1


def test_a_handler_may_walk_over_the_graph_that_is_being_walked_over():
    """It leaves its marks on the nodes: a walk that it cuts in on begins anew."""
    code = """
    import functools, signal
    import numpy as np, wyrmling as wy

    p = wy.Parameter(0.5)
    y = functools.reduce(lambda y, _: y + p * 1e-6, range(300_000), p * 1.0)
    y.backward()
    expected, walks = float(p.grad), []

    def handler(_number, _frame):
        walks.append(wy.draw(y))

    signal.signal(signal.SIGALRM, handler)
    for delay in (0.04, 0.06, 0.1):
        p.zero_grad()
        signal.setitimer(signal.ITIMER_REAL, delay)
        y.backward()
        signal.setitimer(signal.ITIMER_REAL, 0)
        assert float(p.grad) == expected, (delay, p.grad)
    assert walks
    print("done")
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-2000:]
