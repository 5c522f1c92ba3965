"""Dispatchers of functions that are written by hand, for tests."""

from types import SimpleNamespace
from typing import Any

from wyrmling._core import Compiled, Dispatcher, IrBuilder, Specialization, SpecializationTable


def dispatcher(
    f: Any, specialize: Any, fallback: Any, table: SpecializationTable, **options: Any
) -> Dispatcher:
    """A dispatcher with these callbacks."""
    return Dispatcher(f, callbacks(specialize, fallback, table), **options)


def callbacks(specialize: Any, fallback: Any, table: SpecializationTable) -> SimpleNamespace:
    """What a dispatcher calls."""
    return SimpleNamespace(specialize=specialize, fallback=fallback, table=lambda: table)


Test = tuple[Any, ...]
FLOAT = ("kind", "float")


def function(*kinds: str, results: Any = None, like: Any = None) -> Compiled:
    """The identity of values of these kinds, or what ``results`` makes of them."""
    b = IrBuilder("same")
    ids = [b.parameter(0, kind, like) for kind in kinds]
    b.returns(ids if results is None else results(b, ids))
    return b.finish().compile()


def square() -> Compiled:
    """x², which leaves for x over 10."""

    def body(b: IrBuilder, ids: list[int]) -> list[int]:
        small = b.compute("less_number", [ids[0], b.constant(10.0)])
        b.guard(small, b.exit("x is large", 1))
        return [b.apply("mul", [ids[0], ids[0]])]

    return function("float", results=body)


class Case:
    """A dispatcher of one specialization, and what its callbacks were given."""

    def __init__(self, f: Any, *made: Specialization | None, **options: Any) -> None:
        self.made, self.asked, self.fallen = list(made), [], []  # type: ignore[var-annotated]
        self.table = SpecializationTable(8)
        self.call = dispatcher(f, self.specialize, self.fallback, self.table, **options)

    def specialize(self, args: Any, kwargs: Any) -> Specialization | None:
        self.asked.append((args, kwargs))
        return self.made.pop(0) if self.made else None

    def fallback(self, specialization: Any, exit: Any, args: Any, kwargs: Any) -> str:
        self.fallen.append((specialization, exit, args, kwargs))
        return "python"


def unary(test: Test = FLOAT, *steps: Any, compiled: Any = None) -> Specialization:
    """x² of one argument of a kind, under conditions."""
    given = [("self", 1, None, test), *steps]
    return Specialization(1, (), given, [1], compiled or square(), [("float", 0)])


def named(*steps: Any, args: int = 0) -> Specialization:
    """One that gives 1 under conditions."""
    return Specialization(args, (), list(steps), [], function(), [("object", 1)])
