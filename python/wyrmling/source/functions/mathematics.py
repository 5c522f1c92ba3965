"""Functions of ``math`` and of NumPy on numbers, as operators of the rule table.

Those of ``math`` raise where NumPy's give NaN or infinity: a guard leaves there. The conditions are
those of CPython's ``Modules/mathmodule.c``: ValueError outside of the domain, OverflowError where a
finite argument has an infinite value.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import _core
from ..abstract.values import INTEGERS, REAL, Known, Number, kind_of, sources_of
from ..abstract.walker import Walker
from ..types.numbers import OPERATORS, UNARY
from ..types.truth import COMPARISONS

Guard = Callable[["Mathematics", int, int, ast.AST], None]

INFINITY = math.inf
RAISED = {ValueError: "outside of the domain", OverflowError: "the result is infinite"}


def _between(low: float, high: float, closed: bool) -> Guard:
    """Leaves outside of an interval; NaN stays."""

    def guard(walker: Mathematics, x: int, made: int, node: ast.AST) -> None:
        for bound, name in ((low, "less"), (high, "greater")):
            if math.isinf(bound) and closed:
                continue
            test = f"{name}_number" if closed else f"{name}_equal_number"
            outside = walker.compute(test, x, walker.constant(bound))
            walker.within(walker.compute("bool_not", outside), ValueError, node)

    return guard


def _finite_argument(walker: Mathematics, x: int, made: int, node: ast.AST) -> None:
    size = walker.apply("abs", x)
    infinite = walker.compute("equal_number", size, walker.constant(INFINITY))
    walker.within(walker.compute("bool_not", infinite), ValueError, node)


def _finite_result(walker: Mathematics, x: int, made: int, node: ast.AST) -> None:
    infinity = walker.constant(INFINITY)
    finite = walker.compute("not_equal_number", walker.apply("abs", made), infinity)
    given = walker.compute("equal_number", walker.apply("abs", x), infinity)
    walker.within(walker.compute("bool_or", finite, given), OverflowError, node)


def _no_pole(walker: Mathematics, x: int, made: int, node: ast.AST) -> None:
    """The gamma function has its poles at the whole numbers that are not positive."""
    above = walker.compute("greater_number", x, walker.constant(0.0))
    part = walker.compute("not_equal_number", x, walker.apply("floor", x))
    walker.within(walker.compute("bool_or", above, part), ValueError, node)
    _finite_result(walker, x, made, node)


# Functions of one number: the operator, and what Python checks.
UNARY_MATH: dict[Any, tuple[str, Guard | None]] = {
    math.sin: ("sin", _finite_argument),
    math.cos: ("cos", _finite_argument),
    math.tan: ("tan", _finite_argument),
    math.asin: ("arcsin", _between(-1.0, 1.0, True)),
    math.acos: ("arccos", _between(-1.0, 1.0, True)),
    math.atan: ("arctan", None),
    math.sinh: ("sinh", _finite_result),
    math.cosh: ("cosh", _finite_result),
    math.tanh: ("tanh", None),
    math.asinh: ("arcsinh", None),
    math.acosh: ("arccosh", _between(1.0, INFINITY, True)),
    math.atanh: ("arctanh", _between(-1.0, 1.0, False)),
    math.exp: ("exp", _finite_result),
    math.exp2: ("exp2", _finite_result),
    math.expm1: ("expm1", _finite_result),
    math.log2: ("log2", None),
    math.log10: ("log10", None),
    math.log1p: ("log1p", None),
    math.sqrt: ("sqrt", _between(0.0, INFINITY, True)),
    math.cbrt: ("cbrt", None),
    math.fabs: ("abs", None),
    math.erf: ("erf", None),
    math.erfc: ("erfc", None),
    math.gamma: ("gamma", _no_pole),
    math.lgamma: ("gammaln", _no_pole),
}
ABOVE = {math.log2: 0.0, math.log10: 0.0, math.log: 0.0, math.log1p: -1.0}
ROUNDING = {math.floor: "floor_to_int", math.ceil: "ceil_to_int", math.trunc: "float_to_int"}


def _ufuncs() -> dict[Any, str]:
    """The functions of NumPy that are operators, with their names in the rule table."""
    return {
        getattr(np, name): entry["operator"]
        for entry in _core.elementwise()
        for name in entry["numpy"]
        if isinstance(getattr(np, name, None), np.ufunc)
    }


UFUNCS = _ufuncs()


@functools.cache
def _own_ufuncs() -> dict[int, np.ufunc]:
    """What functions of this package are for plain numbers, those of NumPy, by their ids."""
    import wyrmling

    found = {name: getattr(np, name) for name in UFUNCS_BY_NAME if hasattr(wyrmling, name)}
    return {id(getattr(wyrmling, name)): function for name, function in found.items()}


UFUNCS_BY_NAME = [function.__name__ for function in UFUNCS]
OF_OPERATOR: dict[Any, str] = {function: name for name, function in OPERATORS.items()}
OF_COMPARISON: dict[Any, str] = {pair[1]: name for name, pair in COMPARISONS.items()}
OF_UNARY: dict[Any, str] = {function: name for name, function in UNARY.items()}
NUMPY_COMPARISONS = {
    np.less: "Lt",
    np.less_equal: "LtE",
    np.equal: "Eq",
    np.not_equal: "NotEq",
    np.greater: "Gt",
    np.greater_equal: "GtE",
}
LOGICAL = {
    np.logical_and: "bool_and",
    np.logical_or: "bool_or",
    np.logical_xor: "bool_xor",
    np.logical_not: "bool_not",
}
OF_INTEGERS = {
    np.add: "Add",
    np.subtract: "Sub",
    np.multiply: "Mult",
    np.floor_divide: "FloorDiv",
    np.remainder: "Mod",
    np.power: "Pow",
    np.bitwise_and: "BitAnd",
    np.bitwise_or: "BitOr",
    np.bitwise_xor: "BitXor",
}


class Mathematics(Walker):
    """Functions of numbers."""

    def call_mathematics(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a function gives for numbers; None if it is none that is known."""
        module = getattr(function, "__module__", None)
        if module in ("_operator", "operator") and not keywords:
            return self._operator_function(function, args, node)
        numbers = bool(args) and all(kind_of(arg) is not None for arg in args)
        if module == "math" and not keywords:
            if any(not isinstance(arg, Known) for arg in args):
                floats = any(kind_of(arg) in REAL for arg in args if not isinstance(arg, Known))
                self.takes_no_variable |= floats and function not in ROUNDING
                return self._of_math(function, args, node) if numbers else None
            return None
        if numbers and not keywords and any(kind_of(arg) in ("int", "bool") for arg in args):
            # Of integers there are no variables.
            function = _own_ufuncs().get(id(function), function)
        if isinstance(function, np.ufunc) and numbers and not keywords:
            if all(isinstance(arg, Known) for arg in args):
                return self.fold(function, [arg.object for arg in args], node)
            return self._of_numpy(function, args, node)
        return None

    def _operator_function(self, function: Any, args: Sequence[Any], node: ast.AST) -> Any:
        if function in OF_OPERATOR and len(args) == 2:
            return self.binary(OF_OPERATOR[function], args[0], args[1], node)
        if function in OF_COMPARISON and len(args) == 2:
            return self.compare(OF_COMPARISON[function], args[0], args[1], node)
        if function in OF_UNARY and len(args) == 1:
            return self.unary(OF_UNARY[function], args[0], node)
        if function is operator.not_ and len(args) == 1:
            return self.negated(self.truth(args[0], node))
        if function is operator.truth and len(args) == 1:
            return self.truth(args[0], node)
        if function is operator.getitem and len(args) == 2:
            return self.item(args[0], args[1], node)
        if function is operator.abs and len(args) == 1:
            return self.call(Known(abs), args, {}, node)
        return None

    def _of_math(self, function: Any, args: Sequence[Any], node: ast.AST) -> Any:
        sources = sources_of(*args)
        first = args[0]
        if function in ROUNDING and len(args) == 1:
            if function is math.trunc and kind_of(first) in ("float32", "numpy_bool"):
                self.leave("such a number has no __trunc__", node)
            return self.rounded(ROUNDING[function], first, node)
        if function is math.log and len(args) == 2:
            above = self.call(Known(math.log), [first], {}, node)
            below = self.call(Known(math.log), [args[1]], {}, node)
            return self.binary("Div", above, below, node)
        if function in (math.isnan, math.isinf, math.isfinite) and len(args) == 1:
            return Number("bool", self._classified(function, first, node), sources)
        if function is math.pow and len(args) == 2:
            x, y = (self.as_real(arg, "float", node) for arg in args)
            return Number("float", self._power_of_math(x, y, node), sources)
        real = [self.as_real(arg, "float", node) for arg in args]
        if (function in UNARY_MATH and len(args) == 1) or (function is math.log and len(args) == 1):
            name, guard = UNARY_MATH.get(function, ("log", None))
            if function in ABOVE:
                bound = self.constant(ABOVE[function])
                outside = self.compute("less_equal_number", real[0], bound)
                self.within(self.compute("bool_not", outside), ValueError, node)
            return Number("float", self._guarded(name, guard, real[0], node), sources)
        if function in (math.atan2, math.copysign, math.hypot) and len(args) == 2:
            name = {math.atan2: "arctan2", math.copysign: "copysign"}.get(function, "hypot")
            return Number("float", self.apply(name, *real), sources)
        if function is math.fmod and len(args) == 2:
            zero = self.compute("not_equal_number", real[1], self.constant(0.0))
            self.within(zero, ValueError, node)
            made = self.apply("fmod", *real)
            _finite_argument(self, real[0], made, node)
            return Number("float", made, sources)
        if function in (math.degrees, math.radians) and len(args) == 1:
            factor = 180.0 / math.pi if function is math.degrees else math.pi / 180.0
            return Number("float", self.apply("mul", real[0], self.constant(factor)), sources)
        return None

    def _power_of_math(self, x: int, y: int, node: ast.AST) -> int:
        zero, infinity = self.constant(0.0), self.constant(INFINITY)
        for held in (x, y):
            finite = self.compute("not_equal_number", self.apply("abs", held), infinity)
            self.guard(finite, "an infinite argument", node)
        made = self.apply("pow", x, y)
        below = self.compute("bool_not", self.compute("less_number", y, zero))
        pole = self.compute("bool_or", self.compute("not_equal_number", x, zero), below)
        real = self.compute("equal_number", made, made)
        for held in (x, y):
            real = self.compute("bool_or", real, self.compute("not_equal_number", held, held))
        self.within(self.compute("bool_and", pole, real), ValueError, node)
        finite = self.compute("not_equal_number", self.apply("abs", made), infinity)
        self.within(finite, OverflowError, node)
        return made

    def within(
        self, condition: int, error: type[ArithmeticError | ValueError], node: ast.AST
    ) -> None:
        """Goes on where a condition holds, else to what handles the exception, or out."""
        self.guard(condition, RAISED[error], node, error)

    def _guarded(self, name: str, guard: Guard | None, x: int, node: ast.AST) -> int:
        if guard in (None, _finite_result, _no_pole):
            made = self.apply(name, x)
            if guard is not None:
                guard(self, x, made, node)
            return made
        assert guard is not None
        guard(self, x, x, node)
        return self.apply(name, x)

    def rounded(self, name: str, value: Any, node: ast.AST) -> Any:
        """A number as an integer."""
        if kind_of(value) == "int64":
            self.refuse(node, "rounding an integer of NumPy's", "use int(...) of it")
        if kind_of(value) in ("int", "bool"):
            return Number("int", self.as_int(value), value.sources)
        exit = self.exit("no integer of 64 bits", node)
        held = self.as_real(value, "float", node)
        return Number("int", self.compute(name, held, exit=exit), value.sources)

    def _classified(self, function: Any, value: Any, node: ast.AST) -> int:
        held = self.as_real(value, "float", node)
        if function is math.isnan:
            return self.compute("not_equal_number", held, held)
        size = self.apply("abs", held)
        name = "equal_number" if function is math.isinf else "less_number"
        return self.compute(name, size, self.constant(INFINITY))

    def _of_numpy(self, function: Any, args: Sequence[Any], node: ast.AST) -> Any:
        """A ufunc of NumPy's on numbers: its result is a number of NumPy's, without exceptions."""
        if function in NUMPY_COMPARISONS and len(args) == 2:
            found = self.compare(NUMPY_COMPARISONS[function], args[0], args[1], node)
            return Number("numpy_bool", found.id, found.sources)
        if function in LOGICAL and len(args) == function.nin:
            held = [self.id_of(self.truth(arg, node)) for arg in args]
            return Number("numpy_bool", self.compute(LOGICAL[function], *held), sources_of(*args))
        kinds = {kind_of(arg) for arg in args}
        if "numpy_bool" in kinds or not kinds & REAL:
            return self._of_integers(function, args, node)
        if kinds & {"int", "int64", "bool"} and "float32" in kinds:
            return None
        kind = "float32" if kinds <= {"float32", "float"} and "float32" in kinds else "float64"
        if kinds == {"float", "float32"} and kind == "float32":
            kind = self.common_kind(args[0], args[1], node)
        name = UFUNCS.get(function)
        if function is np.power and isinstance(args[1], Known) and args[1].object == 0.5:
            # The square root, also of -0.0, for NumPy's function; ``**`` of numbers is the power.
            function, name, args = np.sqrt, "sqrt", args[:1]
        if function in (np.isnan, np.isinf, np.isfinite) and len(args) == 1:
            of_math = {np.isnan: math.isnan, np.isinf: math.isinf, np.isfinite: math.isfinite}
            made = self._classified(of_math[function], args[0], node)
            return Number("numpy_bool", made, sources_of(*args))
        if name is None or len(args) != function.nin:
            return None
        real = [self.as_real(arg, kind, node) for arg in args]
        made = self.apply(name, *real)
        if function is np.signbit:
            sign = self.compute("float_to_bool", made)
            return Number("numpy_bool", sign, sources_of(*args))
        return Number(kind, made, sources_of(*args))

    def _of_integers(self, function: Any, args: Sequence[Any], node: ast.AST) -> Any:
        """A ufunc on integers: those that give floats take them as floats."""
        name = UFUNCS.get(function)
        kinds = {kind_of(arg) for arg in args}
        if "int64" in kinds and kinds <= INTEGERS:
            if function in OF_INTEGERS and len(args) == 2:
                return self.binary(OF_INTEGERS[function], args[0], args[1], node)
            if function is np.absolute and len(args) == 1:
                return self.call(Known(abs), args, {}, node)
            if function is np.negative and len(args) == 1:
                return self.unary("USub", args[0], node)
        floats = all(
            code.endswith(("->d", "->g", "->f", "->e", "->F", "->D", "->G", "->O"))
            for code in function.types
        )
        if name is None or not kinds <= INTEGERS or not floats:
            return None
        real = [self.as_real(arg, "float", node) for arg in args]
        return Number("float64", self.apply(name, *real), sources_of(*args))
