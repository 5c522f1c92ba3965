"""Elements that masks, ``np.ix_`` and searches pick, read and assigned to."""

import bisect
import math

import numpy as np

from .case import at

V = np.array([0.3, 1.2, 0.9, -0.4])
M = np.array([[1.0, 0.2, 0.3], [0.4, 2.0, 0.6], [0.7, 0.8, 3.0]])
PLACES = np.array([0, 1, 0, 2])
ENDS = np.array([[0, 1], [1, 2], [2, 3]])
KNOTS = np.array([0.0, 0.65, 1.0])
GAPS = np.array([0.0, 0.65, math.nan])
SINGLE = np.array([0.0, 0.65, 1.0], np.float32)
VALUES = np.array([1.0, 3.0, 2.0, 5.0])


@at(V)
@at(-V)
def sum_of_some_in_a_filled_array(x):
    total = np.zeros(3)
    total[0] = x[x > 0.8].sum()
    total[1] = x[0] * x[x < 2.0].mean()
    return (total * total).sum()


@at(V)
def masks_of_masks(x):
    some, others = x[(x > 0.0) & (x < 1.0)], x[~(x > 0.0)]
    return some.sum() ** 2 + others.max() * len(some) + np.dot(some, np.exp(-some))


@at(V)
def nothing_picked(x):
    return x[x > 10.0].sum() + np.sum(x**2)


@at(M)
def rows_and_elements(x):
    return x[x[:, 0] > 0.5].sum(axis=0) @ np.arange(3.0) + np.sum(x[x > 0.5] ** 2)


@at(V)
def assigned_by_masks(x):
    y = np.zeros_like(x)
    above = x > 0.0
    y[above] = x[above] ** 2
    y[~above] = x[~above] * 3.0
    y[y < 0.5] *= 0.1
    y[y > 1.0] += x[0]
    y[y > 1.5] = x[1]
    return np.sum(y * x)


@at(M)
def rows_assigned_by_a_mask(x):
    y = x * 1.0
    above = x[:, 0] > 0.5
    y[above] = x[above] * 2.0
    y[x > 0.75] = x[x > 0.75] ** 2
    return np.sum(y * x)


@at(V)
def more_values_than_places(x):
    y = x * 1.0
    y[y > 0.5] = x
    return np.sum(y)


@at(V)
def element_that_is_picked_by_a_logarithm(x):
    return sum(math.log(v) for v in x[x > 0.5])


@at(np.array([1.0, 2.0, 3.0]))
def assembled(k):
    n = len(k) + 1
    stiffness, own = np.zeros((n, n)), np.array([[1.0, -1.0], [-1.0, 1.0]])
    for e in range(len(k)):
        ends = [e, e + 1]
        stiffness[np.ix_(ends, ends)] += k[e] * own
    free = [1, 2, 3]
    return np.linalg.solve(stiffness[np.ix_(free, free)], np.array([0.0, 0.0, 1.0]))[-1]


@at(np.array([1.0, 2.0, 3.0]))
def assembled_by_a_table(k):
    stiffness, own = np.zeros((4, 4)), np.array([[1.0, -1.0], [-1.0, 1.0]])
    for e, ends in enumerate(ENDS):
        stiffness[np.ix_(ends, ends)] += k[e] * own
    return np.linalg.solve(stiffness[1:, 1:], np.array([0.0, 0.0, 1.0]))[-1]


@at(M)
def picked_by_a_table(x):
    return np.sum(x[np.ix_(PLACES, PLACES)] ** 2) + x[np.ix_([0, 2], [1, 2])].sum() * x[0, 0]


@at(V)
def added_at_places_that_occur_again(x):
    y, z = np.zeros(3), np.zeros((3, 3))
    np.add.at(y, PLACES, x)
    np.subtract.at(y, PLACES, x[0])
    np.add.at(z, (PLACES, PLACES), x * x)
    return np.sum(y**2) + np.trace(z) * x[1]


@at(0.3)
@at(0.8)
@at(1.2)
def looked_up_in_a_table(x):
    i = int(np.clip(np.searchsorted(KNOTS, x) - 1, 0, 1))
    part = (x - KNOTS[i]) / (KNOTS[i + 1] - KNOTS[i])
    return VALUES[i] + (VALUES[i + 1] - VALUES[i]) * part


