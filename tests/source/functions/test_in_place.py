"""What a loop puts into arrays and lists is changed in place on the way back too."""

from __future__ import annotations

import re

import numpy as np

import wyrmling as wy


def filled(x: float, n: int) -> float:
    h = np.zeros(n)
    for t in range(n):
        x = 3.7 * x * (1.0 - x)
        h[t] = x
    return h.sum()


def grown(x: float, n: int) -> float:
    out = []
    for _ in range(n):
        x = 3.7 * x * (1.0 - x)
        out.append(x)
    return sum(out)


def grown_in_front(x: float, n: int) -> float:
    out = []
    for k in range(n):
        x = 3.7 * x * (1.0 - x)
        out.insert(0, x)
        if k % 3 == 2:
            x += 0.1 * out.pop()
    return sum(out) + out[0] * out[-1]


def refilled(x: float, n: int) -> float:
    out = [x, x]
    k = 0
    while k < n:
        x = 3.7 * x * (1.0 - x)
        if x > 0.5:
            out.append(x)
        out[k % 2] = x * out[k % 2]
        k += 1
    return sum(out) + out[0]


def changed_when_grown(x: np.ndarray) -> float:
    out = []
    for v in x:
        out.append(v * 2.0)
    for i in range(len(out)):
        out[i] = out[i] * out[i] + 1.0
    total = 0.0
    for v in out:
        total += v * v
    return total


def looked_back(x: np.ndarray) -> float:
    out = []
    total = 0.0
    for v in x:
        out.append(v * 2.0)
        total += out[-1] * out[0]
    return total


def grown_on_either_way(x: np.ndarray) -> float:
    out = []
    for v in x:
        if v > 0.5:
            out.append(v * v)
        else:
            out.append(v * 3.0)
        out[0] = out[0] * 0.9
    return sum(out) + 0.5


def recurrence(x: np.ndarray) -> float:
    out = [np.float64(1.0)]
    for v in x:
        out.append(0.5 * out[-1] + v * v)
    return out[-1]


def test_an_element_is_read_before_it_is_replaced() -> None:
    reverse = wy.code_adjoint(filled, 0.5, 100)
    found = re.findall(r"(gather|replace_row)\((%\d+), ", reverse)
    assert found[-2:] == [("gather", found[-1][1]), ("replace_row", found[-1][1])], reverse


def test_a_list_that_grows_is_kept_only_where_it_gets_room() -> None:
    assert arrays_kept(wy.code_adjoint(grown, 0.5, 5000)) == 1


def test_a_list_that_grows_in_front_moves_only_where_it_gets_room() -> None:
    blocks = re.split(r"\n(?=\d+\()", wy.code_ir(grown_in_front, 0.5, 5000))
    # Rows are moved where there is no room in front, and the item alone is written after that.
    writes = [(" rows8(" in block, block.count("replace_row")) for block in blocks]
    assert [one for one in writes if one[1]] == [(True, 1), (False, 1)]
    assert arrays_kept(wy.code_adjoint(grown_in_front, 0.5, 5000)) == 1


def test_a_list_that_is_read_and_changed_is_kept_only_where_it_gets_room() -> None:
    x = np.linspace(0.1, 0.9, 20)
    # At each place where it gets room, and once after the loop.
    for f, places in (
        (changed_when_grown, 1),
        (looked_back, 2),
        (recurrence, 1),
        (grown_on_either_way, 2),
    ):
        reverse = wy.code_adjoint(f, x)
        assert arrays_kept(reverse) == places, reverse


def arrays_kept(reverse: str) -> int:
    """How many records of tapes have an array of numbers."""
    arrays = set(re.findall(r"(%\d+): f64\[\d+\]", reverse))
    pushed = [set(names.split(", ")) for names in re.findall(r"push \d+ \(([^)]*)\)", reverse)]
    return sum(bool(names & arrays) for names in pushed)


def test_derivatives_of_what_is_read_and_changed_are_those_of_differences() -> None:
    for f in (changed_when_grown, looked_back, recurrence, grown_on_either_way):
        slope = wy.grad(f, mode="source")
        for n in (0, 1, 2, 9, 33):
            x = np.linspace(0.2, 0.7, n)
            steps = 1e-6 * np.eye(n)
            by_values = [(f(x + h) - f(x - h)) / 2e-6 for h in steps]
            assert np.allclose(slope(x), by_values, rtol=1e-6), (f, n)
            assert np.allclose(slope(x), wy.grad(f, mode="trace")(x), rtol=1e-13), (f, n)


def test_derivatives_are_those_of_differences() -> None:
    for f in (filled, grown, grown_in_front, refilled):
        slope = wy.grad(f, mode="source")
        bend = wy.grad(slope, mode="source")
        for n in (1, 2, 9):
            h = 1e-6
            by_values = (f(0.3 + h, n) - f(0.3 - h, n)) / (2 * h)
            assert np.isclose(slope(0.3, n), by_values, rtol=1e-5), (f, n)
            by_slopes = (slope(0.3 + h, n) - slope(0.3 - h, n)) / (2 * h)
            assert np.isclose(bend(0.3, n), by_slopes, rtol=1e-4), (f, n)


def filled_table(x: np.ndarray, n: int) -> float:
    table = np.zeros((n + 1, len(x) + 1))
    for i in range(1, n + 1):
        for j in range(1, len(x) + 1):
            table[i, j] = table[i - 1, j] * x[j - 1] + np.sin(table[i][j - 1]) + x[0]
    return table[n][len(x)]


def test_elements_of_a_table_are_read_and_changed_alone() -> None:
    x = np.linspace(0.2, 0.7, 5)
    reverse = wy.code_adjoint(filled_table, x, 4)
    # No row is looked up or replaced, and no array is kept of any turn.
    rows = re.findall(r"= (?:gather|replace_row|scatter_rows)\((%\d+), ", reverse)
    assert {re.search(rf"{name}: f64\[(.*?)\]", reverse)[1] for name in rows} <= {"5"}, reverse
    assert "f64[5, 6] = " in reverse
    tables = set(re.findall(r"(%\d+): f64\[5, 6\]", reverse))
    pushed = [set(names.split(", ")) for names in re.findall(r"push \d+ \(([^)]*)\)", reverse)]
    assert not any(names & tables for names in pushed), reverse
