"""Where paths meet: objects keep their identity, and names see what happens to them."""

from dataclasses import dataclass

import pytest
from reading import agrees, leaves, read

from wyrmling.source.abstract.state import differing
from wyrmling.source.text.refuse import SourceError


def alias_or_copy(x, flag):
    a = [x]
    b = a
    if flag:
        b = [2 * x]
    a.append(1.0)
    return a[0], len(a), b[0], len(b)


def swapped_on_a_branch(x, flag):
    a, b = [x], [2 * x]
    if flag:
        a, b = b, a
    a[0] = 5.0
    return a[0] + 10 * b[0]


def swapped_in_a_loop(x, n):
    a, b = [x, 0.0], [2 * x, 1.0]
    for i in range(n):
        a, b = b, a
        a[0] += i
    return a[0] + 10 * b[0] + 100 * a[1]


def replaced_in_a_loop(x, n):
    xs = [x, 1.0]
    ys = xs
    for _ in range(n):
        xs = [xs[1], xs[0] + 1]
    xs[0] += 0.5
    return xs[0], xs[1], ys[0], ys[1]


def kept_and_changed_in_a_loop(x, n):
    xs = [x, 1.0]
    before = xs
    for i in range(n):
        xs[i % 2] = xs[0] * 1.5 + xs[1]
        before = xs
    before[0] = 7.0
    return xs[0], xs[1]


def previous_in_a_loop(x, n):
    last = [0.0]
    for i in range(n):
        made = [x + i]
        last[0] += 1.0
        last = made
    last[0] *= 2
    return last[0]


def both_names_in_a_loop(x, n):
    a = [x]
    b = a
    for i in range(n):
        made = [x + i]
        b = a
        a = made
        b[0] += 100.0
    a[0] += 1000.0
    return a[0], b[0]


def matrix(x, y):
    m = [[0.0] * 2 for _ in range(2)]
    m[0][1] = x
    row = m[0]
    row[0] = y
    return m[0][0], m[0][1], m[1][0]


def rows_are_one(x):
    m = [[0.0]] * 2
    m[0][0] = x
    return m[1][0]


def cells_in_branches(x, flag):
    total = x

    def add(k):
        nonlocal total
        total += k
        return total

    if flag:
        add(1.0)
    else:
        total = 7
    return add(x), total


def late_binding(x):
    functions = [lambda: i * x for i in range(3)]  # noqa: B023
    return functions[0]() + functions[2]()


def functions_made_in_a_loop(x, n):
    f = lambda y: y  # noqa: E731
    for i in range(n):
        k = i + x
        f = lambda y, k=k: y * k  # noqa: E731
    return f(2.0)


def dict_on_a_branch(x, flag):
    d = {"a": x, "b": 1.0}
    if flag:
        d["a"] = 2 * x
    else:
        d["b"] += x
    return d["a"], d["b"]


def unset_on_a_branch(x, flag):
    if flag:
        y = [x]
    if flag:
        return y[0]
    return x


def deleted_in_a_loop(x, n):
    y = x
    for i in range(n):
        y = y + 1
        if i == 2:
            del y
            break
    return y


def list_changed_before_an_exception(x, n):
    seen = [0.0]
    try:
        for i in range(n):
            seen[0] += x
            if i == 1:
                raise ValueError
    except ValueError:
        seen[0] *= 10
    return seen[0]


def list_iterated_while_it_grows(x):
    xs = [x, 1.0]
    total = 0.0
    for v in xs:
        total += v
        if len(xs) < 5:
            xs.append(v * 2)
    return total


def changed_by_a_nested_function(x, n):
    xs = [x, 0.0]

    def step(i):
        xs[1] += xs[0] * i

    for i in range(n):
        step(i)
    return xs[1]


@dataclass
class Point:
    a: float
    b: float

    def move(self, k):
        self.a += k
        return self


def instances(x, flag):
    p, q = Point(x, 1.0), Point(2 * x, 3.0)
    r = p if flag else q
    r.move(10.0)
    return p.a, q.a, r.a


def instance_in_a_loop(x, n):
    p = Point(x, 0.0)
    for i in range(n):
        if p.a > 3:
            p = Point(p.b, p.a)
        p.move(i).b += 1
    return p.a, p.b


def none_or_number(x, n):
    best = None
    for i in range(n):
        if best is None or x * i > best:
            best = x * i
    return best


def kinds_change_in_a_loop(x, n):
    s = 0
    for i in range(n):
        s = s * 2 + i
        if i == 2:
            s = s + x
    return s


def functions_on_branches(x, flag):
    f = abs if flag else float
    return f(-x)


def tuple_of_branches(x, flag):
    pair = (x, 1) if flag else (2, x)
    a, b = pair
    return a * 2, b * 3


def nested_break(x, n):
    found = None
    for i in range(n):
        for j in range(n):
            if i * j > x:
                found = (i, j)
                break
        else:
            continue
        break
    return found


