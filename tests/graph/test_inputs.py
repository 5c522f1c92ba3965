"""What is made of an input follows it: no value of now is kept where another comes later.

Each function is built on an input, frozen, run on another value and compared with plain NumPy on
that: eagerly too. Or it refuses, by an error that says what to use. It never gives the
old answer.
"""

import math
import operator

import numpy as np
import pytest

import wyrmling as wy

FEATURES = np.array([[3, 0], [1, 1], [0, 2], [2, 4], [1, 3]])
TABLE = np.arange(10.0).reshape(5, 2) ** 2
OLD, NEW = np.array([0, 3, 1]), np.array([4, 1, 2])


def taken(a, i, axis=None):
    """NumPy's take, which NumPy gives to us for a variable as the array alone."""
    return wy.take(a, i, axis) if isinstance(i, wy.Variable) else np.take(a, i, axis)


# What is called with an index, and what it means on plain arrays. Some are refused.
BY_INDEX = {
    "rows": lambda i: wy.take(TABLE, i, 0),
    "np.take": lambda i: np.take(TABLE, i, 0),
    "flat": lambda i: taken(TABLE, i),
    "integers": lambda i: taken(FEATURES, i, 0),
    "along the other axis": lambda i: taken(TABLE.T, i, axis=1),
    "gather of integers": lambda i: wy.gather(FEATURES, i),
    "array[i]": lambda i: TABLE[i],
    "integers[i]": lambda i: FEATURES[i],
    "array[i, 0]": lambda i: TABLE[i, 0],
    "eye[i]": lambda i: np.eye(5)[i],
    "asarray": lambda i: np.asarray(i) * 1.0,
    "array": lambda i: np.array([i, i]) * 1.0,
    "np.r_": lambda i: np.r_[i] * 1.0,
    "== 3": lambda i: (i == 3) * 1.0,
    "!= 3": lambda i: (i != 3) * 1.0,
    "< 2": lambda i: np.less(i, 2) * 1.0,
    "3 > i": lambda i: (i < 3) * 1.0,
    "isin": lambda i: np.isin(i, [1, 2]) * 1.0,
    "i + 1": lambda i: i + 1,
    "1 - i": lambda i: 1 - i,
    "i * 2.5": lambda i: i * 2.5,
    "i / 2": lambda i: i / 2,
    "i // 2": lambda i: i // 2,
    "i % 2": lambda i: i % 2,
    "i ** 2": lambda i: i**2,
    "-i": lambda i: -i,
    "abs": lambda i: abs(1 - i),
    "sqrt": lambda i: np.sqrt(i),
    "exp": lambda i: np.exp(i),
    "maximum": lambda i: np.maximum(i, 2),
    "add": lambda i: np.add(i, i),
    "sum": lambda i: np.sum(i),
    "mean": lambda i: np.mean(i),
    "max": lambda i: np.max(i),
    "cumsum": lambda i: np.cumsum(i),
    "where": lambda i: np.where(i == 1, 5.0, i),
    "where of integers": lambda i: np.where(i > 1, i, 7),
    "nonzero": lambda i: np.nonzero(i)[0],
    "where of one": lambda i: np.where(i)[0],
    "flatnonzero": lambda i: np.flatnonzero(i),
    "argwhere": lambda i: np.argwhere(i),
    "count_nonzero": lambda i: np.count_nonzero(i) * 1.0,
    "any": lambda i: np.any(i == 4) * 1.0,
    "all": lambda i: np.all(i > 0) * 1.0,
    "method any": lambda i: (i == 4).any() * 1.0,
    "allclose": lambda i: np.allclose(i, OLD) * 1.0,
    "array_equal": lambda i: np.array_equal(i, OLD) * 1.0,
    "searchsorted": lambda i: np.searchsorted([0, 2, 4], i),
    "digitize": lambda i: np.digitize(i, [0, 2, 4]),
    "bincount": lambda i: np.bincount(i, minlength=5) * 1.0,
    "unique": lambda i: np.unique(i),
    "argsort": lambda i: np.argsort(i),
    "argmax": lambda i: np.argmax(i),
    "one hot": lambda i: (np.arange(5) == np.expand_dims(i, 1)) * 1.0,
    "list of items": lambda i: sum(TABLE[int(k)] for k in i),
    "list": lambda i: [10.0, 20.0, 30.0, 40.0, 50.0][i[0]],
    "int": lambda i: TABLE[int(i[0])],
    "index": lambda i: TABLE[operator.index(i[0])],
    "range": lambda i: np.zeros(()) + len(range(i[0])),
    "float": lambda i: np.zeros(()) + float(i[0]),
    "math": lambda i: np.zeros(()) + math.sqrt(i[0]),
    "branch": lambda i: TABLE[0] if i[0] else TABLE[1],
    "branch on a comparison": lambda i: TABLE[0] if i[0] == 0 else TABLE[1],
    "min of Python": lambda i: np.zeros(()) + min(i[0], i[1]) * 1.0,
    "sorted": lambda i: np.stack(sorted(i)) * 1.0,
    "lookup after arithmetic": lambda i: taken(TABLE, (i + 1) % 5, 0),
    "lookup from the end": lambda i: taken(TABLE, i - 5, 0),
    "lookup of a lookup": lambda i: taken(TABLE, taken(FEATURES, i, 0), 0),
    "numbers of a lookup": lambda i: taken(FEATURES, i, 0) * [0.5, 2.0],
    "negative numbers of a lookup": lambda i: taken(FEATURES - 3, i, 0) * 1.0,
    "masks of a lookup": lambda i: taken(FEATURES > 1, i, 0) * 1.0,
    "sorted lookup": lambda i: taken(TABLE, np.argsort(i), 0),
    "column of a lookup": lambda i: taken(FEATURES, i, 0)[:, 1] + 1,
    "joined": lambda i: np.concatenate([i, i + 1]),
    "tolist": lambda i: np.array(i.tolist()) * 1.0 if isinstance(i, np.ndarray) else i + 0,
}

