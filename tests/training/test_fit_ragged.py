"""fit of a function over sequences of different lengths: against the same by a padded graph,
against Python, and on data as a stranger has them.
"""

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy

ITEMS, HIDDEN = 7, 4
rng = np.random.default_rng(5)
ROWS = [rng.integers(0, ITEMS, n) for n in (3, 0, 6, 1, 2, 5, 0, 4)]
ITEM_COLUMN = wy.Ragged.from_list(ROWS)
NEGATIVES = wy.Ragged(rng.integers(0, ITEMS, len(ITEM_COLUMN.values)), ITEM_COLUMN.offsets)


def sigmoid(z: Any) -> Any:
    """From 0 to 1."""
    return 1.0 / (1.0 + np.exp(-z))


def lstm(E: Any, W: Any, U: Any, b: Any, items: Any, negatives: Any) -> Any:
    """The logistic loss of an item against a negative, given those before."""
    h, c = np.zeros(HIDDEN), np.zeros(HIDDEN)
    total = 0.0
    for t in range(len(items) - 1):
        z = W @ E[items[t]] + U @ h + b
        keep, add, show = sigmoid(z[:4]), sigmoid(z[4:8]), sigmoid(z[8:12])
        c = keep * c + add * np.tanh(z[12:])
        h = show * np.tanh(c)
        margin = h @ E[items[t + 1]] - h @ E[negatives[t]]
        total = total + np.log1p(np.exp(-margin))
    return total


def values(seed: int = 1) -> dict[str, Any]:
    """The parameters before training."""
    drawn = np.random.default_rng(seed)
    return {
        "E": drawn.normal(0.0, 0.5, (ITEMS, HIDDEN)),
        "W": drawn.normal(0.0, 0.5, (4 * HIDDEN, HIDDEN)),
        "U": drawn.normal(0.0, 0.5, (4 * HIDDEN, HIDDEN)),
        "b": drawn.normal(0.0, 0.5, 4 * HIDDEN),
    }


def trained(
    loss: Callable[..., Any],
    columns: dict[str, Any],
    starts: dict[str, Any],
    **settings: Any,
) -> tuple[dict[str, Any], list[float]]:
    """The parameters after training, and the losses of the epochs."""
    settings.setdefault("optimizer", wy.SGD(lr=0.05))
    parameters = {name: wy.Parameter(value) for name, value in starts.items()}
    history = wy.fit(loss, columns, parameters=parameters, **settings)
    return {name: parameter.value for name, parameter in parameters.items()}, history.loss


def padded(starts: dict[str, Any], **settings: Any) -> tuple[dict[str, Any], list[float]]:
    """The same by a graph: sequences filled up to one length, and masks."""
    longest = max(map(len, ROWS))
    items = np.zeros((len(ROWS), longest), np.int64)
    negatives, mask = items.copy(), np.zeros((len(ROWS), longest - 1))
    for k, (row, other) in enumerate(zip(ROWS, NEGATIVES, strict=True)):
        items[k, : len(row)], negatives[k, : len(row)] = row, other
        mask[k, : max(len(row) - 1, 0)] = 1.0
    P = {name: wy.Parameter(value) for name, value in starts.items()}
    i, n, m = wy.IndexInput(items), wy.IndexInput(negatives), wy.Input(mask)
    h: Any = np.zeros((1, HIDDEN))
    c: Any = np.zeros((1, HIDDEN))
    total: Any = 0.0
    for t in range(longest - 1):
        z = P["E"][i[:, t]] @ P["W"].T + h @ P["U"].T + P["b"]
        keep, add, show = (wy.sigmoid(z[:, k : k + 4]) for k in (0, 4, 8))
        c = keep * c + add * np.tanh(z[:, 12:])
        h = show * np.tanh(c)
        margin = (h * (P["E"][i[:, t + 1]] - P["E"][n[:, t]])).sum(1)
        total = total + (wy.softplus(-margin) * m[:, t]).sum()
    settings.setdefault("optimizer", wy.SGD(lr=0.05))
    history = wy.fit(total, {i: items, n: negatives, m: mask}, **settings)
    return {name: parameter.value for name, parameter in P.items()}, history.loss


