"""Assignment to elements, and in place operators: as NumPy's, with the right gradients."""

import operator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wyrmling as wy

KEYS = [
    0,
    -1,
    slice(1, None),
    slice(None, None, 2),
    (slice(None), 1),
    (Ellipsis, slice(None, None, -1)),
    (1, 2),
    [0, 2],
    (slice(None), [2, 0]),
    ([0, 1], [1, 1]),
    [0, 0, 1],
    np.array([True, False, True]),
    Ellipsis,
    np.arange(12).reshape(3, 4) % 3 == 0,
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_values_and_gradients_are_those_of_differences(key):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 4))
    v = rng.normal(size=x[key].shape)
    weights = rng.normal(size=(3, 4))

    def f(x, v):
        y = x * 1.0
        y[key] = v * 2.0
        return y

    np.testing.assert_array_equal(wy.vjp(f, x, v)[0], f(x, v))
    gx, gv = wy.grad(lambda x, v: np.sum(f(x, v) * weights), (0, 1))(x, v)

    def slope(at, which):
        moved = [x.copy(), v.copy()]
        moved[which][at] += 1.0
        return np.sum((f(*moved) - f(x, v)) * weights)

    expected = [[slope(at, k) for at in np.ndindex(a.shape)] for k, a in enumerate((x, v))]
    np.testing.assert_allclose(gx.ravel(), expected[0], atol=1e-12)
    np.testing.assert_allclose(np.ravel(gv), expected[1], atol=1e-12)


@given(st.lists(st.tuples(st.integers(-4, 3), st.floats(-2, 2)), max_size=6))
def test_any_run_of_assignments(steps):
    def f(x):
        y = x * x
        for at, factor in steps:
            y[at] = y[(at - 1) % 4] * factor + y[2]
            y *= 0.5
        return y

    x = np.array([0.5, -1.0, 0.25, 2.0])
    np.testing.assert_allclose(wy.vjp(f, x)[0], f(x))
    wy.check_grads(f, (x,), order=1)


def test_what_was_overwritten_has_no_gradient_whatever_it_held():
    def f(x):
        y = x * 2.0
        y[[0, 1]] = 1.0
        y[2:3] = 3.0
        return y.sum()

    x = np.array([np.nan, np.inf, -np.inf, 2.0])
    np.testing.assert_array_equal(wy.grad(f)(x), [0.0, 0.0, 0.0, 2.0])


def test_a_slice_is_a_view():
    def f(x):
        part = x[:2]
        x[0] = 100.0
        return part.sum() + 0.0 * x.sum()

    assert wy.value_and_grad(f)(np.array([1.0, 2.0, 3.0]))[0] == 102.0


def test_all_names_of_an_array_see_what_changes_in_place_and_those_of_a_number_do_not():
    def f(x):
        y = x
        y += 1.0
        y *= x
        return np.sum(x)

    for x in (np.array([2.0, 3.0]), 2.0):
        assert wy.value_and_grad(f)(x)[0] == f(np.array(x) if np.ndim(x) else x)
    np.testing.assert_array_equal(wy.grad(f)(np.array([2.0, 3.0])), [6.0, 8.0])
    assert wy.grad(f)(2.0) == 1.0


def test_the_argument_itself_is_not_written():
    x = np.ones(3)

    def f(x):
        x[1] = 5.0
        x -= 1.0
        return (x * x).sum()

    np.testing.assert_array_equal(wy.grad(f)(x), [0.0, 0.0, 0.0])
    np.testing.assert_array_equal(x, np.ones(3))


def test_every_operator():
    def f(x, m):
        x += 1.0
        x -= 0.5
        x *= x
        x /= 3.0
        x **= 2
        m @= m
        return x.sum() + m.sum()

    x, m = np.array([0.5, 1.5]), np.array([[1.0, 2.0], [0.5, -1.0]])
    expected = f(x.copy(), m.copy())
    np.testing.assert_allclose(wy.value_and_grad(f)(x, m)[0], expected)
    wy.check_grads(lambda x, m: f(x * 1.0, m * 1.0), (x, m))


