"""The state of optimizers as arrays by name: it is copied, put back, and compared first."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optimizer_states import OPTIMIZERS, state_bits

import wyrmling as wy


@settings(max_examples=40, deadline=None)
@given(
    kind=st.sampled_from(sorted(OPTIMIZERS)),
    dtype=st.sampled_from([np.float32, np.float64]),
    shape=st.sampled_from([(), (1,), (4,), (3, 2), (2, 0), (2, 3, 2)]),
    steps=st.integers(0, 4),
    rate=st.floats(1e-6, 1.0),
)
def test_state_is_copied_and_put_back(
    kind: str, dtype: Any, shape: tuple[int, ...], steps: int, rate: float
) -> None:
    rng = np.random.default_rng(0)
    first = wy.Parameter(rng.normal(size=shape).astype(dtype), name="users")
    optimizer = OPTIMIZERS[kind]()

    def step(parameter: wy.Parameter, by: wy.Optimizer, target: float) -> None:
        parameter.zero_grad()
        ((parameter - dtype(target)) ** 2).sum().backward()
        by.step([parameter])

    for k in range(steps):
        step(first, optimizer, float(k))
    optimizer.lr = rate
    state = optimizer.state_dict({"w": first})
    copy = {k: np.array(v, copy=True) for k, v in state["state"]["w"].items()}
    second = wy.Parameter(first.value, name="users")
    other = OPTIMIZERS[kind]()
    other.load_state_dict(state, {"w": second})
    assert other.lr == rate
    for k in range(3):
        step(first, optimizer, 7.0 - k)
        step(second, other, 7.0 - k)
    np.testing.assert_array_equal(first.value, second.value)
    # What was given out is a copy, and what was taken in as well.
    for key, value in state["state"]["w"].items():
        np.testing.assert_array_equal(value, copy[key])


def test_arrays_are_those_of_the_formulas() -> None:
    w = wy.Parameter(np.array([[1.0, -2.0], [0.5, 4.0], [0.25, 0.125]]))
    gradient = np.array([[2.0, -4.0], [0.0, 0.0], [0.5, 0.25]])
    made = [wy.SGD(lr=0.1, momentum=0.5), wy.Adagrad(lr=0.1), wy.Adam(beta1=0.5, beta2=0.75)]
    plain = wy.SGD(lr=0.1).state_dict([w])
    assert plain["state"] == {"0": {"l2": 0.0}}
    found = []
    for optimizer in made:
        w.zero_grad()
        value = w.value
        (w[wy.IndexInput([0, 2])] ** 2).sum().backward()
        optimizer.step([w])
        w.value = value
        found.append(optimizer.state_dict([w])["state"]["0"])
    momentum, adagrad, adam = found
    np.testing.assert_array_equal(momentum["momentum_buffer"], gradient)
    np.testing.assert_array_equal(adagrad["sum"], gradient**2)
    np.testing.assert_array_equal(adam["exp_avg"], gradient / 2)
    np.testing.assert_array_equal(adam["exp_avg_sq"], gradient**2 / 4)
    np.testing.assert_array_equal(adam["step"], [1.0, 0.0, 1.0])


def changed(**parts: Any) -> Any:
    def change(state: Any) -> Any:
        return state | parts

    return change


def in_settings(**parts: Any) -> Any:
    return lambda state: state | {"settings": state["settings"] | parts}


def in_state(**parts: Any) -> Any:
    return lambda state: state | {"state": {"w": state["state"]["w"] | parts}}


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        (lambda state: 3, TypeError, "expected a dict of"),
        (lambda state: {}, TypeError, "expected a dict of"),
        (changed(more=1), TypeError, "expected a dict of"),
        (changed(optimizer="SGD"), ValueError, "it is of SGD, expected that of Adam"),
        (changed(settings=3), TypeError, "settings: expected a dict"),
        (in_settings(beta1=0.5), ValueError, "beta1 is 0.5 in the state, and 0.9"),
        (in_settings(more=0.5), ValueError, "settings: it has an unknown 'more'"),
        (in_settings(lr=-1.0), ValueError, "lr: expected a finite number of at least 0"),
        (in_settings(lr=float("nan")), ValueError, "lr: expected a finite number of at least 0"),
        (in_settings(lr=[0.5]), TypeError, r"lr is \[0.5\], expected a float"),
        (in_settings(lr=object()), TypeError, "settings and l2: expected numbers"),
        (in_settings(beta1=True), ValueError, "beta1 is true in the state, and 0.9"),
        (changed(settings={1: 2}), TypeError, "settings: expected texts as keys, got 1"),
        (in_settings(lr="a"), TypeError, "lr is 'a', expected a float"),
        (changed(state=[]), TypeError, "state: expected a dict"),
        (changed(state={}), ValueError, "state: it has no 'w'"),
        (lambda s: s | {"state": s["state"] | {"v": {}}}, ValueError, "an unknown 'v'"),
        (in_state(l2=0.5), ValueError, "l2 of 'w' is 0.5"),
        (in_state(l2=None), ValueError, "l2 of 'w' is None in the state, and 0.0"),
        (in_state(more=0.5), ValueError, "tensors: it has an unknown 'state.w.more'"),
        (in_state(step=np.zeros(3)), ValueError, r"step: expected shape \(2,\), got \(3,\)"),
        (in_state(exp_avg=np.zeros((2, 3), np.float32)), TypeError, "one of dtype float32"),
        (in_state(exp_avg="text"), TypeError, "of dtype float64, got str"),
        (in_state(exp_avg=np.zeros((3, 2))), ValueError, "exp_avg: expected shape"),
    ],
)
def test_what_does_not_fit_changes_nothing(change: Any, error: Any, text: str) -> None:
    w = wy.Parameter(np.ones((2, 3)))
    optimizer = wy.Adam(lr=0.25)
    (w**2).sum().backward()
    optimizer.step([w])
    before = state_bits(optimizer, {"w": w})
    other = wy.Adam(lr=0.5)
    given = change(other.state_dict({"w": w}))
    with pytest.raises(error, match=text):
        optimizer.load_state_dict(given, {"w": w})
    assert state_bits(optimizer, {"w": w}) == before


@pytest.mark.parametrize(
    ("parameters", "error", "text"),
    [
        (3, TypeError, "expected a dict or list of Parameters, got int"),
        ("w", TypeError, "expected a dict or list of Parameters, got str"),
        (wy.Parameter(1.0), TypeError, "got Parameter"),
        ([wy.Input(1.0)], TypeError, "'0': expected a Parameter, got Input"),
        ({3: wy.Parameter(1.0)}, TypeError, "expected names, got 3"),
        ([wy.Parameter(1.0)] * 2, ValueError, "'0' and '1' are the same Parameter"),
        (itertools.repeat(wy.Parameter(1.0)), ValueError, "are the same Parameter"),
        (itertools.count(), TypeError, "'0': expected a Parameter, got int"),
    ],
)
def test_what_are_no_parameters_is_refused(parameters: Any, error: Any, text: str) -> None:
    for call in (
        wy.SGD(lr=0.1).state_dict,
        lambda given: wy.SGD(lr=0.1).load_state_dict({}, given),
        lambda given: wy.save_checkpoint("/nowhere/at/all", given, wy.SGD(lr=0.1)),
        lambda given: wy.load_checkpoint("/nowhere/at/all", given, wy.SGD(lr=0.1)),
    ):
        with pytest.raises(error, match=text):
            call(parameters)


def test_state_cannot_change_under_a_run() -> None:
    w, x = wy.Parameter(0.5), wy.Input([0.0])
    optimizer = wy.Adam()
    state = optimizer.state_dict([w])

    def load(epoch: int, history: wy.History) -> None:
        optimizer.load_state_dict(state, [w])

    with pytest.raises(RuntimeError, match="being trained"):
        wy.fit((w - x) ** 2, {x: [1.0]}, optimizer=optimizer, callback=load)


@pytest.mark.parametrize("kind", ["momentum", "adagrad", "adam"])
def test_state_that_no_training_leaves_is_refused(kind: str) -> None:
    w = wy.Parameter([0.5, 1.0], name="w")
    optimizer = OPTIMIZERS[kind]()
    bad = {"sum": [-1.0], "exp_avg_sq": [-1e-30], "step": [-1.0, 0.5]}
    for slot in optimizer.state_dict([w])["state"]["0"].keys() - {"l2"}:
        for number in [np.nan, np.inf, -np.inf, *bad.get(slot, [])]:
            state = optimizer.state_dict([w])
            state["settings"]["lr"] = 0.5
            state["state"]["0"][slot][-1] = number
            before = state_bits(optimizer, [w])
            with pytest.raises(ValueError, match=rf"state of '0': {slot} (has|is not whole)"):
                optimizer.load_state_dict(state, [w])
            assert state_bits(optimizer, [w]) == before


def test_each_of_many_parameters_has_its_own_state() -> None:
    of = {f"w{number}": wy.Parameter(float(number)) for number in range(5000)}
    optimizer = wy.SGD(lr=0.5, momentum=0.5)
    state = optimizer.state_dict(of)
    for number, one in enumerate(state["state"].values()):
        one["momentum_buffer"] = np.asarray(float(number))
    # What is found by name need not come in the order of the parameters.
    state["state"] = dict(reversed(state["state"].items()))
    optimizer.load_state_dict(state, of)
    found = optimizer.state_dict(of)["state"]
    assert [float(found[name]["momentum_buffer"]) for name in of] == list(range(5000))
