"""``functools.cached_property`` of instances that a function makes, and members of enumerations."""

import enum
from dataclasses import dataclass
from functools import cached_property

from .case import at


class Weighted:
    def __init__(self, weight):
        self.weight = weight

    @cached_property
    def triple(self):
        return self.weight * 3

    @cached_property
    def items(self):
        return [self.weight]


@dataclass(frozen=True)
class Frozen:
    value: float

    @cached_property
    def square(self):
        return self.value**2


class WithDefault:
    factor = 5.0

    @property
    def double(self):
        return self.factor * 2


class WithSlots:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value

    @cached_property
    def square(self):
        return self.value**2


class Colour(enum.Enum):
    RED = 1
    GREEN = 2
    ALSO_GREEN = 2
    PALE = 1.5


class Level(enum.IntEnum):
    LOW = 2
    HIGH = 3


@at(1.3, 0.7)
def computed_once(x, y):
    made = Weighted(x)
    before = made.triple
    made.weight = y
    made.items.append(x)
    return before * made.triple + made.weight + sum(made.items)


@at(1.3)
def assigned_before_it_is_asked_for(x):
    made = Weighted(x)
    made.triple = 5.0
    return made.triple * x


@at(1.3)
def of_a_frozen_instance(x):
    made = Frozen(x)
    return made.square * made.square + (made == Frozen(x))


@at(1.3)
def of_an_instance_with_slots(x):
    return WithSlots(x).square


@at(1.3)
def asked_for_in_a_loop(x, n=300):
    made, total = Weighted(x), 0.0
    for _ in range(n):
        total = total * 0.5 + made.triple
    return total


@at(1.3)
def computed_again_after_del(x):
    made = Weighted(x)
    before = made.triple
    del made.triple
    made.weight = x * x
    return before * made.triple


@at(1.3)
def attribute_before_that_of_its_class(x):
    made = WithDefault()
    made.factor = x
    before = made.factor
    del made.factor
    return before * made.factor


@at(1.3)
def attributes_that_are_not_there(x):
    made = Weighted(x)
    del made.weight
    for name in ("weight", "triple"):
        try:
            x = x * getattr(made, name)
        except AttributeError:
            x = x + 1.0
    try:
        del made.weight
    except AttributeError:
        return x * hasattr(made, "weight")
    return 0.0


@at(1.3)
def deleted_property(x):
    made = WithDefault()
    del made.double
    return x


@at(1.3)
def deleted_of_a_frozen_instance(x):
    made = Frozen(x)
    del made.value
    return x


@at(1.3)
def members_by_value(x):
    same = Colour(2) is Colour.ALSO_GREEN
    return x * Colour(2).value + x * same + Level(3) * x**2 + x * Colour(1.5).value


@at(1.3)
def member_by_a_value_of_another_type(x):
    return x * Colour(True).value
