"""Instances of classes that are differentiated by: their gradients are instances of the class."""

import abc
import collections
import copy
import dataclasses
import enum
import functools
import gc
import threading
import weakref

import numpy as np
import pytest
from outcomes import outcome

import wyrmling as wy

MODES = ("trace", "source", "auto")


class Kind(enum.Enum):
    SMOOTH = 1.5
    ROUGH = 2.5


@dataclasses.dataclass(frozen=True)
class Layer:
    weights: np.ndarray
    bias: float = 0.5
    name: str = "layer"
    activation: object = np.tanh

    def __call__(self, x):
        return self.activation(x @ self.weights + self.bias)


@dataclasses.dataclass
class Net:
    layers: list
    scale: float
    repeats: int = 2
    kind: Kind = Kind.SMOOTH
    sizes: tuple = (2, 2)
    extra: dict = dataclasses.field(default_factory=lambda: {"rate": 2.0, "steps": 3})

    def __post_init__(self):
        if not isinstance(self.scale, float):
            raise TypeError("a scale is a float")

    def __call__(self, x):
        total = 0.0
        for _ in range(self.repeats):
            for layer in self.layers:
                total = total + np.sum(layer(x))
        return total * self.scale * self.extra["rate"] * self.kind.value


class Plain:
    """A class whose instances are what ``__init__`` makes of them."""

    shared = 3.0

    def __init__(self, weight, count=2):
        self._weight = weight
        self.count = count
        self.single = np.float32(1.5)
        self.nothing = None

    @property
    def weight(self):
        return self._weight

    def __call__(self, x):
        return self.weight**2 * x * self.shared * self.count


class Slots:
    __slots__ = ("first", "second", "third")

    def __init__(self, first, second):
        self.first, self.second = first, second


class Both(Slots):
    def __init__(self, first, second):
        super().__init__(first, second)
        self.fourth = first * 2


class Abstract(abc.ABC):
    @abc.abstractmethod
    def area(self):
        """The area."""


@dataclasses.dataclass
class Square(Abstract):
    side: float

    def area(self):
        return self.side * self.side


@dataclasses.dataclass
class Box(Square):
    height: float = 2.0

    def area(self):
        return super().area() * self.height


def net():
    w = np.array([[0.1, 0.2], [-0.3, 0.4]])
    return Net([Layer(w), Layer(2 * w, bias=1.0)], 3.0)


X = np.array([0.1, 0.7])


def apply(model, x):
    return model(x)


def twice(call):
    """What two calls give: the second may be another way to the same."""
    found = [call(), call()]
    assert repr(found[0]) == repr(found[1])
    return found[0]


@pytest.mark.parametrize("mode", MODES)
def test_a_gradient_is_an_instance_with_none_for_what_has_none(mode):
    value, g = twice(lambda: wy.value_and_grad(apply, mode=mode)(net(), X))
    assert value == pytest.approx(apply(net(), X))
    assert type(g) is Net
    assert type(g.layers) is list
    assert type(g.layers[0]) is Layer
    assert (g.repeats, g.kind, g.sizes, g.extra["steps"]) == (None, None, None, None)
    assert (g.layers[1].name, g.layers[1].activation) == (None, None)
    assert g.scale == pytest.approx(value / 3.0)
    assert g.extra["rate"] == pytest.approx(value / 2.0)
    assert type(g.scale) is float
    assert g.layers[0].weights.shape == (2, 2)
    moved = net()
    moved.layers[1].weights[0, 1] += 1e-6
    slope = (apply(moved, X) - value) / 1e-6
    assert g.layers[1].weights[0, 1] == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize("mode", MODES)