# What is called with numbers, of which integers are made.
BY_NUMBERS = {
    "argmax": lambda x: np.argmax(x, axis=1),
    "argmax flat": lambda x: np.argmax(x),
    "argmax and arithmetic": lambda x: np.argmax(x, axis=1) - 1,
    "argmax compared": lambda x: (np.argmax(x, axis=1) == np.argmin(x, axis=1)) * 1.0,
    "argmin in a product": lambda x: np.argmin(x, 1) * x[:, 0],
    "rows at argmax": lambda x: taken(TABLE, np.argmax(x, axis=1), 0),
    "before argmax": lambda x: taken(TABLE, np.argmax(x, axis=1) - 1, 0),
    "argsort": lambda x: np.argsort(x, axis=1) * 1.0,
    "along argsort": lambda x: np.take_along_axis(x, np.argsort(x, axis=1)[:, :1], 1),
    "along computed indices": lambda x: np.take_along_axis(
        x, np.argmax(x, axis=1, keepdims=True) - 1, 1
    ),
    "floor": lambda x: taken(TABLE, np.floor(x[:, 0]).astype(int) % 5, 0),
    "astype": lambda x: (x * 3.0).astype(int),
    "astype bool": lambda x: x.astype(bool) * 1.0,
    "astype and a slice": lambda x: taken(TABLE, np.abs(x * 2.0).astype(int)[0] % 5, 0),
    "comparison": lambda x: (x > 0.5) + 0.0,
    "not equal": lambda x: (x != 0.0) * x,
    "isfinite": lambda x: np.where(np.isfinite(x), x, 0.0),
    "and": lambda x: ((x > 0.0) & (x < 1.0)) * 1.0,
    "mask": lambda x: x[x > 0.5],
    "mask of a constant": lambda x: TABLE[:3][x[:, 0] > 0.5],
    "asarray": lambda x: np.asarray(x),
    "linspace": lambda x: np.linspace(0.0, x[0, 0], 3),
    "float": lambda x: x * float(x[0, 0]),
    "math": lambda x: x * math.exp(x[0, 0]),
    "int": lambda x: x * int(x[0, 0]),
    "round": lambda x: x * round(x[0, 0]),
    "branch": lambda x: x if x[0, 0] > 0.5 else -x,
    "any": lambda x: x if np.any(x > 1.0) else -x,
    "max of Python": lambda x: x * max(x[0, 0], 0.5),
    "random": lambda x: np.sort(x, axis=1),
    "polyfit": lambda x: np.polyfit([0.0, 1.0, 2.0], x[:, 0], 1),
    "histogram": lambda x: np.histogram(x, 3)[0] * 1.0,
    "array": lambda x: np.array([x[0], x[1]]),
    "assigned to plain": lambda x: filled(x),
    "format": lambda x: x + 0.0 * len(f"{x}"),
    "isclose": lambda x: np.isclose(x, 0.5) * 1.0,
}


