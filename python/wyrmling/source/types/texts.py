"""Text that depends on what is computed, and ``print``.

A string with computed numbers in it is what is written and what stands in between; it is made where
the program has returned, of Python's own numbers, so it is Python's to the letter. What is printed
is a result of the program too, beside what the function returns: it is printed when the program has
returned, so that a program that is left has printed nothing. It is a list whose structure has to be
known: text that is printed in a loop that stays one is refused.
"""

from __future__ import annotations

import ast
import math
import operator
import sys
import types
from collections.abc import Iterator, Sequence
from typing import Any

from ..abstract.join import Incoming
from ..abstract.restarts import Restart
from ..abstract.state import (
    ArrayContents,
    CellContents,
    DictContents,
    InstanceContents,
    ListContents,
    State,
    is_list_or_dict,
)
from ..abstract.values import (
    CLASSES,
    INTEGERS,
    PLACEHOLDER,
    REAL,
    Array,
    Caught,
    Choice,
    Known,
    Lost,
    Number,
    Reference,
    Text,
    Tuple,
    ZeroDimensional,
    is_integers,
)
from ..abstract.walker import Walker
from ..program import form as forms

PRINTS = ".prints"
"""What says that a function prints, among the names that are kept track of."""

PRINT_IN_A_LOOP = "print in a loop"
IN_A_LOOP = "print beside the loop, or use mode='trace'"

STR, REPR, ASCII = 115, 114, 97
CHANGES: dict[int, Any] = {STR: str, REPR: repr, ASCII: ascii}