def test_every_transform_takes_instances(mode):
    def value(model):
        return model(X)

    g = wy.grad(value, mode="trace")(net())
    direction = wy.grad(lambda m: m(X) + m.scale, mode="trace")(net())
    same = functools.partial(pytest.approx, rel=1e-12)

    def numbers(model):
        arrays = [array for layer in model.layers for array in (layer.weights, layer.bias)]
        return np.concatenate(
            [np.ravel(each) for each in (*arrays, model.scale, model.extra["rate"])]
        )

    y, pullback = wy.vjp(value, net(), mode=mode)
    assert numbers(pullback(2.0)[0]) == same(2 * numbers(g))
    along = wy.jvp(value, (net(),), (direction,), mode=mode)
    assert along == same((y, numbers(g) @ numbers(direction)))
    for jacobian in (wy.jacrev, wy.jacfwd):
        assert numbers(twice(lambda j=jacobian: j(value, mode=mode)(net()))) == same(numbers(g))
    products = numbers(twice(lambda: wy.hvp(value, mode=mode)(net(), direction)))
    eps = 1e-5
    ends = []
    for step in (eps, -eps):
        moved = net()
        moved.scale += step * direction.scale
        moved.extra["rate"] += step * direction.extra["rate"]
        for at, layer in enumerate(moved.layers):
            d = direction.layers[at]
            moved.layers[at] = Layer(layer.weights + step * d.weights, layer.bias + step * d.bias)
        ends.append(numbers(wy.grad(value, mode="trace")(moved)))
    assert products == pytest.approx((ends[0] - ends[1]) / (2 * eps), rel=1e-6, abs=1e-6)
    second = wy.hessian(lambda p: p.first**2 * p.second, mode=mode)(Slots(3.0, 2.0))
    assert (second.first.first, second.first.second, second.second.second) == (4.0, 6.0, 0.0)
    wy.check_grads(value, (net(),), order=1, mode=mode)


@pytest.mark.parametrize("mode", MODES)
def test_jacobians_by_attributes_that_do_not_matter(mode):
    for jacobian in (wy.jacrev, wy.jacfwd):
        for second in (5.0, np.ones(3)):
            rows = jacobian(lambda layer: layer.weights * np.ones(2), mode=mode)
            j = twice(lambda rows=rows, second=second: rows(Layer(2.0, second)))
            np.testing.assert_array_equal(j.bias, np.zeros((2, *np.shape(second))))


@pytest.mark.parametrize("mode", MODES)
def test_plain_classes_slots_and_derived_ones(mode):
    g = twice(lambda: vars(wy.grad(apply, mode=mode)(Plain(2.0), 5.0)))
    assert g == {"_weight": 120.0, "count": None, "single": np.float32(0.0), "nothing": None}
    g = wy.grad(lambda s: s.first * s.second, mode=mode)(Slots(2.0, 5.0))
    assert (g.first, g.second, hasattr(g, "third")) == (5.0, 2.0, False)
    g = wy.grad(lambda s: s.first * s.second * s.fourth, mode=mode)(Both(2.0, 5.0))
    assert (g.first, g.second, g.fourth) == (20.0, 8.0, 10.0)
    assert wy.grad(lambda s: s.area(), mode=mode)(Box(3.0)) == Box(12.0, 9.0)
    # An object that is called is no argument.
    assert wy.grad(Plain(2.0), mode=mode)(5.0) == 24.0
    both = wy.grad(apply, (0, 1), mode=mode)(Plain(2.0), 5.0)
    assert (both[0]._weight, both[1]) == (120.0, 24.0)


@pytest.mark.parametrize("mode", MODES)
def test_what_is_compiled_fits_its_own_instances_alone(mode):
    slope = wy.grad(apply, mode=mode)
    assert [slope(Plain(w), 1.0)._weight for w in (1.0, 2.0, 3.0)] == [12.0, 24.0, 36.0]
    assert [slope(Plain(1.0, n), 1.0)._weight for n in (1, 2, 5)] == [6.0, 12.0, 30.0]

    class Negative(Plain):
        @property
        def weight(self):
            return -self._weight

        def __call__(self, x):
            return self.weight * x

    assert slope(Negative(2.0), 3.0)._weight == -3.0
    model = Plain(2.0)
    model.shared = 10.0
    assert slope(model, 1.0)._weight == 80.0
    assert slope(model, 1.0).shared == 8.0
    assert slope(Plain(2.0), 1.0)._weight == 24.0
    area = wy.grad(lambda s: s.area(), mode=mode)
    assert area(Square(3.0)).side == 6.0
    assert area(Square(np.float32(3.0))).side.dtype == np.float32
    original = Square.area
    try:
        Square.area = lambda self: self.side * 7
        assert area(Square(3.0)).side == 7.0
    finally:
        Square.area = original
    assert area(Square(3.0)).side == 6.0