def test_types_and_shapes_are_kept():
    def f(x):
        x += np.ones(2)
        assert x.dtype == np.float32
        x[0] = np.float64(0.1)
        assert x.dtype == np.float32
        return x.sum()

    wy.grad(f)(np.ones(2, np.float32))
    y = wy.Variable(np.ones(3)) * 2
    with pytest.raises(ValueError, match=r"\+=: an array of shape \(3,\) cannot hold"):
        y += np.ones((2, 3))
    with pytest.raises(ValueError, match="shape"):
        y[:2] = np.ones(3)
    with pytest.raises(IndexError, match="out of"):
        y[7] = 1.0
    with pytest.raises(IndexError):
        y["a"] = 1.0
    with pytest.raises(TypeError, match="unsupported operand"):
        y += "text"
    np.testing.assert_array_equal(y.value, [2.0, 2.0, 2.0])


def test_leaves_keep_their_value():
    for leaf in (wy.Parameter([1.0, 2.0]), wy.Input([1.0, 2.0]), wy.Variable([1.0, 2.0])):
        with pytest.raises(TypeError, match=r"leaf.*, cannot be assigned.*wyrmling\.array"):
            leaf[0] = 3.0
        x = leaf
        x += 1.0
        np.testing.assert_array_equal(leaf.value, [1.0, 2.0])
        np.testing.assert_array_equal(x.value, [2.0, 3.0])
        copy = wy.array(leaf)
        copy[0] = 5.0
        np.testing.assert_array_equal(copy.value, [5.0, 2.0])
        np.testing.assert_array_equal(leaf.value, [1.0, 2.0])


def test_graphs_with_assignments_follow_their_inputs_and_freeze():
    w, x = wy.Parameter([2.0, 3.0]), wy.Input([1.0, 1.0], name="x")
    y = w * x
    y[0] = x[1] * 10.0
    y[1] += 1.0
    loss = y.sum()
    assert loss.item() == 14.0
    x.value = [1.0, 2.0]
    assert loss.item() == 27.0
    program = wy.freeze(loss)
    value, gradients = program.value_and_grad({x: [1.0, 3.0]})
    assert value == 40.0
    np.testing.assert_array_equal(gradients[w], [0.0, 3.0])


def test_arrays_of_variables():
    def f(x, y):
        a = wy.array([[x, 2.0 * y], [1.0, x * y]])
        a[0, 0] += y
        return (a * np.array([[1.0, 10.0], [100.0, 1000.0]])).sum()

    assert wy.grad(f, (0, 1))(2.0, 3.0) == (1.0 + 3000.0, 1.0 + 20.0 + 2000.0)
    assert wy.array([1, 2]).dtype == np.float64
    assert wy.array(np.ones(2, np.float32)).dtype == np.float32
    assert wy.array([wy.Variable(1.0), 2], dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="shape"):
        wy.array([[wy.Variable(1.0)], [1.0, 2.0]])
    with pytest.raises(TypeError, match="expected numbers"):
        wy.array(["a", wy.Variable(1.0)])


def test_what_a_sign_gives_is_another_variable():
    a = wy.array(np.arange(4.0))
    b = +a
    a[0] = 77.0
    assert b.value.tolist() == [0.0, 1.0, 2.0, 3.0]

    def f(x):
        y = x * 1.0
        z = +y
        z += 1.0
        return np.sum(y * x + z)

    value, gradient = wy.value_and_grad(f)(np.array([1.0, 2.0]))
    assert (value, gradient.tolist()) == (10.0, [3.0, 5.0])
    rows = wy.IndexInput([1, 0])
    assert a[+rows].value.tolist() == [1.0, 77.0]


