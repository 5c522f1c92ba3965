"""Optimizers against the formulas, written naively in NumPy."""

import numpy as np
import pytest

import wyrmling as wy


class Naive:
    """The rules, row by row, with the state of rows in dictionaries."""

    def __init__(self, kind, lr, l2=0.0, clip=None, momentum=0.0, beta1=0.9, beta2=0.999, eps=None):
        self.kind, self.lr, self.l2, self.clip, self.momentum = kind, lr, l2, clip, momentum
        self.beta1, self.beta2 = beta1, beta2
        self.eps = eps or {"Adagrad": 1e-10, "Adam": 1e-8}.get(kind)
        self.state = {}

    def step(self, w, grad, rows):
        for row in rows:
            g = grad[row].copy()
            if self.clip is not None:
                g = np.clip(g, -self.clip, self.clip)
            g = g + self.l2 * w[row]
            s = self.state.setdefault(row, {"a": np.zeros_like(g), "b": np.zeros_like(g), "n": 0})
            if self.kind == "SGD":
                s["a"] = self.momentum * s["a"] + g
                w[row] = w[row] - self.lr * s["a"]
            elif self.kind == "Adagrad":
                s["a"] = s["a"] + g * g
                w[row] = w[row] - self.lr * g / (np.sqrt(s["a"]) + self.eps)
            else:
                s["n"] += 1
                s["a"] = self.beta1 * s["a"] + (1 - self.beta1) * g
                s["b"] = self.beta2 * s["b"] + (1 - self.beta2) * g * g
                m = s["a"] / (1 - self.beta1 ** s["n"])
                v = s["b"] / (1 - self.beta2 ** s["n"])
                w[row] = w[row] - self.lr * m / (np.sqrt(v) + self.eps)


SETTINGS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "l2": 0.01, "clip": 0.5}),
    ("SGD", {"lr": 0.1, "momentum": 0.5, "l2": 0.1}),
    ("Adagrad", {"lr": 0.1}),
    ("Adagrad", {"lr": 0.1, "l2": 0.01, "clip": 0.5, "eps": 1e-3}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "beta1": 0.5, "beta2": 0.9, "l2": 0.01, "clip": 1.0}),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
def test_against_the_formula(kind, settings, dtype, rng):
    """Rows, with repeats, and dense gradients in turn."""
    start = rng.normal(size=(5, 3)).astype(dtype)
    w = wy.Parameter(start)
    optimizer, naive = getattr(wy, kind)(**settings), Naive(kind, **settings)
    expected = start.astype(np.float64)
    for rows in ([0, 2, 0], [2], None, [4, 4, 0, 2]):
        w.zero_grad()
        loss = ((w if rows is None else w[rows]) ** 3).sum()
        loss.backward()
        grad = w.grad if rows is None else w.grad.to_dense()
        optimizer.step([w])
        naive.step(
            expected, grad.astype(np.float64), range(5) if rows is None else sorted(set(rows))
        )
    tolerance = 1e-12 if dtype is np.float64 else 1e-5
    np.testing.assert_allclose(w.value, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("kind", "settings"), SETTINGS)
@pytest.mark.parametrize("threads", [0, 1, 2])
def test_rows_never_looked_up_keep_their_bits(kind, settings, threads, rng):
    """By ``step`` (no threads) and by ``fit``; a zero keeps its sign too."""
    start = rng.normal(size=(50, 7)).astype(np.float32)
    start[3] = -0.0
    w = wy.Parameter(start)
    used = np.array([1, 8, 40])
    i = wy.IndexInput([0])
    loss = (w[i] ** 2).sum() + w[i].sum()
    optimizer = getattr(wy, kind)(**settings)
    if threads:
        columns = {i: rng.choice(used, 200)}
        wy.fit(loss, columns, optimizer=optimizer, batch_size=7, epochs=3, threads=threads)
    else:
        i.value = used
        for _ in range(3):
            loss.zero_grad()
            loss.backward()
            optimizer.step([w])
    untouched = np.setdiff1d(np.arange(50), used)
    assert w.value[untouched].tobytes() == start[untouched].tobytes()
    assert (w.value[used] != start[used]).all()


def test_step_leaves_what_has_no_gradient():
    a, b = wy.Parameter(1.0), wy.Parameter(1.0)
    (a * 2.0).backward()
    wy.SGD(lr=0.5).step([a, b])
    assert (a.item(), b.item()) == (0.0, 1.0)
    assert a.grad == 2.0


def test_state_belongs_to_the_parameter():
    """One optimizer for two parameters keeps two histories."""
    a, b = wy.Parameter(0.0), wy.Parameter(0.0)
    optimizer = wy.SGD(lr=1.0, momentum=0.5)
    for parameters in ([a], [a, b]):
        for w in (a, b):
            w.zero_grad()
            (w * 1.0).backward()
        optimizer.step(parameters)
    assert (a.item(), b.item()) == (-2.5, -1.0)


@pytest.mark.parametrize("kind", ["SGD", "Adagrad", "Adam"])
@pytest.mark.parametrize("rows", [None, [1, 0, 1]])
def test_a_step_out_of_range_is_refused(kind, rows):
    """Whatever leads there: the rate, or squares that float32 cannot hold."""
    for lr, factor in [(1e308, 1.0), (1e30, 1e30)]:
        start = np.ones((3, 4), np.float32)
        w, other = wy.Parameter(start, name="weights"), wy.Parameter(1.0)
        ((w if rows is None else w[rows]) * factor).sum().backward()
        (other * 1.0).backward()
        optimizer = getattr(wy, kind)(lr=lr)
        with pytest.raises(FloatingPointError, match="weights"):
            optimizer.step([w, other])
        assert w.value.tobytes() == start.tobytes()
        assert other.item() == 1.0


def test_settings_are_shown():
    optimizer = wy.Adam(lr=0.5, l2=0.25, clip=2)
    assert (optimizer.lr, optimizer.l2, optimizer.clip) == (0.5, 0.25, 2.0)
    assert repr(optimizer) == "Adam(lr=0.5, beta1=0.9, beta2=0.999, eps=1e-8, l2=0.25, clip=2.0)"
    assert repr(wy.SGD(lr=1e308, momentum=0.5)) == "SGD(lr=1e308, momentum=0.5, l2=0.0, clip=None)"
    assert repr(wy.Adagrad(lr=1e-300, eps=1.0)) == "Adagrad(lr=1e-300, eps=1.0, l2=0.0, clip=None)"


def test_an_optimizer_does_not_keep_what_it_trained():
    """A parameter that nobody has any more goes, with its state."""

    def resident():
        with open("/proc/self/status") as status:
            sizes = dict(line.split(":", 1) for line in status)
        return int(sizes["VmRSS"].split()[0])

    optimizer = wy.Adam(lr=0.1)
    before = resident()
    for _ in range(20):
        w = wy.Parameter(np.ones(1_000_000))
        w.sum().backward()
        optimizer.step([w])
        del w
    # 20 parameters with their two averages would be 480 MB; one, its gradient and the freed results
    # that are kept for the next are up to 100.
    assert resident() - before < 200_000
