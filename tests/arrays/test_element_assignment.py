"""Arrays that a loop fills element by element: values, gradients, and what it takes."""

import gc
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import wyrmling as wy

PLACES = st.tuples(st.integers(-2, 1), st.integers(-3, 2))


@st.composite
def steps(draw):
    """One line of a function of ``x`` that fills and reads ``y``, both of shape (2, 3)."""
    a, b, c = (draw(PLACES) for _ in range(3))
    factor = draw(st.sampled_from([0.5, -1.5, 2]))
    return draw(
        st.sampled_from(
            [
                f"y[{a}] = y[{b}] * {factor} + x[{c}]",
                f"y[{a}] = {factor}",
                f"y[{a}] += x[{b}] * y[{c}]",
                f"y[{a[0]}] = y[{b[0]}] * {factor}",
                f"y[{a[0]}] = x[{b[0]}] * {factor}; y[{c}] = y[{b}]",
                f"y[{a[0]}] = x[{b[0]}] - y[{c}]; y[{b[0]}] = x[{c[0]}] * 3.0",
                f"y[{a[0]}] = y[{b[0]}]; y[{a[0]}] -= x[{c[0]}]",
                f"y[{a[0]}, 1:] *= x[{b}]",
                f"row = y[{a[0]}]; row[{b[1]}] = x[{c}]; y[{c}] = row[{a[1]}]",
                f"u = y[{a}]; y[{a}] = x[{b}]; y[{c}] = u * y[{a}]",
                f"for row in y: row *= {factor}",
                f"for row in y: row[{a[1]}] = y[{b}] * row[{c[1]}]",
                f"row = y[{a[0]}]; y[{b[0]}] = x[{c[0]}] * {factor}; row += y[{b[0]}]",
                f"row = y[{a[0]}]; row[:] = x[{b[0]}]; y[{c[0]}] = row; row *= {factor}",
                f"row = y[{a[0]}, ...]; row -= x[{b[0]}]; y[{c[0]}, 1:] += row[1:]",
                f"row = y[{a[0]}]; part = row[1:]; part *= {factor}; y[{b[0]}] += row",
                f"y[np.int64({a[0]}), {a[1]}] = x[{b}]",
                f"y[{a}] = y[{b[0]}].sum() + len(y) + y.size",
                f"y *= {factor}; y[{a}] = y.shape[1] * y[{b}]",
                f"t = y.T; y[{a}] = x[{b}]; y[{b}] = t[{a[::-1]}] * {factor}",
                f"y[{a}] = np.float32(x[{b}] > 0) + x[{c}]",
            ]
        )
    )


@settings(max_examples=300)
@given(st.lists(steps(), min_size=1, max_size=8))
def test_a_filled_array_is_numpys_with_the_gradient_of_differences(lines):
    names: dict = {}
    text = "\n    ".join(["def f(x):", "y = x * 1.0", *lines, "return y"])
    exec(text, {"np": np}, names)
    f, x = names["f"], np.array([[0.3, -0.7, 1.1], [-0.4, 0.9, 0.2]])
    weights = np.array([[1.0, -2.0, 0.5], [0.7, 1.3, -0.6]])

    def loss(x):
        return (f(x) * weights).sum()

    traced = wy.vjp(f, x, mode="trace")
    np.testing.assert_allclose(traced[0], f(x), rtol=1e-13)
    step = 1e-6
    moved = [x + step * np.eye(6)[k].reshape(2, 3) for k in range(6)]
    back = [x - step * np.eye(6)[k].reshape(2, 3) for k in range(6)]
    slopes = [(loss(a) - loss(b)) / (2 * step) for a, b in zip(moved, back, strict=True)]
    got = wy.grad(loss, mode="trace")(x).ravel()
    np.testing.assert_allclose(got, slopes, rtol=1e-5, atol=1e-5 * max(1, np.abs(slopes).max()))


def filled(x):
    y = np.zeros_like(x)
    y[0] = x[0]
    for i in range(1, y.shape[0]):
        y[i] = 0.5 * y[i - 1] + x[i]
    return y


def test_a_filled_array_is_one_assignment():
    x = wy.Parameter(np.linspace(0.0, 1.0, 50))
    program = wy.freeze((filled(x) ** 2).sum())
    text = str(program)
    assert "slice_replace" not in text
    # In the loss; again in the gradient, and there for what is kept of the old array.
    assert text.count("= replace(") == 3
    expected = wy.grad(lambda x: (filled(x) ** 2).sum(), mode="source")(x.value)
    grad = program.value_and_grad()[1][x]
    np.testing.assert_allclose(grad.to_dense(), expected, rtol=1e-12)


