"""Classes: dataclasses, named tuples, attributes, methods and callable objects."""

import dataclasses
from collections import namedtuple
from typing import NamedTuple

import numpy as np

from .case import add, at


@dataclasses.dataclass
class Point:
    x: float
    y: float = 2.0

    def norm(self):
        return self.x * self.x + self.y * self.y

    def moved(self, by):
        return Point(self.x + by, self.y - by)

    @property
    def product(self):
        return self.x * self.y

    @staticmethod
    def double(v):
        return 2 * v

    @classmethod
    def diagonal(cls, v):
        return cls(v, v)

    def __add__(self, other):
        return Point(self.x + other.x, self.y + other.y)


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: float


class Pair(NamedTuple):
    first: float
    second: float = 3.0

    def total(self):
        return self.first + self.second


Old = namedtuple("Old", ["a", "b"])


class Model:
    scale = 2.0

    def __init__(self, weight):
        self.weight = weight
        self.calls = 0

    def __call__(self, x):
        return self.weight * x * self.scale

    def method(self, x):
        return x * self.weight

    def changing(self, x):
        self.weight = self.weight * x
        return self.weight


class Child(Model):
    def __init__(self, weight):
        super().__init__(weight)
        self.bias = 1.0

    def method(self, x):
        return super().method(x) + self.bias


class Slots:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


MODEL = Model(3.0)


@at(1.5)
def dataclass_made_inside(x):
    p = Point(x, x * x)
    return p.x * p.y


@at(1.5)
def dataclass_default(x):
    p = Point(x)
    return p.x * p.y + Point(y=x, x=1.0).y


@at(1.5)
def dataclass_method(x):
    return Point(x, 3.0).norm() + Point(x).moved(x).norm()


@at(1.5)
def dataclass_attribute_assigned(x):
    p = Point(x)
    p.y = p.x * p.x
    p.x += 1
    return p.x * p.y


@at(1.5)
def dataclass_alias(x):
    p = Point(x)
    q = p
    q.x = x * x
    return p.x + (p is q)


@at(1.5)
@at(-1.5)
def attribute_assigned_on_a_branch(x):
    p = Point(x)
    if x > 0:
        p.y = x * 3
    return p.x * p.y


@at(1.5, 4)
def attribute_assigned_in_a_loop(x, n):
    p = Point(x, 0.0)
    for k in range(n):
        p.x = p.x * 0.5 + k
        p.y += p.x
    return p.y


@at(1.5)
def dataclass_property(x):
    return Point(x, 4.0).product


@at(1.5)
def static_and_class_methods(x):
    return Point.double(x) + Point.diagonal(x).norm()


@at(1.5)
def operator_of_a_class(x):
    p = Point(x) + Point(2.0, x)
    return p.x * p.y


@at(1.5)
def frozen_dataclass(x):
    return Frozen(x).x * 2


@at(1.5)
def frozen_is_assigned(x):
    p = Frozen(x)
    p.x = 2.0
    return p.x


@at(1.5)
def dataclass_replaced(x):
    return dataclasses.replace(Point(x), y=x).norm()


@at(1.5)
def attribute_is_missing(x):
    return Point(x).z


@at(1.5)
def named_tuple(x):
    p = Pair(x)
    a, b = p
    return p.first * p.second + a * b + p[0] + p.total()


@at(Pair(1.5, 2.5))
def named_tuple_argument(p):
    return p.first * p.second


@at(1.5)
def named_tuple_of_collections(x):
    p = Old(b=x, a=2.0)
    return p.a * p.b + p._replace(a=x).a


@at(1.5)
def plain_class(x):
    m = Model(x)
    return m(2.0) + m.method(x) + m.calls


@at(1.5)
def method_changes_its_object(x):
    m = Model(x)
    return m.changing(2.0) * m.changing(x) + m.weight


@at(1.5)
def inheritance(x):
    return Child(x).method(2.0) * Child(3.0)(x)


@at(1.5)
def class_attribute(x):
    return x * Model.scale + Model(1.0).scale


@at(1.5)
def global_object(x):
    return MODEL(x) + MODEL.weight * MODEL.method(2.0)


@at(1.5)
def object_with_slots(x):
    s = Slots(x)
    s.value = s.value * 3
    return s.value


@at(1.5)
def bound_method_in_a_variable(x):
    f = Model(x).method
    return f(2.0) * f(x)


@at(1.5)
def getattr_and_setattr(x):
    p = Point(x)
    setattr(p, "y", x * x)
    return getattr(p, "x") * getattr(p, "y") + getattr(p, "z", 5.0) + hasattr(p, "x")


@at(1.5)
def isinstance_of_classes(x):
    p = Child(x)
    return x * isinstance(p, Model) + isinstance(p, Point)


add(Model(2.5), 1.5, name="callable_object")
add(Model(2.5).method, 1.5, name="bound_method")
add(Child(2.5).method, 1.5, name="bound_method_with_super")
add(Point.double, 1.5, name="static_method")


# Instances that are differentiated by, as arguments.


