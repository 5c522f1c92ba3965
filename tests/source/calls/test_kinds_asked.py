"""What a function asks about the kind of what is differentiated is answered alike in every call.

Under tracing it is a variable. So ``auto`` traces such functions; ``source`` has Python's answer.
"""

import abc
import contextlib
import dataclasses
import functools
import linecache
import math
import numbers

import numpy as np
import pytest

import wyrmling as wy


def matched(x):
    match x:
        case float() | np.ndarray():
            return np.sum(2.0 * x)
        case _:
            return np.sum(3.0 * x)


def in_a_loop(x):
    total = 0.0
    for _ in range(3):
        total += x * (3.0 if isinstance(x, float) else 2.0)
    return np.sum(total)


def of_a_part(x):
    return np.sum(x * (3.0 if isinstance(np.sin(x), np.floating) else 2.0))


def handled(x):
    try:
        return math.sin(x) * np.sum(x)
    except TypeError:
        return np.sum(x) * 5.0


def handled_with_all_else(x):
    try:
        return float(x) * np.sum(x)
    except Exception:
        return np.sum(x) * 7.0


def handled_by_another_exception(x):
    try:
        return math.sin(x)
    except TypeError:
        raise ValueError("expected a number") from None


def handled_by_none(x):
    y = None
    with contextlib.suppress(TypeError):
        y = math.sin(x)
    return y


FUNCTIONS = {
    "isinstance float": lambda x: np.sum(x * (3.0 if isinstance(x, float) else 2.0)),
    "isinstance ndarray": lambda x: np.sum(x * (3.0 if isinstance(x, np.ndarray) else 2.0)),
    "isinstance Real": lambda x: np.sum(x * (3.0 if isinstance(x, numbers.Real) else 2.0)),
    "isinstance Variable": lambda x: np.sum(x * (3.0 if isinstance(x, wy.Variable) else 2.0)),
    "type": lambda x: np.sum(x * (3.0 if type(x) in (float, np.ndarray) else 2.0)),
    "hasattr": lambda x: np.sum(x * (3.0 if hasattr(x, "shape") else 2.0)),
    "getattr": lambda x: np.sum(x * getattr(x, "ndim", 7)),
    "float32": lambda x: np.sum(x * np.float32(2.5)),
    "float32 array": lambda x: np.sum(x * np.ones(2, np.float32)),
    "item": lambda x: np.sum(x).item() * np.sum(x),
    "value": lambda x: np.sum(getattr(x, "value", x) * x),
    "match": matched,
    "loop": in_a_loop,
    "part": of_a_part,
}