def test_rows_are_one_assignment():
    x = wy.Parameter(np.linspace(0.0, 1.0, 12).reshape(4, 3))
    y = x * 1.0
    for i in range(3):
        y[i] = x[3 - i] * (i + 1.0)
    y[-2] = x[0]
    text = str(wy.freeze((y * y).sum()))
    assert "slice_replace" not in text
    assert text.count("= replace(") == 3
    assert y.value.tolist() == [*(x.value[[3, 2]] * [[1], [2]]).tolist(), *x.value[[0, 3]].tolist()]
    (y * [[1.0], [2.0], [3.0], [4.0]]).sum().backward()
    np.testing.assert_array_equal(x.grad, np.repeat([[3.0], [0.0], [4.0], [5.0]], 3, 1))


def test_rows_and_elements_take_turns():
    y = wy.Parameter(np.zeros((2, 2))) * 1.0
    y[0] = wy.Parameter([1.0, 2.0])
    y[0, 1] = 5.0
    assert (y[0, 0].item(), y[0, 1].item()) == (1.0, 5.0)
    y[1] = wy.Parameter([3.0, 4.0]) * 1.0
    assert (y[0, 1].item(), y[1, 1].item()) == (5.0, 4.0)
    y[1] += 1.0
    assert y.value.tolist() == [[1.0, 5.0], [4.0, 5.0]]


def multiplied(y):
    for row in y:
        row *= 2.0


def added_to(y):
    for i in range(len(y)):
        y[i] += 3.0


def from_the_row_before(y):
    for i in range(1, len(y)):
        y[i] = y[i - 1] * 0.5 + y[i]


def element_by_element(y):
    for row in y:
        row[1] = row[0] * 2.0


@pytest.mark.parametrize("work", [multiplied, added_to, from_the_row_before, element_by_element])
def test_rows_that_are_read_wait_too(work):
    """No assignment makes an array of all elements: the program has one for all of them."""
    start = np.linspace(1.0, 2.0, 20).reshape(10, 2)
    x = wy.Parameter(start)
    y = x * 1.0
    work(y)
    text = str(wy.freeze((y * y).sum()))
    assert text.count("= replace(") == 3
    assert "f64[10, 2] = slice_replace" not in text
    expected = start.copy()
    work(expected)
    np.testing.assert_array_equal(y.value, expected)

    def total(x):
        y = wy.array(x)
        work(y)
        return (y * y).sum()

    wy.check_grads(total, (start,), order=1)


@pytest.mark.parametrize(
    "key", [(0, None), (None, 0), (2, None, 1), (2, 1, None), (0, 1, ...), (-1, ...), None, ...]
)
def test_what_is_no_row_by_integers_alone_is_assigned_through(key):
    plain = np.zeros((3, 2))
    y = wy.Variable(plain) * 1.0
    for array in (y, plain):
        array[1] = np.array([1.0, 2.0])
        part = array[key]
        part += 5.0
        part *= array[1, 1]
    np.testing.assert_array_equal(y.value, plain)
    number, zero = wy.array(wy.Variable(3.0)), np.array(3.0)
    for array in (number, zero):
        array[None][0] = 7.0
        array[None, None][0, 0] *= 2.0
    assert number.item() == zero.item() == 14.0


def test_rows_without_elements():
    y = wy.Parameter(np.zeros((3, 0))) * 1.0
    y[1] = y[0] * 2.0
    y[2] = wy.Parameter(np.zeros(0))
    assert y.value.shape == (3, 0)


def test_one_element_is_assigned_by_a_slice():
    x = wy.Parameter(np.ones(3))
    y = x * 1.0
    y[1] = x[0] * 3.0
    assert "slice_replace" in str(wy.freeze(y.sum()))


def test_what_was_overwritten_has_no_gradient_also_if_its_derivative_is_infinite():
    x = wy.Parameter(np.zeros(2))
    y = x * 1.0
    y[0] = np.sqrt(x[1])
    y[1] = x[0] * 2.0
    y[0] = x[1] * 3.0
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.to_dense(), [2.0, 3.0])