# Where 0 is in x the old value is 0/0, and its derivative infinite.
OVERWRITING = {
    "...": lambda q, x: operator.setitem(q, ..., 2 * x),
    ":": lambda q, x: operator.setitem(q, slice(None), 2 * x),
    ": of a number": lambda q, x: operator.setitem(q, slice(None), x.sum()),
    "from 0": lambda q, x: operator.setitem(q, slice(0, None), 2 * x),
    "to the end": lambda q, x: operator.setitem(q, slice(None, 3), 2 * x),
    "backwards": lambda q, x: operator.setitem(q, slice(None, None, -1), x),
    "a new axis": lambda q, x: operator.setitem(q, None, 2 * x),
    "rows": lambda q, x: operator.setitem(q, [2, 0, 1], x),
    "a mask": lambda q, x: operator.setitem(q, np.array([True] * 3), x),
    "a view": lambda q, x: operator.setitem(q.reshape(3, 1), ..., x[:, None]),
    "a view of all": lambda q, x: operator.setitem(q[:], ..., 3 * x),
    "copyto": lambda q, x: np.copyto(q, x),
    "out": lambda q, x: np.multiply(x, 2.0, out=q),
    "out of a sum": lambda q, x: np.cumsum(x, out=q),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OVERWRITING)
def test_what_is_overwritten_as_a_whole_has_no_gradient(name):
    """No zero is multiplied by the infinite derivative of a value that matters no more."""
    write, at = OVERWRITING[name], np.array([0.0, 1.0, 4.0])

    def f(x):
        q = np.sqrt(x) / x
        write(q, x)
        return (q * WEIGHTS).sum()

    def plain(x):
        q = np.zeros_like(x)
        write(q, x)
        return (q * WEIGHTS).sum()

    value, gradient = wy.value_and_grad(f)(at)
    expected = wy.value_and_grad(plain)(at)
    assert value == expected[0]
    np.testing.assert_array_equal(gradient, expected[1])
    np.testing.assert_array_equal(wy.jacfwd(f)(at), gradient)
    w = wy.Parameter(at)
    program = wy.freeze(f(w))
    np.testing.assert_array_equal(program.value_and_grad()[1][w], gradient)
    i = wy.Input(at)
    assert wy.freeze(f(i)).run({i: at + 1.0}) == f(at + 1.0)


WEIGHTS = np.array([1.0, -2.0, 0.5])
# A gradient that is infinite at one element and has no business at the others.
CHOOSING = {
    "maximum": lambda x: np.maximum(x, [0.0, 0.0, 5.0]),
    "minimum": lambda x: -np.minimum(-x, [0.0, 0.0, -5.0]),
    "fmax": lambda x: np.fmax(x, [0.0, 0.0, 5.0]),
    "fmin": lambda x: -np.fmin(-x, [0.0, 0.0, -5.0]),
    "relu": lambda x: x.relu(),
    "clip": lambda x: np.clip(x, 0.0, 3.0),
    "max": lambda x: np.stack([np.max(np.append(x[:1], 0.0)), x[1], x[2]]),
    "min": lambda x: np.stack([-np.min(np.append(-x[:1], 0.0)), x[1], x[2]]),
    "where": lambda x: np.where(x > 0.0, x, 0.0),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CHOOSING)
def test_gradients_are_selected(name):
    """What was not chosen has gradient 0, also where the gradient of the result is infinite."""
    choose, x = CHOOSING[name], np.array([-1.0, 2.0, 4.0])
    gradient = wy.grad(lambda x: np.sqrt(choose(x)).sum())(x)
    assert not np.isnan(gradient).any(), gradient
    assert np.isfinite(gradient[1:]).all()


def test_assigning_to_integers_rounds_as_numpy_does():
    x = wy.Input([1.5, 2.5])
    for key in (0, slice(None), [1], ...):
        q, plain = x.astype(int), np.array([1, 2])
        q[key] = 7.75
        plain[key] = 7.75
        assert q.dtype == plain.dtype
        assert q.value.tolist() == plain.tolist()
        numbers = x * 1.0
        numbers[key] = x.astype(int)[0]
        assert numbers.dtype == np.float64
        assert (numbers / 2).value.tolist() == (numbers.value / 2).tolist()


