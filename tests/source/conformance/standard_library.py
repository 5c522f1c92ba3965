"""Functions of Python's library that are written in C, and read as texts that stand for them."""

import copy
import heapq
import itertools
import math
import operator
import types

from .case import at


@at(2.5)
@at(2.5000000001)
@at(-2.5)
@at(math.inf)
def close(x):
    return 3 * x if math.isclose(x, 2.5) else -x


@at(0.2)
@at(0.6)
@at(1.4)
def close_by_a_tolerance(x):
    return x + x * math.isclose(x, 1.0, rel_tol=0.25, abs_tol=0.5)


@at(-0.7)
@at(3.0)
def norm_of_three(x):
    return math.hypot(x, -2.0, x / 3)


@at(1e200)
@at(1e-200)
@at(-math.inf)
@at(math.nan)
def norm_of_extremes(x):
    return math.hypot(x, -2 * x, x / 3)


@at(0.7)
def norm_of_one(x):
    return math.hypot(-x)


@at([3.0, -4.0, 12.0, 84.0])
@at([0.5])
def norm_of_a_list(values):
    return math.hypot(*values)


@at(0.7)
@at(-3.0)
def distances(x):
    points = [(x, 0.0, 1), (1.0, x, 2), (2, -x, x * x)]
    return sum(math.dist(p, q) for p, q in itertools.combinations(points, 2))


@at([1.0, 2.0], [3.0])
def distance_of_other_dimensions(p, q):
    return math.dist(p, q)


@at(0.7)
def norm_of_a_string(x):
    return math.hypot(x, "1", 2.0)


@at(0.7)
def chained(x):
    return sum(math.exp(v) for v in itertools.chain([x], (x * x, 2.0), [math.sin(x)]))


@at([1.0, 2.0, 0.5])
@at([1.0])
def neighbours(values):
    total = values[0]
    for a, b in itertools.pairwise(values):
        total += math.exp(a - b) * b
    return total


@at([1.0, 2.0, 0.5])
@at([1.0])
def running_totals(values):
    totals = sum(math.sin(v) for v in itertools.accumulate(values))
    products = itertools.accumulate(values, operator.mul, initial=2.0)
    return totals + sum(v * v for v in products)


@at(0.7)
def grid(x):
    return sum(math.cos(a * b + x) for a, b in itertools.product([1, 2.5, x], repeat=2))


@at(0.7)
def grid_of_two(x):
    total = 0.0
    for i, (a, b) in enumerate(itertools.product(range(3), (x, x * x))):
        total += math.exp(-a * b) * i
    return total


@at([1.0, 2.0, 0.5, 3.0])
@at([1.0, 2.0])
def triples(values):
    three = sum(math.hypot(a, b, c) for a, b, c in itertools.combinations(values, 3))
    two = itertools.combinations_with_replacement(values, 2)
    return three + sum(math.atan2(a, b) for a, b in two)


@at(0.7)
@at(2.0)
@at(5.0)
def while_it_lasts(x):
    before = itertools.takewhile(lambda v: v < 3, [x, 2 * x, 1.0, 3 * x])
    after = itertools.dropwhile(lambda v: v < 3, [x, 2 * x, 1.0, 3 * x])
    return sum(math.exp(-v) for v in before) + sum(v * v for v in after) + x


@at(0.7)
def with_their_arguments(x):
    xs = [x, 3.0, x * x]
    squares = itertools.accumulate(map(math.sin, xs), operator.mul)
    kept = itertools.islice(enumerate(filter(None, xs)), 1, None)
    total = sum(squares) + sum(i * v for i, v in kept)
    total += sum(itertools.starmap(math.pow, zip(xs, [2.0, x])))
    return total + sum(itertools.starmap(math.pow, [(x, 2.0), (3.0, x)]))


@at(0.7)
def pool_is_taken_at_the_call(x):
    values = [x, 2.0]
    grid, pairs = itertools.product(values), itertools.combinations(values, 2)
    values.append(x * x)
    return sum(one for (one,) in grid) + sum(a * b * b for a, b in pairs)


@at(0.7)
def class_of_a_chain(x):
    return x * isinstance(itertools.chain([x]), itertools.chain)


@at(0.7)
def class_of_a_generator(x):
    return x * isinstance((one for one in [x]), types.GeneratorType)


@at(0.7)
def class_of_a_zip(x):
    return x if type(zip([x])) is zip else x * x


@at(0.5)
def chained_expressions(x):
    parts = itertools.chain([x], (x * i for i in range(1, 3)), (v * v for v in (x, 2.0)))
    return sum(math.exp(v) for v in parts)


@at(0.7)
@at(-1.5)
def counted_without_end(x):
    for i in itertools.count(1):
        x = x * 0.5 + math.sin(x)
        if i > 3 or x > 2.0:
            break
    steps = itertools.islice(itertools.count(0.5, 0.25), 2, 6, 3)
    return x + sum(math.cos(x * k) for k in steps)