def test_an_element_that_was_read_keeps_its_number():
    x = wy.Parameter([1.0, 2.0])
    y = x * 1.0
    y[0] = x[1] * 5.0
    read = y[0]
    y[0] = 7.0
    assert read.item() == 10.0
    assert y.value.tolist() == [7.0, 2.0]


def test_an_element_read_is_no_leaf():
    bias = wy.Parameter(3.0)
    y = wy.Parameter(np.zeros(2)) * 1.0
    y[0] = bias
    read = y[0]
    read += 1.0
    assert (bias.item(), read.item(), y[0].item()) == (3.0, 4.0, 3.0)
    bias.value = 8.0
    assert y.value.tolist() == [8.0, 0.0]


def test_views_see_elements_and_elements_see_views():
    y = wy.Parameter(np.arange(4.0)) * 1.0
    view = y[1:3]
    y[1], y[2] = 10.0, 20.0
    assert view.value.tolist() == [10.0, 20.0]
    view[0] = 5.0
    assert y[1].item() == 5.0
    y[1] = 6.0
    assert (view[0].item(), (view * 1.0).value.tolist()) == (6.0, [6.0, 20.0])


def test_elements_are_of_the_arrays_type():
    y = wy.Parameter(np.zeros(3, np.float32)) * np.float32(1)
    y[0], y[1], y[2] = wy.Parameter(np.float64(0.1)) * 1.0, 1, wy.Parameter([1.0])[0] > 0
    assert y[0].dtype == y[2].dtype == y.dtype == np.float32
    np.testing.assert_array_equal(y.value, np.array([0.1, 1, 1], np.float32))


def test_what_does_not_fit_changes_nothing():
    y = wy.Parameter(np.zeros((2, 2))) * 1.0
    y[0, 0], y[1, 1] = 1.0, 2.0
    for key in ((2, 0), (0, -3), (0, 0, 0)):
        with pytest.raises(IndexError):
            y[key] = 5.0
        with pytest.raises(IndexError):
            y[key]
    with pytest.raises(ValueError, match="shape"):
        y[0, 1] = wy.Parameter([1.0, 2.0])
    with pytest.raises(TypeError):
        y[0, 1] = "one"
    assert y.value.tolist() == [[1.0, 0.0], [0.0, 2.0]]


def test_a_value_that_assigns_meanwhile_is_told_so():
    y = wy.Parameter(np.zeros(3)) * 1.0

    class Meddling:
        def __array__(self, dtype=None, copy=None):
            y[1] = 4.0
            return np.array(1.0)

    with pytest.raises(RuntimeError, match="assigned to while"):
        y[0] = Meddling()
    assert y.value.tolist() == [0.0, 4.0, 0.0]


def test_another_thread_may_not_assign():
    y = wy.Parameter(np.zeros(3)) * 1.0
    y[0] = 1.0
    raised = []

    def assign():
        for work in (lambda: y.__setitem__(1, 2.0), lambda: y[0], lambda: y.shape):
            try:
                work()
            except RuntimeError as e:
                raised.append(e)

    thread = threading.Thread(target=assign)
    thread.start()
    thread.join()
    assert len(raised) == 3
    assert y.value.tolist() == [1.0, 0.0, 0.0]


def test_a_circle_through_an_element_is_freed():
    class Payload:
        pass

    payload = Payload()
    gone = weakref.ref(payload)
    x = wy.Variable([1.0, 2.0])
    y = x * 1.0
    number = x[0] * 2.0
    number.register_hook(lambda g, held=(payload, y): None)
    y[0] = number
    del x, y, number, payload
    gc.collect()
    assert gone() is None


def test_a_circle_through_an_element_in_use_is_kept():
    x = wy.Variable([1.0, 2.0])
    y = x * 1.0
    seen = []
    number = x[0] * 2.0
    number.register_hook(lambda g, held=y: seen.append(float(g)))
    y[0] = number
    del number
    gc.collect()
    (y * 3.0).sum().backward()
    assert seen == [3.0]
    np.testing.assert_array_equal(x.grad, [6.0, 3.0])


def test_second_derivatives_of_a_filled_array():
    x = np.array([0.5, -0.25, 2.0])
    f = lambda x: (filled(x) ** 3).sum()  # noqa: E731
    np.testing.assert_allclose(
        wy.hessian(f, mode="trace")(x), wy.hessian(f, mode="source")(x), rtol=1e-12
    )