def close(found: dict[str, Any], expected: dict[str, Any], rtol: float = 1e-10) -> bool:
    """Whether all parameters agree."""
    return all(np.allclose(found[k], expected[k], rtol=rtol, atol=rtol) for k in expected)


@pytest.mark.parametrize("rule", [wy.SGD, wy.Adagrad])
@pytest.mark.parametrize("batch_size", [1, 3, 8])
def test_an_lstm_is_that_of_a_padded_graph(rule: Any, batch_size: int) -> None:
    """Parameters and losses, in batches whose samples are the same."""
    settings = {"optimizer": rule(lr=0.05), "epochs": 4, "batch_size": batch_size, "seed": 3}
    columns = {"items": ITEM_COLUMN, "negatives": NEGATIVES}
    # A column of entries is shuffled as numbers are, as rows are.
    found, losses = trained(lstm, columns, values(), **settings)
    settings["optimizer"] = rule(lr=0.05)
    expected, others = padded(values(), **settings)
    assert np.allclose(losses, others, rtol=1e-10)
    assert close(found, expected)


def test_the_gradient_of_an_lstm() -> None:
    """One step over all samples is by the sum of the gradients, which are those of differences."""
    starts = values()
    columns = {"items": ITEM_COLUMN, "negatives": NEGATIVES}

    def total(**parameters: Any) -> float:
        pairs = zip(ITEM_COLUMN, NEGATIVES, strict=True)
        return float(sum(lstm(**parameters, items=i, negatives=n) for i, n in pairs))

    found, losses = trained(lstm, columns, starts, optimizer=wy.SGD(lr=1.0), batch_size=len(ROWS))
    assert losses == pytest.approx([total(**starts)], rel=1e-12)
    for name, start in starts.items():
        gradient = start - found[name]
        for at in np.ndindex(start.shape):
            below, above = start.copy(), start.copy()
            below[at] -= 1e-5
            above[at] += 1e-5
            slope = (total(**{**starts, name: above}) - total(**{**starts, name: below})) / 2e-5
            assert gradient[at] == pytest.approx(slope, rel=1e-6, abs=1e-8)


def weighted(w: Any, xs: Any, y: Any) -> Any:
    """The squared error of an average with weights that fall off."""
    mean = 0.0
    for x in xs:
        mean = w[0] * x + (1.0 - w[0]) * mean
    return (w[1] * mean - y) ** 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_of_different_lengths(dtype: Any) -> None:
    """An average that carries on, against steps by hand; and it learns what made the data."""
    drawn = np.random.default_rng(2)
    lengths = drawn.integers(0, 12, 300)
    xs = wy.Ragged.from_list([drawn.normal(size=n).astype(dtype) for n in lengths])

    def target(row: Any) -> float:
        mean = 0.0
        for x in row.tolist():
            mean = 0.3 * x + 0.7 * mean
        return 2.0 * mean

    y = np.array([target(row) for row in xs])
    found, _ = trained(
        weighted, {"xs": xs, "y": y}, {"w": np.array([0.5, 1.0])}, epochs=40, batch_size=2
    )
    assert np.allclose(found["w"], [0.3, 2.0], atol=1e-3)
    w = np.array([0.5, 1.0])
    gradient = wy.grad(weighted)
    expected = w - 0.01 * sum(
        gradient(w, row.astype(float), t) for row, t in zip(xs, y, strict=True)
    )
    once, _ = trained(
        weighted,
        {"xs": xs, "y": y},
        {"w": w},
        optimizer=wy.SGD(lr=0.01),
        batch_size=300,
    )
    assert np.allclose(once["w"], expected, rtol=1e-5 if dtype is np.float32 else 1e-12)


def summed(w: Any, xs: Any) -> Any:
    """A sum with a weight."""
    total = 0.0
    for x in xs:
        total = total + w[0] * x
    return (total - 1.0) ** 2


