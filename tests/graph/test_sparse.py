"""Gradients of lookups are rows."""

import numpy as np
import pytest

import wyrmling as wy


@pytest.fixture
def table():
    return wy.Parameter(np.arange(12.0).reshape(4, 3), name="table")


def test_lookup_gives_rows(table):
    loss = (table[[2, 0, 2]] ** 2).sum()
    loss.backward()
    grad = table.grad
    assert isinstance(grad, wy.SparseGrad)
    assert grad.shape == (4, 3)
    assert grad.dtype == np.float64
    assert grad.indices.tolist() == [2, 0, 2]
    assert len(grad) == 3
    expected = np.zeros((4, 3))
    np.add.at(expected, [2, 0, 2], 2 * table.value[[2, 0, 2]])
    np.testing.assert_array_equal(grad.to_dense(), expected)
    merged = grad.coalesce()
    assert merged.indices.tolist() == [0, 2]
    np.testing.assert_array_equal(merged.values, expected[[0, 2]])
    np.testing.assert_array_equal(merged.to_dense(), expected)


def test_rows_add_up(table):
    for rows in ([1], [1, 3]):
        table[rows].sum().backward()
    assert table.grad.to_dense()[:, 0].tolist() == [0.0, 2.0, 0.0, 1.0]


def test_dense_and_rows_together(table):
    """Weight tying: one parameter used whole and by rows."""
    loss = (table * table).sum() + (3.0 * table[[1]]).sum()
    loss.backward()
    expected = 2 * table.value
    expected[1] += 3.0
    assert isinstance(table.grad, np.ndarray)
    np.testing.assert_array_equal(table.grad, expected)
    _, grads = wy.freeze(loss).value_and_grad()
    np.testing.assert_array_equal(grads[table], expected)


def test_frozen_lookups_give_rows(table):
    i = wy.IndexInput([0])
    program = wy.freeze((table[i] * table[i]).sum())
    _, grads = program.value_and_grad({i: [3, 3, 1]})
    assert isinstance(grads[table], wy.SparseGrad)
    expected = np.zeros((4, 3))
    np.add.at(expected, [3, 3, 1], 2 * table.value[[3, 3, 1]])
    np.testing.assert_array_equal(grads[table].to_dense(), expected)


def test_vectors_and_many_indices(table):
    bias = wy.Parameter(np.arange(4.0))
    bias[np.array([[0, 3], [3, 3]])].sum().backward()
    assert bias.grad.to_dense().tolist() == [1.0, 0.0, 0.0, 3.0]
    table[np.zeros((2, 0), int)].sum().backward()
    assert len(table.grad) == 0
    assert not table.grad.to_dense().any()


def test_made_by_hand():
    grad = wy.SparseGrad([1, 1], np.ones((2, 2), np.float32), (3, 2))
    assert grad.dtype == np.float32
    assert grad.to_dense().tolist() == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]
    assert repr(grad) == "SparseGrad(2 rows of shape (3, 2), dtype=float32)"
    with pytest.raises(IndexError, match=r"index 3 .* 3 rows"):
        wy.SparseGrad([3], [[1.0, 1.0]], (3, 2))
    with pytest.raises(IndexError, match=r"index -1 .* 3 rows"):
        wy.SparseGrad([-1], [[1.0, 1.0]], (3, 2))
    with pytest.raises(ValueError, match=r"\(1, 2\), got \(1, 3\)"):
        wy.SparseGrad([0], [[1.0, 1.0, 1.0]], (3, 2))
    with pytest.raises(TypeError, match="to_dense"):
        np.asarray(grad)


@pytest.mark.parametrize(
    "loss",
    [
        lambda table: (table[[2, 0, 2, 1]][[3, 1, 1]] ** 2).sum(),
        lambda table: wy.trace(table[[2, 0, 1]]),
        lambda table: (table[[1, 2]][[0]] @ table[[0]].T).sum(),
    ],
    ids=["rows of rows", "trace of rows", "product of rows"],
)
def test_rows_of_what_was_looked_up_are_rows_in_graph_and_program(loss, table):
    loss(table).backward()
    program = wy.freeze(loss(table)).value_and_grad()[1][table]
    assert isinstance(table.grad, wy.SparseGrad)
    assert isinstance(program, wy.SparseGrad)
    np.testing.assert_allclose(table.grad.to_dense(), program.to_dense())


def test_tables_of_no_width():
    """Products of empty rows are 0, also where a program looks them up in passing."""
    table, i = wy.Parameter(np.zeros((5, 0))), wy.IndexInput([0])
    y, x = wy.Variable(np.zeros((4, 0))), wy.Variable(np.full((4, 4), 4.0))
    rows, others = table[[0, 1, 2, 3]], table[[1, 1, 1, 1]]
    # Something that leaves its numbers in the program's memory.
    trash = (x @ x @ x).sum(axis=0).sum()
    for dot in (wy.vecdot(rows, y), wy.vecdot(rows, others)):
        loss = trash * 0.0 + dot
        np.testing.assert_array_equal(wy.freeze(loss).run(), np.zeros(4))
        np.testing.assert_array_equal(loss.value, np.zeros(4))
    table[[0, 1]].sum().backward()
    wy.SGD(lr=0.1).step([table])
    for options in ({}, {"threads": 2}, {"threads": 2, "deterministic": True}):
        bias = wy.Parameter(1.0)
        loss = table[i].sum() + bias
        wy.fit(loss, {i: [0, 1, 2, 3]}, optimizer=wy.SGD(lr=0.1), batch_size=1, **options)
        # Of two racing updates one may be lost, so two workers make at least two of four.
        racing = options == {"threads": 2}
        assert 0.6 - 1e-9 <= bias.item() <= (0.8 if racing else 0.6) + 1e-9


@pytest.mark.parametrize(
    ("sliced", "looked_up"),
    [
        (lambda w: w[5], lambda w: w[[5]]),
        (lambda w: w[-1], lambda w: w[[199]]),
        (lambda w: w[5:8], lambda w: w[[5, 6, 7]]),
        (lambda w: w[5, 2:4], lambda w: w[[5]][:, 2:4]),
    ],
    ids=["w[5]", "w[-1]", "w[5:8]", "w[5, 2:4]"],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_training_on_a_slice_is_training_on_its_rows(sliced, looked_up, dtype):
    start = np.random.default_rng(7).normal(size=(200, 6)).astype(dtype)
    column = np.linspace(-1.0, 1.0, 12, dtype=dtype)
    trained = []
    for rows in (sliced, looked_up):
        w, x = wy.Parameter(start), wy.Input(np.zeros(1, dtype))
        loss = ((rows(w) ** 2).sum() - x) ** 2
        optimizer = wy.Adam(lr=0.05)
        history = wy.fit(loss, {x: column}, optimizer=optimizer, batch_size=4, epochs=3)
        assert isinstance(wy.freeze(loss.sum()).value_and_grad({x: column})[1][w], wy.SparseGrad)
        trained.append((w.value, history.loss, rows(w).value.ravel()))
    for found, expected in zip(*trained, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert (trained[0][0] != start).any(axis=1).sum() in (1, 3)