@pytest.mark.parametrize(
    ("work", "values"),
    [
        (lambda y, view: y.sum().item(), [20.0, 4.0, 0.0]),
        (lambda y, view: view.tolist(), [20.0, 4.0, 0.0]),
        (lambda y, view: y[1:].tolist(), [20.0, 4.0, 0.0]),
        (lambda y, view: y.__setitem__(slice(1, 3), 9.0), [20.0, 9.0, 9.0]),
        (lambda y, view: y.__setitem__(1, 9.0), [20.0, 9.0, 0.0]),
        (lambda y, view: view.__setitem__(1, 9.0), [20.0, 4.0, 9.0]),
        (lambda y, view: y.__iadd__(1.0), [21.0, 5.0, 1.0]),
    ],
)
def test_what_computes_an_element_may_use_the_array(work, values):
    waiting = []

    @wy.primitive
    def tenfold(x):
        if waiting:
            work(*waiting.pop())
        return 10.0 * x

    tenfold.defvjp(lambda g, ans, x: 10.0 * g)
    x = wy.Parameter([0.0, 4.0])
    y = wy.Parameter(np.zeros(3)) * 1.0
    view = y[1:]
    y[0], y[1] = tenfold(x[0]), x[1]
    waiting.append((y, view))
    x.value = [2.0, 4.0]
    assert y.value.tolist() == values
    assert view.value.tolist() == values[1:]
    assert not waiting


def test_what_is_assigned_while_a_view_is_read_is_seen_later():
    waiting = []

    @wy.primitive
    def doubled(x):
        if waiting:
            waiting.pop()[0] = 5.0
        return 2.0 * x

    x = wy.Parameter(np.zeros(3))
    y = doubled(x)
    view = y[:2][::-1]
    y[1:2] = 1.0
    waiting.append(y)
    x.value = np.ones(3)
    view.tolist()
    assert not waiting
    assert view.tolist() == [1.0, 5.0]
    assert y.tolist() == [5.0, 1.0, 2.0]


@pytest.mark.parametrize("key", [1, slice(1, 2), [1], np.array([False, True, False])])
def test_integers_and_booleans_stay_what_they_are(key):
    x = wy.Parameter([0.5, -1.0, 2.0])
    narrow = x.astype(np.float32)
    for value in (x.argmax(), x.argsort()[1], narrow[2], narrow.astype(int)[2], narrow[2] > 0):
        integers, truths = x.astype(int), x > 0
        integers[key], truths[key] = value, value
        integers[0] = 1.5
        assert (integers.dtype, truths.dtype) == (np.int64, bool)
        assert integers.tolist() == [1, int(value.item()), 2]
        assert truths.tolist() == [True, bool(value.item()), True]
    truths = narrow > 0
    truths[key] = x[1] * 1e-300
    assert truths.dtype == bool
    assert truths.tolist() == [True, True, True]


def test_iteration_and_questions_of_type_leave_elements_waiting():
    x = wy.Parameter([1.0, 2.0, 3.0])
    y = x * 1.0
    for i, v in enumerate(y):
        assert (y.dtype, y.shape, y.ndim, len(y), y.size) == (np.float64, (3,), 1, 3, 3)
        y[i] = v * x[0]
        y[(i + 1) % 3] = y[i] + 1.0
    text = str(wy.freeze(y.sum()))
    assert "slice_replace" not in text
    assert text.count("= replace(") == 3
    assert y.tolist() == [4.0, 2.0, 3.0]


def test_numpys_integers_and_numbers_wait_as_pythons_do():
    x = wy.Parameter(np.arange(8.0).reshape(4, 2))
    y = x * 1.0
    row = np.array([5.0, 6.0])
    for i in np.arange(3):
        y[i] = row
    row[:] = 0.0
    assert "slice_replace" not in str(wy.freeze(y.sum()))
    for k in (np.int8(-1), np.array(2)):
        y[k, np.uint8(1)] = np.float64(0.5)
    y[np.int64(0), 0] = np.float32(0.25)
    assert y[np.int64(-4), np.array(0)].item() == 0.25
    assert "slice_replace" not in str(wy.freeze(y.sum()))
    assert y.tolist() == [[0.25, 6.0], [5.0, 6.0], [5.0, 0.5], [6.0, 0.5]]
    with pytest.raises(IndexError, match=r"not numpy\.float64"):
        y[np.float64(1.0)] = 1.0
    with pytest.raises(IndexError):
        y[np.int64(4), 0] = 1.0