@pytest.mark.parametrize(
    "rows", [[[]], [[], [], []], [[2.0]], [[1.0], [], [2.0, 3.0]], [[0.5] * 1000]]
)
@pytest.mark.parametrize("batch_size", [1, 64])
def test_empty_ones_and_a_single_one(rows: list[list[float]], batch_size: int) -> None:
    """As lists or Ragged, they are samples as any other."""
    given = [wy.Ragged.from_list(rows), [np.array(row) for row in rows], rows, tuple(rows)]
    found = [
        trained(
            summed,
            {"xs": column},
            {"w": np.zeros(1)},
            optimizer=wy.SGD(lr=1e-7),
            batch_size=batch_size,
        )
        for column in given
    ]
    assert all(np.array_equal(one[0]["w"], found[0][0]["w"]) for one in found)
    assert found[0][1] == [float(len(rows))] if batch_size == 64 else True
    if batch_size == 64:
        step = sum(2e-7 * sum(row) for row in rows)
        assert found[0][0]["w"] == pytest.approx([step], rel=1e-12)


def test_a_sequence_of_a_million() -> None:
    """Tapes hold it, and its gradient is right."""
    row = np.full(10**6, 1e-6)
    found, losses = trained(
        summed, {"xs": wy.Ragged(row, [0, 10**6])}, {"w": np.array([0.5])}, optimizer=wy.SGD(lr=0.1)
    )
    assert losses == pytest.approx([0.25], rel=1e-9)
    assert found["w"] == pytest.approx([0.5 + 0.1], rel=1e-9)


def lengths_are_the_same(w: Any, items: Any, negatives: Any) -> Any:
    """Leaves where a draw has another length than the sample."""
    total = 0.0
    if len(items) != len(negatives):
        raise ValueError("lengths differ")
    for i, j in zip(items, negatives, strict=True):
        total = total + (w[i] - w[j]) ** 2 + w[j]
    return total


def test_draws_have_the_samples_own_lengths() -> None:
    """One for each element, by the seed alone; another seed draws others."""

    def run(seed: int = 0, **settings: Any) -> Any:
        sampler = wy.sampling.Uniform(ITEMS, shape="items")
        found, _ = trained(
            lengths_are_the_same,
            {"items": ITEM_COLUMN},
            {"w": np.linspace(-1.0, 1.0, ITEMS)},
            sample={"negatives": sampler},
            optimizer=wy.SGD(lr=0.01),
            seed=seed,
            batch_size=2,
            **settings,
        )
        return found["w"].tolist()

    assert run() == run()
    assert run(1) != run()
    for threads in (2, 3):
        both = [run(threads=threads, deterministic=True) for _ in range(3)]
        assert both[0] == both[1] == both[2]
    assert np.all(np.isfinite(run(threads=2, epochs=5)))


def counted(w: Any, items: Any, drawn: Any, user: Any) -> Any:
    """Adds up the weights of what is drawn."""
    total = 0.0
    for k in range(len(items)):
        for j in drawn[k]:
            total = total + w[j]
    return total + w[user] * 0.0


@pytest.mark.parametrize("weights", [None, [1.0, 0.0, 0.0, 3.0, 0.0]])
def test_what_is_drawn(weights: list[float] | None) -> None:
    """Shapes of several axes; what a user knows is never drawn; weights are those of the items."""
    known: Any = {
        "positives": ([0, 0, 1], [2, 4, 3] if weights is None else [2, 4, 0]),
        "given": "user",
    }
    shape: Any = ("items", 20)
    sampler: wy.sampling.Sampler
    if weights is None:
        sampler = wy.sampling.Uniform(5, shape=shape, **known)
    else:
        sampler = wy.sampling.Popularity(weights, 1.0, shape=shape, **known)
    items = wy.Ragged(np.zeros(300, int), [0, 100, 100, 300])
    for user, excluded in ((0, [2, 4]), (1, [3] if weights is None else [0])):
        found, _ = trained(
            counted,
            {"items": items, "user": [user] * 3},
            {"w": np.zeros(5)},
            sample={"drawn": sampler},
            optimizer=wy.SGD(lr=1.0),
        )
        # The gradient counts what was drawn.
        counts = -found["w"]
        assert counts.sum() == 6000
        left = np.ones(5) if weights is None else np.array(weights)
        left[excluded] = 0.0
        expected = 6000 * left / left.sum()
        assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected) + 1e-9)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            {"shape": "user"},
            ValueError,
            "expected a column of arrays, 'user' has one number",
        ),
        ({"shape": "other"}, ValueError, "shape: no column 'other'"),
        ({"shape": "drawn"}, ValueError, "shape: no column 'drawn'"),
        ({"shape": -1}, ValueError, "shape"),
        ({"shape": 2.5}, TypeError, "shape: expected integers and names of arguments, got float"),
        ({"shape": True}, TypeError, "shape: expected integers and names of arguments, got bool"),
        ({"shape": (1, None)}, TypeError, "shape: expected integers and names of arguments"),
        ({"shape": [2] * 33}, ValueError, "shape"),
        (
            {"positives": ([0], [1]), "given": "items"},
            ValueError,
            "given: expected a column of one",
        ),
        ({"positives": ([0], [1]), "given": "other"}, ValueError, "given: no column 'other'"),
    ],
)
def test_samplers_that_do_not_fit(settings: Any, error: type[Exception], message: str) -> None:
    """Each by its name, value and what it should be."""
    with pytest.raises(error, match=message):
        trained(
            counted,
            {"items": [[0], [1, 2]], "user": [0, 1]},
            {"w": np.zeros(5)},
            sample={"drawn": wy.sampling.Uniform(5, **settings)},
        )


