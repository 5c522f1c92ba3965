"""Long sequences of calls on one graph, each compared with formulas in NumPy.

Leaves change in length and value; passes from several roots, programs, optimizers, training, hooks
and errors come in between. After 32 passes a root keeps a program
(``src/graph/program/kept_program.rs``), so a rule makes many.
"""

from typing import Any

import numpy as np
import pytest
from formulas import Formula, Leaf, below, gradients, value
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

import wyrmling as wy

ROWS, WIDTH = 5, 3
SEEDS = st.integers(0, 2**32 - 1)
LENGTHS = st.sampled_from([1, 2, 3, 4, 5, 6, 7, 40])
WHICH = st.integers(0, 2**16)
"""A choice of one of several things, by its remainder."""

F = Formula
# Steps that build a graph: each makes an array of two with rows (r, q) and two without (c, d). All
# are pairs of a variable and its formula.
MADE: list[Any] = [
    lambda r, q, c, d: (r[0] * q[0], F("multiply", r[1], q[1])),
    lambda r, q, c, d: (np.tanh(r[0]) + q[0], F("add", F("tanh", r[1]), q[1])),
    lambda r, q, c, d: (wy.stop_gradient(r[0]) * q[0], F("multiply", F("stop", r[1]), q[1])),
    lambda r, q, c, d: (r[0][::-1] + q[0], F("add", F("part", r[1], key=BACKWARDS), q[1])),
    lambda r, q, c, d: (r[0] - q[0].mean(axis=0), F("subtract", r[1], F("mean", q[1], axis=0))),
    lambda r, q, c, d: ((r[0] * q[0]).sum(axis=1), F("sum", F("multiply", r[1], q[1]), axis=1)),
    lambda r, q, c, d: (c[0] * d[0] - 0.5, F("subtract", F("multiply", c[1], d[1]), 0.5)),
    lambda r, q, c, d: (
        np.where(c[0] > d[0], c[0], np.sin(d[0])),
        F("where", F("greater", c[1], d[1]), c[1], F("sin", d[1])),
    ),
    lambda r, q, c, d: (r[0][:, 0] + c[0], F("add", F("part", r[1], key=FIRST), c[1])),
    lambda r, q, c, d: (np.cumsum(c[0]) * 0.1, F("multiply", F("cumsum", c[1]), 0.1)),
]
BACKWARDS, FIRST = slice(None, None, -1), (slice(None), 0)


