"""Embedding bags against products with dense multi-hot matrices, by NumPy."""

import pickle

import numpy as np
import pytest

import wyrmling as wy


def multi_hot(rows, ids, offsets, weights=None):
    """The matrix by which a table is multiplied to sum its rows in bags."""
    matrix = np.zeros((len(offsets) - 1, rows))
    for b in range(len(offsets) - 1):
        for k in range(offsets[b], offsets[b + 1]):
            matrix[b, ids[k]] += 1.0 if weights is None else weights[k]
    return matrix


def drawn(rng, lengths, rows):
    """Ids with repeats, the offsets of bags of these lengths, and weights."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    count = int(offsets[-1])
    return rng.integers(0, rows, count), offsets, rng.normal(size=count)


# One bag, empty ones at all places, all empty, none at all, one long one.
LENGTHS = [[3], [0, 2, 0, 0, 5, 1, 0], [0, 0, 0], [], [40, 1]]
ROWS = 5


@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("row", [(), (1,), (3,), (32,), (2, 70)])
def test_bags_are_products_with_a_multi_hot_matrix(lengths, dtype, row, rng):
    table = rng.normal(size=(ROWS, *row)).astype(dtype)
    ids, offsets, weights = drawn(rng, lengths, ROWS)
    tolerance = (
        {"rtol": 1e-12, "atol": 1e-12} if dtype is np.float64 else {"rtol": 1e-5, "atol": 2e-5}
    )
    for given in (None, weights):
        matrix = multi_hot(ROWS, ids, offsets, given)
        expected = np.tensordot(matrix, table.astype(np.float64), axes=1)
        sums = wy.bag(table, ids, offsets, given)
        assert isinstance(sums, np.ndarray)
        assert sums.dtype == dtype
        assert sums.shape == (len(lengths), *row)
        np.testing.assert_allclose(sums, expected, **tolerance)

        w = wy.Parameter(table)
        seed = rng.normal(size=expected.shape).astype(dtype)
        (wy.bag(w, ids, offsets, given) * seed).sum().backward()
        slope = np.tensordot(matrix.T, seed.astype(np.float64), axes=1)
        if w.grad is not None:
            assert isinstance(w.grad, wy.SparseGrad)
            np.testing.assert_allclose(w.grad.to_dense(), slope, **tolerance)

        if not lengths:
            continue
        features = wy.Ragged(ids, offsets, given)
        at = rng.integers(0, len(lengths), (4, 2))
        index = wy.IndexInput(at)
        w.zero_grad()
        chosen = wy.bag(w, features[index])
        np.testing.assert_allclose(chosen.value, expected[at], **tolerance)
        seed = rng.normal(size=chosen.shape).astype(dtype)
        (chosen * seed).sum().backward()
        assert isinstance(w.grad, wy.SparseGrad)
        slope = np.einsum("ijb,ij...->b...", matrix[at], seed.astype(np.float64))
        np.testing.assert_allclose(w.grad.to_dense(), slope, **tolerance)


def test_ids_that_are_there_twice_add_up():
    table = wy.Parameter([[1.0], [2.0], [4.0]])
    wy.bag(table, [2, 2, 0, 2], [0, 3, 4], [1.0, 2.0, 0.5, 8.0]).sum().backward()
    assert table.grad.to_dense().tolist() == [[0.5], [0.0], [11.0]]


def test_a_program_is_as_the_graph_for_every_length_of_the_index(rng):
    ids, offsets, weights = drawn(rng, LENGTHS[1], ROWS)
    features = wy.Ragged(ids, offsets, weights)
    table, bias = wy.Parameter(rng.normal(size=(ROWS, 3))), wy.Parameter(rng.normal(size=ROWS))
    users = wy.Parameter(rng.normal(size=(4, 3)))
    u, i, j = wy.IndexInput([0], name="u"), wy.IndexInput([0], name="i"), wy.IndexInput([0])
    vector = wy.bag(table, features[i]) - wy.bag(table, features[j])
    loss = wy.softplus(
        -wy.vecdot(users[u], vector) + wy.bag(bias, features[i]) + table[i].sum() * 0.1
    )
    program = wy.freeze(loss)
    for count in (1, 3, 8, 0):
        inputs = {u: rng.integers(0, 4, count), i: rng.integers(0, 5, count)}
        inputs[j] = rng.integers(0, 7, count)
        for x, value in inputs.items():
            x.value = value
        for parameter in (table, bias, users):
            parameter.zero_grad()
        loss.backward()
        value, gradients = program.value_and_grad(inputs)
        np.testing.assert_allclose(value, loss.value, rtol=1e-12)
        for parameter in (table, bias, users):
            assert isinstance(gradients[parameter], wy.SparseGrad)
            found, expected = gradients[parameter].to_dense(), parameter.grad
            if isinstance(expected, wy.SparseGrad):
                expected = expected.to_dense()
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_weights_and_table_have_first_and_second_derivatives(rng):
    ids, offsets, weights = drawn(rng, [2, 0, 3], ROWS)
    table = rng.normal(size=(ROWS, 2))

    def loss(table, weights):
        return (wy.bag(table, ids, offsets, weights) ** 3).sum()

    wy.check_grads(loss, (table, weights), order=2)
    _, moved = wy.jvp(loss, (table, weights), (np.ones_like(table), np.zeros_like(weights)))
    matrix = multi_hot(ROWS, ids, offsets, weights)
    expected = (3 * (matrix @ table) ** 2 * (matrix @ np.ones_like(table))).sum()
    np.testing.assert_allclose(moved, expected)


def test_weights_are_learned_with_chosen_bags(rng):
    ids, offsets, weights = drawn(rng, [2, 0, 3, 1], ROWS)
    table, w = wy.Parameter(rng.normal(size=(ROWS, 2))), wy.Parameter(weights)
    index = wy.IndexInput([3, 0, 3])
    features = wy.Ragged(ids, offsets)
    chosen = wy.bag(table, features[index], weights=w)
    seed = rng.normal(size=(3, 2))
    (chosen * seed).sum().backward()
    expected = np.zeros(len(ids))
    for row, b in zip(seed, [3, 0, 3], strict=True):
        for k in range(offsets[b], offsets[b + 1]):
            expected[k] += table.value[ids[k]] @ row
    np.testing.assert_allclose(w.grad, expected)
    _, gradients = wy.freeze((chosen * seed).sum()).value_and_grad({index: [3, 0, 3]})
    np.testing.assert_allclose(gradients[w], expected)


def test_means_divide_by_the_weights_of_the_bag():
    table = np.array([[1.0], [2.0], [6.0]])
    ids, offsets = [0, 2, 1, 1], [0, 2, 2, 4]
    assert wy.bag(table, ids, offsets, mode="mean").tolist() == [[3.5], [0.0], [2.0]]
    weights = [1.0, 3.0, 2.0, -2.0]
    means = wy.bag(table, ids, offsets, weights, mode="mean")
    assert means[0] == pytest.approx(19 / 4)
    assert means[1] == 0.0
    assert not np.isfinite(means[2])
    features = wy.Ragged(ids, offsets, weights)
    index = wy.IndexInput([0])
    assert wy.bag(table, features[index], mode="mean").value == pytest.approx(19 / 4)


def test_zero_weights_keep_what_is_not_finite():
    table = [[np.nan, 1.0], [np.inf, 2.0], [3.0, 4.0]]
    with np.errstate(invalid="ignore"):
        sums = wy.bag(table, [0, 1, 2], [0, 1, 2, 3], [0.0, 0.0, np.inf])
    np.testing.assert_array_equal(sums, [[np.nan, 0.0], [np.nan, 0.0], [np.inf, np.inf]])
    # Rows that are in no bag do not matter.
    assert wy.bag(table, [2], [0, 1]).tolist() == [[3.0, 4.0]]


@pytest.mark.parametrize(
    ("ids", "offsets", "weights", "error", "message"),
    [
        ([0, 1], [1, 2], None, ValueError, "offsets: expected 0 at first, got 1"),
        ([0, 1], [0, 2, 1, 2], None, ValueError, "offsets: .* got 1 after 2 at position 2"),
        ([0, 1], [0, 3], None, ValueError, "offsets: .* 2, at last, got 3"),
        ([0, 1], [0, 1], None, ValueError, "offsets: .* 2, at last, got 1"),
        ([0, 1], [0, -1, 2], None, ValueError, "offsets: .* got -1 at position 1"),
        ([0, 1], [0, 2**32], None, ValueError, "offsets: .* got 4294967296"),
        ([0, 1], [], None, TypeError, "offsets: expected integers"),
        ([0, 1], np.zeros(0, int), None, ValueError, "offsets: .* shape"),
        ([0, 1], [[0, 2]], None, ValueError, "offsets: .* shape"),
        ([0, 1], [0.0, 2.0], None, TypeError, "offsets: expected integers"),
        ([0, 1], None, None, TypeError, "offsets: expected integers"),
        ([0, 5], [0, 2], None, IndexError, "index 5 at position 1 is out of range"),
        ([0, -1], [0, 2], None, IndexError, "ids: index -1"),
        ([0, 2**33], [0, 2], None, IndexError, "ids: index 8589934592"),
        ([0.5, 1.0], [0, 2], None, TypeError, "ids: expected integer indices"),
        ([0, 1], [0, 2], [1.0], ValueError, "weights: expected shape"),
        ([0, 1], [0, 2], ["a", "b"], TypeError, "weights"),
    ],
)
def test_what_does_not_fit_is_refused(ids, offsets, weights, error, message):
    with pytest.raises(error, match=message):
        wy.bag(np.ones((5, 2)), ids, offsets, weights)


def test_other_arguments_are_refused():
    table = np.ones((2, 3))
    with pytest.raises(ValueError, match="mode: expected 'sum' or 'mean', got 'max'"):
        wy.bag(table, [0], [0, 1], mode="max")
    with pytest.raises(TypeError, match="offsets: a Ragged has its own"):
        wy.bag(table, wy.Ragged([0], [0, 1]), [0, 1])
    with pytest.raises(TypeError, match="ids: expected integer"):
        wy.bag(table, wy.Ragged([0.0], [0, 1]))
    with pytest.raises(ValueError, match="single number"):
        wy.bag(1.0, [0], [0, 1])
    with pytest.raises(TypeError, match="weights: expected a plain array with mode='mean'"):
        wy.bag(table, [0], [0, 1], wy.Variable([1.0]), mode="mean")
    features = wy.Ragged([0, 1], [0, 1, 2])
    with pytest.raises(IndexError, match=r"2 .* out of range for 2 bags"):
        wy.bag(table, features[wy.IndexInput([0, 2])])
    with pytest.raises(IndexError, match=r"3 .* out of range for 2 rows"):
        wy.bag(table, wy.Ragged([0, 3], [0, 1, 2])[wy.IndexInput([1])])
    with pytest.raises(TypeError, match="index"):
        wy.bag(table, features[wy.Variable([0.5])])


def test_fit_sums_bags_of_samples_without_padding(rng):
    """By steps written in NumPy, of batches in the order of the data's only sample."""
    ids, offsets, weights = drawn(rng, [2, 0, 5], 6)
    features = wy.Ragged(ids, offsets, weights)
    matrix = multi_hot(6, ids, offsets, weights)
    start = rng.normal(size=(6, 3))
    for bag_number in range(3):
        w = wy.Parameter(start)
        i, y = wy.IndexInput([0], name="i"), wy.Input([0.0])
        loss = (wy.bag(w, features[i]).sum(axis=1) - y) ** 2
        wy.fit(loss, {i: [bag_number], y: [0.5]}, optimizer=wy.SGD(lr=0.01), epochs=3)
        expected = start.copy()
        for _ in range(3):
            row = matrix[bag_number]
            error = (row @ expected).sum() - 0.5
            expected -= 0.01 * 2 * error * row[:, None]
        np.testing.assert_allclose(w.value, expected, rtol=1e-12)