IN_PLACE = [
    operator.iadd,
    operator.isub,
    operator.imul,
    operator.itruediv,
    operator.ipow,
    operator.ifloordiv,
    operator.imod,
    operator.iand,
    operator.ior,
    operator.ixor,
]
KINDS = {
    "float64": lambda x: x * 1.0,
    "float32": lambda x: x.astype(np.float32) * np.float32(1.0),
    "int64": lambda x: x.astype(np.int64) + 0,
    "bool": lambda x: (x > 1) | (x > 5),
}


@pytest.mark.parametrize("leaf", [wy.Input, wy.Parameter])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("other", [2, 2.5, True, np.array([1.0, 2.0, 3.0]), np.array([3, 2, 1])])
@pytest.mark.parametrize("change", IN_PLACE)
def test_what_is_changed_in_place_keeps_its_type(change, other, kind, leaf):
    """Or it is refused, where NumPy refuses to store what loses more than digits."""
    values = np.array([1.0, 2.0, 3.0])
    expected, x = KINDS[kind](values), KINDS[kind](leaf(values))
    alias = x
    try:
        expected = change(expected, other)
    except TypeError:
        with pytest.raises(TypeError):
            change(x, other)
        np.testing.assert_array_equal(x.value, KINDS[kind](values))
        return
    try:
        found = change(x, other)
    except TypeError:  # & and its like of integers
        assert change in (operator.iand, operator.ior, operator.ixor)
        return
    assert found is alias
    assert found.dtype == found.value.dtype == expected.dtype
    np.testing.assert_allclose(found.value, expected, rtol=1e-6)


def test_an_assignment_while_its_key_or_value_is_read_is_not_lost():
    """The one within stays, and the one around it raises and changes nothing."""
    y = wy.array(np.zeros(3))

    class Index:
        def __index__(self):
            y[0] = 7.0
            return 2

    class Array:
        def __array__(self, dtype=None, copy=None):
            y[1] = 5.0
            return np.ones(())

    for key, assigned in ((Index(), 1.0), (2, Array())):
        with pytest.raises(RuntimeError, match="assigned to while"):
            y[key] = assigned
    np.testing.assert_array_equal(y.value, [7.0, 5.0, 0.0])
    y[2] = 1.0
    np.testing.assert_array_equal(y.value, [7.0, 5.0, 1.0])


def test_what_is_assigned_to_no_place_gets_no_gradient():
    """Its derivative may be infinite, and 0 * inf would be NaN."""

    def f(x):
        y = np.array([1.0, 2.0]) * x
        y[y > 10.0] += np.sqrt(0.0 * x)
        y[y > 10.0] = np.sqrt(0.0 * y)[y > 10.0]
        return np.sum(y)

    for mode in ("trace", "auto", "source"):
        slope = wy.grad(f, mode=mode)
        assert [slope(2.0) for _ in range(3)] == [3.0] * 3
    y = wy.array(np.zeros(3))
    with pytest.raises(ValueError, match="shape"):
        y[np.zeros(3, bool)] = np.zeros((2, 0))


@pytest.mark.parametrize(
    ("shape", "other"),
    [((0, 1), (3,)), ((0, 1), (1, 3)), ((0, 1), (0,)), ((1, 1), (3,)), ((2, 1), (2, 0))],
)
def test_inputs_of_other_lengths_do_not_broadcast_what_is_assigned_to(shape, other):
    """Also where both the array and the result have no elements."""
    x = wy.Input(np.ones((2, 1)))
    v = wy.Input(np.ones((2, 1) if len(other) == 2 else (1,)))
    y = x * 2.0
    y += v
    masked = np.sum(x * 2.0, where=v > 0.0)
    np.testing.assert_array_equal(y.value, np.full((2, 1), 3.0))
    x.value, v.value = np.ones(shape), np.ones(other)
    for found in (y, masked):
        with pytest.raises(ValueError, match="shape"):
            found.value  # noqa: B018 -- it is computed anew


