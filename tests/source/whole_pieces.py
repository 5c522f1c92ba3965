"""What random programs do with arrays of integers, masks, and lists of lists.

All arrays have three elements, as the others of a program, so that integers are places of one
another; a list of lists has nine rows of nine numbers, which is a table where it is read
(``types/tables.py``).
"""


class WholePieces:
    """Statements and expressions of these sorts. A program that has them begins with some, and
    most of its statements are of them.
    """

    def whole_makers(self):
        """Makers of statements."""
        makers = []
        if "integers" in self.sorts:
            makers += [
                self.make_integers,
                self.make_mask,
                self.change_integers,
                self.change_integers,
            ]
            makers += [self.change_mask, self.change_mask, self.read_integers]
        if "grids" in self.sorts:
            makers += [self.make_grid, self.change_grid, self.change_grid, self.fill_grid]
        return makers

    def begin(self, scope, indent):
        """The first statements of the function."""
        if "integers" in self.sorts:
            for make in (self.make_array, self.make_integers, self.make_mask, self.make_integers):
                make(scope, indent)
        if "grids" in self.sorts:
            self.make_grid(scope, indent)
            self.fill_grid(scope, indent)

    def whole_result(self, scope):
        """What the function returns of them."""
        parts = []
        for sort, form in (
            ("integers", "(1.5 * {} * x).sum()"),
            ("mask", "0.25 * {}.sum()"),
            ("array", "{}.sum()"),
        ):
            found = sorted(name for name, each in scope.things.items() if each == sort)
            parts += [form.format(name) for name in found] if "integers" in self.sorts else []
        if "grids" in self.sorts and (name := self.thing(scope, "grid")):
            parts += [f"sum([sum(r) * (k + 1) for k, r in enumerate({name})])", f"{name}[4][4]"]
        return " + ".join(parts)

    # Arrays of integers, and masks.

    def whole(self, scope):
        """An expression that is a small integer."""
        array, mask = self.thing(scope, "integers"), self.thing(scope, "mask")
        forms = ["2", "0", "-1", "1"]
        forms += ["n % 3"] * ("n" in scope.kinds) + ["i"] * self.is_whole(scope, "i")
        forms += [f"{array}[1]", f"{array}[-1] % 3", f"int({array}.max())"] if array else []
        forms += [f"{mask}.sum()", f"int({mask}[2])"] if mask else []
        return self.pick(forms)

    def is_whole(self, scope, name):
        return scope.kinds.get(name) == "int" and name not in scope.maybe

    def place_in_three(self, scope):
        array, mask = self.thing(scope, "integers"), self.thing(scope, "mask")
        forms = ["0", "-1", "1:", "::2", ":", "[0, 2]", "[1, 1]"]
        forms += [f"{array} % 3", f"{array}[0] % 3"] if array else []
        forms += [mask, f"~{mask}"] if mask else []
        forms += ["n % 3", "n % 3:"] if "n" in scope.kinds else []
        return self.pick(forms)

    def make_integers(self, scope, indent):
        name, other = f"q{self.random.randrange(1, 4)}", self.thing(scope, "integers")
        forms = ["np.arange(3)", "np.zeros(3, int)", "np.array([2, 0, 1])", "np.full(3, 2)"]
        if other:
            forms = [
                "{}",
                "{}[::-1]",
                "{}[:]",
                "{}.copy()",
                "{} + 1",
                "{}[[2, 0, 1]]",
                "np.sort({})",
            ]
            forms += ["{0}[{0} % 3]", "{}.astype(int)", "np.array({})", "np.cumsum({})", "-{}"]
            forms += ["np.where({0} > 1, {0}, 1)", "np.asarray({})", "{} * 2 % 3", "{}.reshape(3)"]
        if (array := self.thing(scope, "array")) and self.chance(0.2):
            forms = [f"np.argsort({array})", f"np.sign({array}).astype(int)"]
        self.write(indent, f"{name} = {self.pick(forms).format(other)}")
        scope.things[name] = "integers"

    def make_mask(self, scope, indent):
        name, other = f"b{self.random.randrange(1, 4)}", self.thing(scope, "mask")
        forms = ["np.zeros(3, bool)", "np.ones(3, dtype=bool)", "np.array([True, False, True])"]
        if other:
            forms = ["{}", "{}[::-1]", "~{}", "{}.copy()", "{}[[0, 0, 2]]", "np.logical_not({})"]
        if (array := self.thing(scope, "array")) and self.chance(0.4):
            forms = [f"{array} > 0.5", f"{array} != {array}[::-1]"]
        if (array := self.thing(scope, "integers")) and self.chance(0.4):
            forms = [f"{array} == 1", f"{array}.astype(bool)", f"{array} % 2 == 0"]
        self.write(indent, f"{name} = {self.pick(forms).format(other)}")
        scope.things[name] = "mask"

    def change_integers(self, scope, indent):
        name, other = self.thing(scope, "integers"), self.thing(scope, "integers")
        if not name:
            return self.make_integers(scope, indent)
        operator = self.pick(["=", "+=", "-=", *([] if self.loops else ["*="])])
        if self.chance(0.2):
            self.write(indent, "for i in range(3):")
            self.put(scope, "i", "int")
            indent += 1
            value = self.pick(["i", f"{other}[i]", f"{other}[2 - i] + 1", self.whole(scope)])
            self.write(
                indent, f"{name}[{self.pick(['i', '-i', '(i + 1) % 3'])}] {operator} {value}"
            )
        elif self.chance(0.2):
            pairs = [("0", "2"), ("1", "-1"), *([("n % 3", "0")] if "n" in scope.kinds else [])]
            one, two = self.pick(pairs)
            self.write(indent, f"{name}[{one}], {name}[{two}] = {name}[{two}], {name}[{one}]")
        elif self.chance(0.3):
            whole = self.pick([f"{name}[:] = {other}", f"{name} += {other}", f"{name} -= 1"])
            self.write(indent, whole)
        else:
            place = self.place_in_three(scope)
            self.write(indent, f"{name}[{place}] {operator} {self.whole(scope)}")
        return None

    def change_mask(self, scope, indent):
        name, other = self.thing(scope, "mask"), self.thing(scope, "mask")
        if not name:
            return self.make_mask(scope, indent)
        value = self.pick(["True", "False", f"not {other}[1]", self.condition(scope)])
        if self.chance(0.3):
            self.write(indent, f"{name} {self.pick(['&=', '|=', '^='])} {other}")
        elif self.chance(0.2):
            self.write(indent, f"{name}[:] = {other}")
        else:
            self.write(indent, f"{name}[{self.place_in_three(scope)}] = {value}")
        return None

    def read_integers(self, scope, indent):
        name, target = self.thing(scope, "integers"), self.fresh()
        if not name:
            return self.make_integers(scope, indent)
        self.write(indent, f"{target} = 0.0")
        self.write(indent, f"for v in {name}:")
        self.write(indent + 1, f"{target} += v * {self.pick(['0.5', 'x', '-1.5'])}")
        self.put(scope, target, "float")
        self.put(scope, "v", "number")
        return None

    def of_integers(self, scope, depth):
        array, mask = self.thing(scope, "integers"), self.thing(scope, "mask")
        floats = self.thing(scope, "array")
        forms = []
        if array:
            forms += [f"0.5 * {array}[0]", f"float({array}.sum())", f"0.1 * {array}[-1]"]
            forms += [f"({array} * 0.5).sum()", f"np.sum({array}) * 1.5"]
        if mask:
            forms += [
                f"0.5 * {mask}.sum()",
                f"(1.5 if {mask}[0] else -0.5)",
                f"float({mask}.any())",
            ]
        if array and floats:
            forms += [f"{floats}[{array} % 3].sum()", f"({floats} * {array}).sum()"]
            forms += [f"{floats}[{array}[1] % 3]", f"({floats} @ {array})"]
        if mask and floats:
            forms += [f"{floats}[{mask}].sum()", f"np.where({mask}, {floats}, 0.5).sum()"]
            forms += [f"({floats} * {mask}).sum()"]
        return (self.pick(forms), "number") if forms else self.binary(scope, depth)

    # Lists of lists.

    def cell(self, scope):
        """Subscripts of one number, computed or not."""
        forms = ["0", "3", "-1", "8"]
        forms += ["n % 9", "-n - 1"] if "n" in scope.kinds else []
        forms += ["i", "8 - i"] if self.is_whole(scope, "i") else []
        return f"[{self.pick(forms)}][{self.pick(forms)}]"

    def make_grid(self, scope, indent):
        name, other = f"grid{self.random.randrange(1, 3)}", self.thing(scope, "grid")
        (one,) = self.some(scope, 1)
        forms = [
            "[[0.0] * 9 for _ in range(9)]",
            "[[0.5 * r - c for c in range(9)] for r in range(9)]",
            f"[[{one}] * 9 for _ in range(9)]",
            "[[float(r == c) for c in range(9)] for r in range(9)]",
        ]
        if other:
            forms += ["{}", "[r[:] for r in {}]", "[list(r) for r in {}]", "{}[::-1]", "list({})"]
        self.write(indent, f"{name} = {self.pick(forms).replace('{}', other or '')}")
        scope.things[name] = "grid"

    def change_grid(self, scope, indent):
        name, other = self.thing(scope, "grid"), self.thing(scope, "grid")
        if not name:
            return self.make_grid(scope, indent)
        (one,) = self.some(scope, 1)
        how = self.random.randrange(6)
        if how == 0:
            a, b = self.cell(scope), self.cell(scope)
            self.write(indent, f"{name}{a}, {name}{b} = {name}{b}, {name}{a}")
        elif how == 1:
            computed = ["n % 9", "n"] if "n" in scope.kinds else []
            a, b = self.pick(["0", "5", *computed]), self.pick(["2", "-1", *computed])
            text = f"{name}[{a}], {name}[{b}] = {name}[{b}], {name}[{a}]"
            self.write(indent, self.pick([text, f"{name}[{a}] = {other}[{b}][:]"]))
        elif how == 2:
            self.write(indent, f"row = {name}[{self.pick(['1', '-2', '4'])}]")
            self.write(indent, f"row[{self.pick(['0', '-1', '4'])}] {self.pick(['=', '+='])} {one}")
        elif how == 3:
            self.write(indent, f"for row in {name}:")
            self.write(indent + 1, f"row[{self.pick(['0', '-1', '4'])}] += {one}")
        else:
            operator = self.pick(["=", "+=", "-=", "*="])
            self.write(indent, f"{name}{self.cell(scope)} {operator} {one}")
        return None

    def fill_grid(self, scope, indent):
        name, other = self.thing(scope, "grid"), self.thing(scope, "grid")
        if not name:
            return self.make_grid(scope, indent)
        (one,) = self.some(scope, 1)
        self.write(indent, f"for i in range({self.pick(['9', '1, 9', '8, 0, -1'])}):")
        self.write(indent + 1, f"for j in range({self.pick(['1, 9', 'i', '9 - i', '3'])}):")
        places = ["[i][j]", "[i - 1][j]", "[j][i]", "[i][j - 1]", "[i - 1][j - 1]", "[8 - i][j]"]
        texts = [
            f"{other}{self.pick(places)} * 0.5",
            f"{one}",
            f"0.1 * i - {other}{self.pick(places)}",
        ]
        texts += [f"max({other}{self.pick(places)}, {other}{self.pick(places)})"]
        if self.chance(0.3):
            self.write(indent + 2, f"if {other}{self.pick(places)} > {self.pick(['0.5', '0.0'])}:")
            indent += 1
        operator = self.pick(["=", "+=", "-="])
        self.write(indent + 2, f"{name}{self.pick(places[:3])} {operator} {self.pick(texts)}")
        for counter in ("i", "j"):
            self.put(scope, counter, "int")
            scope.maybe.add(counter)
        return None

    def of_grid(self, scope, depth):
        name = self.thing(scope, "grid")
        if not name:
            return self.binary(scope, depth)
        forms = [f"{{}}{self.cell(scope)}"] * 4
        forms += [
            "sum({}[3])",
            "max({}[-1])",
            "sum(sum(r) for r in {}) * 0.01",
            "min(map(max, {}))",
        ]
        forms += ["sum({}[k][k] for k in range(9))", "0.1 * len({}[0])", "sum(r[0] for r in {})"]
        return self.pick(forms).replace("{}", name), "number"
