"""What random programs are made of beside numbers: the names of a scope, and statements over
tuples, dicts, instances, strings, None, arrays and functions of other kinds.

A program has some of these ``SORTS`` only, so that most stay short and are held against derivatives
by series, which arrays lose.
"""

import random

from whole_pieces import WholePieces

SORTS = ["tuples", "dicts", "objects", "texts", "nones", "extremes", "sequences", "calls", "ends"]
EXTREMES = ["float('inf')", "-float('inf')", "float('nan')", "-0.0", "5e-324", "1e308", "2**70"]
EXTREMES += ["-(2**63)", "2**63 - 1", "1e16", "2**53 + 1"]
CLASSES = """\
class Pair:
    def __init__(self, p, q):
        self.p = p
        self.q = q

    def total(self, by=2.0):
        return self.p * by + self.q
"""
RECURSIVE = """\
def r0(a, n):
    if n <= 0:
        return a
    return r0(a * 0.5 + n, n - 1) + a
"""
KEYS = ["p", "q"]


class Scope:
    """The names of a function that are assigned by now: sure ones, and some that may not be;
    ``lists`` by how long they are, and ``things`` by their sort.
    """

    def __init__(self, kinds, functions=(), lists=None, things=None):
        self.kinds = dict(kinds)
        self.maybe = set()
        self.lists = dict(lists or {})
        self.things = dict(things or {})
        self.functions = dict(functions)

    def copy(self):
        other = Scope(self.kinds, self.functions, self.lists, self.things)
        other.maybe = set(self.maybe)
        return other

    def within(self, **kinds):
        """The scope of a function inside, with names of its own."""
        other = self.copy()
        other.kinds.update(kinds)
        return other

    def becomes(self, other):
        self.kinds, self.maybe = other.kinds, other.maybe
        self.lists, self.things = other.lists, other.things

    def join(self, *others):
        """What is known after one of several ways was taken."""
        for other in others:
            for name, kind in other.kinds.items():
                if name not in self.kinds:
                    self.maybe.add(name)
                    self.kinds[name] = kind
                elif self.kinds[name] != kind:
                    self.kinds[name] = "number"
            for name in list(self.lists):
                if other.lists.get(name) != self.lists[name]:
                    self.lists[name] = min(self.lists[name], other.lists.get(name, 0))
            for name in list(self.things):
                if other.things.get(name) != self.things[name]:
                    del self.things[name]
            self.maybe |= other.maybe
        for other in others:
            self.maybe |= {name for name in self.kinds if name not in other.kinds}


