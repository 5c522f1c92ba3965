"""More lists of computed length: what they are made of, and what is made of them."""

import numpy as np

from .case import at

V = np.array([0.5, 1.5, -0.7])


@at(V)
def view_of_what_is_written_later(x):
    h = np.zeros((4, 2))
    out = []
    v = x[1]
    k = 0
    while v > 0.5:
        out.append(h[k])
        h[k, 0] = v * x[0]
        v = v * 0.7
        k += 1
    return np.sum(np.stack(out))


@at(V)
def identity_of_an_item(x):
    out = []
    v = x[1]
    while v > 0.5:
        row = np.zeros(2)
        out.append(row)
        if out[-1] is row:
            v = v * 0.9
        v = v * 0.7
    return v * len(out)


@at(2.0)
def found_in_a_recursion(x):
    def collect(v, out):
        if v > 0.2:
            out.append(v)
            collect(v * 0.5, out)
        return out

    return sum(collect(x, []))


@at(2.0, 5)
def a_list_for_each(x, n):
    total = 0.0
    for i in range(n):
        row = [x * j for j in range(i)]
        total += sum(row) + len(row)
    return total


@at(2.0)
def left_in_a_loop(x):
    out = []
    while True:
        out.append(x)
        if x < 0.2:
            return sum(out) * out[0]
        if x > 1.9:
            x = x * 0.5
            continue
        x = x * 0.8


@at(V, 2.0)
def times_another_array(x, y):
    out = [v * y for v in x]
    return np.sum(np.stack(out) * x)


@at(V)
def comprehension_in_a_comprehension(x):
    return sum([v * w for v in x for w in x if v > w])


@at(V)
def filtered_twice(x):
    positive = [v for v in x if v > 0]
    small = [v * v for v in positive if v < 1]
    return sum(positive) + 3.0 * sum(small)


@at(2.0)
def pairs_of_neighbours(x):
    out = []
    while x > 0.1:
        out.append(x)
        x = x * 0.6
    return sum(b * a for a, b in zip(out, out[1:]))


@at(2.0)
def numbers_of_an_array(x):
    out = []
    while x > 0.1:
        out.append(x)
        x = x * 0.6
    a = np.stack(out)
    total = 0.0
    for v in a:
        total += v * v
    return total + a.sum() * len(a) + a[1:] @ a[:-1] + a.shape[0] + (a > 0.5).sum()


def powers(x):
    out = []
    while x > 0.1:
        out.append(x)
        x = x * 0.6
    return out


@at(2.0, 1.0)
@at(2.0, -1.0)
@at(2.0, 99.0)
@at(2.0, -99.0)
@at(0.05, 0.0)
def inserted_at_a_place(x, y):
    out = powers(x)
    out.insert(int(y), x * x)
    out.insert(0, y)
    return sum(k * v for k, v in enumerate(out)) + len(out)


@at(4.0)
def inserted_in_front(x):
    out = []
    while x > 0.1:
        out.insert(0, x)
        out.insert(-1, x * x)
        x = x * 0.6
    return out[0] + 3.0 * out[1] * out[-1]


@at(2.0, 1.0)
@at(2.0, -1.0)
@at(2.0, 0.0)
@at(2.0, 99.0)
@at(0.05, 0.0)
def deleted_and_taken_out(x, y):
    out = powers(x)
    del out[int(y)]
    first = out.pop(0)
    last = out.pop(-2)
    return first * last + sum(k * v for k, v in enumerate(out)) + len(out)


@at(2.0)
def a_window_of_rows(x):
    rows = []
    while x > 0.1:
        rows.append((x, np.stack([x, x * x])))
        if len(rows) > 3:
            del rows[0]
        x = x * 0.6
    return sum(a * np.sum(b) for a, b in rows) + rows.pop(1)[0]


@at(2.0)
@at(0.05)
def sums_of_lists(x):
    out = powers(x)
    more = out + [x * x]
    both = [x, 1.0] + out + more
    out.append(7.0)
    return sum(k * v for k, v in enumerate(both)) + len(out) * 10 + len(more)


@at(2.0)
@at(0.05)
def a_queue(x):
    waiting = powers(x)
    total = 0.0
    while len(waiting) > 0:
        first = waiting.pop(0)
        total += first * first * (1.0 + total)
        if first > 1.5:
            waiting.append(first * 0.5)
    return total


