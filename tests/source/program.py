"""Random programs: the text of a function of numbers, of its helpers, and arguments for it.

``Program(seed)`` writes statements nested to depth 4 with numbers of all kinds, loops, branches,
functions, tuples and lists, and exceptions. Programs end: each loop has a bound, and integers are
not squared in loops. They need not succeed: a name may be unbound, and a divisor zero. One half has
arithmetic alone, where all numbers have to agree to the bit.
"""

import math
import random

import numpy as np
from pieces import Pieces, Scope

DEPTH = 4
FLOATS = ["0.5", "2.0", "-1.5", "0.1", "3.0", "1.0", "0.0", "-0.25", "1e-3", "10.0"]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 1e-8, 1e8, 3, -2, True]
SPECIAL += [math.inf, math.nan, 5e-324, 2**62]
# Derivatives by these are held against differences, which rounding to a large number spoils.
NUMPY = [np.float64(0.7), np.float64(-1.3), np.float32(0.3)]
ERRORS = ["ZeroDivisionError", "ValueError", "OverflowError", "ArithmeticError", "IndexError"]
JUMPS = ["continue", "break", "return"]
ONE = ["sin", "cos", "tanh", "atan", "exp", "sqrt", "log", "expm1", "sinh", "erf", "cbrt", "fabs"]


