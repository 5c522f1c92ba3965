"""Memory: lookups cost rows, not tables, and what cannot be had is a ``MemoryError``.

The table is a tenth of the 10,000,000 rows that are promised, with the bound that is promised
for all of them. It starts as 256 MB, so anything of its size would show.
"""

import os
import subprocess
import sys
import textwrap

import pytest


def printed(code: str, work: str = "") -> list[str]:
    """The words that a process of its own prints, which must end well; `work` is put for WORK."""
    code = textwrap.dedent(code).replace("WORK", textwrap.dedent(work).strip())
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.split()


BOUND = 10_000_000
# The state of Adagrad is as large as the table, and takes memory as rows are updated.
STATE = {"SGD(lr=0.01)": 0, "Adagrad(lr=0.01)": 256_000_000}

SETUP = """
    import numpy as np, wyrmling as wy

    rows, width, steps = 1_000_000, 64, 300
    rng = np.random.default_rng(0)
    value = np.ones((rows, width), np.float32)
    w = wy.Parameter(value, name="w")
    del value
    i = wy.IndexInput([0])
    loss = (w[i] ** 2).sum()
    optimizer = wy.OPTIMIZER
    column = rng.integers(0, rows, (steps, 64))

    def status(name):
        with open("/proc/self/status") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith(name))

    with open("/proc/self/clear_refs", "w") as f:
        f.write("5")  # the peak starts from here
    before = status("VmRSS")
"""

EAGER = """
    for batch in column:
        i.value = batch
        loss.zero_grad()
        loss.backward()
        optimizer.step([w])
"""

FIT = """
    wy.fit(loss, {i: column.ravel()}, optimizer=optimizer, batch_size=64, threads=THREADS)
"""

REPORT = """
    print(status("VmHWM") - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("optimizer", STATE)
@pytest.mark.parametrize(
    "work",
    [EAGER, FIT.replace("THREADS", "1"), FIT.replace("THREADS", "2")],
    ids=["eager", "one worker", "two workers"],
)
def test_training_by_lookup(work, optimizer):
    parts = [textwrap.dedent(part) for part in (SETUP, work, REPORT)]
    code = "".join(parts).replace("OPTIMIZER", optimizer)
    (taken,) = printed(code)
    assert int(taken) < STATE[optimizer] + BOUND


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_state_of_rows_that_are_never_looked_up_takes_no_memory():
    """Pages of state that nobody has written are not there."""
    few = "for batch in [np.array([1, 5, 700])]:"
    work = EAGER.replace("for batch in column:", few)
    parts = [textwrap.dedent(part) for part in (SETUP, work, REPORT)]
    (taken,) = printed("".join(parts).replace("OPTIMIZER", "Adagrad(lr=0.01)"))
    assert int(taken) < BOUND


LIMITED = """
    import resource
    import numpy as np, wyrmling as wy
    import wyrmling.sampling
    from wyrmling import _core

    small = np.zeros(1000)
    column = np.zeros(20_000_000)  # 160 MB
    rows = np.zeros(20_000_000, np.int64)
    w = wy.Parameter(column)
    table = wy.Parameter(np.zeros((100_000, 100)))
    i = wy.IndexInput(rows[:1000])
    whole, looked_up = w * 1.0, table[i]
    many = wy.SparseGrad(rows[:1], np.zeros((1, 10_000_000)), (1, 10_000_000))
    counts = np.ones(6_000_000)
    user = np.zeros(20_000_000, np.uint32)
    known = np.arange(6_000_000, dtype=np.int64) * 700
    pairs = _core.Csr(np.array([0], np.uint32), np.array([0], np.uint32), 1, 1)
    thin, wide = np.zeros((20_000_000, 1), np.float32), np.zeros((1, 1), np.float32)
    zero = np.zeros(1, np.uint32)
    tested = _core.Csr(zero, zero, 1, 20_000_000)
    none = _core.Csr(zero[:0], zero[:0], 1, 20_000_000)
    one = wy.Parameter(np.zeros((1, 2)))
    step = wy.Adagrad(lr=0.1)
    one[rows[:2_000_000]].sum().backward()
    s = wy.Input([0.0])
    program = wy.freeze(np.exp(s) * np.sin(s) + np.cumsum(s))
    trained = wy.freeze(one[i].sum())
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    limit = used + 40_000_000
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    refused = 0
    for name, call in {
        "value": lambda: w.value,
        "graph": lambda: w + 1.0,
        "shared numbers": lambda: whole.value,
        "gradient": whole.backward,
        "lookup": lambda: table[rows[:1_000_000]],
        "numbers": lambda: wy.Input(column),
        "strided numbers": lambda: wy.Input(column[::2]),
        "indices": lambda: wy.IndexInput(rows),
        "parameter": lambda: wy.Parameter(np.broadcast_to(0.0, (20_000_000,))),
        "rows": lambda: many.values,
        "sorted rows": lambda: many.coalesce(),
        "dense rows": lambda: many.to_dense(),
        "popularity": lambda: wy.sampling.Popularity(counts),
        "known items": lambda: wy.sampling.Uniform(10**9, positives=(known, known), given=i),
        "selected rows": lambda: pairs.select(user),
        "pairs": lambda: _core.Csr(user, user, 1, 1),
        "measures": lambda: _core.evaluate_ranking(wide, thin, None, none, tested, 1, True),
        "distinct rows": lambda: step.step([one]),
        "a program": lambda: program.run({s: column}),
        "training": lambda: wy.fit(trained, {i: rows}, optimizer=wy.SGD(lr=0.1)),
    }.items():
        try:
            call()
        except MemoryError:
            refused += 1
        else:
            raise SystemExit(f"{name} took more memory than there is")
    assert wy.Parameter(small).value.shape == (1000,)
    print(refused)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_what_cannot_be_had_is_a_memory_error():
    assert printed(LIMITED) == ["20"]