@pytest.mark.parametrize("mode", MODES)
def test_instances_as_results_and_beside_them(mode):
    def f(x):
        return Box(x * x, height=x), Layer(np.array([1.0, 2.0]) * x, x, activation=None)

    y, t = twice(lambda: wy.jvp(f, (3.0,), (1.0,), mode=mode))
    assert y[0] == Box(9.0, 3.0)
    assert t[0] == Box(6.0, 1.0)
    assert list(t[1].weights) == [1.0, 2.0]
    assert (y[1].name, t[1].name) == ("layer", None)
    y, pullback = wy.vjp(lambda x: Box(x * x, height=x), 3.0, mode=mode)
    assert pullback(Box(1.0, 10.0)) == (16.0,)
    with pytest.raises(TypeError, match="expected a gradient of the form of the result, Box"):
        pullback(Square(1.0))
    assert wy.jacrev(lambda x: Box(x * x, height=x), mode=mode)(3.0) == Box(6.0, 1.0)
    model = net()
    _, aux = wy.grad(lambda m: (m(X), (m, Box(m.scale * 2), {"n": m.repeats})), 0, True, mode=mode)(
        model
    )
    assert aux[0] is model
    assert aux[1] == Box(6.0)
    assert aux[2] == {"n": 2}


@pytest.mark.parametrize("mode", MODES)
def test_an_instance_of_integers_alone_is_refused(mode):
    with pytest.raises(TypeError, match=r"argument 0: expected a float, an array or .*Square"):
        wy.grad(lambda s: s.side * 2.0, mode=mode)(Square(2))


@pytest.mark.parametrize("mode", MODES)
def test_a_function_that_changes_what_it_is_differentiated_by_is_refused(mode):
    def count(model, x):
        model.count += 1
        return model.weight * x

    def late(model, x):
        model.late = x
        return model.weight * x

    def grow(model):
        model.layers.append(model.layers[0])
        return model(X)

    def scale(model):
        model.extra["rate"] = model.extra["rate"] * 2
        return model(X)

    kinds = {"source": wy.SourceError}
    said = {"source": "a write to"}
    for f, args in [
        (count, (Plain(2.0), 3.0)),
        (late, (Plain(2.0), 3.0)),
        (grow, (net(),)),
        (scale, (net(),)),
    ]:
        before = repr(args)
        for _ in range(2):
            with pytest.raises(kinds.get(mode, TypeError), match=said.get(mode, "does not change")):
                wy.grad(f, mode=mode)(*args)
        assert repr(args) == before


@pytest.mark.parametrize("mode", MODES)
def test_one_instance_twice_has_a_gradient_for_each_place(mode):
    tied = Square(3.0)

    def f(pair):
        return pair[0].side ** 2 * pair[1].side

    def run():
        return wy.grad(f, mode=mode)((tied, tied))

    if mode == "source":
        with pytest.raises(wy.SourceError, match="one instance in two places"):
            run()
    else:
        assert twice(run) == (Square(18.0), Square(9.0))


@pytest.mark.parametrize("mode", MODES)
def test_functions_bound_to_what_is_differentiated_are_refused(mode):
    """They would compute with the instance itself, and lose the gradient."""

    class Bound:
        def __init__(self, way):
            self.w = 2.0
            if way == "method":
                self.f = self.times
            elif way == "closure":
                self.f = lambda x: self.w * x
            elif way == "partial":
                self.f = functools.partial(Bound.times, self)
            else:
                self.f = {"inside": [self.times]}

        def times(self, x):
            return self.w * x

    def call(model):
        return model.f(3.0)

    for way in ("method", "closure", "partial", "list"):
        with pytest.raises(TypeError, match=r"Bound\.f: expected no function that is bound"):
            wy.grad(call if way != "list" else lambda m: m.f["inside"][0](3.0), mode=mode)(
                Bound(way)
            )