@pytest.mark.parametrize("optimizer", [wy.SGD(lr=0.01), wy.Adagrad(lr=0.1), wy.Adam(lr=0.01)])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_fit_is_that_of_padded_bags(optimizer, dtype, rng):
    """Of which every lookup is an array: those with a weight of zero are looked up for nothing."""
    lengths = rng.integers(1, 5, 20)
    ids, offsets, weights = drawn(rng, lengths, 30)
    features = wy.Ragged(ids, offsets, weights.astype(dtype))
    # Padding repeats an id of the bag, so that no row counts as read that is not.
    padded = np.array([np.resize(features[b], 5) for b in range(20)])
    zeros = np.zeros((20, 5), dtype)
    for b in range(20):
        zeros[b, : lengths[b]] = weights[offsets[b] : offsets[b + 1]]
    start = rng.normal(size=(30, 4)).astype(dtype)
    target = rng.normal(size=200).astype(dtype)
    at = rng.integers(0, 20, 200)
    found = []
    for padding in (False, True):
        w = wy.Parameter(start)
        y = wy.Input(np.zeros(1, dtype))
        if padding:
            i, by = wy.IndexInput(padded[:1]), wy.Input(zeros[:1])
            sums = (w[i] * by[:, :, None]).sum(axis=1)
            columns = {i: padded[at], by: zeros[at]}
        else:
            i = wy.IndexInput([0])
            sums = wy.bag(w, features[i])
            columns = {i: at}
        loss = (sums.sum(axis=1) - y) ** 2
        columns[y] = target
        history = wy.fit(loss, columns, optimizer=optimizer, epochs=2, batch_size=16)
        found.append((w.value, history.loss))
    tolerance = 1e-9 if dtype is np.float64 else 2e-3
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-4)


