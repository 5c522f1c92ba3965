"""Bins of what may change later, against NumPy: special numbers, falling bins, lookups."""

import numpy as np
import pytest

import wyrmling as wy

EDGES = np.array([-1.0, 0.0, 0.3, 1.0])
NUMBERS = np.array([0.3, -1.2, 0.7, np.nan, -1.0, 1.0, 5.0, -0.0, 0.0, np.inf, -np.inf])
VECTORS = {
    "rising": EDGES,
    "with NaN, which comes last": np.array([-1.0, 0.3, np.nan, np.nan]),
    "equal": np.zeros(3),
    "infinite": np.array([-np.inf, 0.3, np.inf]),
    "single precision": EDGES.astype(np.float32),
    "one": EDGES[:1],
    "none": np.zeros(0),
}


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", VECTORS)
def test_places_are_numpys(name, side):
    sorted_, turned = VECTORS[name], VECTORS[name][::-1]
    for numbers in (NUMBERS, NUMBERS[:4].reshape(2, 2), np.float64(0.3), NUMBERS[:0]):
        x = wy.Input(numbers)
        expected = np.searchsorted(sorted_, numbers, side)
        order = np.arange(len(sorted_))[::-1]
        for found in (
            np.searchsorted(sorted_, x, side),
            np.searchsorted(turned, x, side, sorter=order),
            np.searchsorted(wy.Input(sorted_), numbers, side),
            wy.Input(sorted_).searchsorted(numbers, side),
        ):
            assert found.dtype == np.int64
            np.testing.assert_array_equal(found.value, expected)


NAN = np.nan
ODD = [
    [NAN],
    [0.0, NAN],
    [0.0, 1.0, NAN],
    [1.0, 1.0, NAN],
    [1.0, NAN, 3.0],
    [np.inf, 1.0, NAN],
    [NAN, 1.0],
]


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("bins", [*ODD, EDGES, EDGES[::-1], [2.0], [], [1.0, 1.0]])
def test_bins_are_numpys_rising_or_falling(bins, right):
    for numbers in (NUMBERS, 0.3):
        found = np.digitize(wy.Input(numbers), bins, right)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found.value, np.digitize(numbers, bins, right))


def test_rows_are_looked_up_by_bins_in_programs_too():
    table, price = wy.Parameter(np.arange(10.0).reshape(5, 2)), wy.Input(np.array([0.1, 0.9, -4.0]))
    loss = (table[np.digitize(price, EDGES)] * [1.0, 2.0]).sum()
    program = wy.freeze(loss)
    for prices in ([0.1, 0.9, -4.0], [7.0, np.nan], []):
        counts = np.bincount(np.digitize(prices, EDGES), minlength=5)
        value, gradients = program.value_and_grad({price: np.array(prices)})
        assert value == counts @ (table.value @ [1.0, 2.0])
        expected = counts[:, None] * np.array([1.0, 2.0])
        np.testing.assert_array_equal(gradients[table].to_dense(), expected)


@pytest.mark.parametrize("mode", ["source", "trace"])
def test_functions_are_read_and_traced(mode):
    def binned(x, rows):
        return np.sum(rows[np.digitize(x, [0.0, 0.5])] * x)

    def step(x, rows):
        return np.sum(EDGES[np.searchsorted(EDGES, x) - 1] * x) + rows[0]

    rows = np.array([10.0, 20.0, 30.0])
    slopes = wy.grad(binned, argnums=(0, 1), mode=mode), wy.grad(step, mode=mode)
    for x in (np.array([0.3, -0.9, 0.7]), np.array([0.5, 0.0, -0.2])):
        at = np.digitize(x, [0.0, 0.5])
        by_x, by_rows = slopes[0](x, rows)
        np.testing.assert_array_equal(by_x, rows[at])
        np.testing.assert_allclose(by_rows, np.bincount(at, x, 3))
        np.testing.assert_array_equal(slopes[1](x, rows), EDGES[np.searchsorted(EDGES, x) - 1])