@pytest.mark.parametrize("mode", MODES)
def test_an_instance_that_contains_itself_is_refused(mode):
    ring = Plain(2.0)
    ring.nothing = [ring]
    with pytest.raises(RecursionError, match=r"argument 0.*does it contain itself"):
        wy.grad(apply, mode=mode)(ring, 1.0)


def test_cached_properties_are_computed_again():
    class Cached:
        def __init__(self, x):
            self.x = x

        @functools.cached_property
        def square(self):
            return self.x * self.x

    found = Cached(3.0)
    assert found.square == 9.0
    for mode in MODES:
        g = twice(lambda mode=mode: vars(wy.grad(lambda c: c.square, mode=mode)(found)))
        assert g == {"x": 6.0}
    assert vars(found) == {"x": 3.0, "square": 9.0}


def test_what_says_by_itself_what_it_holds_is_traced():
    class Dynamic:
        def __init__(self):
            self.held = {"a": 1.5}

        def __getattr__(self, name):
            if name == "held" or name not in self.held:
                raise AttributeError(name)
            return self.held[name]

    for mode in ("trace", "auto"):
        assert wy.grad(lambda d: d.a**2, mode=mode)(Dynamic()).held == {"a": 3.0}
    with pytest.raises(wy.SourceError, match="__getattr__"):
        wy.grad(lambda d: d.a**2, mode="source")(Dynamic())


class Closing:
    """What is done when it goes must not be done to another like it."""

    closed = 0

    def __init__(self):
        self.w = 2.0

    def __del__(self):
        Closing.closed += 1


class Quantity:
    """An array by its own account."""

    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 2.0])

    def __init__(self):
        self.w = 2.0


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "given",
    [
        Closing(),
        Quantity(),
        collections.deque([1.0]),
        threading.Thread(),
        ValueError(1.5),
        Kind.SMOOTH,
        Plain,
        functools.partial(apply, 2.0),
        np.random.default_rng(0),
    ],
    ids=lambda x: type(x).__name__,
)
def test_others_are_no_instances_to_look_into(mode, given):
    with pytest.raises(TypeError, match=r"argument 0: expected a float, an array"):
        wy.grad(lambda x: x.w, mode=mode)(given)
    assert Closing.closed == 0


@pytest.mark.parametrize("mode", MODES)
def test_derivatives_of_derivatives_through_instances(mode):
    def inner(x):
        return wy.grad(lambda m: m.side**3 * m.height)(Box(x, height=2.0)).side

    # 6 x², and its slopes.
    assert wy.grad(inner, mode="trace")(1.5) == 18.0
    found = outcome(lambda: wy.grad(wy.grad(inner, mode=mode), mode=mode)(1.5))
    assert found == 12.0 or type(found.error) is wy.SourceError

    def cube(box):
        return box.side**3 * box.height

    outer = wy.grad(lambda b: wy.grad(cube, mode="trace")(b).side, mode="trace")(Box(2.0, 5.0))
    assert outer == Box(60.0, 12.0)
    products = wy.hvp(cube, mode=mode)(Box(2.0, 5.0), Box(1.0, 0.0))
    assert products == Box(60.0, 12.0)


def test_other_arguments_are_what_they_were():
    """They are passed on, and may be changed."""
    seen = []

    def f(x, model):
        seen.append(model)
        model.count += 1
        return x * x * model.count

    model = Plain(1.0)
    for mode in ("trace", "auto"):
        before = model.count
        assert wy.grad(f, mode=mode)(3.0, model) == 6.0 * (before + 1)
        assert model.count == before + 1
        assert seen.pop() is model


def test_a_class_is_not_kept():
    def make():
        @dataclasses.dataclass
        class Local:
            x: float

        for mode in MODES:
            assert wy.grad(lambda p: p.x**2, mode=mode)(Local(3.0)) == Local(6.0)
        return weakref.ref(Local)

    found = [make() for _ in range(3)]
    gc.collect()
    assert sum(each() is not None for each in found) <= 1


def test_arguments_are_not_changed_and_gradients_are_their_own():
    model = net()
    before = copy.deepcopy(model)
    for mode in MODES:
        g = wy.grad(apply, mode=mode)(model, X)
        g.layers[0].weights[:] = 7.0
        assert repr(model) == repr(before)