@at(0.3)
@at(0.8)
@at(-1.0)
@at(2.0)
def searches(x):
    knots = np.array([0.0, 0.65, 0.65, 1.0])
    first = knots.searchsorted(x) + np.searchsorted(knots, 0.65, side="right")
    second = bisect.bisect_left([0.0, 0.65, 1.0], x) - bisect.bisect(KNOTS, x, 1, 3)
    return x * (first + 10 * second + 100 * np.digitize(x, KNOTS) + 1000 * first * second)


@at(0.7)
@at(2.0)
def searches_in_other_tables(x):
    same = x * 0.0 + 0.65
    of_gaps = np.searchsorted(GAPS, x, side="right") + 4 * np.searchsorted(GAPS, same)
    of_single = np.searchsorted(SINGLE, same) + 4 * np.digitize(same, SINGLE, right=True)
    to_the_end = bisect.bisect(KNOTS, x, 0, -1)
    return x * (of_gaps + 16 * of_single + 256 * to_the_end)


@at(0.7)
def search_on_no_side(x):
    return KNOTS[np.searchsorted(KNOTS, x, side="midle") - 1] + x


@at(math.nan)
def search_for_no_number(x):
    return KNOTS[np.searchsorted(KNOTS, x) - 1] + x


@at(M)
def place_of_the_largest(x):
    i, j = np.unravel_index(np.argmax(x), x.shape)
    return x[i, j] ** 2 + x[np.unravel_index(4, (3, 3))] * i


@np.vectorize
def ramp(t, slope):
    return math.exp(t * slope) if t > 0.25 else 0.0


halved = np.vectorize(lambda t: t / 2.0, otypes=[float])


@at(V)
def called_for_each_with_a_type(x):
    return np.sum(halved(x) ** 2)


@at(M)
def called_for_each(x):
    of_numbers = np.vectorize(lambda t: t * t if t > 0.5 else -t)
    of_types = np.vectorize(lambda t: t if t > 0.5 else 0, otypes=[float])
    return np.sum(of_numbers(x) * x) + np.sum(ramp(x, x[0])) + np.sum(of_types(x) ** 2)


@at(V)
def calls_are_counted(x):
    calls = [0]

    def count(t):
        calls[0] += 1
        return t * calls[0]

    return np.vectorize(count)(x).sum() + calls[0]


@at(V)
def first_result_is_an_integer(x):
    return np.vectorize(lambda t: 0 if t < 0.5 else t)(x).sum() * x[0]


@at(V)
def array_of_an_iterator(x):
    squares = np.fromiter((v * v for v in x), float)
    return np.sum(squares * np.fromiter(x, dtype=float, count=4)) + np.fromiter(x, float, 2)[1]


@at(V)
def mask_of_another_shape(x):
    return x[x[:3] > 0.0].sum()


@at(M)
def mask_with_more_axes(x):
    return x[0][x > 0.0].sum()


@at(0.7)
def bins_in_no_order(x):
    return x * np.digitize(x, np.array([0.0, 2.0, 1.0]))


@at(V)
def picked_is_a_copy(x):
    above = x > 0.0
    y = x[above]
    y[0] = 5.0
    z = x * 1.0
    z[0] = -3.0
    return y.sum() + x[0] * z[above].sum() + z[z > 0.0].sum()


@at(V)
def smaller_by_and_by(x):
    for _ in range(3):
        x = x[x > x.min()]
    return x.sum() ** 2


@at(np.array([1.5, 2.2, 7.0]), np.array([1.0, 2.0, 3.0]))
@at(np.array([1.5, 2.2, 7.0]), np.array([3.0, 2.0, 1.0]))
@at(np.array([[1.5], [2.4]]), np.array([2.0]))
@at(np.array([1.5, 2.5]), np.array([1.0, 3.0, 2.0]))
def bins_of_an_array_among_computed_ones(x, bins):
    return (
        np.sum((1.0 + np.digitize(x, bins * 1.0)) * x) + bins[np.digitize(x, bins, True) - 1].sum()
    )


@at(2.5, np.array([3.0, 2.0, 1.0]))
def bin_among_falling_ones(x, bins):
    return bins[np.digitize(x, bins) - 1] * x + 10 * np.digitize(x, [4.0, 2.0], right=True)