@at(0.7)
@at(-0.7)
def picked_of_several(x):
    made = [math.sin(x), x, x * x, 1.0]
    total = sum(itertools.islice(made, 3)) - sum(itertools.islice(made, 2, None)) * 2
    total += sum(itertools.compress(made, [x > 0, 1, 0, True])) * x
    total += sum(itertools.filterfalse(lambda t: t > 0.6, made))
    for one in itertools.repeat(x, 3):
        total = total * one + 0.5
    total += len([0 for _ in itertools.repeat(None, 2)])
    return total + sum(itertools.chain.from_iterable([made, [x]])) * math.exp(x)


@at(0.7)
def permutations_of_three(x):
    rows = itertools.permutations([math.sin(x), x, 2.0])
    pairs = itertools.permutations([x, 3.0, x * x], 2)
    return sum(a + b * 2 + c * i for i, (a, b, c) in enumerate(rows)) + sum(
        math.cos(a) * b for a, b in pairs
    )


@at(0.7)
def words_of_a_text(x):
    total = 0.0
    for word in "sin 2 sin 3".split():
        total = total + math.sin(x) if word == "sin" else total * float(word)
    return total + x * len("a,b,,c".split(",")) + x * len("one\ntwo".splitlines())


@at(2.0, -1)
@at(2.0, 1)
@at(2.0, 1.5)
def slices_that_are_refused_when_they_are_made(x, start):
    try:
        items = itertools.islice([x, 2 * x, 3 * x], start, None)
    except ValueError:
        return 7 * x
    return sum(items) * x


@at(2.0)
def a_count_from_no_number(x):
    itertools.count("a")
    return x


@at(1.5, 3)
@at(1.5, 2.5)
def repeated_a_number_of_times(x, times):
    itertools.repeat(x, times)
    return sum(itertools.repeat(x, times)) * x


@at(2.0, 0)
@at(2.0, 9)
def heap_of_a_computed_number_of_items(x, n):
    heap, total = [], 0.0
    for i in range(n):
        heapq.heappush(heap, (x * (i * 7 % 5), i))
    while heap:
        value, i = heapq.heappop(heap)
        total = total * 0.5 + value * i
    return total + x


@at([3.0, 1.0, 2.0, 5.0, 4.0])
def heap_of_a_list(values):
    heap = [2 * v for v in values]
    heapq.heapify(heap)
    return heap[0] * heap[1] + 3 * heapq.heappop(heap) - heap[0]


@at(2.0)
def columns_of_other_lengths(x):
    rows = itertools.zip_longest([x, 1.0, x], (2.0,), fillvalue=x)
    return sum(a * b for a, b in rows) + len(list(itertools.zip_longest()))


@at(2.0)
def a_cycle(x):
    total = 0.0
    for i, v in enumerate(itertools.cycle([x, 3 * x])):
        if i > 4:
            break
        total += v * i
    return total + sum(a * b for a, b in zip(itertools.cycle([x, 1.0]), [1.0, 2.0, 3.0]))


@at([1.5, {"b": [3.0, 2.0]}])
def a_deep_copy_is_changed(values):
    twin = copy.deepcopy(values)
    twin[0] *= 3
    twin[1]["b"].append(values[0])
    return twin[0] * values[0] + sum(twin[1]["b"]) + len(values[1]["b"])


@at(1.5)
def one_object_in_a_copy(x):
    inner = [x]
    inner.append(inner)
    both = copy.deepcopy([inner, inner])
    both[0][0] = x * x
    return both[1][0] * inner[0] + both[1][1][1][0] + (both[0] is both[1])


@at(1.5)
def a_shallow_copy_shares_its_items(x):
    first = [[x], {"a": x}]
    second = copy.copy(first)
    second[0][0] *= 3
    second[1] = {"a": 1.0}
    return first[0][0] * first[1]["a"] + second[1]["a"]


class Steps:
    """Goes through what it has."""

    def __init__(self, *values):
        self.values = list(values)

    def __iter__(self):
        yield from self.values


class Wrapped(Steps):
    """The same, by the list's own iterator."""

    def __iter__(self):
        return iter(self.values)


@at(2.0)
@at(-1.0)
def instances_that_are_gone_through(x):
    total = 0.0
    for i, v in enumerate(Steps(x, 2.0, 3 * x)):
        if i == 2:
            break
        total += v * i
    a, b = Wrapped(x, x * x)
    return total + a * b + sum(Wrapped(x, 1.0)) + max(Steps(x, 1.5)) + len(list(Steps()))


class Reversible(Steps):
    """Goes another way back."""

    def __reversed__(self):
        return iter([3.0, *self.values])


@at(2.0)
def instances_that_are_gone_through_backwards(x):
    return sum(v * (i + 1) for i, v in enumerate(reversed(Reversible(x, x * x))))


@at(2.0)
def instances_that_have_no_way_back(x):
    return sum(reversed(Steps(x, x * x)))