class Texts(Walker):
    """Strings that are computed."""

    # The cell of what is printed, if something is.
    printed: Reference | None = None

    def evaluate_JoinedStr(self, node: ast.JoinedStr) -> Any:
        """An f-string: text, if anything in it is computed."""
        return self.joined_text([self.evaluate(part) for part in node.values])

    def joined_text(self, parts: Sequence[Any]) -> Any:
        """One string of several."""
        template: list[Any] = []
        values: list[Any] = []
        for part in parts:
            if _is_string(part):
                pieces: tuple[Any, ...] = (part.object,)
            elif isinstance(part, Text) and part.template is not None:
                pieces = part.template
                values += part.values
            else:
                return Text()
            for piece in pieces:
                if isinstance(piece, str) and template and isinstance(template[-1], str):
                    template[-1] += piece
                else:
                    template.append(piece)
        if all(isinstance(piece, str) for piece in template):
            return Known("".join(template))
        return Text(tuple(template), tuple(values))

    def text_between(self, between: str, args: Sequence[Any], node: ast.AST) -> Any:
        """``between.join(parts)``."""
        parts = self.items(args[0], node)
        if not all(isinstance(one, Text) or _is_string(one) for one in parts):
            self.leave("text is joined of strings only", node)
        pairs = (pair for part in parts for pair in (Known(between), part))
        return self.joined_text(list(pairs)[1:])

    def in_known(self, item: Any, container: Any, node: ast.AST) -> Any:
        """``item in container`` of an object that is known; None if its items are compared."""
        if isinstance(item, Known) and isinstance(container, str | bytes | frozenset | range):
            return self.fold(operator.contains, [container, item.object], node)
        if not isinstance(container, str | bytes):
            return None
        if isinstance(item, Text) or isinstance(container, bytes):
            self.refuse(node, "what is computed in a text", "compare numbers")
        return self.leave("a text is looked through for texts", node, TypeError)

    def evaluate_FormattedValue(self, node: ast.FormattedValue) -> Any:
        """A field of an f-string."""
        value = self.evaluate(node.value)
        spec = Known("") if node.format_spec is None else self.evaluate(node.format_spec)
        if not isinstance(spec, Known):
            return Text()
        return self.formatted(value, node.conversion, spec.object, node)

    def formatted(self, value: Any, change: int, spec: str, node: ast.AST) -> Any:
        """``format(value, spec)``, of its ``str``, ``repr`` or ``ascii`` if ``change`` says so."""
        if isinstance(value, Caught) and change not in (REPR, ASCII) and value.text is not None:
            return self.formatted(value.text, STR, spec, node)
        convert = CHANGES.get(change, lambda x: x)
        if isinstance(value, Known) and isinstance(value.object, int | float | str | None):
            return self.fold(lambda x: format(convert(x), spec), [value.object], node)
        self._expect_known_text(value, node)
        seen = self.as_printed(value)
        if seen is None:
            return Text()
        if spec:
            if change in CHANGES or isinstance(seen, Text):
                likes: list[Any] = ["", ""]
            elif isinstance(seen, Number):
                likes = [_sample(seen), _sample(seen, odd=True)]
            else:
                return Text()
            try:
                format(likes[0], spec)
            except (ValueError, TypeError):
                self.leave("a format does not fit", node)
            if not _fits(format, likes[1], spec):
                return Text()
        return Text(((change, spec),), (seen,))

    def filled_in(self, change: str, text: str, values: Any, node: ast.AST) -> Any:
        """``text % values``, or ``text.format(*values)``."""
        self._expect_known_text(values, node)
        seen = self.as_printed(values)
        like = _sample(seen)
        if like is None:
            return Text()
        try:
            forms.FILLED[change](text, like)
        except (ValueError, TypeError, LookupError):
            self.leave("a format does not fit", node)
        if not _fits(forms.FILLED[change], text, _sample(seen, odd=True)):
            return Text()
        return Text(((change, text),), (seen,))

    def as_printed(self, value: Any) -> Any:
        """The value as it is now, whatever becomes of it later; None if it is shown in a way that
        is not known: by an address, or as what no program returns.
        """
        if isinstance(value, Number | Known | ZeroDimensional):
            return value
        if isinstance(value, Text):
            return None if value.template is None else value
        if isinstance(value, Choice):
            ways = [self.as_printed(one) for one in value.alternatives]
            return None if None in ways else Choice(value.tag, tuple(ways))
        if isinstance(value, Array):
            return value if value.shape and not is_integers(value) else None
        if isinstance(value, Tuple):
            items = [self.as_printed(item) for item in value.items]
            return None if None in items else Tuple(tuple(items), value.cls)
        if not isinstance(value, Reference):
            return None
        contents = self.state.heap[value.address]
        if isinstance(contents, ArrayContents):
            return None if contents.head is not None else self.as_printed(contents.value)
        if isinstance(contents, InstanceContents):
            shown: Any = contents.cls.__repr__
            if shown is object.__repr__:
                return None
        elif not is_list_or_dict(contents):
            return None
        parts = [self.as_printed(part) for part in contents.parts]
        return None if None in parts else self.allocate(contents.with_parts(tuple(parts)))

    def _expect_known_text(self, value: Any, node: ast.AST) -> None:
        if self._makes_own_text(value):
            self.refuse(node, "the text of an object whose class makes it", "show its numbers")

    def _makes_own_text(self, value: Any) -> bool:
        """Whether code of the user's makes the text of something: it would run late or not at all,
        and what it raises or changes would be missed.
        """
        if isinstance(value, Known):
            return _has_own_text(type(value.object))
        if isinstance(value, Choice):
            return any(map(self._makes_own_text, value.alternatives))
        if isinstance(value, Tuple):
            return _has_own_text(value.cls) or any(map(self._makes_own_text, value.items))
        contents = self.state.heap.get(value.address) if isinstance(value, Reference) else None
        if isinstance(contents, InstanceContents) and _has_own_text(contents.cls):
            return True
        if not isinstance(contents, InstanceContents | ListContents | DictContents):
            return False
        return any(map(self._makes_own_text, contents.parts))

    def builtin_str(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``str(x)``: text, if x is computed."""
        return self._shown(str, STR, args, keywords, node)

    def builtin_repr(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``repr(x)``: text, if x is computed."""
        return self._shown(repr, REPR, args, keywords, node)

    def _shown(
        self, found: Any, change: int, args: list[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        if len(args) == 1 and change == STR and isinstance(args[0], Caught):
            args = [args[0].text or args[0]]
        ways = args[0].alternatives if len(args) == 1 and isinstance(args[0], Choice) else ()
        if ways and not keywords and all(isinstance(one, Known) for one in ways):
            return self.distribute(
                args[0], lambda one: self._shown(found, change, [one], {}, node), node
            )
        if len(args) == 1 and not keywords and not isinstance(args[0], Known):
            return self.formatted(args[0], change, "", node)
        return self.pure(found, args, keywords, node)

    def builtin_format(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``format(x, spec)``."""
        if 0 < len(args) < 3 and not keywords and not isinstance(args[0], Known):
            spec = self.constant_of(args[1], node, "a format that is computed") if args[1:] else ""
            return self.formatted(args[0], -1, spec, node)
        return self.pure(format, args, keywords, node)

    def builtin_print(self, args: list[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``print(...)``: another thing that is printed where the program has returned."""
        if PRINTS not in self.names_kept:
            raise Restart(kept=frozenset({PRINTS}))
        if set(keywords) - {"sep", "end", "file", "flush"}:
            self.leave("print has no such argument", node)
        options: list[Any] = []
        for name in ("sep", "end", "flush"):
            given = keywords.get(name, Known(None))
            found = self.constant_of(given, node, "an argument of print that is computed")
            if name != "flush" and not isinstance(found, str | None):
                self.leave("an argument of print is no string", node)
            options.append(Known(found))
        options.append(keywords.get("file", Known(None)))
        if not isinstance(options[-1], Known):
            self.refuse(node, "print to such a file", "print to a file of the module's")
        args = [
            self.formatted(one, STR, "", node) if isinstance(one, Caught) else one for one in args
        ]
        for arg in args:
            self._expect_known_text(arg, node)
        items = [self.as_printed(arg) for arg in args]
        if None in items:
            self.refuse(node, "print of this", "print numbers, arrays, strings and lists of them")
        assert self.printed is not None, "there is a cell once something is printed"
        contents = self.state.heap.get(self.printed.address)
        if not isinstance(contents, CellContents):
            self.refuse(node, "print in a recursion or within a derivative", "print beside it")
        if isinstance(contents.value, Lost):
            self.refuse(node, "print after print in a loop", IN_A_LOOP)
        entry = Tuple((contents.value, Tuple((*options, Tuple(tuple(items))))))
        self.state.heap[self.printed.address] = CellContents(entry)
        return Known(None)

    def is_only_printed(self, node: ast.AST) -> bool:
        """Whether what is asked for here, ``type(x)`` or ``x.__class__``, is shown in a call of
        ``print`` by its name or as text, and nothing else is done with it.
        """
        for call in ast.walk(self.frame.reading.node):
            if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
                continue
            if call.func.id == "print" and any(one is node for one in _shown(call.args)):
                printing = self.evaluate(call.func)
                return isinstance(printing, Known) and printing.object is print
        return False

    def prints_since(self, entry: State, ways: Sequence[Incoming]) -> bool:
        """Whether something was printed on a path from there."""
        if self.printed is None:
            return False
        address = self.printed.address
        return any(way.state.heap.get(address) != entry.heap.get(address) for way in ways)

    def all_printed(self, node: ast.AST) -> Any:
        """What has been printed on the paths to here: nothing, or what was before and the last."""
        if self.printed is None:
            return None
        contents = self.state.heap.get(self.printed.address)
        if not isinstance(contents, CellContents) or isinstance(contents.value, Lost):
            self.refuse(node, PRINT_IN_A_LOOP, IN_A_LOOP)
        return None if isinstance(contents.value, Known) else contents.value


def _is_string(value: Any) -> bool:
    """Whether this is a string that is known."""
    return isinstance(value, Known) and isinstance(value.object, str)


def _has_own_text(cls: type) -> bool:
    """Whether a class says in Python how it is shown; ``dataclass`` and the standard library do so
    without effects.
    """
    for name in ("__str__", "__repr__", "__format__"):
        found = getattr(cls, name)
        if isinstance(found, types.FunctionType):
            generated = getattr(found, "__wrapped__", found).__code__.co_filename == "<string>"
            module = str(found.__module__).partition(".")[0]
            if not generated and module not in sys.stdlib_module_names - {"builtins", "__main__"}:
                return True
    return False


def _shown(parts: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """What is shown by these parts of a text, or arguments of ``print``."""
    for part in parts:
        if isinstance(part, ast.JoinedStr):
            yield from _shown(part.values)
        elif isinstance(part, ast.FormattedValue):
            yield from _shown([part.value])
        else:
            named = isinstance(part, ast.Attribute) and part.attr in ("__name__", "__qualname__")
            yield part.value if isinstance(part, ast.Attribute) and named else part


def _fits(function: Any, *args: Any) -> bool:
    """Whether a text can be formatted with this."""
    try:
        function(*args)
    except (ValueError, TypeError, LookupError, OverflowError):
        return False
    return True


def _sample(value: Any, odd: bool = False) -> Any:
    """An object like a number, known object or tuple of them; None if it is another. An odd one is
    a number that fewer formats take.
    """
    if isinstance(value, Number):
        strange = math.nan if value.kind in REAL else value.kind in INTEGERS and -1
        return CLASSES[value.kind](strange if odd else PLACEHOLDER[value.kind])
    if isinstance(value, Known):
        return value.object
    if isinstance(value, Text):
        return ""
    if isinstance(value, Tuple):
        items = [_sample(item, odd) for item in value.items]
        return None if None in items else tuple(items)
    return None