@at(V)
def items_are_inserted_and_deleted_anywhere(x):
    made = []
    for i in range(len(x)):
        made.insert(i // 2, x[i] * (i + 1))
        made.insert(-1, x[0] + i)
        made.insert(1000, x[i])
        if len(made) > 5:
            del made[-2]
            del made[1]
    total = 0.0
    for k in range(len(made)):
        total += made[k] * (k % 3 + 1)
    return total


@at(V)
def pairs_are_inserted(x):
    made = []
    for i in range(len(x)):
        made.insert(0, (x[i], i))
        made.insert(len(made) // 2, (x[i] * x[0], 2))
    first = made.pop(0)
    return first[0] * sum(value * k for value, k in made)


@at(1.3)
@at(0.2)
def emptied_from_the_front(x):
    rest, first, again = [x, 2 * x], [x, 3 * x], [x * x, x]
    turns = 0
    while turns < 4 and x < 90.0:
        turns += 1
        if rest:
            x = x + 0.1 * rest.pop(0)
        if first:
            del first[0]
        again = again[1:]
        x = x * 1.5 + len(first) + len(again)
    return np.sin(x)


@at(0.7)
@at(1.3)
def one_of_three_in_turn(x):
    weights = [1.0, 2.0, x]
    total = x
    turn = 0
    while total < 10.0:
        total += weights[turn % 3] * x + (x, 0.5)[turn % 2]
        turn += 1
    return total * turn


@at(0.7)
def a_ring(x):
    ring = [x, 2.0 * x, 0.25]
    total = x
    at = 0
    while total < 10.0:
        ring[at % 3], ring[(at + 1) % 3] = ring[(at + 1) % 3], ring[at % 3] * 1.01
        ring[-1 - at % 2] += x
        total += ring[(at + 2) % 3]
        at += 1
    return total + sum(ring) * len(ring)


@at(2.3)
@at(-1.7)
def at_an_index_of_a_float(x):
    items = [x, x * x, 3.0, 0.5]
    other = items
    items[int(x)] = x * 2.0
    return other[int(x)] * (1.0, x)[x > 0.0] + sum(other)


@at(0.7, 2100)
def a_table_of_many(x, n):
    table = [0.0] * n
    table[0] = x
    for i in range(1, n):
        table[i] = min(table[i - 1] * x + 0.5, table[i // 2] + x)
    return sum(table) / n + table[-1]


@at(2.5)
@at(-2.5)
def repeated_as_often_as_computed(x):
    items = [x] * int(x * 2.0)
    pairs = int(abs(x)) * [(x, 1.0)]
    items.append(2.0)
    for i in range(len(pairs)):
        first, second = pairs[i]
        pairs[i] = first * 2.0, second + i
    return sum(items) + len(items) + sum(a * b for a, b in pairs)


@at(1.5)
@at(-2.5)
def slices_and_deletion_at_an_index_of_a_float(x):
    items = [x, 2.0, 3.0, 4.0 * x]
    at = int(x)
    total = sum(items[at:]) + sum(items[:at]) * 2.0
    del items[at]
    items.insert(at, 9.0 * x)
    return total + items.pop(at) + sum(items)


@at(V)
@at(np.array([2.0, 0.4]))
def the_nearest_of_some(x):
    centres = np.array([[0.0, 1.0], [1.0, -1.0], [2.0, 0.5]])
    nearest = np.argmin([np.sum((x[:2] - c) ** 2) for c in centres])
    farthest = np.argmax([abs(x[0] - c[0]) for c in centres])
    return np.sum(centres[nearest] * x[:2]) + centres[farthest, 0] * x[0]


@at(0.7, 4.0)
def many_items_of_which_some_are_looked_up_later(x, n):
    items = [x * i for i in range(20)]
    while n > 0.5:
        items[int(n)] = items[int(n) + 1] * x * x + x * items[int(n) - 1]
        n -= 1.0
    return items[0] * items[1] + items[2] * items[3]


@at(0.7, 4.0)
@at(0.7, 2.0)
def many_items_or_a_part_of_them(x, n):
    items = [(x * i, 1.0) for i in range(20)]
    found = items[: int(n)] if n > 3 else items
    return sum(a**3 * b for a, b in found)


@at(0.3, 10.0)
@at(0.3, 3.0)
@at(0.3, 40.0)
def taken_from_the_front_in_between(x, n):
    items = []
    while n > 0:
        items.append((x * n, n))
        n -= 1.0
    total, turn = 0.0, 0
    while len(items) > 2:
        a, b = items.pop(0)
        del items[0]
        total += a * b + items[0][0] - items[-1][1] * x
        items.append((a * 0.5, b))
        items[0] = (a, x)
        if turn == 3:
            items.insert(1, (x, x))
        if turn % 4 == 2:
            items = items[1:]
        if turn % 7 == 6:
            more = [(x, 2.0)]
            items = items + more
        for c, d in items:
            total += c * d * 0.01
        turn += 1
    return total + sum([a for a, _ in items]) + len(items)


@at(0.3, 7.0)
@at(0.3, 3.0)
def taken_from_the_front_until_none_is_left(x, n):
    items = []
    while n > 0:
        items.append(x * n)
        n -= 1.0
    total = sum(v**2 for v in items[1:])
    try:
        for k in range(5):
            total += items.pop(0) * k
            total += max(items) + sum(a * b for a, b in zip(items, items[1:], strict=False))
    except (IndexError, ValueError):
        total *= 2
    return total + len(items)
