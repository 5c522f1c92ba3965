"""The penalty ``l2/2 · |w|²``, once a step or a sample, for all parameters or each its own,
against dense NumPy."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

LR, L2 = 0.1, 0.3
OPTIMIZERS = [
    ("SGD", {}),
    ("SGD", {"clip": 0.4}),
    ("SGD", {"momentum": 0.5}),
    ("Adagrad", {}),
    ("Adam", {}),
]


class Dense:
    """An optimizer on arrays of float64, told how often each row occurs."""

    def __init__(self, kind: str, per: str, clip: float = np.inf, momentum: float = 0.0) -> None:
        self.kind, self.per, self.clip, self.momentum = kind, per, clip, momentum
        self.plain = kind == "SGD" and momentum == 0.0 and clip == np.inf
        self.state: dict[int, tuple[Any, Any, Any]] = {}

    def step(self, w: Any, grad: Any, times: Any, l2: float, slot: int = 0) -> None:
        """Changes ``w`` where rows occur; ``slot`` is the number of the parameter."""
        columns = (slice(None),) + (None,) * (w.ndim - 1)
        used, count = times > 0, times[columns]
        grad = np.clip(grad, -self.clip, self.clip)
        if self.per == "sample" and self.plain:
            # Each occurrence shrinks the row anew.
            w *= (1 - LR * l2) ** count
        else:
            grad = grad + l2 * w * (count if self.per == "sample" else 1)
        a, b, n = self.state.setdefault(slot, (np.zeros_like(w), np.zeros_like(w), 0 * times))
        n += used
        if self.kind == "SGD":
            a[used] = self.momentum * a[used] + grad[used]
            change = a
        elif self.kind == "Adagrad":
            a[used] += grad[used] ** 2
            change = grad / (np.sqrt(a) + 1e-10)
        else:
            a[used] = 0.9 * a[used] + 0.1 * grad[used]
            b[used] = 0.999 * b[used] + 0.001 * grad[used] ** 2
            t = np.maximum(n, 1)[columns]
            change = a / (1 - 0.9**t) / (np.sqrt(b / (1 - 0.999**t)) + 1e-8)
        w[used] -= LR * change[used]


def optimizer_of(kind: str, settings: dict[str, Any], l2: Any, per: str) -> Any:
    return getattr(wy, kind)(lr=LR, l2=l2, l2_per=per, **settings)


@pytest.mark.parametrize("per", ["step", "sample"])
@pytest.mark.parametrize(("kind", "settings"), OPTIMIZERS)
@pytest.mark.parametrize("width", [1, 3, 32])
def test_users_items_and_biases_have_penalties_of_their_own(
    kind: str, settings: dict[str, Any], per: str, width: int, rng: np.random.Generator
) -> None:
    """Two lookups of items in a sample, rows that repeat in a batch and rows that never occur."""
    shape = (6,) if width == 1 else (6, width)
    start = [rng.normal(size=shape), rng.normal(size=shape), rng.normal(size=6)]
    users, items, bias = (wy.Parameter(x) for x in start)
    u, i, j = (wy.IndexInput([0]) for _ in range(3))
    loss = ((users[u] * (items[i] - 2 * items[j])).sum() + bias[i].sum()) * 0.1
    weights = {users: 0.03, items: 0.05}
    columns = {x: rng.integers(0, 5, 8) for x in (u, i, j)}
    batch, epochs = 8, 3
    wy.fit(
        loss,
        columns,
        optimizer=optimizer_of(kind, settings, weights, per),
        batch_size=batch,
        epochs=epochs,
    )
    dense, expected = Dense(kind, per, **settings), [x.copy() for x in start]
    cu, ci, cj = columns[u], columns[i], columns[j]
    for _ in range(epochs):
        grads, times = [np.zeros_like(x) for x in expected], [np.zeros(6) for _ in range(3)]
        a, b, _ = expected
        for s in range(batch):
            grads[0][cu[s]] += 0.1 * (b[ci[s]] - 2 * b[cj[s]])
            grads[1][ci[s]] += 0.1 * a[cu[s]]
            grads[1][cj[s]] -= 0.2 * a[cu[s]]
            grads[2][ci[s]] += 0.1
            for table, row in ((0, cu), (1, ci), (1, cj), (2, ci)):
                times[table][row[s]] += 1
        for slot, l2 in enumerate((0.03, 0.05, 0.0)):
            dense.step(expected[slot], grads[slot], times[slot], l2, slot)
    for got, want in zip((users, items, bias), expected, strict=True):
        # In one batch of plain SGD rows shrink sample by sample, in the order of the shuffle, and
        # so do the gradients that were added before.
        atol = LR**2 if dense.plain and per == "sample" else 1e-12
        np.testing.assert_allclose(got.value, want, rtol=1e-10, atol=atol)
        assert np.array_equal(
            got.value[5], start[0 if got is users else 1 if got is items else 2][5]
        )


@pytest.mark.parametrize("per", ["step", "sample"])
@pytest.mark.parametrize(("kind", "settings"), OPTIMIZERS)
def test_a_parameter_that_is_used_whole_is_used_by_each_sample(
    kind: str, settings: dict[str, Any], per: str, rng: np.random.Generator
) -> None:
    start, x = rng.normal(size=3), rng.normal(size=(10, 3))
    w, column = wy.Parameter(start), wy.Input(np.zeros((1, 3)))
    wy.fit(
        (w * column).sum(),
        {column: x},
        optimizer=optimizer_of(kind, settings, L2, per),
        batch_size=10,
        epochs=2,
    )
    dense, want = Dense(kind, per, **settings), start.copy()
    # It does not shrink ten times, one after the other.
    dense.plain = False
    for _ in range(2):
        dense.step(want, x.sum(0), np.full(3, 10), L2)
    np.testing.assert_allclose(w.value, want, rtol=1e-10)


@pytest.mark.parametrize("per", ["step", "sample"])
def test_a_loss_of_one_sample_knows_its_samples(per: str) -> None:
    """By runs of a function with a branch, by plans without, and in both uses of a parameter."""

    def looped(w: Any, v: Any, i: Any) -> Any:
        return w[i] * 0.5 + v.sum() if i > 0 else w[i] + v.sum()

    def straight(w: Any, v: Any, i: Any) -> Any:
        return w[i] * 0.5 + v.sum()

    for loss in (looped, straight):
        w, v = wy.Parameter(np.ones(3)), wy.Parameter(np.ones(2))
        wy.fit(
            loss,
            {"i": [1, 1, 1, 2]},
            parameters={"w": w, "v": v},
            optimizer=wy.SGD(lr=LR, l2={w: 0.3, v: 0.2}, l2_per=per),
            batch_size=4,
        )
        row = 1.0
        for k in range(3):
            row = row * (1 - LR * 0.3 * (per == "sample" or k == 0)) - LR * 0.5
        assert w.value == pytest.approx([1.0, row, (1 - LR * 0.3) - LR * 0.5])
        assert v.value == pytest.approx([1 - LR * (4 + 0.2 * (4 if per == "sample" else 1))] * 2)


@pytest.mark.parametrize("batch_size", [1, 3])
@pytest.mark.parametrize(("kind", "settings"), OPTIMIZERS)
def test_a_lookup_that_a_sample_repeats_counts_once(
    kind: str, settings: dict[str, Any], batch_size: int
) -> None:
    """In each turn of a loop, after one, and of several rows: as one that has a name."""

    def named(w: Any, v: Any, u: int, items: Any) -> Any:
        row, rows = w[u], v[items]
        total = 0.0
        for item in items:
            each = v[item]
            total += row @ each + each.sum()
        return total + (rows @ row).sum() + row.sum() + rows.sum()

    def repeated(w: Any, v: Any, u: int, items: Any) -> Any:
        total = 0.0
        for item in items:
            total += w[u] @ v[item] + v[item].sum()
        return total + (v[items] @ w[u]).sum() + w[u].sum() + v[items].sum()

    columns = {
        "u": [0, 1, 1, 2, 1],
        "items": wy.Ragged.from_list([[0, 1], [2, 3, 0], [1, 1], [3, 2, 3], [0]]),
    }
    found = []
    for loss in (named, repeated):
        rng = np.random.default_rng(0)
        tables = {"w": (3, 4), "v": (4, 4)}
        trained = {name: wy.Parameter(rng.normal(size=shape)) for name, shape in tables.items()}
        optimizer = getattr(wy, kind)(lr=1e-4, l2=L2, l2_per="sample", **settings)
        wy.fit(loss, columns, parameters=trained, optimizer=optimizer, batch_size=batch_size)
        found.append([one.value for one in trained.values()])
    # Plain steps shrink a row between its gradients, whose order is another.
    tolerance = 1e-6 if kind == "SGD" and not settings else 1e-12
    for once, again in zip(*found, strict=True):
        np.testing.assert_allclose(again, once, rtol=tolerance)


def test_two_lookups_that_meet_in_a_row_count_twice() -> None:
    """As in a plan, which knows them by their indices, so in a loss run sample by sample."""

    def planned(w: Any, i: int, j: int, n: int) -> Any:
        return w[i] @ w[j] + w[i].sum()

    def looped(w: Any, i: int, j: int, n: int) -> Any:
        k = 0
        while k < n:
            k += 1
        return w[i] @ w[j] + w[i].sum()

    found = []
    for loss in (planned, looped):
        w = wy.Parameter(np.linspace(0.1, 1.2, 6).reshape(3, 2))
        columns = {"i": [0, 1, 2, 2], "j": [1, 1, 0, 2], "n": [3, 1, 100, 5]}
        optimizer = wy.SGD(lr=LR, momentum=0.5, l2=L2, l2_per="sample")
        wy.fit(loss, columns, parameters={"w": w}, optimizer=optimizer, batch_size=2, epochs=2)
        found.append(w.value)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


def test_items_that_a_sample_has_twice_count_twice() -> None:
    """In one lookup of all, and one after the other."""

    def at_once(w: Any, items: Any) -> Any:
        return w[items].sum()

    def in_turn(w: Any, items: Any) -> Any:
        total = 0.0
        for item in items:
            total += w[item].sum()
        return total

    for loss in (at_once, in_turn):
        w = wy.Parameter(np.ones((3, 2)))
        items = wy.Ragged.from_list([[0, 1, 1], [2]])
        optimizer = wy.SGD(lr=LR, momentum=0.5, l2=L2, l2_per="sample")
        wy.fit(loss, {"items": items}, parameters={"w": w}, optimizer=optimizer, batch_size=2)
        want = 1 - LR * (1 + L2) * np.array([1, 2, 1])
        np.testing.assert_allclose(w.value, want[:, None].repeat(2, 1), rtol=1e-12)


@pytest.mark.parametrize("per", ["step", "sample"])
@pytest.mark.parametrize("shape", [(1,), (1, 3)])
@pytest.mark.parametrize("is_graph", [False, True])
@pytest.mark.parametrize("batch_size", [1, 4, 8])
def test_the_only_row_of_a_parameter_is_used_by_each_sample(
    per: str, shape: tuple[int, ...], batch_size: int, is_graph: bool
) -> None:
    """As a bias of all: however many samples are computed at once."""

    def loss(w: Any, b: Any, i: Any) -> Any:
        return w[i] * 0.5 + b[0].sum() * 0.25

    w, b, x = wy.Parameter(np.ones(3)), wy.Parameter(np.ones(shape)), wy.IndexInput([0])
    numbers = [0, 1, 1, 2, 0, 1, 1, 2]
    settings: dict[str, Any] = {
        "optimizer": wy.SGD(lr=LR, l2={b: 0.2}, l2_per=per),
        "batch_size": batch_size,
    }
    if is_graph:
        wy.fit(loss(w, b, x), {x: numbers}, **settings)
    else:
        wy.fit(loss, {"i": numbers}, parameters={"w": w, "b": b}, **settings)
    want = 1.0
    for _ in range(8 // batch_size):
        times = batch_size if per == "sample" else 1
        want -= LR * (0.25 * batch_size + 0.2 * times * want)
    np.testing.assert_allclose(b.value, np.full(shape, want), rtol=1e-12)


@pytest.mark.parametrize("per", ["step", "sample"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 5, 32, 64])
def test_workers_and_one_alone_shrink_alike(per: str, dtype: Any, width: int) -> None:
    """Rows that occur in one batch only, and gradients of zero: what is left is the penalty."""
    start = np.arange(1.0, 8 * width + 1).reshape(8, width).astype(dtype)
    found = []
    for threads in (1, 2):
        w, i = wy.Parameter(start), wy.IndexInput([0])
        wy.fit(
            (w[i] * 0.0).sum(),
            {i: [0, 0, 1, 2, 3, 4, 5, 6]},
            optimizer=wy.SGD(lr=LR, l2=L2, l2_per=per),
            batch_size=8,
            threads=threads,
        )
        found.append(w.value)
    assert np.array_equal(*found)
    powers = np.array([2 if per == "sample" else 1, 1, 1, 1, 1, 1, 1, 0])
    np.testing.assert_allclose(
        found[0], start * (1 - LR * L2) ** powers[:, None], rtol=1e-6, atol=0
    )


@pytest.mark.parametrize("per", ["step", "sample"])
@pytest.mark.parametrize("width", [1, 4, 32])
def test_steps_by_hand_shrink_before_each_gradient_is_added(per: str, width: int) -> None:
    rows, factors = [0, 2, 0, 1, 0], [1.0, 2.0, -3.0, 0.5, 4.0]
    w = wy.Parameter(np.ones((4, width)), name="w")
    (w[rows] * np.array(factors)[:, None]).sum().backward()
    wy.SGD(lr=LR, l2={"w": L2}, l2_per=per).step([w])
    expected = np.ones(4)
    for k, (row, factor) in enumerate(zip(rows, factors, strict=True)):
        if per == "sample" or row not in rows[:k]:
            expected[row] *= 1 - LR * L2
        expected[row] -= LR * factor
    np.testing.assert_allclose(w.value, expected[:, None].repeat(width, 1), rtol=1e-12)


def test_weights_by_parameter_come_before_those_by_name() -> None:
    first, second, third = (wy.Parameter(1.0, name=name) for name in ("a", "a", "b"))
    optimizer = wy.SGD(lr=LR, l2={"a": 0.5, first: 0.25})
    for parameter in (first, second, third):
        (parameter * 0.0).backward()
    optimizer.step([first, second, third])
    found = [p.item() for p in (first, second, third)]
    assert found == pytest.approx([1 - LR * 0.25, 1 - LR * 0.5, 1.0])


def test_each_of_many_parameters_has_its_own_weight() -> None:
    parameters = [wy.Parameter(1.0, name=f"w{k}") for k in range(2000)]
    weights = np.random.default_rng(0).random(2000)
    l2 = {
        p if k % 2 else p.name: w for k, (p, w) in enumerate(zip(parameters, weights, strict=True))
    }
    optimizer = wy.SGD(lr=LR, l2=l2)
    for parameter in parameters:
        (parameter * 0.0).backward()
    optimizer.step(parameters)
    np.testing.assert_allclose([p.item() for p in parameters], 1 - LR * weights, rtol=1e-14)
    assert list(optimizer.l2.values()) == list(weights)


def test_pickles_and_copies_keep_the_weights() -> None:
    w = wy.Parameter([1.0, 2.0], name="w")
    for kind in (wy.SGD, wy.Adagrad, wy.Adam):
        optimizer = kind(lr=0.1, l2={w: 0.25, "v": 0.5}, l2_per="sample")
        assert optimizer.l2 == {w: 0.25, "v": 0.5}
        assert optimizer.l2_per == "sample"
        for again, parameter in (
            pickle.loads(pickle.dumps((optimizer, w))),
            copy.deepcopy((optimizer, w)),
        ):
            assert again.l2 == {parameter: 0.25, "v": 0.5}
            assert repr(again) == repr(optimizer)
    assert "l2={parameter 'w': 0.25, 'v': 0.5}, clip=None, l2_per='sample')" in repr(
        wy.SGD(lr=0.1, l2={w: 0.25, "v": 0.5}, l2_per="sample")
    )
    assert wy.SGD(lr=0.1, l2=0.5).l2 == 0.5
    # A weight of a parameter that is gone is of no use.
    gone = wy.SGD(lr=0.1, l2={wy.Parameter(1.0): 0.25})
    assert gone.l2 == {}


def test_what_cannot_be_is_refused_by_name() -> None:
    w = wy.Parameter([1.0], name="w")
    for l2 in ({w: "x"}, {1: 0.5}, {wy.Input(1.0): 0.5}, "0.5", None, [0.5]):
        with pytest.raises(TypeError, match=r"l2: expected a number, or a dict with a number"):
            wy.SGD(lr=0.1, l2=l2)
    for l2 in ({w: -1.0}, {"w": np.nan}, -1.0, {"a": np.inf}):
        with pytest.raises(ValueError, match="l2: expected a number >= 0"):
            wy.Adam(l2=l2)
    for per in ("batch", ""):
        with pytest.raises(ValueError, match="l2_per: expected 'step' or 'sample'"):
            wy.SGD(lr=0.1, l2_per=per)
    with pytest.raises(TypeError, match="l2_per: expected 'step' or 'sample', got"):
        wy.SGD(lr=0.1, l2_per=1)
    i = wy.IndexInput([0])
    with pytest.raises(ValueError, match=r"l2: no parameter of the loss has the name 'v'.*\"w\""):
        wy.fit(w[i].sum(), {i: [0]}, optimizer=wy.SGD(lr=0.1, l2={"v": 0.1}))
    other, unnamed = wy.Parameter([1.0], name="other"), wy.Parameter([1.0, 2.0])
    for parameter, text in ((other, r"parameter 'other'"), (unnamed, r"parameter f64\[2\]")):
        optimizer = wy.SGD(lr=0.1, l2={w: 0.1, parameter: 0.1})
        with pytest.raises(ValueError, match=rf"l2: the loss has no {text}; it has \[\"w\"\]"):
            wy.fit(w[i].sum(), {i: [0]}, optimizer=optimizer)
    assert w.value == [1.0]
    # One that is gone cannot be in the loss, and has no weight any more.
    wy.fit(w[i].sum(), {i: [0]}, optimizer=wy.SGD(lr=0.1, l2={wy.Parameter(1.0): 0.1}))
    assert w.value == [0.9]


@pytest.mark.parametrize("per", ["step", "sample"])
@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize(
    "optimizer",
    [lambda **l2: wy.SGD(0.1, momentum=0.9, **l2), lambda **l2: wy.Adam(0.1, **l2)],
)
def test_a_row_that_is_looked_up_without_a_gradient_stays(optimizer, read, per):
    """As rows of torch.nn.Embedding(sparse=True) under detach(), by torch.optim.SparseAdam."""
    w = wy.Parameter(np.ones((3, 2)), name="w")
    a, b = wy.IndexInput([0], "a"), wy.IndexInput([0], "b")

    def loss(w, a, b):
        return (w[a] * wy.stop_gradient(w[b])).sum()

    columns = {"a": [0, 0, 1], "b": [1, 1, 2]}
    options = {"optimizer": optimizer(l2=1.0, l2_per=per), "epochs": 2, "threads": 1}
    options |= {"batch_size": 3}
    if read:
        wy.fit(loss, columns, parameters={"w": w}, **options)
    else:
        wy.fit(loss(w, a, b), {a: columns["a"], b: columns["b"]}, **options)
    assert (w.value[:2] < 1.0).all()
    assert w.value[2].tolist() == [1.0, 1.0]