class Program(Pieces):
    """The text of a random program, and arguments for ``f``, by a seed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.functions_of_math = seed % 2 == 1
        self.names = 0
        self.loops = 0
        self.lines = ["import math"] if self.functions_of_math else []
        self.draw_sorts(seed)
        helpers = {}
        for k in range(self.pick([0, 0, 1, 2])):
            self.function(f"h{k}", ["a", "b"], Scope({"a": "number", "b": "number"}, helpers), 1)
            helpers[f"h{k}"] = 2
        kinds = {"x": "float", "y": "float", "n": "int", "flag": "bool"}
        self.function("f", list(kinds), Scope(kinds, helpers), self.pick([1, 2, 2, 3, DEPTH]))
        self.text = "\n".join(self.lines) + "\n"
        self.points = [self.arguments(), self.arguments()]
        if self.chance(0.3) and "arrays" not in self.sorts:
            self.points.append(self.special())

    # Draws.

    def pick(self, options):
        return self.random.choice(options)

    def chance(self, probability):
        return self.random.random() < probability

    def arguments(self):
        x, y = (round(self.random.uniform(-2, 2), 3) for _ in range(2))
        return x, y, self.random.randrange(5), self.chance(0.5)

    def special(self):
        if self.chance(0.3) and "extremes" not in self.sorts:
            _, y, n, flag = self.arguments()
            return self.pick([(self.pick(NUMPY), y, n, flag), (y, self.pick(NUMPY), n, flag)])
        return self.pick(SPECIAL), self.pick(SPECIAL), self.random.randrange(-1, 3), True

    def fresh(self):
        # Names are used again, so that assignments meet.
        if self.names > 3 and self.chance(0.4):
            return f"v{self.random.randrange(self.names)}"
        self.names += 1
        return f"v{self.names - 1}"

    def write(self, depth, line):
        self.lines.append("    " * depth + line)

    def target(self, scope):
        """A name to assign to; seldom one that counts, since floats count nothing."""
        name = self.name(scope)
        return None if name in ("n", "flag", "i", "j", "k") and self.chance(0.9) else name

    # Expressions: each is a text and a kind.

    def name(self, scope, kinds=("float", "int", "bool", "number")):
        sure = [n for n, k in scope.kinds.items() if k in kinds and n not in scope.maybe]
        unsure = [n for n in scope.maybe if scope.kinds[n] in kinds]
        if unsure and (not sure or self.chance(0.03)):
            return self.pick(unsure) if self.chance(0.1) or not sure else self.pick(sure)
        return self.pick(sure) if sure else None

    def number(self, scope, depth=0):
        """An expression that is a number."""
        roll = self.random.random()
        if depth > 3 or roll < 0.25:
            found = self.name(scope)
            if found and self.chance(0.6):
                return found, scope.kinds[found]
            if self.chance(0.6):
                return self.pick(FLOATS), "float"
            return str(self.random.randrange(-3, 5)), "int"
        makers = [
            self.binary, self.binary, self.binary, self.binary, self.division, self.power,
            self.unary, self.choice, self.call, self.item, self.comprehension, self.logic,
            self.extreme, self.converted, *self.parts(),
        ]  # fmt: skip
        return self.pick(makers)(scope, depth + 1)

    def float(self, scope, depth=0):
        """An expression that is a float wherever it has a value."""
        text, kind = self.number(scope, depth)
        return text if kind == "float" else f"({text}) * {self.pick(['1.0', '0.5', '-2.0'])}"

    def binary(self, scope, depth):
        a, first = self.number(scope, depth)
        b, second = self.number(scope, depth)
        operator = self.pick(["+", "-", "*"])
        sure = "float" in (first, second)
        if operator == "*" and self.loops and not sure:
            b, second = str(self.random.randrange(-2, 3)), "int"
        kind = "float" if sure else "number" if "number" in (first, second) else "int"
        return f"({a} {operator} {b})", kind

    def division(self, scope, depth):
        a, first = self.number(scope, depth)
        b, second = self.number(scope, depth)
        if self.chance(0.7):
            b = self.pick(["2.0", "3", "-2", "0.7", f"({b} + 4.5)", f"(abs({b}) + 1)"])
            second = "int" if b in ("3", "-2") else "number"
        operator = self.pick(["/", "/", "//", "%"])
        if operator == "/":
            return f"({a} / {b})", "float"
        kind = "float" if first == "float" else "int" if (first, second) == ("int", "int") else ""
        return f"({a} {operator} {b})", kind or "number"

    def power(self, scope, depth):
        a, kind = self.number(scope, depth)
        if self.loops and kind != "float":
            a, kind = f"({a} % 5)", "number"
        exponent = self.pick(["2", "3", "0", "-1", "2.0", "0.5"])
        if exponent in ("-1", "2.0", "0.5"):
            return f"(abs({a}) + 0.5) ** {exponent}", "float"
        return f"({a}) ** {exponent}", "float" if kind == "float" else "number"

    def unary(self, scope, depth):
        a, kind = self.number(scope, depth)
        kind = "int" if kind == "bool" else kind
        if self.functions_of_math and self.chance(0.6):
            function = self.pick(ONE)
            if function in ("sqrt", "log") and self.chance(0.9):
                a = f"abs({a}) + 0.3"
            elif function in ("exp", "expm1", "sinh") and self.chance(0.9):
                a = f"min({a}, 3.0)"
            return f"math.{function}({a})", "float"
        return (f"-{a}" if self.chance(0.5) else f"abs({a})"), kind

    def converted(self, scope, depth):
        a = self.number(scope, depth)[0]
        how = self.pick(["int", "float", "round", "bool"])
        if how == "float":
            return f"float({a})", "float"
        if how == "bool":
            return f"bool({a})", "bool"
        return f"{how}(max(-1e6, min({a}, 1e6)))", "int"

    def condition(self, scope, depth=2):
        roll = self.random.random()
        if roll < 0.1:
            return self.pick(["flag", "(not flag)", "True"]) if "flag" in scope.kinds else "True"
        if roll < 0.2:
            a, b = (self.condition(scope, depth + 1) for _ in range(2))
            return f"({a} {self.pick(['and', 'or'])} {b})"
        if roll < 0.25:
            return f"(not {self.condition(scope, depth + 1)})"
        parts = [self.number(scope, depth)[0] for _ in range(3 if roll < 0.35 else 2)]
        operators = [self.pick(["<", ">", "<=", ">=", "==", "!=", "<", ">"]) for _ in parts[1:]]
        text = parts[0]
        for operator, part in zip(operators, parts[1:], strict=True):
            text += f" {operator} {part}"
        return f"({text})"

    def logic(self, scope, depth):
        a, first = self.number(scope, depth)
        b, second = self.number(scope, depth)
        if self.chance(0.3):
            return self.condition(scope, depth), "bool"
        return f"({a} {self.pick(['and', 'or'])} {b})", first if first == second else "number"

    def choice(self, scope, depth):
        a, first = self.number(scope, depth)
        b, second = self.number(scope, depth)
        kind = first if first == second else "number"
        return f"({a} if {self.condition(scope, depth)} else {b})", kind

    def extreme(self, scope, depth):
        parts = [self.number(scope, depth) for _ in range(self.pick([2, 2, 3]))]
        kinds = {kind for _, kind in parts}
        text = ", ".join(text for text, _ in parts)
        kind = kinds.pop() if len(kinds) == 1 else "number"
        return f"{self.pick(['max', 'min'])}({text})", kind

    def call(self, scope, depth):
        if not scope.functions or self.loops > 2:
            return self.binary(scope, depth)
        name = self.pick(sorted(scope.functions))
        given = [self.number(scope, depth + 1)[0] for _ in range(scope.functions[name])]
        return f"{name}({', '.join(given)})", "number"

    def item(self, scope, depth):
        if not scope.lists:
            return self.binary(scope, depth)
        name = self.pick(sorted(scope.lists))
        return f"{name}[{self.index(scope, name)}]", "number"

    def index(self, scope, name):
        count = scope.lists[name]
        if self.chance(0.3) and (found := self.name(scope, ("int",))):
            return f"{found} % {count or 1}" if self.chance(0.9) else found
        return str(self.random.randrange(-count, count) if count else 0)

    def comprehension(self, scope, depth):
        inner = scope.copy()
        inner.kinds["k"], variable = "int", "k"
        inner.maybe.discard("k")
        over = self.pick(["range(3)", "range(n)" if "n" in scope.kinds else "range(2)"])
        if scope.lists and self.chance(0.4):
            over = self.pick(sorted(scope.lists))
            inner.kinds["k"] = "number"
        self.loops += 1
        element = self.number(inner, depth + 1)[0]
        test = f" if {self.condition(inner, depth + 1)}" if self.chance(0.3) else ""
        self.loops -= 1
        clauses = f"for {variable} in {over}{test}"
        if self.chance(0.2):
            return f"{self.pick(['any', 'all'])}({element} > 0.5 {clauses})", "bool"
        return f"sum({self.pick(['[{}]', '[{}]', '{}']).format(f'{element} {clauses}')})", "number"

    # Statements.

    def function(self, name, parameters, scope, depth):
        defaults = [f"{p}=2.0" if p == "b" and self.chance(0.3) else p for p in parameters]
        self.write(0, f"def {name}({', '.join(defaults)}):")
        loops, self.loops = self.loops, 0
        if name == "f":
            self.begin(scope, 1)
        self.block(scope, 1, depth, self.random.randrange(2, 6), False)
        self.write(1, f"return {self.result(scope)}")
        self.loops = loops

    def result(self, scope):
        used = [n for n in scope.kinds if n not in scope.maybe and n != "flag"]
        picked = self.random.sample(used, min(3, len(used)))
        if found := self.whole_result(scope):
            return f"{found} + {' + '.join([f'{n} * 0.5' for n in picked])}"
        if self.chance(0.1):
            return " + ".join(picked)
        return " + ".join([f"{n} * {self.pick(FLOATS)}" for n in picked])

    def block(self, scope, indent, depth, count, loop):
        """Some statements; whether the last one leaves."""
        return any(self.statement(scope, indent, depth, loop) for _ in range(count))

    def statement(self, scope, indent, depth, loop):
        roll = self.random.random()
        if depth > 0 and roll < 0.5:
            makers = [self.branch, self.branch, self.branch, self.over, self.over, self.repeat]
            makers += [self.attempt, self.nested, self.match, self.generator]
            self.pick(makers)(scope, indent, depth - 1, loop)
            return False
        if roll < 0.53 and (loop or depth < 2):
            return self.leave(scope, indent, loop)
        simple = [self.assign, self.assign, self.assign, self.augment, self.augment, self.swap]
        simple += [self.make_list, self.change_list, self.unpack, *self.pieces()]
        simple += self.whole_makers() * 4
        self.pick(simple)(scope, indent)
        return False

    def leave(self, scope, indent, loop):
        if loop and self.chance(0.8):
            self.write(indent, self.pick(["break", "continue"]))
        elif self.chance(0.8):
            self.write(indent, f"return {self.float(scope)}")
        else:
            self.write(indent, f"raise ValueError('at {indent}')")
        return True

    def put(self, scope, name, kind):
        scope.kinds[name] = kind
        scope.maybe.discard(name)

    def assign(self, scope, indent):
        text, kind = self.number(scope)
        name = self.pick(["x", "y"]) if self.chance(0.15) and "x" in scope.kinds else self.fresh()
        if self.chance(0.1):
            other = self.fresh()
            self.write(indent, f"{other} = {name} = {text}")
            self.put(scope, other, kind)
        elif self.chance(0.1):
            self.write(indent, f"{name} = (w := {text}) + w")
            kind = "int" if kind == "bool" else kind
        else:
            self.write(indent, f"{name} = {text}")
        self.put(scope, name, kind)

    def augment(self, scope, indent):
        name = self.target(scope)
        if not name:
            return self.assign(scope, indent)
        text, kind = self.number(scope, 2)
        operator = self.pick(["+=", "-=", "*=", "+="])
        before = scope.kinds[name]
        if operator == "*=" and self.loops and "float" not in (before, kind):
            text, kind = "2", "int"
        self.write(indent, f"{name} {operator} {text}")
        both = {before, kind}
        self.put(scope, name, "float" if "float" in both else "number")
        return None

    def swap(self, scope, indent):
        a, b = self.target(scope), self.target(scope)
        if not a or not b:
            return self.assign(scope, indent)
        text, kind = self.number(scope, 2)
        first, second = scope.kinds[a], scope.kinds[b]
        if self.chance(0.5):
            self.write(indent, f"{a}, {b} = {b}, {a}")
            self.put(scope, a, second)
            self.put(scope, b, first)
        else:
            self.write(indent, f"{a}, {b} = {b}, {text}")
            self.put(scope, a, second)
            self.put(scope, b, kind)
        return None

    def make_list(self, scope, indent):
        name = f"l{self.random.randrange(3)}"
        count = self.random.randrange(1, 4)
        parts = ", ".join(self.number(scope, 2)[0] for _ in range(count))
        if scope.lists and self.chance(0.2):
            other = self.pick(sorted(scope.lists))
            self.write(indent, f"{name} = {other}")
            scope.lists[name] = scope.lists[other]
        else:
            self.write(indent, f"{name} = [{parts}]")
            scope.lists[name] = count

    def change_list(self, scope, indent):
        if not scope.lists:
            return self.make_list(scope, indent)
        name = self.pick(sorted(scope.lists))
        text = self.number(scope, 2)[0]
        if self.chance(0.8) or self.loops:
            operator = self.pick(["=", "=", "+=", "-="])
            self.write(indent, f"{name}[{self.index(scope, name)}] {operator} {text}")
        else:
            self.write(indent, f"{name}.append({text})")
            # Another name of the same list may be shorter by what is known, which is no harm.
            scope.lists[name] += 1
        return None

    def unpack(self, scope, indent):
        a, b = self.fresh(), self.fresh()
        (first, one), (second, two) = self.number(scope, 2), self.number(scope, 2)
        if a == b:
            one = two
        self.write(
            indent, f"{a}, {b} = {self.pick(['({}, {})', '[{}, {}]']).format(first, second)}"
        )
        self.put(scope, a, one)
        self.put(scope, b, two)

    def branch(self, scope, indent, depth, loop):
        ways = []
        for k in range(self.pick([1, 1, 2])):
            self.write(indent, f"{'elif' if k else 'if'} {self.condition(scope)}:")
            ways.append(self.way(scope, indent, depth, loop))
        if self.chance(0.6):
            self.write(indent, "else:")
            ways.append(self.way(scope, indent, depth, loop))
        scope.join(*[way for way in ways if way])

    def way(self, scope, indent, depth, loop):
        inner = scope.copy()
        left = self.block(inner, indent + 1, depth, self.random.randrange(1, 4), loop)
        return None if left else inner

    def looped(self, scope, indent, depth):
        inner = scope.copy()
        for name in inner.kinds:  # what was assigned in the iteration before may have another kind
            inner.kinds[name] = "number" if inner.kinds[name] != "float" else "float"
        self.loops += 1
        self.block(inner, indent + 1, depth, self.random.randrange(1, 4), True)
        self.loops -= 1
        scope.join(inner)
        for name, kind in scope.kinds.items():
            scope.kinds[name] = kind if kind == "float" and name in ("x", "y") else "number"
        if self.chance(0.15):
            self.write(indent, "else:")
            scope.join(self.way(scope, indent, max(depth - 1, 0), False) or scope.copy())

    def over(self, scope, indent, depth, loop):
        variable = self.pick(["i", "j", "k"])
        over = self.pick(["range(3)", "range(n)", "range(1, 4)", "range(3, 0, -1)", "(x, 2.0, y)"])
        over = over if "n" in scope.kinds else self.pick(["range(2)", "(a, b, 0.5)"])
        if scope.lists and self.chance(0.3):
            name = self.pick(sorted(scope.lists))
            if self.chance(0.5):
                over = name
            else:
                over, variable = f"enumerate({name})", f"{variable}, v"
        inner = scope.copy()
        for each in variable.split(", "):
            self.put(inner, each, "number")
        if over.startswith("range"):
            self.put(inner, variable, "int")
        self.write(indent, f"for {variable} in {over}:")
        before = scope.copy()
        self.looped(inner, indent, depth)
        scope.becomes(inner)
        scope.join(before)

    def repeat(self, scope, indent, depth, loop):
        counter = f"c{indent}{self.names}"
        self.write(indent, f"{counter} = 0")
        self.write(indent, f"while {counter} < {self.random.randrange(1, 6)} and")
        self.lines[-1] += f" {self.condition(scope)}:"
        self.write(indent + 1, f"{counter} += 1")
        self.looped(scope, indent, depth)

    def attempt(self, scope, indent, depth, loop):
        self.write(indent, "try:")
        first = self.way(scope, indent, depth, loop)
        self.write(indent, f"except {self.pick(ERRORS)}:")
        second = self.way(scope, indent, max(depth - 1, 0), loop)
        # The block may have been left anywhere.
        if first:
            second = second or scope.copy()
            second.join(first)
        scope.join(*[way for way in (first, second) if way])

    def nested(self, scope, indent, depth, loop):
        """A function inside, which reads what is around it, and is called at once."""
        name = self.pick(["g0", "g1", "g2"])
        inner = scope.within(a="number")
        target = self.target(scope) if self.chance(0.4) else None
        self.write(indent, f"def {name}(a):")
        if target and target != "a":
            self.write(indent + 1, f"nonlocal {target}")
            text = self.float(inner)
            self.write(indent + 1, f"{target} = {text}")
            scope.kinds[target] = "float"
        self.write(indent + 1, f"return {self.number(inner)[0]}")
        result = self.fresh()
        self.write(indent, f"{result} = {name}({self.number(scope, 2)[0]})")
        self.put(scope, result, "number")

    def generator(self, scope, indent, depth, loop):
        """A generator inside, which is gone through at once or later, or an expression."""
        name, target = self.pick(["g3", "g4"]), self.target(scope) or "k"
        inner = scope.within(a="float", k="int")
        self.write(indent, f"def {name}(a):")
        if target not in ("a", "k"):
            self.write(indent + 1, f"nonlocal {target}")
            scope.kinds[target] = inner.kinds[target] = "number"
        self.write(indent + 1, "for k in range(3):")
        self.loops += 1
        self.write(indent + 2, f"{target} = {self.number(inner, 2)[0]}")
        if self.chance(0.3):
            self.write(indent + 2, f"if {self.condition(inner)}: {self.pick(JUMPS)}")
        self.write(indent + 2, f"yield {self.number(inner, 2)[0]}")
        self.loops -= 1
        over = self.pick(["it", "(2 * v for v in it)", "map(abs, it)", "zip(it, (2.0, 3))"])
        self.write(indent, f"it = {name}({self.number(scope, 3)[0]})")
        self.write(indent, f"for {'v, u' if 'zip' in over else 'v'} in {over}:")
        before = scope.copy()
        self.put(scope, "v", "number")
        self.looped(scope, indent, depth)
        scope.join(before)

    def match(self, scope, indent, depth, loop):
        subject = self.name(scope, ("int", "bool")) or "2"
        self.write(indent, f"match {subject}:")
        ways = []
        for case in self.pick([["0", "1 | 2", "_"], ["2", "_"], ["1"]]):
            self.write(indent + 1, f"case {case}:")
            ways.append(self.way(scope, indent + 1, depth, loop))
        scope.join(*[way for way in ways if way])
