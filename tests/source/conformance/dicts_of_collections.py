"""``defaultdict``, ``Counter`` and ``OrderedDict`` that a function makes."""

import copy
from collections import Counter, OrderedDict, defaultdict

import numpy as np

from .case import at


@at(1.3, 0.7)
def sums_by_key(x, y):
    sums = defaultdict(float)
    for key, value in [("a", x), ("b", y), ("a", x * y)]:
        sums[key] += value
    return sums["a"] * sums["b"] + sums["c"] + len(sums)


@at(1.3, 0.7)
def lists_by_key(x, y):
    groups = defaultdict(list)
    for label, value in zip([0, 1, 0, 1], [x, y, x * y, x + y], strict=True):
        groups[label].append(value)
    return sum((sum(group) / len(group)) ** 2 for group in groups.values())


@at(1.3, 0.7)
def factory_that_counts(x, y):
    n = 0

    def make():
        nonlocal n
        n += 1
        return x * n

    made = defaultdict(make)
    return (made["p"] + made["q"] + made["p"]) * y + n


@at(1.3, 0.7)
def factory_of_factories(x, y):
    d = defaultdict(lambda: defaultdict(float))
    d["u"]["v"] += x
    d["u"]["v"] += y
    d["w"]["v"] += x * y
    return d["u"]["v"] * d["w"]["v"] + sum(d["u"].values())


@at(1.3)
def asked_for_without_making(x):
    d = defaultdict(float)
    d["a"] = x
    return d.get("z", 2.0) * d["a"] + len(d) * x + ("z" in d) + d.pop("z", x)


@at(1.3)
def without_a_factory(x):
    d = defaultdict(None, a=x)
    try:
        return d["b"]
    except KeyError:
        return d["a"] ** 2


@at(np.array([1.0, 2.0, 3.0]))
def keys_of_a_loop(x):
    sums = defaultdict(float)
    for i, value in enumerate(x):
        sums[i % 2] += value * value
    return sums[0] * sums[1]


@at(1.3, 0.7)
@at(-1.3, 0.7)
def one_key_on_two_ways(x, y):
    d = defaultdict(float)
    if x > 0:
        d["a"] += x
    else:
        d["a"] += y * y
    return d["a"] * 2


@at(1.3, 0.7)
def copies_of_one(x, y):
    d = defaultdict(list)
    d["a"].append(x)
    e, f = copy.copy(d), d.copy()
    e["a"].append(y)
    f["b"].append(x)
    return sum(d["a"]) * len(d) + len(e) + len(f)


@at(1.3, 0.7)
def classes_of_dicts(x, y):
    d, c, o = defaultdict(float, a=x), Counter(), OrderedDict()
    found = isinstance(d, dict) + 2 * isinstance(c, Counter) + 4 * (type(o) is OrderedDict)
    return x * (found + 8 * isinstance({}, defaultdict)) + dict(**d, b=y)["b"] * d.default_factory(
        2
    )


@at(1.3)
def keys_change_while_gone_through(x):
    d = defaultdict(float, a=1.0)
    for _ in d:
        d["b"] += x
    return x


@at(1.3)
def factory_that_cannot_be_called(x):
    return defaultdict(3)["a"] * x


@at(1.3, 0.7)
def counts_of_letters(x, y):
    c = Counter("hello")
    c.update("lo")
    c["z"] += 2
    return x * c["l"] + y * c["o"] + c["missing"] * x + sum(c.values()) + len(c)


@at(1.3, 0.7)
def counts_that_are_numbers(x, y):
    c = Counter(a=1)
    c.update({"a": x, "b": y})
    c.update(b=2, c=x * y)
    c.subtract({"a": y})
    c.subtract("ab")
    return c["a"] * c["b"] + c["c"]


@at(1.3, 0.7)
def counters_added(x, y):
    c, d = Counter(a=3, b=1) + Counter(a=1, b=2), Counter(a=3, b=1) - Counter(a=1, b=2)
    return x * c["a"] + y * c["b"] + d["a"] * x * y + len(d) + c.total()


@at(1.3)
def most_common_letters(x):
    c = Counter("abracadabra")
    (first, n), (second, m) = c.most_common(2)
    rest = len(c.most_common()) + len(c.most_common(0)) + len([*c.elements()])
    return x**n + x * m + (first + second == "ab") + rest


@at(1.3)
def deleted_from_a_counter(x):
    c = Counter("aab")
    del c["zz"]
    del c["a"]
    return x * len(c)


@at(1.3, 0.7)
def ordered(x, y):
    d = OrderedDict([("a", x), ("b", y)])
    d.move_to_end("a")
    key, first = d.popitem(last=False)
    d[key] = x * y
    d.move_to_end("b", last=False)
    return first * 2 + list(d.values())[0] * x + d.popitem()[1] * 3 + len(d)


@at(1.3, 0.7)
def dict_of_pairs(x, y):
    d = dict([("a", x), ["b", y]])
    d.update([("c", x)])
    d.update(zip("de", (x, y), strict=True))
    key, last = d.popitem()
    return sum(d.values()) * last + len(key)


@at(1.3, 0.7)
def united_in_place_with_pairs(x, y):
    d = {"a": x}
    d |= [("a", y), ("b", x)]
    return d["a"] * d["b"]


@at(1.3)
def stars_before_pairs(x):
    return {**[("a", x)]}["a"]


@at(1.3)
def united_with_pairs(x):
    return ({"b": x} | [("a", x)])["a"]


@at(1.3)
def pair_of_three(x):
    return dict([("a", x, 1)])["a"]


@at(1.3)
def item_of_an_empty_dict(x):
    try:
        return {}.popitem()[1]
    except KeyError:
        return x * 2


@at(1.3, 0.7)
def united_with_a_dict(x, y):
    d = defaultdict(float, a=x) | {"b": y}
    return d["a"] * d["b"] + d["c"]


@at(1.3)
def compared_counters(x):
    return x * x if Counter("ab") == Counter("ba") else x


@at(1.3)
def added_in_place_to_a_counter(x):
    c = Counter(a=1)
    same = c
    c += Counter(a=2)
    return x * same["a"]


@at(1.3)
def grows_in_a_loop(x):
    sums, rest = defaultdict(float), x
    while abs(rest) > 0.1:
        sums["n"] += rest
        rest = rest * 0.5
    return rest * sums["n"]
