"""Hooks and operators that refer to their own graph are freed with it."""

import gc
import sys
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wyrmling as wy


class Payload:
    """What a circle keeps alive; its references show whether that is so."""

    def __init__(self) -> None:
        self.numbers = np.zeros(100)


def touch(*_held: Any) -> None:
    """What a function calls to refer to something."""


def hook_on_itself(payload: Payload) -> None:
    x = wy.Variable([1.0, 2.0])
    y = (x * 2.0).sum()
    y.register_hook(lambda g: touch(payload, y))
    y.backward()


def hook_on_a_leaf_that_refers_to_the_loss(payload: Payload) -> None:
    x = wy.Parameter([1.0, 2.0])
    y = x * x
    loss = y.sum()
    x.register_hook(lambda g: touch(payload, loss, y))
    loss.backward()


def hook_that_holds_its_own_handle(payload: Payload) -> None:
    x = wy.Variable(1.0)
    held: list[Any] = [payload]
    held.append(x.register_hook(lambda g: touch(held)))


def hooks_across_two_graphs(payload: Payload) -> None:
    x, y = wy.Variable(1.0), wy.Variable(2.0)
    a, b = x * 2.0, y * 3.0
    a.register_hook(lambda g: touch(payload, b))
    b.register_hook(lambda g: touch(payload, a))


def hooks_across_several_nodes(payload: Payload) -> None:
    x = wy.Variable(1.0)
    a = x * 2.0
    b = a + x
    c = a * b
    nodes = [x, a, b, c]
    for node in nodes:
        node.register_hook(lambda g: touch(payload, nodes))
    c.backward()


def a_variable_in_an_intermediate(payload: Payload) -> None:
    """The node that has the hook has no object of its own."""
    x = wy.Variable([1.0])
    y = x * 2.0
    z = (y + 1.0).sum()
    y.register_hook(lambda g: touch(payload, z))
    del y
    z.backward()


def primitive_on_its_result(payload: Payload) -> None:
    results = []

    @wy.primitive
    def double(x: Any) -> Any:
        return 2.0 * np.asarray(x) + 0.0 * len(results) + 0.0 * payload.numbers[0]

    double.defvjp(lambda g, ans, x: 2.0 * g)
    x = wy.Variable([1.0, 2.0])
    y = double(x)
    results.append(y)
    results.append(double(y))
    y.sum().backward()


def checkpoint_on_its_result(payload: Payload) -> None:
    results = []
    f = wy.checkpoint(lambda x: x * 2.0 + 0.0 * len(results) + 0.0 * payload.numbers[0])
    results.append(f(wy.Variable(1.0)))


def a_gradient_that_is_a_graph(payload: Payload) -> None:
    x = wy.Variable(2.0)
    y = x * x * x
    x.register_hook(lambda g: touch(payload, x))
    y.backward(create_graph=True)
    slope = x.grad
    slope.register_hook(lambda g: touch(payload, slope, x))


def attribute_of_a_subclass(payload: Payload) -> None:
    class Named(wy.Variable):
        pass

    x = Named([1.0])
    x.me = x
    x.payload = payload
    x.register_hook(lambda g: touch(x))


def an_assigned_variable(payload: Payload) -> None:
    x = wy.Variable([1.0, 2.0]) * 1.0
    x.register_hook(lambda g: touch(payload, x))
    x[0] = 3.0
    x.register_hook(lambda g: touch(payload, x))


CIRCLES: list[Callable[[Payload], None]] = [
    hook_on_itself,
    hook_on_a_leaf_that_refers_to_the_loss,
    hook_that_holds_its_own_handle,
    hooks_across_two_graphs,
    hooks_across_several_nodes,
    a_variable_in_an_intermediate,
    primitive_on_its_result,
    checkpoint_on_its_result,
    a_gradient_that_is_a_graph,
    attribute_of_a_subclass,
    an_assigned_variable,
]


@pytest.mark.parametrize("circle", CIRCLES, ids=lambda circle: circle.__name__)
def test_a_circle_that_nobody_else_holds_is_freed(circle: Callable[[Payload], None]) -> None:
    gc.collect()
    alive: list[weakref.ref[Payload]] = []
    for _ in range(2000 // len(CIRCLES)):
        payload = Payload()
        alive.append(weakref.ref(payload))
        circle(payload)
        del payload
    gc.collect()
    gc.collect()
    assert sum(ref() is not None for ref in alive) == 0


def test_memory_stays_flat_over_thousands_of_circles() -> None:
    resource = pytest.importorskip("resource")

    def peak() -> int:
        return int(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)

    def some(count: int) -> None:
        for _ in range(count):
            payload = Payload()
            payload.numbers = np.ones(5000)
            hook_on_a_leaf_that_refers_to_the_loss(payload)
            primitive_on_its_result(payload)
        gc.collect()

    some(200)
    before = peak()
    for _ in range(9):
        some(200)
    # 1,800 more would be 72 MB.
    unit = 1 if sys.platform == "darwin" else 1024
    assert (peak() - before) * unit < 24e6


def test_a_collection_takes_nothing_from_what_is_in_use() -> None:
    """Hooks and operators go on as before when collections have run, also within them."""
    x = wy.Variable([1.0, 2.0])
    seen: list[str] = []

    @wy.primitive
    def triple(v: Any) -> Any:
        gc.collect()
        seen.append("call")
        return 3.0 * v

    def rule(g: Any, ans: Any, v: Any) -> Any:
        gc.collect()
        seen.append("rule")
        return 3.0 * g

    def hook(g: Any) -> Any:
        gc.collect()
        seen.append("hook")
        return 2.0 * g

    triple.defvjp(rule)
    a = x * 1.0
    a.register_hook(hook)
    b = triple(a)
    kept = b.sum() + a.sum()
    program = wy.freeze(triple(wy.Parameter([1.0, 1.0])).sum())
    del a, b
    for k in range(3):
        gc.collect()
        seen.clear()
        x.zero_grad()
        kept.backward()
        assert seen == ["rule", "hook"]
        assert x.grad.tolist() == [8.0, 8.0]
        x.value = [float(k), 1.0]
        assert kept.item() == 4.0 * (k + 1.0)
        assert program.run() == 6.0


def test_what_a_finalizer_does_within_a_collection_is_no_danger() -> None:
    """The collector runs finalizers while graphs are shown to it."""
    x = wy.Variable([1.0, 2.0])
    y = (x * x).sum()
    handle = y.register_hook(lambda g: 1.0 * g)
    done: list[Any] = []

    class Last:
        def __del__(self) -> None:
            x.zero_grad()
            y.backward()
            done.append(x.grad.tolist())
            z = (y * 2.0).sum()
            z.register_hook(lambda g: touch(z))

    for _ in range(3):
        last: Any = Last()
        last.me = last
        del last
        gc.collect()
    assert done == [[2.0, 4.0]] * 3
    handle.remove()
    gc.collect()
    x.zero_grad()
    y.backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_deep_graph_with_a_hook_is_shown_without_recursion() -> None:
    def build() -> tuple[Any, Any]:
        x = wy.Variable(1.0)
        kept = []
        y = x
        for _ in range(20_000):
            y = y + 1.0
            kept.append(y)
        x.register_hook(lambda g: touch(kept))
        return x, y

    x, y = build()
    gc.collect()
    y.backward()
    assert x.grad == 1.0
    held = weakref.ref(x)
    del x, y
    gc.collect()
    assert held() is None