@at(np.array([1.0, -2.0, 3.0]))
@at(np.array([[1.0, -2.0], [4.0, 5.0]]))
def pieces_of_an_array(x):
    made = np.piecewise(x, [x < 0.0, x > 2.0], [lambda t: t * t, lambda t, k=1.0: t * k, -1.5])
    return np.sum(made * x) + np.sum(np.piecewise(x, [x > 100.0], [lambda t: t / t[0], 2.0]) * x)


@at(np.array([1.0, 2.0, 3.0]), np.array([0.2, 0.3, 0.5]))
@at(np.array([1.0, 2.0]), np.array([1.0, -1.0]))
@at(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]), np.array([0.2, 0.3, 0.5]))
def weighted_mean(x, w):
    return np.average(x, axis=-1, weights=w * 2.0).sum() + np.average(x[..., 0], weights=x[..., 0])


@at(2.05)
@at(-1.05)
@at(0.4)
def steps_of_a_computed_number(x):
    return np.sum(np.arange(0.0, x, 0.3)) * x + len(np.arange(x, 5, 0.7)) + np.sum(np.arange(x))


@at(np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]))
def lanes_of_a_matrix(x):
    rows = np.apply_along_axis(lambda lane: lane[0] * lane[1], 1, x)
    columns = np.apply_along_axis(lambda lane: lane * lane[0], 0, x)
    return rows[0] + 2.0 * rows[1] + columns[1, 0] - columns[0, 2] + columns.shape[1]


@at(np.array([[1.0, 2.0], [4.0, 5.0]]))
def lanes_of_an_axis_that_is_not_there(x):
    return np.apply_along_axis(lambda lane: lane * x[0, 0], 2, x).sum()


@at(1.5, 3)
@at(-1.5, 3)
def where_of_integers(x, n):
    k = np.where(x > 0, n, 2)
    return x * k**2 + k // 2 + n ** np.where(x > 0, 1, n)


@at(M)
@at(
    np.array(
        [[1.0, 2.0, 9.0, 4.0], [2.0, 1.0, 0.5, 7.0], [9.0, 1.0, 1.0, 3.0], [4.0, 7.0, 3.0, 1.0]]
    )
)
def shortest_paths_in_a_list(w):
    n = len(w)
    lengths, done = [math.inf] * n, [False] * n
    lengths[0] = 0.0
    for _ in range(n):
        here, least = -1, math.inf
        for i in range(n):
            if not done[i] and lengths[i] < least:
                here, least = i, lengths[i]
        done[here] = True
        for i in range(n):
            if lengths[here] + w[here, i] < lengths[i]:
                lengths[i] = lengths[here] + w[here, i]
    return sum(lengths)


@at(M, V)
def layer_of_floats_and_elements(w, x):
    hidden = [0.0] * 3
    for i in range(3):
        for j in range(3):
            hidden[i] += w[i][j] * x[j]
        hidden[i] = math.tanh(hidden[i])
    return sum(hidden)


@at(V)
@at(-V)
def put_where_counts_say(x):
    counts = [0, 0]
    for v in x:
        counts[int(v > 0.5)] += 1
    places, found = [0, counts[0]], [0.0] * 4
    for v in x:
        k = int(v > 0.5)
        found[places[k]] = v
        places[k] += 1
    return sum(i * v for i, v in enumerate(found))


@at(1.5, 0.4)
@at(0.3, 1.0)
@at(-0.0, 0.0)
def numbers_of_a_dict_by_computed_keys(x, y):
    found = {0: x, 2: 1.0, 1: y}
    k = int(x > y)
    found[k] = found[2 * k] * y
    found[1 - k] += found.get(k + 1, 2) * x
    found[k] -= found.get(k + 7, x)
    total = sum((key + 1.5) * value for key, value in found.items())
    return total + found.get(3 * k, y) * x, list(found), found[2 - k]


@at(V)
@at(-V)
def numbers_of_several_kinds_in_a_dict(x):
    found, k = {-1: 0, 1: 0.5, 0: True}, 0
    while k < len(x):
        side = 1 if x[k] > 0.5 else -1
        found[side] = found[side] + x[k] * k
        k += 1
    return list(found.values()), sum(found.values())


@at(1.5, 0.4)
@at(0.3, 1.0)
def key_that_is_new_at_some_numbers(x, y):
    found = {0: x, 2: 1.0}
    found[int(x > y)] = y
    return x * len(found) + sum(found.values())