def test_fit_checks_bags_before_the_first_step(rng):
    w, i = wy.Parameter(np.ones((3, 2))), wy.IndexInput([0], name="item")
    loss = wy.bag(w, wy.Ragged([0, 2], [0, 1, 2])[i]).sum(axis=1) ** 2
    with pytest.raises(IndexError, match=r"input 'item': index 2 .* out of range"):
        wy.fit(loss, {i: [0, 1, 2]}, optimizer=wy.SGD(lr=0.1), batch_size=1)
    assert (w.value == 1.0).all()
    # A bag that the graph does not look up has an id that is not there.
    loss = wy.bag(w, wy.Ragged([0, 3], [0, 1, 2])[i]).sum(axis=1) ** 2
    with pytest.raises(IndexError, match="3"):
        wy.fit(loss, {i: [0, 0]}, optimizer=wy.SGD(lr=0.1), batch_size=1)
    assert (w.value == 1.0).all()


def test_several_workers_learn_and_repeat_in_turn(rng):
    ids, offsets, weights = drawn(rng, rng.integers(0, 6, 50), 40)
    features = wy.Ragged(ids, offsets, weights)
    at = rng.integers(0, 50, 500)
    results = []
    for _ in range(2):
        w, i = wy.Parameter(np.ones((40, 4), np.float32)), wy.IndexInput([0])
        loss = (wy.bag(w, features[i]) ** 2).sum(axis=1)
        history = wy.fit(
            loss,
            {i: at},
            optimizer=wy.Adagrad(lr=0.05),
            epochs=3,
            batch_size=8,
            threads=2,
            deterministic=True,
        )
        assert history.loss[-1] < history.loss[0]
        results.append(w.value)
    assert (results[0] == results[1]).all()