class Sessions(RuleBasedStateMachine):
    """A graph of rows and of numbers for each sample, and the same as formulas."""

    @initialize(seed=SEEDS)
    def build(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        start = [rng.normal(size=shape) for shape in ((ROWS, WIDTH), (WIDTH,), (), (ROWS,))]
        self.parameters: list[Any] = [(wy.Parameter(one), Leaf(one, True)) for one in start]
        data = [rng.normal(size=shape) for shape in ((3, WIDTH), (3,))]
        self.inputs: list[Any] = [(wy.Input(one), Leaf(one)) for one in data]
        ids = [rng.integers(0, ROWS, 3) for _ in range(2)]
        self.ids: list[Any] = [(wy.IndexInput(one), Leaf(one)) for one in ids]
        (table, t), (scale, s), (number, n), (bias, b) = self.parameters
        (x, fx), (y, fy) = self.inputs
        (i, fi), (j, fj) = self.ids
        rows = [(table[one], F("rows", t, f)) for one, f in ((i, fi), (j, fj))]
        rows += [(x * scale, F("multiply", fx, s)), (x, fx)]
        columns = [(bias[i], F("rows", b, fi)), (y * number, F("multiply", fy, n))]
        for kind in rng.integers(0, len(MADE), rng.integers(2, 8)):
            some = [rows[k] for k in rng.integers(0, len(rows), 2)]
            some += [columns[k] for k in rng.integers(0, len(columns), 2)]
            node, formula = MADE[kind](*some)
            (rows if node.ndim == 2 else columns).append((node, formula))
        (r, fr), (c, fc) = rows[-1], columns[-1]
        self.roots: list[Any] = [
            (
                r.sum() + (table * table).mean(),
                F("add", F("sum", fr), F("mean", F("multiply", t, t))),
            ),
            ((c * number).sum(), F("sum", F("multiply", fc, n))),
        ]
        self.nodes = rows + columns + self.roots
        self.programs: list[Any] = []
        self.optimizers = [wy.SGD(lr=0.01, momentum=0.5), wy.Adagrad(lr=0.01), wy.Adam(lr=0.01)]

    def set(self, leaf: Any, new: Any) -> None:
        """Sets a variable, and the leaf of the formulas with it."""
        leaf[0].value = new
        leaf[1].value = np.array(new)

    def forget(self) -> None:
        for parameter, leaf in self.parameters:
            parameter.zero_grad()
            leaf.grad = None

    def add_gradients(self, root: Any, seed: float | None = None) -> None:
        """A pass from a root, whose gradients are added to those that there are."""
        root[0].backward(*([] if seed is None else [np.array(seed)]))
        for leaf, g in gradients(root[1], 1.0 if seed is None else seed).items():
            leaf.grad = g if leaf.grad is None else leaf.grad + g

    def compare(self) -> None:
        """All parameters have the gradients of the formulas."""
        for parameter, leaf in self.parameters:
            found = parameter.grad
            if leaf.grad is None:
                assert found is None
            else:
                self.close(found, leaf.grad)

    def close(self, found: Any, expected: Any) -> None:
        found = found.to_dense() if isinstance(found, wy.SparseGrad) else found
        found = np.zeros(np.shape(expected)) if found is None else found
        np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)
        assert np.shape(found) == np.shape(expected)

    def data(self, rng: np.random.Generator, length: int) -> dict[int, Any]:
        """Values for all inputs, by their numbers."""
        values = [rng.normal(size=(length, *leaf.value.shape[1:])) for _, leaf in self.inputs]
        return dict(enumerate(values + [rng.integers(0, ROWS, length) for _ in self.ids]))

    @rule(seed=SEEDS, length=LENGTHS)
    def other_lengths(self, seed: int, length: int) -> None:
        for at, new in self.data(np.random.default_rng(seed), length).items():
            self.set((self.inputs + self.ids)[at], new)

    @rule(seed=SEEDS, which=WHICH)
    def other_values(self, seed: int, which: int) -> None:
        leaf = (self.inputs + self.parameters)[which % 6]
        self.set(leaf, np.random.default_rng(seed).normal(size=leaf[1].value.shape))

    @rule(which=WHICH, seed=st.sampled_from([None, 2.5]), forgets=st.booleans())
    def pass_from(self, which: int, seed: float | None, forgets: bool) -> None:
        if forgets:
            self.forget()
        self.add_gradients(self.roots[which % 2], seed)
        self.compare()

    @rule(
        which=WHICH,
        seed=SEEDS,
        lengths=st.lists(LENGTHS, min_size=1, max_size=6),
        odd=st.integers(0, 44),
    )
    def many_passes(self, which: int, seed: int, lengths: list[int], odd: int) -> None:
        rng, root = np.random.default_rng(seed), self.roots[which % 2]
        for turn in range(45):
            self.other_lengths(int(rng.integers(2**32)), lengths[turn % len(lengths)])
            if turn % 3:
                self.forget()
            if turn == odd:
                self.one_in_between(which, seed)
            self.add_gradients(root)
            self.compare()
            if turn % 7 == 0:
                self.close(root[0].value, value(root[1]))

    def one_in_between(self, which: int, seed: int) -> None:
        [
            lambda: self.step(which),
            lambda: self.an_error_in_a_hook(which),
            lambda: self.a_length_that_does_not_fit(which),
            lambda: self.an_index_out_of_range(which),
            lambda: self.gradients_as_graphs(which),
            self.all_values,
            lambda: self.pass_from(which + 1, 0.5, False),
            lambda: self.fit(which),
        ][seed % 8]()

    @rule(which=WHICH)
    def step(self, which: int) -> None:
        self.optimizers[which % 3].step([parameter for parameter, _ in self.parameters])
        for parameter, leaf in self.parameters:
            leaf.value = parameter.value

    @rule()
    def all_values(self) -> None:
        for node, formula in self.nodes:
            self.close(node.value, value(formula))

    @rule(which=WHICH)
    def an_error_in_a_hook(self, which: int) -> None:
        handle = self.roots[which % 2][0].register_hook(lambda g: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            self.roots[which % 2][0].backward()
        handle.remove()
        self.compare()

    def refused(self, which: int, leaf: Any, new: Any, error: type[Exception]) -> None:
        """A leaf gets a value that does not fit, and the pass that raises ``error`` for it has to
        leave all gradients as they are.
        """
        root, before = self.roots[which % 2], leaf[1].value
        if leaf[1] not in below(root[1]):
            return
        leaf[0].value = new
        try:
            root[0].backward()
        except error:
            leaf[0].value = before
            self.compare()
        else:
            # A longer input fits if no other leaf's length matters; no index out of range does.
            assert error is ValueError
            leaf[0].value = before
            self.forget()

    @rule(which=WHICH)
    def a_length_that_does_not_fit(self, which: int) -> None:
        leaf = self.inputs[which % 2]
        self.refused(which, leaf, np.concatenate([leaf[1].value, leaf[1].value[:1]]), ValueError)

    @rule(which=WHICH)
    def an_index_out_of_range(self, which: int) -> None:
        leaf = self.ids[which % 2]
        self.refused(which, leaf, leaf[1].value + ROWS, IndexError)

    @rule(which=WHICH)
    def gradients_as_graphs(self, which: int) -> None:
        self.forget()
        root, formula = self.roots[which % 2]
        root.backward(create_graph=True)
        expected = gradients(formula)
        for parameter, leaf in self.parameters:
            found = parameter.grad
            found = found.value if isinstance(found, wy.Variable) else found
            self.close(found, expected.get(leaf, np.zeros(leaf.value.shape)))
        self.forget()

    @rule(which=WHICH)
    def freeze(self, which: int) -> None:
        root, formula = self.roots[which % 2]
        self.programs.append((wy.freeze(root), formula))

    @rule(which=WHICH, seed=SEEDS, length=LENGTHS)
    def run(self, which: int, seed: int, length: int) -> None:
        if not self.programs:
            return
        program, formula = self.programs[which % len(self.programs)]
        data = self.data(np.random.default_rng(seed), length)
        leaves = self.inputs + self.ids
        used = {at for at in data if leaves[at][1] in below(formula)}
        given = {leaves[at][0]: data[at] for at in used}
        instead = {leaves[at][1]: data[at] for at in used}
        self.close(program.run(given), value(formula, instead))
        found, by = program.value_and_grad(given)
        self.close(found, value(formula, instead))
        for leaf, g in gradients(formula, 1.0, instead).items():
            self.close(by[next(one for one, own in self.parameters if own is leaf)], g)

    @rule(which=WHICH)
    def fit(self, which: int) -> None:
        """One step on all samples, which is the same in any order where no place counts."""
        root, formula = self.roots[which % 2]
        columns = {
            one: leaf.value for one, leaf in self.inputs + self.ids if leaf in below(formula)
        }
        if not columns:
            return
        expected, length = gradients(formula), len(next(iter(columns.values())))
        by_place = any(one.operator in ("cumsum", "part") for one in below(formula))
        self.forget()
        wy.fit(root, columns, optimizer=wy.SGD(lr=0.01), batch_size=length, epochs=1, threads=1)
        for parameter, leaf in self.parameters:
            if not by_place:
                self.close(parameter.value, leaf.value - 0.01 * expected.get(leaf, 0.0))
            leaf.value = parameter.value


TestSessions = Sessions.TestCase
TestSessions.settings = settings(
    max_examples=40, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