def test_a_graph_has_inputs_for_samplers() -> None:
    """A shape, and a name, are for functions."""
    w, i = wy.Parameter(np.zeros(5)), wy.IndexInput([0])
    for sampler in (
        wy.sampling.Uniform(5, shape=2),
        wy.sampling.Uniform(5, positives=([0], [1]), given="user"),
    ):
        with pytest.raises(ValueError, match="for a loss that is a function"):
            wy.fit(w[i].sum(), {}, sample={i: sampler}, optimizer=wy.SGD(lr=0.1))
    ragged = wy.Ragged.from_list([[0], [1, 2]])
    with pytest.raises(ValueError, match="not rows of one array"):
        wy.fit(w[i].sum(), {i: ragged}, optimizer=wy.SGD(lr=0.1))


def looked_up(w: Any, items: Any) -> Any:
    """Rows by items, from either end."""
    total = 0.0
    for i in items:
        total = total + (w[i] - 1.0) ** 2
    return total


def test_negative_indices() -> None:
    """They count from the end, as in Python."""
    found, _ = trained(
        looked_up, {"items": [[-1, 0], [-5]]}, {"w": np.zeros(5)}, optimizer=wy.SGD(lr=0.25)
    )
    assert found["w"].tolist() == [1.0, 0.0, 0.0, 0.0, 0.5]


@pytest.mark.parametrize("wrong", [5, -6, 2**31 - 1])
@pytest.mark.parametrize("batch_size", [1, 3])
def test_an_index_beyond_the_end(wrong: int, batch_size: int) -> None:
    """Python's exception, which says in which sample; its batch is not applied."""
    w = wy.Parameter(np.zeros(5))
    with pytest.raises(IndexError, match=f"index {wrong} is out of bounds") as raised:
        wy.fit(
            looked_up,
            {"items": [[wrong, 0], [wrong], [1, wrong]]},
            parameters={"w": w},
            optimizer=wy.SGD(lr=0.1),
            batch_size=batch_size,
        )
    assert re.search(r"sample [012] of the columns", "".join(raised.value.__notes__))
    assert not w.value.any()


@pytest.mark.parametrize(
    ("items", "error", "message"),
    [
        (
            [[2**31]],
            OverflowError,
            "items.*integers from -2147483648 to 2147483647, got 2147483648",
        ),
        ([[0], [True]], TypeError, r"columns: 'items': rows\[1\]: expected numbers"),
        ([[0], ["a"]], TypeError, r"columns: 'items': rows\[1\]"),
        ([[0], 3], TypeError, r"columns: 'items': rows\[1\]: expected an array, got the number 3"),
        ([[[0, 1]], [[1]]], ValueError, r"columns: 'items': rows\[1\]: expected shape"),
        (wy.Ragged([], [0]), ValueError, "no samples"),
    ],
)
def test_columns_that_do_not_fit(items: Any, error: type[Exception], message: str) -> None:
    """Each by its name, value and what it should be."""
    with pytest.raises(error, match=message):
        trained(looked_up, {"items": items}, {"w": np.zeros(5)})


