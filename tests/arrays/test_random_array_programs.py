"""Random programs of NumPy's calls that read, view and change arrays in place: the value of plain
arrays, the gradient of finite differences, and the same once frozen.

What views share is tested more closely, by value alone, in test_views.py.
"""

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

import wyrmling as wy


def basic(a, rng):
    """Integers and slices for the axes, with steps of either sign."""
    key = []
    for n in map(int, a.shape):
        start, step = int(rng.integers(-n, n)), int(rng.choice([1, 2, -1, -2]))
        key.append((start, slice(start, None, step), slice(None))[rng.integers(3)])
    return tuple(key)


def fancy(a, rng):
    """Arrays of indices, doubled ones too, or a mask."""
    shape = tuple(map(int, a.shape))
    found = [(rng.integers(-shape[0], shape[0], 3),), (rng.uniform(size=shape) > 0.5,)]
    if len(shape) > 1:
        found += [(slice(None, None, -1), rng.integers(0, shape[1], 2))]
        found += [(rng.integers(0, shape[0], 2), rng.integers(0, shape[1], 2))]
    return found[rng.integers(len(found))]


def axis(a, rng):
    return int(rng.integers(a.ndim))


def flags(a, rng):
    return rng.uniform(size=tuple(map(int, a.shape))) > 0.4


def put(a, key, value):
    a[key] = value


def subtract(a, b):
    if a.shape == b.shape:
        a -= b * 0.5


def reverse(a, b):
    if a.shape == b.shape:
        a[::-1] = b


def add_at(a, key, value):
    a[key] += value


# Each is given an array, another one or the same, and a generator; what is no None is a new array.
STEPS = {
    "view": lambda a, b, rng: a[basic(a, rng)],
    "take": lambda a, b, rng: a[fancy(a, rng)],
    "transpose": lambda a, b, rng: a.T,
    "swap": lambda a, b, rng: np.swapaxes(a, 0, -1),
    "flip": lambda a, b, rng: np.flip(a, axis(a, rng)),
    "flatten": lambda a, b, rng: a.reshape(-1),
    "expand": lambda a, b, rng: np.expand_dims(a, axis(a, rng)),
    "roll": lambda a, b, rng: np.roll(a, 2, axis(a, rng)),
    "join": lambda a, b, rng: np.concatenate([a, a * 1.5], axis(a, rng)),
    "sum": lambda a, b, rng: np.sum(a, axis(a, rng), keepdims=bool(rng.integers(2))),
    "running": lambda a, b, rng: np.cumsum(a, axis(a, rng)),
    "sine": lambda a, b, rng: np.sin(a) * 0.7,
    "where": lambda a, b, rng: np.where(flags(a, rng), a, a * 2.0),
    "assign": lambda a, b, rng: put(a, basic(a, rng), 0.6),
    "assign fancy": lambda a, b, rng: put(a, fancy(a, rng), 1.1),
    "assign all": lambda a, b, rng: put(a, ..., np.cos(a)),
    "add to": lambda a, b, rng: add_at(a, fancy(a, rng), 0.3),
    "scale": lambda a, b, rng: add_at(a, basic(a, rng), a[basic(a, rng)].sum() * 0.1),
    "subtract": lambda a, b, rng: subtract(a, b),
    "reverse": lambda a, b, rng: reverse(a, b),
    "out": lambda a, b, rng: np.multiply(a, 1.3, out=a) is None,
    "out where": lambda a, b, rng: np.add(a, 0.2, out=a, where=flags(a, rng)) is None,
    "copyto": lambda a, b, rng: np.copyto(a, np.tanh(a), where=flags(a, rng)),
    "put": lambda a, b, rng: np.put(a, [0, -1], [0.4, 0.9]),
}


def run(program, x):
    """A number that all arrays of the program take part in."""
    arrays = [x * 1.0]
    for name, seed in program:
        rng = np.random.default_rng(seed)
        a, b = (arrays[k] for k in rng.integers(len(arrays), size=2))
        if a.ndim and a.size:
            made = STEPS[name](a, b, rng)
            arrays += [made] if made is not None and made is not False else []
    total = 0.0
    for k, a in enumerate(arrays):
        if a.size:
            total = total + np.sum(a * a) * (-0.7) ** k + np.sum(np.sin(a))
    return total


programs = st.lists(
    st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 2**32)), min_size=2, max_size=8
)


@settings(max_examples=150)
@given(st.sampled_from([(3,), (2, 3), (2, 2, 2), (1, 3)]), programs)
def test_values_and_gradients_of_programs(shape, program):
    x = np.random.default_rng(len(program)).uniform(0.2, 1.9, shape)
    expected = run(program, x)
    try:
        value, found = wy.value_and_grad(lambda x: run(program, x))(x)
    except ValueError as error:
        if "reshaped" not in str(error):  # what NumPy gives depends on the layout in memory
            raise
        # Another program is drawn in its place; hypothesis fails if most are refused.
        reject()
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12)
    step = 1e-6
    for place in np.ndindex(shape):
        there = np.zeros(shape)
        there[place] = step
        slope = (run(program, x + there) - run(program, x - there)) / (2 * step)
        assert found[place] == pytest.approx(slope, rel=1e-4, abs=1e-4)
    leaf = wy.Input(np.ones(shape))
    again = wy.freeze(run(program, leaf)).run({leaf: x})
    np.testing.assert_allclose(again, expected, rtol=1e-12, atol=1e-12)
