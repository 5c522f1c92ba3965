"""What a function asks about the kind of what is differentiated is answered alike in every call.

Under tracing it is a variable. So ``auto`` traces such functions; ``source`` has Python's answer.
"""

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


FUNCTIONS = {
    "except TypeError": handled,
    "except Exception": handled_with_all_else,
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


def test_source_has_the_answer_of_python():
    transform = wy.grad(FUNCTIONS["isinstance float"], mode="source")
    assert transform(2.0) == 3.0


def test_a_number_in_a_set():
    def f(x):
        return x * (2.0 if x in {2.0} else 1.0)

    transform, traced = wy.grad(f), wy.grad(f, mode="trace")
    assert [transform(2.0) for _ in range(3)] == [traced(2.0)] * 3


def test_elementwise_grad_wants_one_result():
    transform = wy.elementwise_grad(lambda x: (x, x))
    for _ in range(3):
        with pytest.raises(TypeError):
            transform(1.0)
