"""Tuples, lists and dicts as values: items, slices, mutation and aliases."""

import math

from .case import at


@at(1.5)
def tuple_items(x):
    t = (x, x * x, 3.0)
    return t[0] * t[-1] + t[1]


@at(1.5)
def tuple_slices(x):
    t = (x, x * x, 3.0, x + 1)
    a, b = t[1:3]
    return a * b + sum(t[::-2]) + len(t[5:])


@at(1.5)
def tuples_joined(x):
    t = (x, 2.0) + (x * x,) * 2
    return t[0] * t[3] + len(t)


@at((1.5, 2.5))
def tuple_argument(t):
    return t[0] * t[1] ** 2


@at(((1.5, 2.5), [0.5]))
def nested_argument(t):
    (a, b), [c] = t
    return a * b + c * a


@at(1.5)
def nested_tuples(x):
    t = ((x, 2.0), (x * x, (3.0, x)))
    return t[0][0] * t[1][1][1] + t[1][0]


@at(1.5, 1)
@at(1.5, -1)
@at(1.5, 3)
def index_from_an_argument(x, i):
    t = (x, x * x, 3.0)
    return t[i] * 2


@at(1.5)
def returned_tuple(x):
    return x * x, 3 * x


@at(1.5)
def returned_list(x):
    return [x * x, x]


@at(1.5)
def returned_dict(x):
    return {"a": x * x, "b": (x, 2.0)}


@at(1.5)
def list_items(x):
    a = [x, 2.0, x * x]
    a[1] = a[0] * a[2]
    a[-1] += 1
    return a[0] + a[1] * a[2]


@at(1.5)
def index_is_out_of_range(x):
    a = [x, 2.0]
    return a[2]


@at(1.5)
def assignment_is_out_of_range(x):
    a = [x, 2.0]
    a[5] = x
    return a[0]


@at(1.5)
def append_and_pop(x):
    a = [x]
    a.append(x * x)
    a.append(3.0)
    b = a.pop()
    c = a.pop(0)
    return b * c + a[0] + len(a)


@at(1.5)
def extend_and_insert(x):
    a = [x]
    a.extend([x * x, 2.0])
    a.insert(0, 5.0)
    a += [x + 1]
    return a[0] * a[1] + a[2] * a[4]


@at(1.5)
def pop_of_an_empty_list(x):
    a = []
    return x * a.pop()


@at(1.5)
def other_methods_of_lists(x):
    a = [x, 3.0, 2.0]
    a.reverse()
    b = a.copy()
    b.remove(3.0)
    a.sort()
    return a[0] * 2 + b[0] * b[1] + a.index(3.0) + a.count(2.0)


@at(1.5)
def list_slices(x):
    a = [x, 2.0, x * x, 4.0]
    b = a[1:]
    b[0] = 100.0
    return a[1] * b[1] + b[0] + sum(a[:2])


@at(1.5)
def slice_assignment(x):
    a = [x, 2.0, 3.0]
    a[1:] = [x * x, x, 5.0]
    return a[1] * a[2] + a[3]


@at(1.5)
def deletion_of_items(x):
    a = [x, 2.0, x * x]
    del a[1]
    return a[1] * len(a)


@at(1.5)
def alias_of_a_list(x):
    a = [x, 2.0]
    b = a
    b[0] = x * x
    return a[0] + b[1] + (a is b)


@at(1.5)
def list_in_two_places(x):
    inner = [x]
    outer = [inner, inner]
    outer[0][0] = x * x
    return outer[1][0] + inner[0]


@at(1.5)
def repeated_inner_list(x):
    rows = [[0.0]] * 3
    rows[0][0] += x
    rows[1][0] += x * x
    return rows[2][0] * 2


@at(1.5)
def callee_changes_a_list(x):
    def change(a):
        a[0] = a[0] * x
        a.append(7.0)

    values = [x, 2.0]
    change(values)
    return values[0] * len(values) + values[2]


@at([1.5, 2.5])
def argument_is_changed(values):
    values[0] = values[0] * values[1]
    return values[0] + values[1]


@at([1.5, 2.5])
def argument_grows(values):
    values.append(3.0)
    return values[0] * values[2]


@at(1.5)
@at(-1.5)
def changed_on_a_branch(x):
    a = [x, 2.0]
    if x > 0:
        a[0] = x * x
    else:
        a[1] = x
    return a[0] * a[1]


@at(1.5)
@at(-1.5)
def grown_on_a_branch(x):
    a = [x]
    if x > 0:
        a.append(x * x)
    return sum(a) * len(a)


@at(1.5)
@at(-1.5)
def alias_on_a_branch(x):
    a, b = [x], [2.0]
    c = a if x > 0 else b
    c[0] = c[0] * 10
    return a[0] + b[0] * x