def test_columns_of_different_numbers_of_samples() -> None:
    """As for graphs."""
    with pytest.raises(ValueError, match="columns differ in length"):
        trained(weighted, {"xs": [[1.0], [2.0]], "y": [1.0]}, {"w": np.ones(2)})
    with pytest.raises(ValueError, match="columns differ in length"):
        trained(
            lengths_are_the_same,
            {"items": ITEM_COLUMN, "negatives": NEGATIVES[:-1]},
            {"w": np.ones(ITEMS)},
        )


def test_lengths_that_differ_between_columns() -> None:
    """Python says so, for the sample."""
    items = wy.Ragged([0, 1, 2], [0, 2, 3])
    others = wy.Ragged([0, 1, 2], [0, 1, 3])
    with pytest.raises(ValueError, match="lengths differ") as raised:
        trained(lengths_are_the_same, {"items": items, "negatives": others}, {"w": np.ones(5)})
    assert "of the columns" in raised.value.__notes__[0]


def test_data_that_change_while_it_runs() -> None:
    """What is trained is what was given when it began."""
    items = np.concatenate(ROWS)
    rows = [row.copy() for row in ROWS]
    columns = wy.Ragged(items, ITEM_COLUMN.offsets), rows

    def spoil(epoch: int, history: Any) -> None:
        items[:] = 99
        for row in rows:
            row[:] = 99

    expected, _ = trained(looked_up, {"items": ITEM_COLUMN}, {"w": np.zeros(ITEMS)}, epochs=3)
    for given in columns:
        items[:] = np.concatenate(ROWS)
        for row, before in zip(rows, ROWS, strict=True):
            row[:] = before
        found, _ = trained(
            looked_up, {"items": given}, {"w": np.zeros(ITEMS)}, epochs=3, callback=spoil
        )
        assert np.array_equal(found["w"], expected["w"])


@pytest.mark.parametrize("dtype", [">i8", "i4", "u2", "u8", "i8"])
def test_integers_of_any_type(dtype: str) -> None:
    """In any order of bytes, and with gaps in memory."""
    wide = np.zeros((len(ITEM_COLUMN.values), 2), dtype)
    wide[:, 1] = ITEM_COLUMN.values
    given = wy.Ragged(wide[:, 1], ITEM_COLUMN.offsets)
    found, _ = trained(looked_up, {"items": given}, {"w": np.zeros(ITEMS)})
    expected, _ = trained(looked_up, {"items": ROWS}, {"w": np.zeros(ITEMS)})
    assert np.array_equal(found["w"], expected["w"])


def test_entries_of_several_axes() -> None:
    """Rows of numbers, one after the other."""

    def recurrent(w: Any, xs: Any) -> Any:
        h = np.zeros(2)
        for x in xs:
            h = np.tanh(w @ x + 0.5 * h)
        return h @ h

    drawn = np.random.default_rng(3)
    rows = [drawn.normal(size=(n, 3)) for n in (2, 0, 5, 1)]
    w = drawn.normal(size=(2, 3))
    gradient = wy.grad(recurrent, mode="trace")
    expected = w - 0.1 * sum(gradient(w, row) for row in rows if len(row))
    for column in (wy.Ragged.from_list(rows), rows):
        found, _ = trained(recurrent, {"xs": column}, {"w": w}, optimizer=wy.SGD(lr=0.1))
        assert np.allclose(found["w"], expected, rtol=1e-12)


def test_hogwild_learns() -> None:
    """Two threads that update without locks find the same."""
    drawn = np.random.default_rng(4)
    rows = [drawn.integers(0, ITEMS, n) for n in drawn.integers(0, 9, 500)]
    found, losses = trained(
        looked_up, {"items": rows}, {"w": np.zeros(ITEMS)}, epochs=20, threads=2, batch_size=1
    )
    assert losses[-1] < 1e-6
    assert np.allclose(found["w"], 1.0, atol=1e-3)
