"""What a function returns is the caller's own array where it is that in Python, and shares memory
with nobody else: what would is refused, and run by Python in auto.
"""

import copy
import types

import numpy as np
import pytest

import wyrmling as wy

A = np.arange(6.0).reshape(2, 3)
CAPTURED = np.ones(3)
MODES = ["source", "auto"]


def calls(f, mode):
    """Results of the first calls, which auto may take from Python, and of later ones."""
    return [wy.compile(f, mode=mode)] * 3


def chosen(x, y, c):
    for _ in range(2):
        c = c + 1.0
    return {"x": x, "both": (y, [x]), "new": x * c}


def on_both_ways(x):
    if x[0, 0] > 1.0:
        return x
    return x


OWN = {
    "argument": (lambda x: x, lambda r: [r]),
    "in a tuple": (lambda x: (x, x * 2.0), lambda r: [r[0]]),
    "twice": (lambda x: [x, x], list),
    "in a dict": (lambda x: {"a": [x]}, lambda r: r["a"]),
    "on both ways": (lambda x: on_both_ways(x), lambda r: [r]),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", OWN)
def test_an_argument_is_returned_itself(name, mode):
    f, found = OWN[name]
    for fast in calls(f, mode):
        a = A.copy()
        assert all(each is a for each in found(fast(a)))


@pytest.mark.parametrize("mode", MODES)
def test_what_containers_and_objects_of_the_caller_hold(mode):
    model = types.SimpleNamespace(weight=A)
    params = {"w": [A], "b": 1.0}
    for fast in calls(chosen, mode):
        found = fast(A, CAPTURED, 1.0)
        assert found["x"] is A
        assert found["both"][0] is CAPTURED
        assert found["both"][1][0] is A
        assert not np.shares_memory(found["new"], A)
    for f, given in [
        (lambda p: p["w"], params),
        (lambda p: p, params),
        (lambda p: p["w"][0], params),
        (lambda p: (p["w"] + [])[0], params),
        (lambda m: m.weight, model),
        (lambda _: CAPTURED, 1.0),
    ]:
        for fast in calls(f, mode):
            assert fast(given) is f(given)


VIEWS = {
    "slice": lambda x: x[0:1],
    "row": lambda x: x[1],
    "transposed": lambda x: x.T,
    "reshaped": lambda x: np.reshape(x, (3, 2)),
    "in a dict": lambda x: {"v": (x * 2.0, x[:, 1])},
    "a part of another result": lambda x: (lambda y: (y, y[0:1]))(x * 2.0),
    "two parts of one": lambda x: (lambda y: [y[0:1], y[0:2]])(x * 2.0),
    "one of two": lambda x: x if x[0, 0] > 0.0 else x * 2.0,
    "captured": lambda x: (x * 1.0, CAPTURED[1:]),
}


@pytest.mark.parametrize("name", VIEWS)
def test_views_are_refused_or_pythons(name):
    f = VIEWS[name]
    with pytest.raises(wy.SourceError):
        wy.compile(f, mode="source")(A)

    def memory(found):
        flat = wy.transforms.tree.flatten(found)[0]
        arrays = [leaf for _, leaf in flat if isinstance(leaf, np.ndarray)] + [A, CAPTURED]
        return [np.shares_memory(one, other) for one in arrays for other in arrays]

    for fast in calls(f, "auto"):
        assert memory(fast(A)) == memory(f(A))


@pytest.mark.parametrize("mode", MODES)
def test_copies_share_nothing(mode):
    def copies(x):
        y = x.copy()
        return [y, np.copy(x), x + 0.0]

    for fast in calls(copies, mode):
        found = [A, *fast(A)]
        for at, one in enumerate(found):
            assert not any(np.shares_memory(one, other) for other in found[:at])


@pytest.mark.parametrize("mode", MODES)
def test_constants_that_can_be_written_to_are_new_each_time(mode):
    for fast in calls(lambda x: (x, np.arange(3)), mode):
        found = fast(1.0)[1]
        assert found.tolist() == [0, 1, 2]
        found[0] = 77


@pytest.mark.parametrize("mode", ["trace", *MODES])
def test_what_is_beside_a_value(mode):
    def f(x, y):
        return np.sum(x * y), (x, [y], CAPTURED, x[0])

    slope = wy.value_and_grad(f, has_aux=True, mode=mode)
    for _ in range(3):
        (_, (x, [y], captured, row)), _ = slope(A, CAPTURED)
        # What is differentiated is a new array, in every mode.
        assert type(x) is type(row) is np.ndarray
        assert not np.shares_memory(x, A)
        assert not np.shares_memory(row, A)
        np.testing.assert_array_equal(x, A)
        assert y is CAPTURED
        assert captured is CAPTURED
    _, (x, *_) = wy.grad(f, 1, has_aux=True, mode="auto")(A, CAPTURED)
    assert x is A


@pytest.mark.parametrize("mode", ["trace", *MODES])
def test_values_of_transforms_are_new(mode):
    for _ in range(3):
        for f in (lambda x: x, lambda x: x.T, lambda x: [x, x[0]]):
            value, _ = wy.vjp(f, A, mode=mode)
            moved, _ = wy.jvp(f, (A,), (A,), mode=mode)
            for found in (value, moved):
                for _, leaf in wy.transforms.tree.flatten(found)[0]:
                    assert not np.shares_memory(leaf, A)


def test_a_deep_copy_has_an_array_once():
    """Of an array that is there twice there is one copy, which is not read, and never two."""
    kept = np.array([1.0, 2.0])

    def of_an_argument(x):
        copies = copy.deepcopy([x, x])
        copies[0][0] = 5.0
        return copies[1][0] * x[1]

    def on_either_way(x):
        arrays = [x, x] if x[0] > 0.0 else [x * 2.0, x * 3.0]
        copies = copy.deepcopy(arrays)
        copies[0][0] = 5.0
        return copies[1][0] * x[1]

    def of_a_constant(x):
        copies = copy.deepcopy([kept, kept])
        copies[0][0] = 5.0
        return copies[1][0] * x[1]

    def of_several(x):
        copies = copy.deepcopy([x, 2.0 * x, x[1:], kept])
        copies[0][1] = copies[3][0] = 5.0
        return copies[1][0] * copies[2][0] * x[1] + copies[0].sum()

    for f in (of_an_argument, on_either_way, of_a_constant):
        with pytest.raises(wy.SourceError, match="a deep copy of one array in two places"):
            wy.grad(f, mode="source")(np.array([3.0, 4.0]))
    for f in (of_an_argument, on_either_way):
        for _ in range(2):
            with pytest.raises(TypeError, match="cannot be copied"):
                wy.grad(f)(np.array([3.0, 4.0]))
    np.testing.assert_array_equal(wy.grad(of_a_constant)(np.array([3.0, 4.0])), [0.0, 5.0])
    value, gradient = wy.value_and_grad(of_several, mode="source")(np.array([3.0, 4.0]))
    assert value == 2 * 3.0 * 4.0 * 4.0 + 3.0 + 5.0
    np.testing.assert_allclose(gradient, [2 * 16.0 + 1.0, 2 * 3.0 * 8.0])


def with_itself(a, b):
    return np.sum(a * b) * (2.0 if a is b else 3.0)


def with_a_global(a, b):
    return np.sum(a * b) * (2.0 if a is CAPTURED or b is CAPTURED else 3.0)


def among_items(a, items):
    return np.sum(a) * (2.0 if any(a is one for one in items) else 3.0)


MISSING = object()


def with_a_default(x, y=MISSING):
    return np.sum(x) * 2.0 if y is MISSING else np.sum(x) * np.sum(y)


@pytest.mark.parametrize("mode", MODES)
def test_a_default_that_stands_for_nothing(mode):
    fast = wy.compile(with_a_default, mode=mode)
    for _ in range(2):
        for args in [(A,), (A, 3.0), (A, CAPTURED), (A, MISSING), (2.0, A), (2.0,)]:
            assert fast(*args) == with_a_default(*args)


@pytest.mark.parametrize("mode", MODES)
def test_whether_two_arrays_are_one_is_asked_at_each_call(mode):
    a, b = np.array([1.0, 2.0, 3.0]), np.array([1.0, 2.0, 3.0])
    calls = [
        (with_itself, [(a, a), (a, b), (b, b), (b, a), (a, a)]),
        (with_a_global, [(CAPTURED, a), (a, b), (b, CAPTURED)]),
        (among_items, [(a, [b, a]), (a, [b, b]), (a, [a, a]), (b, (a, [b])[1])]),
    ]
    for f, given in calls:
        fast, found = wy.compile(f, mode=mode), wy.value_and_grad(f, mode=mode)
        for _ in range(2):
            for args in given:
                assert fast(*args) == f(*args)
                value, gradient = found(*args)
                assert value == f(*args)
                assert np.sum(gradient * args[0]) == pytest.approx(f(*args))


@pytest.mark.parametrize("mode", MODES)
def test_an_array_beside_the_gradient_of_a_function_that_captures_one(mode):
    """A gradient within the function is a program of its own, whose parameters are counted anew."""

    def f(x, y):
        inner = wy.grad(lambda w: np.sum(w * CAPTURED))(x)
        total = 0.0
        for i in range(2):
            total += inner[i]
        return y, total

    x, y = np.zeros(3), np.array([5.0, 6.0, 7.0])
    for _ in range(3):
        found = wy.compile(f, mode=mode)(x, y)
        assert found[0] is y
        assert found[1] == 2.0