def test_offsets_and_ids_that_are_inputs_are_tables_of_fit(rng):
    w = wy.Parameter(rng.normal(size=(4, 2)))
    ids, offsets = wy.IndexInput([0, 1], name="ids"), wy.IndexInput([0, 1, 2], name="offsets")
    index = wy.IndexInput([0], name="index")
    sums = wy.bag(w, wy.Ragged([0], [0, 1])[index])
    assert sums.shape == (1, 2)
    loss = (wy.bag(w, ids, offsets) ** 2).sum()
    program = wy.freeze(loss)
    assert program.run({ids: [3, 3], offsets: [0, 1, 2]}) == pytest.approx(
        2 * (w.value[3] ** 2).sum()
    )
    with pytest.raises(ValueError, match="offsets"):
        program.run({ids: [3, 3], offsets: [0, 3, 2]})


def test_a_ragged_keeps_its_weights():
    x = wy.Ragged([3, 4, 5], [0, 2, 3], weights=[1, 2, 3])
    assert x.weights.dtype == np.float64
    assert not x.weights.flags.writeable
    assert x[1:].weights.tolist() == [3.0]
    assert x[[1, 0]].weights.tolist() == [3.0, 1.0, 2.0]
    assert pickle.loads(pickle.dumps(x)) == x
    assert x != wy.Ragged([3, 4, 5], [0, 2, 3])
    assert wy.Ragged([3, 4, 5], [0, 2, 3]) == wy.Ragged([3, 4, 5], [0, 2, 3])
    assert "with weights" in repr(x)
    with pytest.raises(ValueError, match=r"weights: .* 3 values, got shape \(2,\)"):
        wy.Ragged([3, 4, 5], [0, 2, 3], weights=[1.0, 2.0])
    with pytest.raises(TypeError, match="weights"):
        wy.Ragged([3], [0, 1], weights=["a"])
    with pytest.raises(TypeError, match="matrix"):
        wy.Ragged.from_csr(np.ones((2, 2)))
    with pytest.raises(ValueError, match="weights, which are for"):
        wy.fit(
            lambda w, xs: (w * xs).sum(),
            {"xs": wy.Ragged([1.0], [0, 1], [1.0])},
            parameters={"w": wy.Parameter(0.0)},
            optimizer=wy.SGD(lr=0.1),
        )


def test_rows_of_scipys_matrices_are_bags(rng):
    sparse = pytest.importorskip("scipy.sparse")
    dense = rng.normal(size=(6, 4)) * (rng.random((6, 4)) < 0.5)
    features = wy.Ragged.from_csr(sparse.csr_array(dense))
    table = rng.normal(size=(4, 3))
    np.testing.assert_allclose(wy.bag(table, features), dense @ table)
    with pytest.raises(TypeError, match="tocsr"):
        wy.Ragged.from_csr(sparse.csc_array(dense))