STEPWISE = """
    import os, resource, sys
    import numpy as np, wyrmling as wy
    import wyrmling.sampling
    from wyrmling import _core

    rng = np.random.default_rng(0)

    def variable(*shape, dtype=float):
        return wy.Variable(rng.normal(size=shape).astype(dtype))

    def chain(length):
        x = wy.Parameter(np.ones(50))
        y = x
        for _ in range(length):
            y = np.sin(y) * 1.5
        return y.sum()

    WORK

    page = resource.getpagesize()
    refused, done = 0, 0
    # With less the C library has no memory for a thread's own data, and ends the process.
    for headroom in [24, 48, 96, 192, 384, 768, 1536]:
        used = int(open("/proc/self/statm").read().split()[0]) * page
        limit = used + headroom * 10**6
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        try:
            call()
        except MemoryError:
            refused += 1
        else:
            done += 1
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        if done:  # with more it is no shorter of memory
            break
    assert done, "it never had the memory"
    print("done", refused)
"""

# What makes `call`, which takes tens of megabytes or more.
WORKS = {
    "matmul": "x = variable(3000, 8)\ncall = lambda: x @ x.T",
    "matmul float32": "x = variable(5000, 8, dtype=np.float32)\ncall = lambda: x @ x.T",
    "matmul and its gradient": "x = variable(700, 700)\ncall = lambda: (x @ x).sum().backward()",
    "matmuls": "x = variable(50, 500, 4)\ncall = lambda: x @ np.swapaxes(x, 1, 2)",
    "matmul frozen": """
        w = wy.Parameter(rng.normal(size=(1200, 1200)))
        program = wy.freeze((w @ w).sum())
        call = program.value_and_grad
    """,
    "solve": "x = variable(600, 600)\ncall = lambda: wy.linalg.solve(x, x)",
    "solve of many": "x = variable(2000, 20, 20)\ncall = lambda: wy.linalg.solve(x, x)",
    "inv and its gradient": """
        x = variable(500, 500)
        call = lambda: wy.linalg.inv(x).sum().backward()
    """,
    "det": "x = variable(700, 700)\ncall = lambda: wy.linalg.det(x).backward()",
    "slogdet": "x = variable(700, 700)\ncall = lambda: wy.linalg.slogdet(x)[1].backward()",
    "cholesky": """
        a = rng.normal(size=(500, 500))
        x = wy.Variable(a @ a.T + 500 * np.eye(500))
        call = lambda: wy.linalg.cholesky(x).sum().backward()
    """,
    "qr": "x = variable(500, 400)\ncall = lambda: wy.linalg.qr(x)[0].sum().backward()",
    "svd": """
        x = variable(300, 200)
        call = lambda: wy.linalg.svd(x, full_matrices=False)[1].sum().backward()
    """,
    "eigh": "x = variable(300, 300)\ncall = lambda: wy.linalg.eigh(x)[0].sum().backward()",
    "eigvalsh float32": """
        x = variable(300, 300, dtype=np.float32)
        call = lambda: wy.linalg.eigvalsh(x).sum().backward()
    """,
    "einsum": """
        x = variable(2000, 8)
        call = lambda: np.einsum("ij,jk,lk->il", x, x.T @ x, x).sum().backward()
    """,
    "sort": "x = variable(1_000_000)\ncall = lambda: np.sort(x).sum().backward()",
    "cumsum": "x = variable(5_000_000)\ncall = lambda: np.cumsum(x).sum().backward()",
    "elementwise": "x = variable(2_000_000)\ncall = lambda: np.exp(np.sin(x)).sum().backward()",
    "an outer sum": """
        x = variable(3000)
        call = lambda: np.exp(x[:, None] * x[None, :]).sum().backward()
    """,
    "hessian": "call = lambda: wy.hessian(lambda v: np.sum(np.sin(v)) ** 2)(np.ones(2200))",
    "popularity": "counts = rng.random(4_000_000)\ncall = lambda: wy.sampling.Popularity(counts)",
    "known items": """
        users = wy.IndexInput([0])
        pairs = tuple(rng.integers(0, 10**6, (2, 4_000_000)))
        call = lambda: wy.sampling.Uniform(10**6, positives=pairs, given=users)
    """,
    "ranking": """
        users, items = np.ones((2000, 8), np.float32), np.ones((50_000, 8), np.float32)
        call = lambda: _core.top_k(users, items, None, None, 6000)
    """,
    "evaluation": """
        users, items = np.ones((20, 8), np.float32), np.ones((4_000_000, 8), np.float32)
        numbers = np.arange(20, dtype=np.uint32)
        test = _core.Csr(numbers, numbers, 20, 4_000_000)
        none = _core.Csr(numbers[:0], numbers[:0], 20, 4_000_000)
        call = lambda: _core.evaluate_ranking(users, items, None, none, test, 5, True)
    """,
    "selection": """
        pairs = _core.Csr(np.zeros(10**5, np.uint32), np.arange(10**5, dtype=np.uint32), 1, 10**5)
        call = lambda: pairs.select(np.zeros(200, np.uint32))
    """,
    "distinct rows": """
        w = wy.Parameter(np.zeros((1000, 8)))
        w[rng.integers(0, 1000, 500_000)].sum().backward()
        adam = wy.Adam()
        call = lambda: adam.step([w])
    """,
    "training": """
        w, i, j = wy.Parameter(np.ones((400_000, 32))), wy.IndexInput([0]), wy.IndexInput([0])
        loss = wy.freeze(((w[i] - w[j]) ** 2).sum())
        rows = rng.integers(0, 100_000, 500_000)
        sampler = wy.sampling.Popularity(np.ones(100_000))
        call = lambda: wy.fit(
            loss, {i: rows}, sample={j: sampler}, optimizer=wy.Adam(), batch_size=4096
        )
    """,
    "interactions": """
        import tempfile
        from pathlib import Path

        directory = tempfile.TemporaryDirectory()
        path = Path(directory.name, "lines.csv")
        path.write_text("".join(f"user{n},item{n % 99},3\\n" for n in range(200_000)))
        call = lambda: _core.read_interactions(path, None, None, True, None, None, None, [])
    """,
    "pickles": """
        import pickle
        w = wy.Parameter(np.ones(6_000_000))
        call = lambda: pickle.loads(pickle.dumps(w))
    """,
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("work", WORKS)
def test_little_memory_ends_in_a_memory_error_or_an_answer(work):
    """Limits from little to enough: nothing aborts the process on the way."""
    word, refused = printed(STEPWISE, WORKS[work])
    assert word == "done"
    assert int(refused) > 0


GRAPHS = """
    import functools, gc, importlib, pkgutil, resource
    import numpy as np, wyrmling as wy

    # CPython's import has errors of its own without memory.
    for module in pkgutil.walk_packages(wy.__path__, "wyrmling."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)

    p = wy.Parameter(0.5)
    x = np.float64(0.5)

    def chain(start=p, length=20_000):
        return functools.reduce(lambda y, _: np.sin(y) + y, range(length), start)

    WORK

    page = resource.getpagesize()
    headroom, refused = 1e6, 0
    while True:
        used = int(open("/proc/self/statm").read().split()[0]) * page
        limit = int(used + headroom)
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        try:
            result = call()
            break
        except MemoryError:
            refused += 1
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY,) * 2)
        headroom *= 1.6
    # What is refused leaves nothing behind that the next call meets.
    chain(length=3).backward()
    assert p.grad > 0.0
    print("done", refused)
"""

# What makes `call`, which is refused at first.
GRAPH_WORKS = {
    "building": "call = chain",
    "backward": "call = lambda: chain().backward()",
    "a huge order": "y = chain(length=300_000)\ncall = y.backward",
    "bringing up to date": """
        y = chain(length=200_000)
        p.value = 0.4
        call = lambda: y.value
    """,
    "forgetting gradients": "y = chain(length=300_000)\ncall = y.zero_grad",
    "freezing": "y = chain()\ncall = lambda: wy.freeze(y)",
    "a plan": "f = wy.freeze(chain())\ncall = f.value_and_grad",
    "all of it": "call = lambda: wy.freeze(chain()).value_and_grad()",
    "a program as text": "f = wy.freeze(chain())\ncall = lambda: str(f)",
    "training": """
        s = wy.Input([0.0])
        f = wy.freeze((chain(length=5_000) * s).sum())
        call = lambda: wy.fit(f, {s: [0.1, 0.2]}, optimizer=wy.SGD(lr=0.1), batch_size=2)
    """,
    "a gradient": "call = lambda: wy.grad(chain)(x)",
    "a gradient of a gradient": "call = lambda: wy.grad(wy.grad(chain))(x)",
    "a gradient as a graph": """
        y = chain(length=40_000)
        call = lambda: y.backward(create_graph=True)
    """,
    "a tangent": "call = lambda: wy.jvp(chain, (x,), (x,))",
    "a tangent of a gradient": "call = lambda: wy.hvp(chain)(x, x)",
    "many leaves": "call = lambda: [wy.Parameter(0.5) for _ in range(100_000)]",
    "many operands": """
        leaves = [wy.Parameter(0.5) for _ in range(10_000)]
        call = lambda: wy.stack(leaves).sum().backward()
    """,
    "many operands, frozen": (
        "y = wy.stack([wy.Parameter(0.5) for _ in range(10_000)]).sum()\n"
        "call = lambda: wy.freeze(y).value_and_grad()"
    ),
    "many graphs": "call = lambda: [chain(length=10) for _ in range(2_000)]",
    "filling an array": """
        def call():
            y = wy.Parameter(np.zeros(100_000)) * 1.0
            for at in range(y.size):
                y[at] = 0.5
    """,
    "an array that was filled": """
        y = wy.Parameter(np.zeros(100_000)) * 1.0
        for at in range(y.size):
            y[at] = 0.5
        call = lambda: y.value
    """,
    "many hooks": "call = lambda: [(p * 2.0).register_hook(abs) for _ in range(30_000)]",
    "a drawing": "y = chain()\ncall = lambda: wy.draw(y)",
    # The collector's walk has no caller to tell: it leaves circles for the next time.
    "a collection": """
        y = chain(length=100_000)
        y.register_hook(lambda g: (g, y)[0])
        call = gc.collect
    """,
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("work", GRAPH_WORKS)
def test_graphs_in_little_memory_end_in_a_memory_error_or_an_answer(work):
    """Nodes, operators and lists of them are small, and abort the process if none can be had."""
    word, refused = printed(GRAPHS, GRAPH_WORKS[work])
    assert word == "done"
    assert int(refused) > 0 or work == "a collection"


RECOVERS = """
    import functools, gc, resource
    import numpy as np, wyrmling as wy

    page = resource.getpagesize()
    used = int(open("/proc/self/statm").read().split()[0]) * page
    resource.setrlimit(resource.RLIMIT_AS, (used + MEGABYTES * 10**6, resource.RLIM_INFINITY))
    try:
        functools.reduce(lambda y, _: np.sin(y) + y, range(2_000_000), wy.Parameter(0.5))
    except MemoryError:
        # This lies behind all that is dropped, so no addresses go back to the system.
        kept = [bytes(600) for _ in range(3_000)]
        print("refused")
    gc.collect()
    assert wy.grad(lambda x: x * x)(3.0) == 6.0
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("limit", [20, 35, 60])
def test_after_a_lack_of_memory_there_is_what_was_dropped(limit):
    """The C library keeps what graphs gave back, in pieces."""
    assert printed(RECOVERS.replace("MEGABYTES", f"{limit}")) == ["refused"]
