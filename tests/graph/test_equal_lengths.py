"""Lengths of what is built of inputs that have to be equally long."""

import numpy as np
import pytest

import wyrmling as wy

# Functions of rows, and of a number for each, whose second axis is as long for any number of rows.
WIDE = {
    "product": lambda x, y, i: x * y[:, None],
    "joined": lambda x, y, i: np.concatenate([x, y[:, None]], axis=1),
    "looked up": lambda x, y, i: x * wy.gather(y, i)[:, None],
    "attention": lambda x, y, i: wy.nn.attention((x * y[:, None])[:, None], x[:, None], x[:, None]),
}


@pytest.mark.parametrize("name", WIDE)
def test_a_length_that_inputs_of_equal_lengths_leave_alone(name, rng):
    x, y = wy.Input(np.ones((2, 3)), name="x"), wy.Input(np.ones(2), name="y")
    i = wy.IndexInput([0, 1], name="i")

    def columns(x, y, i):
        wide = WIDE[name](x, y, i)
        return sum(wide[:, k] * (k + 1) for k in range(wide.shape[1]))

    program = wy.freeze(columns(x, y, i))
    given = {x: rng.normal(size=(5, 3)), y: rng.normal(size=5), i: rng.integers(0, 5, 5)}
    given = {leaf: new for leaf, new in given.items() if leaf.name in program.inputs}
    expected = columns(given[x], given[y], given.get(i))
    np.testing.assert_allclose(program.run(given), expected, rtol=1e-12)
    # The rows, of which there are as many as in each of them, are asked for as before.
    rows = WIDE[name](x, y, i)
    program = wy.freeze(rows.sum() / len(rows))
    with pytest.raises(ValueError, match="asked for"):
        program.run(given)