@dataclasses.dataclass
class Weighted(Point):
    """A dataclass that is derived from another, with a default of its own."""

    weight: float = dataclasses.field(default=0.5, kw_only=True)
    offsets: list = dataclasses.field(default_factory=lambda: [1.0, -2.0])

    def total(self):
        return self.weight * self.norm() + self.offsets[0] * self.offsets[1]


@dataclasses.dataclass(frozen=True, slots=True)
class Segment:
    start: Point
    end: Point

    @property
    def square(self):
        dx, dy = self.end.x - self.start.x, self.end.y - self.start.y
        return dx * dx + dy * dy

    def at(self, t):
        return Point(
            self.start.x + t * (self.end.x - self.start.x),
            self.start.y + t * (self.end.y - self.start.y),
        )


@dataclasses.dataclass
class Affine:
    matrix: np.ndarray
    shift: np.ndarray

    def __call__(self, v):
        return np.tanh(self.matrix @ v + self.shift)


@dataclasses.dataclass
class Checked:
    value: float
    scale: dataclasses.InitVar[float] = 2.0
    scaled: float = dataclasses.field(init=False)

    def __post_init__(self, scale):
        if scale is None:
            raise ValueError("a scale is needed")
        self.scaled = self.value * scale


@at(Point(1.5, -2.5))
def dataclass_argument(p):
    return p.x * p.x * p.y + p.norm()


@at(Frozen(1.5))
def frozen_argument(p):
    return p.x**3


@at(Segment(Point(1.0, 2.0), Point(-0.5, 4.0)), 0.25)
def nested_instances(s, t):
    return s.square * s.at(t).norm()


@at(Weighted(1.5, 2.5))
def derived_dataclass(p):
    return p.total() * p.product


@at([Point(1.0, 2.0), Point(-1.0, 0.5), Point(0.25, 3.0)])
def list_of_instances(points):
    area = 0.0
    for p, q in zip(points, points[1:] + points[:1]):
        area += p.x * q.y - q.x * p.y
    return 0.5 * area


@at({"a": Point(1.5), "b": 2.0})
def instance_in_a_dict(d):
    return d["a"].x * d["a"].y * d["b"]


@at(Affine(np.array([[1.0, 0.5], [-0.25, 2.0]]), np.array([0.1, -0.3])), np.array([0.3, 0.7]))
def instance_with_arrays(layer, v):
    return np.sum(layer(layer(v)))


@at(Point(1.5, 2.5), 4)
def instance_in_a_loop(p, n):
    total = 0.0
    for k in range(n):
        total = total * p.x + p.y * k
    return total


@at(Point(1.5, 2.5))
@at(Point(-1.5, 2.5))
def instance_on_a_branch(p):
    q = p if p.x > 0 else Point(p.y, p.x)
    return q.x * q.x + 3 * q.y


@at(Point(1.5, 2.5))
def copy_of_an_instance_is_changed(p):
    q = Point(p.x, p.y)
    q.x *= p.y
    q.y += p.x
    return q.x * q.y + p.x


@at(Point(1.5, 2.5))
def instance_argument_is_replaced(p):
    return dataclasses.replace(p, x=p.y * 2).norm() * p.x


@at(Point(1.5, 2.5))
def instance_argument_is_compared(p):
    return p.x * (2.0 if p == Point(9.5, 2.5) else 3.0) + (p is p)


@at(Point(1.5, 2.5))
def fields_of_an_instance(p):
    total = 0.0
    for field in dataclasses.fields(p):
        total += getattr(p, field.name) ** 2
    return total


@at(Point(1.5, 2.5))
def class_pattern_of_an_instance(p):
    match p:
        case Point(x=a, y=b):
            return a * b
    return 0.0


@at(1.5, Point(2.0, 3.0))
def instance_is_returned(x, p):
    return Point(x * p.x, x * x + p.y)


@at(Point(1.5, 2.5))
@at(Point(1.5, 0.0))
def instance_and_an_exception(p):
    return p.x / p.y


@at(Point(1.5, 2.5))
def instance_argument_is_changed(p):
    p.x = p.x * 2
    return p.x * p.y


@at(1.5)
def init_variables(x):
    return Checked(x).scaled * Checked(2.0, scale=x).scaled * Checked(x, 3.0).value


@at(Checked(1.5))
def instance_with_an_init_variable(c):
    return c.value * c.scaled


@at(1.5, Point(2.0, 3.0))
def replaced_fields(x, p):
    q = dataclasses.replace(p, y=x * p.x)
    return dataclasses.replace(q, x=q.y).norm() * p.y


@dataclasses.dataclass(order=True)
class Version:
    major: float
    minor: float = 0.0
    name: str = dataclasses.field(default="", compare=False)


@at(2.0, 1.0)
@at(1.0, 3.0)
@at(1.0, 1.0)
def instances_in_order(x, y):
    found = [Version(x, y), Version(1.0, 3.0, "third"), Version(y, x)]
    first, last = sorted(found)[0], max(found, key=lambda one: one)
    same = Version(x) == Version(x, 0.0, "other")
    return first.minor + 10.0 * last.major + (found[0] <= found[1]) + 2.0 * same