def test_what_cannot_change_is_answered_plainly():
    x = wy.Variable(NUMBERS)
    for found in (np.searchsorted(EDGES, x), np.digitize(x, EDGES), x.searchsorted(0.5)):
        assert not isinstance(found, wy.Variable)


def test_what_is_refused_is_said():
    x = wy.Input(NUMBERS)
    with pytest.raises(ValueError, match="side is 'middle', expected 'left' or 'right'"):
        np.searchsorted(EDGES, x, "middle")
    with pytest.raises(ValueError, match=r"expected a vector to search in, got shape \(1, 4\)"):
        np.searchsorted(EDGES[None], x)
    with pytest.raises(ValueError, match=r"sorter: expected shape \(4,\), got \(1,\)"):
        np.searchsorted(EDGES, x, sorter=[0])
    for sorter, error in (
        ([0, 1, 2, 4], ValueError),
        ([0, 1, 2, -1], ValueError),
        ([0.0, 1.0, 2.0, 3.0], TypeError),
    ):
        with pytest.raises(error, match=rf"^searchsorted: sorter: .*got \[0.*{sorter[3]}"):
            np.searchsorted(EDGES, x, sorter=sorter)
    with pytest.raises(ValueError, match="monotonically"):
        np.digitize(x, [1.0, 3.0, 2.0])
    with pytest.raises(TypeError, match="right is 2, expected True or False"):
        np.digitize(x, EDGES, 2)
    with pytest.raises(TypeError, match="digitize: bins: this follows an input"):
        np.digitize(x, wy.Input(EDGES))


def test_a_place_shows_its_number_alone():
    assert repr(np.searchsorted(EDGES, wy.Input(0.5))) == "Variable(3)"
    assert repr(np.argmax(wy.Input(EDGES))) == "Variable(3)"
    assert repr(wy.Input(np.float32(0.5))) == "Input(0.5, dtype=float32)"


@pytest.mark.parametrize("right", [False, True])
def test_bins_that_are_computed_rise_or_fall_or_are_refused(right):
    """What raises is NumPy's."""

    def of_all(x, bins):
        return np.sum(x * np.digitize(x, bins, right))

    def of_each(x, bins):
        return sum([v * np.digitize(v, bins, right) for v in x])

    x = np.array([1.0, 2.0, 1.5, 3.0, 9.0, -9.0])
    bins = [[1.0, 2.0, 3.0], [3.0, 2.0, 2.0], [2.0, 2.0], [2.0], [], [1.0, 3.0, 2.0]]
    for f in (of_all, of_each):
        read = wy.compile(f, mode="source")
        slope = wy.grad(f, mode="source")
        for edges in map(np.array, bins):
            try:
                numbers = np.digitize(x, edges, right)
            except ValueError as error:
                with pytest.raises(ValueError, match=str(error)):
                    read(x, edges)
                continue
            assert read(x, edges) == np.sum(x * numbers)
            np.testing.assert_array_equal(slope(x, edges), numbers)
        nan = np.array([1.0, np.nan, 2.0])
        assert read(x, nan) == f(x, nan)


def test_edges_that_are_given_keep_their_gradient():
    x, edges = np.array([0.4, 0.7, 0.1]), np.array([0.0, 0.5, 1.0])
    found = wy.jacobian(lambda e: np.histogram(x, e, density=True)[0], mode="trace")(edges)
    # Two and one of three elements, each by the width of its bin.
    np.testing.assert_allclose(found, [[8 / 3, -8 / 3, 0.0], [0.0, 4 / 3, -4 / 3]])
    for back in (
        lambda e: np.histogram(x, e)[1],
        lambda e: np.histogram2d(x, x, e)[2],
        lambda e: np.histogramdd((x, x), [2, e])[1][1],
        lambda e: np.histogram_bin_edges(x, e),
    ):
        np.testing.assert_array_equal(wy.jacobian(back, mode="trace")(edges), np.eye(3))