@pytest.mark.parametrize("x", [2.0, 1 / 3, np.array([2.0, 1 / 3])], ids=["2", "third", "array"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_call_gives_what_tracing_gives(name, x):
    expected, slope = wy.value_and_grad(FUNCTIONS[name], mode="trace")(x)
    transform = wy.value_and_grad(FUNCTIONS[name])
    for _ in range(3):
        value, gradient = transform(x)
        assert type(value) is type(expected)
        assert value == expected
        np.testing.assert_array_equal(gradient, slope)


@pytest.mark.parametrize("x", [2.0, 1 / 3, np.array([2.0, 1 / 3])], ids=["2", "third", "array"])
@pytest.mark.parametrize("f", [handled, handled_with_all_else])
def test_what_tracing_refuses_is_not_handled_by_the_function(f, x):
    transform = wy.value_and_grad(f)
    step = 1e-6 * np.ones(np.shape(x))
    for _ in range(3):
        value, slope = transform(x)
        assert value == pytest.approx(f(x), rel=1e-15)
        difference = (f(x + step) - f(x - step)) / 2e-6
        assert np.sum(slope) == pytest.approx(difference, rel=1e-8)


@pytest.mark.filterwarnings("ignore:Conversion of an array:DeprecationWarning")
def test_an_array_of_one_element_is_a_number_where_numpy_says_so():
    x = np.array([2.0])
    try:
        float(x)
    except TypeError:
        value, slope = wy.value_and_grad(handled)(x)
        assert (value, slope) == (handled(x), [5.0])
    else:
        with pytest.raises(TypeError, match="another than Python's"):
            wy.grad(handled)(x)


@pytest.mark.parametrize("f", [handled_by_another_exception, handled_by_none])
def test_what_a_function_makes_of_a_refusal_is_not_raised(f):
    transform = wy.value_and_grad(f)
    for x in (2.0, 1 / 3, 1.0):
        assert transform(x) == pytest.approx((math.sin(x), math.cos(x)), rel=1e-15)
    with pytest.raises(TypeError):
        transform("text")


def test_what_a_function_that_is_not_read_makes_of_a_refusal_has_a_note():
    seen = []

    @dataclasses.dataclass(frozen=True)
    class Frozen(ValueError):
        text: str

    def f(x):
        seen.append(1)
        try:
            return math.sin(x)
        except TypeError:
            raise Frozen("expected a number") from None

    with pytest.raises(Frozen, match="expected a number") as raised:
        wy.grad(f)(1.0)
    assert "another than Python's" in raised.value.__notes__[0]
    assert "append" in raised.value.__notes__[1]
    with pytest.raises(Frozen, match="expected a number") as raised:
        wy.grad(f, mode="trace")(1.0)
    assert not hasattr(raised.value, "__notes__")


def test_a_function_that_handles_what_tracing_refuses_and_is_not_read():
    seen = []

    def f(x):
        seen.append(1)
        try:
            return math.sin(x)
        except TypeError:
            return 0.0 * x

    for _ in range(3):
        with pytest.raises(TypeError, match=r"another than Python's \(mode='trace'") as raised:
            wy.grad(f)(1.0)
        assert "append" in raised.value.__notes__[0]
    assert len(seen) == 3
    assert wy.grad(f, mode="trace")(1.0) == 0.0


def test_source_has_the_answer_of_python():
    transform = wy.grad(FUNCTIONS["isinstance float"], mode="source")
    assert transform(2.0) == 3.0


def test_a_number_in_a_set():
    def f(x):
        return x * (2.0 if x in {2.0} else 1.0)

    transform, traced = wy.grad(f), wy.grad(f, mode="trace")
    assert [transform(2.0) for _ in range(3)] == [traced(2.0)] * 3


@pytest.mark.parametrize("mode", ["auto", "source", "trace"])
@pytest.mark.parametrize(
    "result",
    [
        lambda x: (x, x), lambda x: [x, x * x], lambda x: {"a": x}, lambda x: (x, (x, x)),
        lambda x: (x,), lambda x: (x, None), lambda x: (), lambda x: None,
    ],
)  # fmt: skip
def test_elementwise_grad_wants_one_result(result, mode):
    transform = wy.elementwise_grad(result, mode=mode)
    for _ in range(3):
        with pytest.raises(TypeError, match="expected a function that returns one number or array"):
            transform(1.0)


def outcome(function, *args):
    try:
        return repr(function(*args))
    except Exception as error:
        return type(error), str(error)


ATTRIBUTES = {
    "called": "lambda x: np.sum(x * (1.0 if x.{}() is None else 2.0))",
    "looked at": "lambda x: np.sum(x * (1.0 if x.{} is None else 2.0))",
}


@pytest.mark.parametrize("how", ATTRIBUTES)
@pytest.mark.parametrize("x", [2.0, np.float32(2.0), np.array([[2.0, 1 / 3]])], ids=type)
def test_an_attribute_that_variables_do_not_have_is_none_in_every_call(x, how):
    names = [name for name in dir(x) if not name.startswith("_")]
    for name in names:
        text = ATTRIBUTES[how].format(name)
        file = f"<{how} {name} of {type(x)}>"
        linecache.cache[file] = (len(text), None, [text], file)
        f = eval(compile(text, file, "eval"), {"np": np})
        transform = wy.grad(f)
        assert len({outcome(transform, x) for _ in range(3)}) == 1, name
        del linecache.cache[file]


ROWS, TABLE = [1.0, 2.0], {"rows": [3.0]}


@pytest.mark.parametrize("mode", ["auto", "source", "trace"])
def test_what_is_beside_is_the_object_itself(mode):
    array = np.ones(2)
    transform = wy.grad(lambda x: (x * x, [ROWS, TABLE, array, x]), has_aux=True, mode=mode)
    alone = wy.grad(lambda x: (x * x, ROWS), has_aux=True, mode=mode)
    for _ in range(3):
        assert alone(1.0)[1] is ROWS
        rows, table, beside, x = transform(1.0)[1]
        assert rows is ROWS
        assert table is TABLE
        assert beside is array
        assert type(x) is float


def expect_array(x):
    if not isinstance(x, np.ndarray):
        raise TypeError("no array")


def test_a_function_that_expects_a_kind_is_read_where_tracing_fails():
    def asserts(x):
        # The statement itself is written anew by pytest.
        if not isinstance(x, np.ndarray):
            raise AssertionError
        return np.sum(x**2)

    def calls(x):
        expect_array(x)
        return np.sum(x**2)

    def number(x):
        if type(x) is not float:
            raise ValueError("no float")
        return x * x

    x = np.array([1.0, 2.0])
    for _ in range(3):
        np.testing.assert_array_equal(wy.grad(asserts)(x), 2 * x)
        np.testing.assert_array_equal(wy.grad(calls)(x), 2 * x)
        assert wy.grad(number)(3.0) == 6.0
        # Where Python raises it is what Python raises, without a note or a context.
        with pytest.raises(TypeError, match="no array") as raised:
            wy.grad(calls)(2.0)
        assert not hasattr(raised.value, "__notes__")
        with pytest.raises(ValueError, match="no float"):
            wy.grad(number)(x)
    with pytest.raises(TypeError, match="no array"):
        wy.grad(calls, mode="trace")(x)


def test_what_a_function_raises_stays_as_it_is_where_it_is_not_read():
    seen = []

    def f(x):
        seen.append(isinstance(x, float))
        raise KeyError("own")

    with pytest.raises(KeyError, match="own") as raised:
        wy.grad(f)(1.0)
    assert len(seen) == 1
    assert raised.value.__context__ is None
    assert not hasattr(raised.value, "__notes__")


@pytest.mark.parametrize("x", [np.array([1, 2]), True, np.array([1j])])
def test_what_is_wrong_with_an_argument_is_said_of_the_argument(x):
    def f(x):
        return np.sum(x) if isinstance(x, list) else np.sum(x) * 2

    for transform in (wy.grad, wy.jacrev, wy.elementwise_grad):
        for _ in range(3):
            with pytest.raises(TypeError, match="argument 0: expected"):
                transform(f)(x)


def test_item_of_an_array_is_refused_after_arrays_of_several_elements_too():
    """NumPy raises for those; the next call was traced, where a plain number has no gradient."""
    slope = wy.grad(lambda x: x.item() * 2.0, mode="source")
    for n in (3, 1, 0, 1):
        with pytest.raises(wy.SourceError, match="item, which reads"):
            slope(np.ones(n))


Marked = abc.ABCMeta("Marked", (), {})
"""Takes registrations."""


class Thing:
    def __init__(self, held=2.0):
        self.held = held


THING = Thing()


def registered_outside(x):
    return 2.0 * x if isinstance(THING, Marked | int) else 3.0 * x


def registered_inside(x):
    return 2.0 * x if isinstance(Thing(x), (int, Marked)) else 3.0 * x


def registered_class(x):
    return 2.0 * x if issubclass(Thing, Marked) else 3.0 * x


def registered_pattern(x):
    match THING:
        case Marked():
            return 2.0 * x
    return 3.0 * x


REGISTERED = [registered_outside, registered_inside, registered_class, registered_pattern]


@pytest.mark.parametrize("mode", ["auto", "source"])
def test_a_class_that_is_registered_later(mode, monkeypatch):
    monkeypatch.setitem(globals(), "Marked", abc.ABCMeta("Marked", (), {}))
    compiled = [wy.compile(f, mode=mode) for f in REGISTERED]
    slopes = [wy.grad(f, mode=mode) for f in REGISTERED]
    for wanted in (3.0, 2.0):
        for each in (*compiled, *slopes):
            assert [each(1.0) for _ in range(3)] == [wanted] * 3
        Marked.register(Thing)


@functools.singledispatch
def chosen_by_class(x, k=1.0):
    return x * k


@chosen_by_class.register
def _of_float(x: float, k=1.0):
    return x * 10.0 * k


@chosen_by_class.register(np.ndarray)
def _of_array(x, k=1.0):
    return np.sum(x * x) * k


@chosen_by_class.register
def _of_thing(x: Thing, k=1.0):
    return x.held * k


def calls_a_dispatching_function(x):
    return chosen_by_class(x, k=2.0) + chosen_by_class(Thing(3.0))


def raises_where_it_is_chosen(x):
    if chosen_by_class(x) > 100.0:
        raise ValueError("large")
    return chosen_by_class(x)


@pytest.mark.parametrize("mode", ["auto", "source"])
@pytest.mark.parametrize(
    "f", [chosen_by_class, calls_a_dispatching_function, raises_where_it_is_chosen]
)
def test_singledispatch_chooses_by_pythons_class(f, mode):
    slope = wy.value_and_grad(f, mode=mode)
    array = np.array([0.5, 2.0])
    for _ in range(3):
        value, gradient = slope(1.5)
        assert value == f(1.5)
        assert gradient == f(2.5) - f(1.5)
        value, gradient = slope(array)
        assert value == f(array)
        np.testing.assert_allclose(gradient, array * (f(2.0 * array) - f(array)) / 3 / 2.125)
    if f is raises_where_it_is_chosen:
        for _ in range(5):
            with pytest.raises(ValueError, match="large"):
                slope(20.0)
        assert slope(1.5) == (15.0, 10.0)


@pytest.mark.parametrize("mode", ["auto", "source"])
def test_what_is_registered_for_a_class_later_is_called(mode):
    @functools.singledispatch
    def one(x):
        return 1.0 * x

    def f(x):
        return one(x) * x

    slope = wy.grad(f, mode=mode)
    assert [slope(3.0) for _ in range(3)] == [6.0] * 3
    one.register(float, lambda x: 5.0 * x)
    assert [slope(3.0) for _ in range(3)] == [30.0] * 3
    one.register(float, lambda x: x * x)
    assert [slope(3.0) for _ in range(3)] == [27.0] * 3