FLAGS = [alias_or_copy, swapped_on_a_branch, cells_in_branches, dict_on_a_branch, instances]
FLAGS += [unset_on_a_branch, functions_on_branches, tuple_of_branches]
COUNTS = [swapped_in_a_loop, replaced_in_a_loop, kept_and_changed_in_a_loop, previous_in_a_loop]
COUNTS += [both_names_in_a_loop, functions_made_in_a_loop, deleted_in_a_loop, instance_in_a_loop]
COUNTS += [list_changed_before_an_exception, changed_by_a_nested_function, none_or_number]
COUNTS += [kinds_change_in_a_loop, nested_break]


@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.parametrize("f", FLAGS)
def test_branches(f, flag):
    agrees(f, 1.5, flag)


@pytest.mark.parametrize("n", range(6))
@pytest.mark.parametrize("f", COUNTS)
def test_loops(f, n):
    agrees(f, 1.5, n)


def test_straight():
    agrees(matrix, 1.5, 2.5)
    for f in (rows_are_one, late_binding, list_iterated_while_it_grows):
        agrees(f, 1.5)
    agrees(iterator_gone_through_twice, 1.5)


def list_changed_under_enumerate(x):
    xs = [x, 1.0, 2.0]
    for i, v in enumerate(xs):
        if i < 2:
            xs[i + 1] += v
    return xs[2]


def list_that_grows_under_enumerate(x):
    xs = [x, 1.0]
    for i, v in enumerate(xs):
        if i < 4:
            xs.append(v + i)
    return xs[-1]


def list_changed_under_zip(x):
    xs = [x, 1.0, 2.0]
    total = 0.0
    for i, v in zip(range(3), xs, strict=True):
        if i < 2:
            xs[i + 1] += v
        total += v
    return total


def iterator_gone_through_twice(x):
    numbers = map(lambda v: v * 2, [x, 1.0])  # noqa: C417
    return sum(numbers) + sum(numbers)


def reversed_before_it_grows(x):
    xs = [x, 1.0]
    backwards = reversed(xs)
    xs.append(2.0)
    return sum(i * v for i, v in enumerate(backwards))


def dict_that_grows_under_a_zip(x):
    d = {"a": x, "b": 1.0}
    pairs = zip(d.values(), [2.0, 3.0], strict=False)
    d["c"] = x
    return sum(a * b for a, b in pairs)


def values_seen_later(x):
    d = {"a": x, "b": 1.0}
    values = d.values()
    d["b"] = 5.0
    return sum(values)


def dict_changed_while_gone_through(x):
    d = {"a": x, "b": 1.0}
    total = 0.0
    for k, v in d.items():
        d["b"] = 7.0
        d[k] = v * 2
        total += v
    return total, d["a"], d["b"]


def dict_that_grows(x):
    d = {"a": x}
    total = 0.0
    for _ in d:
        d["b"] = 1.0
        total += 1
    return total


class Open:
    def __init__(self, a):
        self.a = a

    def __getattr__(self, name):
        return 7.0


def attribute_that_a_class_makes(x):
    return getattr(Open(x), "nope", 1.0)


def test_lists_and_dicts_are_seen_as_they_are_at_each_step():
    for f in (values_seen_later, dict_changed_while_gone_through, dict_that_grows):
        agrees(f, 1.5)
    for f in (list_changed_under_enumerate, list_changed_under_zip):
        agrees(f, 1.5)
    agrees(lambda a, b: [a, b, a].count(a), 1.5, 2.5)
    leaves(lambda a, b: [a, b, a].count(a), float("nan"), 2.5)


def test_what_would_be_seen_later_is_refused():
    for f, text in (
        (list_that_grows_under_enumerate, "gone through"),
        (reversed_before_it_grows, "iterator"),
        (dict_that_grows_under_a_zip, "iterator"),
        (attribute_that_a_class_makes, "__getattr__"),
    ):
        with pytest.raises(SourceError, match=text):
            read(f, 1.5)


def condition_that_raises(x, flag):
    if flag:
        kept = [1.0, 1.0, 1.0]
        while kept[1]:
            kept = [1.0]
    return x


def condition_that_raises_after_a_break(x, flag):
    kept = [1.0, 1.0]
    while kept[1]:
        if x > 1 and flag:
            break
        kept = [1.0]
    return x


def test_conditions_that_raise():
    for flag in (False, True):
        agrees(condition_that_raises, 1.5, flag)
        agrees(condition_that_raises_after_a_break, 1.5, flag)
    agrees(lambda flag: flag.real, True)


def test_names_that_differ_are_found_in_any_order():
    """A way may have names that another has not, or the same in another order."""
    one, two, three = object(), object(), object()
    same = {"a": one, "b": two}
    assert [*differing(same, dict(same))] == []
    assert [*differing(same, {"a": one, "b": three})] == ["b"]
    assert [*differing(same, {"b": two, "a": one})] == []
    assert [*differing(same, {"b": three, "a": one})] == ["b"]
    assert sorted(differing(same, {"a": one, "c": three})) == ["b", "c"]
    assert [*differing(same, {"a": one})] == ["b"]