def test_what_is_assigned_to_in_a_compiled_function_is_not_broadcast():
    @wy.compile
    def total(x, v):
        x = x * 2.0
        x += v
        return x

    np.testing.assert_array_equal(total(np.ones((3, 1)), np.ones((3, 1))), np.full((3, 1), 3.0))
    for other in ((1, 3), (1, 1, 1)):
        with pytest.raises(ValueError, match="shape"):
            total(np.ones((0, 1)), np.ones(other))


def test_a_number_in_place_becomes_what_it_is_added_to():
    """As a number of NumPy's or Python's, of which no array holds the memory."""
    ones = np.ones(3)

    def of_element(x):
        total = x[0]
        total += x
        return np.sum(total)

    def of_sum(x):
        total = np.sum(x)
        total *= x
        return np.sum(total)

    def of_argument(x):
        x -= ones
        return np.sum(x)

    for f, x in ((of_element, ones), (of_sum, ones), (of_argument, 2.0)):
        for mode in ("trace", "source"):
            value, slope = wy.value_and_grad(f, mode=mode)(x)
            assert value == f(x)
            np.testing.assert_array_equal(slope, wy.jacfwd(f, mode="trace")(x))
    array = wy.array(wy.Variable(1.0))
    with pytest.raises(ValueError, match="cannot hold"):
        array += ones


def test_results_are_repeated_in_what_they_are_written_to():
    x, row = wy.Variable(2.0), wy.Variable([1.0, 2.0, 3.0])
    for of, shape in ((x, ()), (x, (3,)), (row, (2, 3))):
        out, expected = wy.array(np.zeros(shape)), np.zeros(shape)
        assert np.multiply(of, 0.5, out=out) is out
        np.multiply(of.value, 0.5, out=expected)
        np.testing.assert_array_equal(out.value, expected)
    for shape in ((), (1,), (3, 1), (2,)):
        with pytest.raises(ValueError, match="out: expected shape"):
            np.multiply(row, 0.5, out=wy.array(np.zeros(shape)))
    with pytest.raises(ValueError, match="out: expected shape"):
        np.sum(row, out=wy.array(np.zeros(3)))


def test_elements_are_stored_in_arrays_without_axes():
    stores = [
        lambda a, v: np.put(a, [0, -1], [v, 2.0 * v]),
        lambda a, v: np.putmask(a, True, v),
        lambda a, v: np.putmask(a, False, v),
        lambda a, v: np.place(a, np.array(True), [v, 3.0]),
        lambda a, v: np.copyto(a, v),
    ]
    for store in stores:
        a, v = wy.array(wy.Variable(1.0)), wy.Variable(5.0)
        expected = np.array(1.0)
        store(a, v)
        store(expected, 5.0)
        np.testing.assert_array_equal(a.value, expected)
        np.testing.assert_array_equal((a + 0.0 * v).value, expected)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("store", [np.putmask, np.place])
def test_arrays_of_wider_types_are_stored_as_numpy_stores_them(store, dtype):
    """Numbers and lists take the type of the array, arrays have to fit into it."""
    mask, numbers = np.array([True, False, True]), [1.0, 2.0]
    kinds = (np.float32, np.float64, np.int16, np.int64, np.bool_)
    arrays = [np.array(numbers, kind) for kind in kinds]
    for values in (*arrays, np.array(1.5), np.float64(1.5), 1.5, numbers, [np.float64(1.5)]):
        expected, found = np.zeros(3, dtype), wy.array(wy.Variable(np.zeros(3, dtype)))
        try:
            store(expected, mask, values)
        except TypeError:
            with pytest.raises(TypeError, match=rf"{store.__name__}: val.* is not stored in one"):
                store(found, mask, values)
        else:
            store(found, mask, values)
        np.testing.assert_array_equal(found.value, expected)
    found = wy.array(wy.Variable(np.zeros(3, np.float32)))
    with pytest.raises(TypeError, match=r"array of float64 .* in one of float32.*astype"):
        store(found, mask, wy.Variable(numbers))