class Pieces(WholePieces):
    """Statements and expressions of these sorts; ``Program`` has the others."""

    def draw_sorts(self, seed):
        """Which sorts a program has, with what they need above the function."""
        self.sorts = {sort for sort in SORTS if self.chance(0.25)}
        if self.chance(0.12):
            # Derivatives are differences then, which rounding to a large number spoils.
            self.sorts = (self.sorts - {"extremes"}) | {"arrays"}
            if self.chance(0.5):
                self.sorts.add("tables")
        # Drawn apart, so that a program without them is what it was for its seed.
        apart = random.Random(-1 - seed)
        if "arrays" in self.sorts and apart.random() < 0.5:
            self.sorts.add("integers")
        if apart.random() < 0.06:
            self.sorts = (self.sorts - {"extremes"}) | {"grids"}
        if "arrays" in self.sorts:
            self.lines.append("import numpy as np")
        if "objects" in self.sorts:
            self.lines += CLASSES.splitlines()
        if "calls" in self.sorts:
            self.lines += ["G = 1.5", "from functools import partial", *RECURSIVE.splitlines()]

    def pieces(self):
        """Makers of statements."""
        makers = {
            "tuples": [self.starred, self.nested_tuples],
            "dicts": [self.make_dict, self.change_dict],
            "objects": [self.make_object, self.change_object],
            "texts": [self.text],
            "nones": [self.none],
            "sequences": [self.change_sequence, self.change_sequence],
            "arrays": [self.make_array, self.change_array, self.change_array, self.read_array],
            "tables": [self.make_table, self.change_table, self.change_table, self.fill_table],
            "ends": [self.asserted, self.deleted, self.finished],
        }
        return [maker for sort in sorted(self.sorts) for maker in makers.get(sort, ())]

    def parts(self):
        """Makers of expressions."""
        makers = {
            "dicts": [self.entry],
            "objects": [self.field],
            "extremes": [self.outermost],
            "sequences": [self.of_sequence],
            "arrays": [self.element],
            "tables": [self.table_element, self.table_element],
            "integers": [self.of_integers, self.of_integers],
            "grids": [self.of_grid, self.of_grid],
            "calls": [self.called, self.called],
        }
        return [maker for sort in sorted(self.sorts) for maker in makers.get(sort, ())]

    def thing(self, scope, sort):
        found = sorted(name for name, each in scope.things.items() if each == sort)
        return self.pick(found) if found else None

    def some(self, scope, count):
        return [self.number(scope, 2)[0] for _ in range(count)]

    def line(self, indent, *names):
        """Writes lines of expressions as they come."""
        for text in names:
            self.write(indent, text)

    # Tuples, dicts and instances.

    def starred(self, scope, indent):
        name, rest = self.fresh(), f"l{self.random.randrange(3)}"
        parts = self.some(scope, self.random.randrange(1, 4))
        left = f"{name}, *{rest}" if self.chance(0.5) else f"*{rest}, {name}"
        self.write(indent, f"{left} = {', '.join(parts)},")
        self.put(scope, name, "number")
        scope.lists[rest] = len(parts) - 1

    def nested_tuples(self, scope, indent):
        a, b, c = (self.fresh() for _ in range(3))
        one, two, three = self.some(scope, 3)
        if self.chance(0.5):
            self.write(indent, f"t = ({one}, ({two}, {three}))")
            self.write(indent, f"{a}, ({b}, {c}) = t" if self.chance(0.5) else f"{c} = t[1][0]")
            changed = [a, b, c] if self.lines[-1].endswith("= t") else [c]
        else:
            over = f"[({one}, {two}), ({two}, {three})]"
            self.write(indent, f"{a} = sum(u * v for u, v in {over})")
            changed = [a]
        for name in changed:
            self.put(scope, name, "number")

    def make_dict(self, scope, indent):
        name = f"d{self.random.randrange(2)}"
        if self.chance(0.2) and (other := self.thing(scope, "dict")):
            self.write(indent, f"{name} = {self.pick([other, f'dict({other})'])}")
        else:
            one, two = self.some(scope, 2)
            self.write(indent, f"{name} = {{'p': {one}, 'q': {two}}}")
        scope.things[name] = "dict"

    def change_dict(self, scope, indent):
        name, key = self.thing(scope, "dict"), self.pick(KEYS)
        if not name:
            return self.make_dict(scope, indent)
        (text,) = self.some(scope, 1)
        if self.chance(0.2):
            target = self.fresh()
            self.write(indent, f"{target} = 0.0")
            self.write(indent, f"for key, v in {name}.items():")
            self.write(indent + 1, f"{target} += v * (2.0 if key == 'p' else {text})")
            self.put(scope, target, "float")
            self.put(scope, "v", "number")
        elif self.chance(0.2):
            self.write(indent, f"{name}.update({key}={text})")
        else:
            self.write(indent, f"{name}['{key}'] {self.pick(['=', '+=', '-='])} {text}")
        return None

    def entry(self, scope, depth):
        name, key = self.thing(scope, "dict"), self.pick(KEYS)
        if not name:
            return self.binary(scope, depth)
        if self.chance(0.2):
            return f"{name}.get('{self.pick([*KEYS, 'r'])}', {self.pick(['0.5', '2'])})", "number"
        if self.chance(0.2):
            return f"sum({name}.values())", "number"
        return f"{name}['{key}']", "number"

    def make_object(self, scope, indent):
        name = f"o{self.random.randrange(2)}"
        if self.chance(0.2) and (other := self.thing(scope, "Pair")):
            self.write(indent, f"{name} = {other}")
        else:
            one, two = self.some(scope, 2)
            self.write(indent, f"{name} = Pair({one}, {self.pick(['', 'q='])}{two})")
        scope.things[name] = "Pair"

    def change_object(self, scope, indent):
        name = self.thing(scope, "Pair")
        if not name:
            return self.make_object(scope, indent)
        (text,) = self.some(scope, 1)
        operator = self.pick(["=", "+=", "-="])
        self.write(indent, f"{name}.{self.pick(KEYS)} {operator} {text}")
        return None

    def field(self, scope, depth):
        name = self.thing(scope, "Pair")
        if not name:
            return self.binary(scope, depth)
        how = self.pick(["p", "q", "total()", "total(by=0.5)"])
        return f"{name}.{how}", "number"

    # Strings and None.

    def text(self, scope, indent):
        name, result = self.pick(["s0", "s1"]), self.fresh()
        one, two = self.some(scope, 2)
        self.write(indent, f"{name} = 'up' if {self.condition(scope)} else 'down'")
        test = self.pick([f"{name} == 'up'", f"{name} != 'down'", f"{name}.startswith('u')"])
        self.write(indent, f"{result} = {one} if {test} else {two}")
        self.put(scope, result, "number")

    def none(self, scope, indent):
        result = self.fresh()
        one, two = self.some(scope, 2)
        self.write(indent, f"m = None if {self.condition(scope)} else {one}")
        test = self.pick(["m is None", "m is not None", "m"])
        other = "m + 1.0" if test != "m is None" else two
        last = two if test != "m is None" else "m * 0.5"
        self.write(indent, f"{result} = {other} if {test} else {last}")
        self.put(scope, result, "number")

    def outermost(self, scope, depth):
        text = self.pick(EXTREMES)
        return f"({text})", "int" if "**" in text and not self.loops else "number"

    # Sequences.

    def change_sequence(self, scope, indent):
        if not scope.lists:
            return self.make_list(scope, indent)
        name = self.pick(sorted(scope.lists))
        count = scope.lists[name]
        (text,) = self.some(scope, 1)
        how = self.random.randrange(6)
        if how == 0 and count > 0 and not self.loops:
            target = self.fresh()
            self.write(indent, f"{target} = {name}.pop({self.pick(['', '0'])})")
            self.put(scope, target, "number")
            scope.lists[name] -= 1
        elif how == 1 and not self.loops:
            self.write(indent, f"{name}.extend([{text}, 2.0])")
            scope.lists[name] += 2
        elif how == 2:
            forms = ["list(reversed({}))", "sorted({})", "{}[::-1]", "[v * 2 for v in {}]"]
            self.write(indent, f"{name} = {self.pick(forms).format(name)}")
        elif how == 3 and not self.loops:
            self.write(indent, f"{name} = {name} + [{text}]")
            scope.lists[name] += 1
        elif how == 4 and not self.loops:
            self.write(indent, f"{name}.insert(0, {text})")
            scope.lists[name] += 1
        else:
            self.write(indent, f"{name} = [{text}]")
            self.write(indent, "for k in range(3):")
            self.write(indent + 1, f"{name}.append({name}[-1] * 0.5 + k)")
            scope.lists[name] = 4
            self.put(scope, "k", "int")
        return None

    def of_sequence(self, scope, depth):
        if not scope.lists:
            return self.binary(scope, depth)
        name = self.pick(sorted(scope.lists))
        if not scope.lists[name] or self.chance(0.3):
            return f"len({name})", "int"
        forms = ["sum({})", "max({})", "min({})", "sorted({})[0]", "{}[1:][0]", "sum({}[::2])"]
        forms += [
            "sum(u * v for u, v in zip({0}, {0}[1:]))",
            "sum([i * v for i, v in enumerate({})])",
        ]
        return self.pick(forms).format(name), "number"

    # Arrays, all of three numbers.

    def make_array(self, scope, indent):
        name = f"a{self.random.randrange(1, 4)}"
        other = self.thing(scope, "array")
        if other and self.chance(0.4):
            forms = [
                "{}",
                "{}[::-1]",
                "{}[:]",
                "{}.copy()",
                "np.sin({})",
                "{0} * {0}",
                "np.tanh({}) + x",
            ]
            forms = [form for form in forms if "x" not in form or "x" in scope.kinds]
            self.write(indent, f"{name} = {self.pick(forms).format(other)}")
        elif self.chance(0.3):
            self.write(
                indent, f"{name} = {self.pick(['np.zeros(3)', 'np.ones(3)', 'np.arange(3.0)'])}"
            )
        else:
            parts = ", ".join(self.some(scope, 3))
            self.write(indent, f"{name} = np.array([{parts}], dtype=float)")
        scope.things[name] = "array"

    def change_array(self, scope, indent):
        name = self.thing(scope, "array")
        if not name:
            return self.make_array(scope, indent)
        other = self.thing(scope, "array")
        (text,) = self.some(scope, 1)
        where = self.pick(
            ["0", "-1", "1:", "::2", ":", f"{name} > 0.5", "[0, 2]", "[1, 1]", "i % 3"]
        )
        if where == "i % 3":
            self.write(indent, "for i in range(4):")
            indent += 1
            self.put(scope, "i", "int")
        if self.chance(0.2):
            self.write(
                indent, f"{name} {self.pick(['+=', '*=', '-='])} {self.pick([other, '0.5'])}"
            )
        elif where == ":" and self.chance(0.5):
            self.write(indent, f"{name}[:] = {other}")
        else:
            self.write(indent, f"{name}[{where}] {self.pick(['=', '+=', '*='])} {text}")
        return None

    def read_array(self, scope, indent):
        name, target = self.thing(scope, "array"), self.fresh()
        if not name:
            return self.make_array(scope, indent)
        self.write(indent, f"{target} = 0.0")
        self.write(indent, f"for v in {name}:")
        self.write(indent + 1, f"{target} += v * {self.pick(['v', '0.5', '2'])}")
        self.put(scope, target, "float")
        self.put(scope, "v", "number")
        return None

    def element(self, scope, depth):
        name = self.thing(scope, "array")
        if not name:
            return self.binary(scope, depth)
        forms = [
            "{}[0]",
            "{}[-1]",
            "{}.sum()",
            "np.sum({}[1:])",
            "np.dot({0}, {0})",
            "float({}.max())",
        ]
        forms += ["{}.mean()", "np.where({0} > 0, {0}, 0.5).sum()", "{}[1].item()", "len({})"]
        forms += [
            "({0} @ {0}[::-1])",
            "np.max({})",
            "float(np.float64({}[0]))",
            "np.exp(-abs({}[2]))",
        ]
        return self.pick(forms).format(name), "number"

    # Tables, arrays of three rows of two numbers.

    def make_table(self, scope, indent):
        name, other = f"m{self.random.randrange(1, 4)}", self.thing(scope, "table")
        if other and self.chance(0.5):
            forms = ["{}", "{}.copy()", "{0} * {0}", "{}[::-1]", "np.tanh({})"]
            self.write(indent, f"{name} = {self.pick(forms).format(other)}")
        elif self.chance(0.4):
            self.write(indent, f"{name} = np.{self.pick(['zeros', 'ones'])}((3, 2))")
        else:
            a, b, c = self.some(scope, 3)
            rows = f"[[{a}, {b}], [1.5, {c}], [{b}, -0.5]]"
            self.write(indent, f"{name} = np.array({rows}, dtype=float)")
        scope.things[name] = "table"

    def place(self, rows=("0", "2", "-1"), columns=("0", "1", "-2")):
        """An element of a table, as a subscript."""
        row, column = self.pick(rows), self.pick(columns)
        return self.pick([f"[{row}, {column}]", f"[{row}][{column}]"])

    def change_table(self, scope, indent):
        name = self.thing(scope, "table")
        if not name:
            return self.make_table(scope, indent)
        operator = self.pick(["=", "+=", "-=", "*="])
        if self.chance(0.3):
            other = self.thing(scope, "table")
            row, column = ["[1]", "[0][:]", "[-1]", "[n % 3, :]"], ["[:, 1]", "[:, n % 2]"]
            one, two = self.pick([(row, ["[0]", "[2]", "[n % 3]"]), (column, ["[:, 0]", *column])])
            text = f"{self.pick(one)} {operator} {other}{self.pick(two)}"
            self.write(indent, f"{name}{text}{self.pick(['', ' * 2.0'])}")
            return None
        (text,) = self.some(scope, 1)
        self.write(indent, f"{name}{self.place()} {operator} {text}")
        return None

    def fill_table(self, scope, indent):
        name, other = self.thing(scope, "table"), self.thing(scope, "table")
        if not name:
            return self.make_table(scope, indent)
        rows = ("i", "i - 1", "-i", "2 - i")
        self.write(indent, "for i in range(3):")
        self.write(indent + 1, f"for j in range({self.pick(['2', 'i', 'min(i, 2)'])}):")
        columns = ("j", "j - 1", "1 - j") if self.lines[-1].endswith("range(2):") else ("0", "-1")
        one, two = self.place(rows, columns), self.place(rows, columns)
        if self.chance(0.3):
            pairs = [("[i]", "[2 - i, :]"), ("[:, i % 2]", "[:, 0]"), ("[i, :2]", "[i]")]
            one, two = self.pick(pairs)
        operator, factor = self.pick(["=", "+=", "*="]), self.pick(["0.5", "-1.0", "i"])
        self.write(indent + 2, f"{name}{one} {operator} {other}{two} * {factor}")
        return None

    def table_element(self, scope, depth):
        name = self.thing(scope, "table")
        if not name:
            return self.binary(scope, depth)
        forms = [f"{{}}{self.place()}", f"{{}}{self.place()}", "{}.sum()", "{}[1] @ {}[-1]"]
        forms += ["np.sum({}[:, 1])", "len({})", "{}.shape[1]", "np.max({}[2])"]
        return self.pick(forms).replace("{}", name), "number"

    # Functions, and how they end.

    def called(self, scope, depth):
        one, two = (self.number(scope, depth + 1)[0] for _ in range(2))
        forms = [
            f"(lambda u, v={two}: u * v)({one})",
            f"(lambda *us: us[0] - us[-1])({one}, {two})",
        ]
        forms += [
            f"(lambda **ks: ks['p'] * 2.0)(p={one})",
            f"(G * {one})",
            f"max([{one}, {two}], key=abs)",
        ]
        if not self.loops:
            forms += [f"r0({one}, {self.pick(['2', '3', 'int(G)'])})"] * 2
        if scope.functions:
            name = self.pick(sorted(scope.functions))
            forms += [f"{name}(*({one}, {two}))", f"{name}(b={one}, a={two})"]
            forms += [f"partial({name}, {one})({two})", f"{name}(**{{'a': {one}, 'b': {two}}})"]
            forms += [f"({name} if {self.condition(scope)} else min)({one}, {two})"]
        return self.pick(forms), "number"

    def asserted(self, scope, indent):
        self.write(indent, f"assert {self.condition(scope)} or {self.condition(scope)}, 'no'")

    def deleted(self, scope, indent):
        name = self.fresh()
        (text,) = self.some(scope, 1)
        self.write(indent, f"{name} = {text}")
        other = self.fresh()
        self.write(indent, f"{other} = {name} * 2.0")
        self.put(scope, other, "float")
        if name != other:
            self.write(indent, f"del {name}")
            scope.kinds.pop(name, None)
            scope.maybe.discard(name)

    def finished(self, scope, indent):
        """``try`` with ``else`` and ``finally``, and exceptions that are raised within."""
        name = self.fresh()
        one, two = self.some(scope, 2)
        self.line(indent, f"{name} = 0.0", "try:", f"    {name} = {one}")
        if self.chance(0.6):
            self.write(indent + 1, f"if {self.condition(scope)}: raise ValueError('within')")
        self.line(indent, "except (ValueError, ZeroDivisionError) as error:")
        self.write(indent + 1, self.pick([f"{name} -= 1.0", f"{name} += 1.5", "pass"]))
        if self.chance(0.4):
            self.line(indent, "else:", f"    {name} = {name} + {two}")
        if self.chance(0.6):
            self.line(indent, "finally:", f"    {name} = {name} * 0.5")
        self.put(scope, name, "number")