@at(1.5, 4)
def changed_in_a_loop(x, n):
    a = [x, 1.0, 0.0]
    for i in range(n):
        a[0] = a[0] * 0.5 + a[1]
        a[2] += a[0] * i
    return a[2]


@at(1.5, 5)
def grown_in_a_loop(x, n):
    a = []
    for i in range(n):
        a.append(x * i)
    return sum(a) + a[-1] * len(a)


@at(1.5, 7)
def item_by_a_computed_index(x, n):
    a = [x, x * x, 1.0]
    total = 0.0
    for i in range(n):
        total += a[i % 3] * i
    return total


@at(1.5, 7)
def item_assigned_by_a_computed_index(x, n):
    a = [x, x * x, 1.0]
    for i in range(n):
        a[i % 3] = a[(i + 1) % 3] * 0.5 + i
    return a[0] + 2 * a[1] + 3 * a[2]


@at(1.5)
def list_as_a_stack(x):
    stack = [x]
    total = 0.0
    while stack:
        y = stack.pop()
        total += y
        if y > 0.3:
            stack.append(y * 0.5)
            stack.append(y * 0.25)
    return total


@at(1.5)
def dict_items(x):
    d = {"a": x, "b": 2.0}
    d["a"] = d["a"] * d["b"]
    d["c"] = x
    return d["a"] + d["c"] * len(d)


@at({"w": 1.5, "b": 0.5})
def dict_argument(p):
    return p["w"] * 3 + p["b"] * p["w"]


@at(1.5)
def key_is_missing(x):
    d = {"a": x}
    return d["b"]


@at(1.5)
def dict_methods(x):
    d = dict(a=x, b=2.0)
    d.update({"b": x * x})
    e = d.pop("a")
    f = d.get("z", 4.0) + d.setdefault("y", x)
    return e * d["b"] + f + ("y" in d) + ("q" not in d)


@at(1.5)
def dict_with_other_keys(x):
    d = {0: x, 1: x * x, (1, 2): 3.0, None: x}
    return d[0] * d[1] + d[(1, 2)] * d[None]


@at(1.5, 1)
def dict_by_a_computed_key(x, k):
    d = {0: x, 1: x * x, 2: 3.0}
    return d[k] * d[k + 1]


@at(1.5)
def merged_dicts(x):
    d = {"a": x, "b": 2.0} | {"b": x * x}
    e = {**d, "c": 3.0}
    return e["a"] * e["b"] * e["c"]


@at(1.5)
def sets_of_constants(x):
    return x * 2 if 3 in {1, 2, 3} else x


@at(1.5)
def star_in_displays(x):
    a = [x, *(2.0, x * x), *[]]
    t = (*a, 1.0)
    return t[0] * t[1] * t[2] + len(t)


@at(1.5)
def min_max_and_sum_of_lists(x):
    a = [x, 2.0, x * x, -1.0]
    return max(a) * min(a) + sum(a) + max([1, 2])


@at(1.5)
def max_by_a_key(x):
    a = [(1.0, x), (2.0, -3.0)]
    return max(a, key=lambda p: p[1])[0] * x + min([x, -2.0], key=abs)


@at(1.5)
def empty_max(x):
    return x + max([])


@at(1.5)
def zip_and_list(x):
    pairs = list(zip([x, 2.0], (x * x, 3.0)))
    return pairs[0][1] * pairs[1][0] + len(pairs)


@at(1.5)
def matrix_of_lists(x):
    m = [[x, 1.0], [2.0, x * x]]
    return m[0][0] * m[1][1] - m[0][1] * m[1][0]


@at([[1.5, 2.0], [0.5, 3.0]])
def product_of_list_matrices(m):
    n = len(m)
    p = [[0.0] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(n):
                p[i][j] += m[i][k] * m[k][j]
    return p[0][0] + p[0][1] * p[1][0] - p[1][1]


@at(1.5)
def equality_of_containers(x):
    return x * ([1, 2] == [1, 2]) + ((x, 1) == (x, 1)) + ([x] != [2.0])


@at(1.5)
def dict_updated_in_place(x):
    d = {"a": x, "b": 2.0}
    same = d
    d |= {"b": x * x, "c": 3.0 * x}
    return same["a"] * same["b"] + d["c"] * len(same)


EDGES = {"a": ["b", "c"], "b": ["c", "d"], "c": ["a"], "d": []}


@at(1.5)
def set_that_grows(x):
    seen, waiting, total = {"a"}, ["a"], 0.0
    for _ in range(4):
        node = waiting.pop(0)
        total = total * x + math.sin(x * len(seen))
        for other in EDGES[node]:
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    seen.discard("a")
    seen.discard("none")
    return total * len(seen) + ("b" in seen) * x + ("a" in seen)