def filled(x):
    out = np.zeros(2)
    out[0] = x[0, 0]
    return out * 1.0


def follow(f, old, new, make):
    """The answer for the new value in all ways, or what was raised while building."""
    expected = f(new)
    given = make(old)
    try:
        y = f(given)
    except (TypeError, ValueError, IndexError) as error:
        return str(error)
    assert isinstance(y, wy.Variable), f"a constant: {y!r}"
    program = wy.freeze(y)
    np.testing.assert_allclose(program.run({given: new}), expected, rtol=1e-12)
    given.value = new
    np.testing.assert_allclose(y.value, expected, rtol=1e-12)
    return None


REFUSED_BY_INDEX = {
    "np.take": r"^(np\.take|TABLE.*|FEATURES.*|np\.eye.*): .*wyrmling\.take",
    "array[i]": r"^(np\.take|TABLE.*|FEATURES.*|np\.eye.*): .*wyrmling\.take",
    "integers[i]": r"^(np\.take|TABLE.*|FEATURES.*|np\.eye.*): .*wyrmling\.take",
    "array[i, 0]": r"^(np\.take|TABLE.*|FEATURES.*|np\.eye.*): .*wyrmling\.take",
    "eye[i]": r"^(np\.take|TABLE.*|FEATURES.*|np\.eye.*): .*wyrmling\.take",
    "asarray": r"^np\.asarray: .*would be a constant.*np\.stack",
    "array": r"^np\.array: .*would be a constant.*np\.stack",
    "np.r_": r"^np\.r_\[i\]: .*use wyrmling\.r_",
    "nonzero": "follows an input",
    "int": r"\.item\(\)",
    "float": r"\.item\(\)",
    "math": r"\.item\(\)",
    "branch": r"\.item\(\)",
    "list": "indices must be integers",
    "index": "cannot be interpreted as an integer",
    "range": "cannot be interpreted as an integer",
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", BY_INDEX)
def test_functions_of_an_index_follow_it(name):
    refused = follow(BY_INDEX[name], OLD, NEW, wy.IndexInput)
    if name in REFUSED_BY_INDEX:
        import re

        assert refused is not None
        assert re.search(REFUSED_BY_INDEX[name], refused), refused


@pytest.mark.parametrize("name", BY_NUMBERS)
def test_functions_of_numbers_follow_them(name):
    old = np.array([[0.25, 0.75, 0.5], [-1.0, 2.0, 1.0], [0.0, 0.125, 0.5]])
    new = np.array([[3.5, 0.25, -1.0], [0.0, 1.5, 4.0], [2.0, 1.0, 0.5]])
    follow(BY_NUMBERS[name], old, new, wy.Input)


def test_most_functions_are_not_refused():
    """Refusing all would pass the tests above."""
    answered = [n for n, f in BY_INDEX.items() if not follow(f, OLD, NEW, wy.IndexInput)]
    assert len(answered) > len(BY_INDEX) / 2
    for name in ("== 3", "i + 1", "lookup of a lookup", "argsort", "where", "lookup from the end"):
        assert name in answered


def test_features_looked_up_by_an_input_of_indices():
    """A table of integers may be an input itself."""
    features, rows = wy.IndexInput(FEATURES, name="features"), wy.IndexInput(OLD, name="rows")
    table = wy.Parameter(TABLE, name="table")
    y = table[features[rows]].sum(1)
    np.testing.assert_array_equal(y.value, TABLE[FEATURES[OLD]].sum(1))
    y.backward()
    expected = np.zeros_like(TABLE)
    np.add.at(expected, FEATURES[OLD], 1.0)
    gradient = table.grad
    gradient = gradient if isinstance(gradient, np.ndarray) else gradient.to_dense()
    np.testing.assert_array_equal(gradient, expected)
    program = wy.freeze(y)
    other = FEATURES[::-1] % 3
    for at in (NEW, [1], [0, 1, 2, 3, 4, 0]):
        value, gradients = program.value_and_grad({features: other, rows: at})
        np.testing.assert_array_equal(value, TABLE[other[at]].sum(1))
        expected = np.zeros_like(TABLE)
        np.add.at(expected, other[at], 1.0)
        gradient = gradients[table]
        gradient = gradient if isinstance(gradient, np.ndarray) else gradient.to_dense()
        np.testing.assert_array_equal(gradient, expected)
    with pytest.raises(IndexError, match="index 5"):
        program.run({features: other, rows: [5]})
    with pytest.raises(IndexError, match=r"index [79]"):
        program.run({features: other + 7, rows: [1]})


@pytest.mark.parametrize(
    "make", [lambda i: wy.take(FEATURES, i, 0), lambda i: wy.gather(FEATURES, i)]
)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("batch", [1, 3, 64])
def test_training_by_features(make, threads, batch, rng):
    """The rows of an item's features are trained, and no others, whatever the batch."""
    items = rng.integers(0, 5, 40)
    target = TABLE[FEATURES[items]].sum((1, 2)) / 50.0
    i, y = wy.IndexInput([0], name="i"), wy.Input([0.0], name="y")
    table = wy.Parameter(np.zeros((6, 2)), name="table")
    loss = (table[make(i)].sum((1, 2)) - y).square().sum()

    history = wy.fit(
        loss,
        {i: items, y: target},
        optimizer=wy.SGD(lr=0.05 / min(batch, 40)),
        epochs=100,
        batch_size=batch,
        threads=threads,
    )
    first, last = history.loss[0], history.loss[-1]
    assert last < 0.2 * first
    used = np.unique(FEATURES[items])
    assert (table.value[used] != 0.0).all()
    assert (np.delete(table.value, used, 0) == 0.0).all()


def test_training_with_a_table_that_is_an_input(rng):
    """An input that is only looked up in needs no column; one that is, is data."""
    features, i = wy.IndexInput(FEATURES, name="features"), wy.IndexInput([0], name="i")
    table = wy.Parameter(np.zeros((6, 2)))
    loss = (table[features[i]].sum((1, 2)) - 1.0).square().sum()
    items = rng.integers(0, 5, 20)
    wy.fit(loss, {i: items}, optimizer=wy.SGD(lr=0.05), epochs=200, batch_size=4)
    np.testing.assert_allclose(table.value[FEATURES[items]].sum((1, 2)), 1.0, atol=1e-2)
    with pytest.raises(ValueError, match="'i' is not bound"):
        wy.fit(loss, {features: FEATURES}, optimizer=wy.SGD(lr=0.05))
    both = (table[features[i]].sum((1, 2)) + table[features].sum()).sum()
    with pytest.raises(ValueError, match="'features' is not bound"):
        wy.fit(both, {i: items}, optimizer=wy.SGD(lr=0.05))


@pytest.mark.parametrize("form", ["loss", "program"])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("threads", [1, 2])
def test_one_rule_for_tables_of_indices(form, given, threads, rng):
    """An IndexInput that is only looked up in is data, as a whole: as it is unless it is given."""
    other = (FEATURES + 1) % 6
    features, i = wy.IndexInput(FEATURES, name="features"), wy.IndexInput([0], name="i")
    target = wy.Input([0.0], name="target")
    table = wy.Parameter(np.zeros((6, 2)), name="table")
    loss = (table[features[i]].sum((1, 2)) - target).square().sum()
    program = wy.freeze(loss)
    known = other if given else FEATURES
    bound = {features: other} if given else {}
    start = np.arange(12.0).reshape(6, 2)
    table.value = start
    rows = np.array([4, 0, 2])
    expected = ((start[known[rows]].sum((1, 2)) - 1.0) ** 2).sum()
    data = {i: rows, target: np.ones(3)}
    assert program.run({**data, **bound}) == expected
    value, gradients = program.value_and_grad({**data, **bound})
    assert value == expected
    assert set(gradients) == {table}
    if given:
        features.value = other
    for leaf, column in data.items():
        leaf.value = column
    assert loss.item() == expected
    features.value = FEATURES
    # The table has as many rows as it has, whatever the number of samples.
    items = rng.integers(0, 5, 40)
    table.value = np.zeros((6, 2))
    columns = {i: items, target: np.ones(40), **bound}
    trained = program if form == "program" else loss
    wy.fit(
        trained,
        columns,
        optimizer=wy.SGD(lr=0.05),
        epochs=200,
        batch_size=4,
        threads=threads,
        deterministic=True,
    )
    used = np.unique(known[items])
    assert (table.value[used] != 0.0).all()
    assert (np.delete(table.value, used, 0) == 0.0).all()
    np.testing.assert_allclose(table.value[known[items]].sum((1, 2)), 1.0, atol=1e-2)
    with pytest.raises(IndexError, match="out of range"):
        wy.fit(trained, {**columns, features: FEATURES + 6}, optimizer=wy.SGD(lr=0.05))
    with pytest.raises(ValueError, match="'features'"):
        wy.fit(trained, {**columns, features: [1, 2]}, optimizer=wy.SGD(lr=0.05))


def test_a_frozen_table_of_indices_is_as_it_was():
    features, i = wy.IndexInput(FEATURES), wy.IndexInput([0])
    program = wy.freeze(wy.Parameter(TABLE)[features[i]].sum())
    features.value = FEATURES * 0
    assert program.run({i: [3]}) == TABLE[FEATURES[3]].sum()
    assert program.run({i: [3], features: FEATURES * 0}) == 2 * TABLE[0].sum()
    with pytest.raises(ValueError, match="has no value"):
        program.run({features: FEATURES})


def test_features_out_of_range_are_refused():
    i = wy.IndexInput([0])
    table = wy.Parameter(np.zeros((3, 2)))
    with pytest.raises(IndexError, match="out of range"):
        table[wy.take(np.array([3, 0, 0]), i)]
    loss = table[wy.take(np.array([0, 0, 3]), i)].sum()
    with pytest.raises(IndexError, match="out of range"):
        wy.fit(loss, {i: [0, 1, 2]}, optimizer=wy.SGD(lr=0.1))
    assert (table.value == 0.0).all()
    with pytest.raises(IndexError, match="out of range"):
        wy.freeze(loss).run({i: [2]})


def test_integers_do_not_wrap_around():
    i = wy.IndexInput([0, 2])
    assert (i - 1).value.tolist() == [-1, 1]
    assert (i - 1).dtype == np.int64
    for bad in (lambda: i // 0, lambda: i**-1, lambda: i * 2**60, lambda: (i / 0.0).astype(int)):
        with np.errstate(all="ignore"), pytest.raises(ValueError, match="integers"):
            bad()
    x = wy.Parameter([1.0, 2.0, 3.0])
    assert x[i - 1].value.tolist() == [3.0, 2.0]
    with pytest.raises(IndexError, match="index -4"):
        x[i - 4]
    with pytest.raises(TypeError, match="an index is integers"):
        x[i * 1.0]


@pytest.mark.parametrize("shape", [(4,), (2, 3)])
def test_layers_look_up_by_inputs(shape, rng):
    """Whether an id is padding, and whether a draw drops, follows them too."""
    w, x = wy.Parameter(rng.normal(size=(5, 2))), wy.Input(rng.normal(size=shape))
    ids, draws = (wy.IndexInput(np.zeros(shape, int)) for _ in range(2))
    rows, kept = wy.nn.embedding(w, ids, padding=3), wy.nn.dropout(x, draws, 0.4)
    program = wy.freeze(rows * kept.sum())
    new, drawn = rng.integers(0, 5, shape), rng.integers(0, 1000, shape)
    new.flat[0] = 3
    expected = wy.nn.embedding(w.value, new, padding=3) * wy.nn.dropout(x.value, drawn, 0.4).sum()
    np.testing.assert_allclose(program.run({x: x.value, ids: new, draws: drawn}), expected)
    ids.value, draws.value = new, drawn
    np.testing.assert_allclose((rows * kept.sum()).value, expected)
    rows.sum().backward()
    counts = np.bincount(new[new != 3], minlength=5)
    np.testing.assert_array_equal(w.grad.to_dense(), np.repeat(counts[:, None], 2, axis=1))


def test_a_graph_with_dropout_and_padding_is_fitted():
    w, y = wy.Parameter(np.zeros((3, 2))), wy.Input([0.0])
    ids, draws = wy.IndexInput([0]), wy.IndexInput([[0, 0]])
    rows = wy.nn.embedding(w, ids, padding=2)
    loss = ((wy.nn.dropout(rows, draws, 0.5).sum(axis=1) - y) ** 2).sum()
    wy.fit(
        loss,
        {ids: [0, 1, 2] * 20, y: [2.0, -1.0, 5.0] * 20},
        sample={draws: wy.sampling.Uniform(1000)},
        optimizer=wy.SGD(lr=0.02),
        epochs=60,
        threads=1,
        batch_size=4,
    )
    assert not w.value[2].any()
    assert 0.3 < w.value[0].min() <= w.value[0].max() < 1.5
