"""``match``: patterns are tests and bindings, tried in order."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..abstract.state import DictContents, InstanceContents
from ..abstract.values import Choice, Known, Reference
from ..abstract.walker import Walker
from ..types.objects import member_of

BUILTIN = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
Then = Callable[[], Any]


class Patterns(Walker):
    """Pattern matching."""

    def execute_Match(self, node: ast.Match) -> None:
        """``match subject: case pattern if guard: …``."""
        subject = self.evaluate(node.subject)

        def on(one: Any) -> None:
            self._cases(node, one, 0)

        with self.holding(subject):
            if isinstance(subject, Choice):
                self.distribute(subject, on, node)
            else:
                on(subject)

    def _cases(self, node: ast.Match, subject: Any, at: int) -> None:
        if at == len(node.cases):
            return
        case = node.cases[at]
        names = _captures(case.pattern)
        matched = self.truth(self._matches(case.pattern, subject), node)

        def bind() -> Any:
            for name in names:
                value = self.state.environments[-1].pop(f".match {name}")
                self.assign(ast.copy_location(ast.Name(name, ast.Store()), case.pattern), value)
            if case.guard is None:
                return Known(True)
            return self.truth(self.evaluate(case.guard), node)

        def drop() -> Any:
            for name in names:
                self.state.environments[-1].pop(f".match {name}", None)
            return Known(False)

        if names or case.guard is not None:
            matched = self.decide(matched, bind, drop, node)
        self.decide(
            matched,
            lambda: self.execute(case.body),
            lambda: self._cases(node, subject, at + 1),
            node,
        )

    def _all(self, tests: list[Then], node: ast.AST) -> Any:
        """Whether all tests hold, each of which is made only if those before it do."""
        if not tests:
            return Known(True)
        held = self.truth(tests[0](), node)
        return self.decide(held, lambda: self._all(tests[1:], node), lambda: Known(False), node)

    def _matches(self, pattern: ast.pattern, subject: Any) -> Any:
        """Whether a value matches; binds names on the way."""
        if isinstance(subject, Choice) and not isinstance(pattern, ast.MatchAs):
            return self.distribute(subject, lambda one: self._matches(pattern, one), pattern)
        if isinstance(pattern, ast.MatchValue):
            return self.truth(
                self.compare("Eq", subject, self.evaluate(pattern.value), pattern), pattern
            )
        if isinstance(pattern, ast.MatchSingleton):
            return self.compare("Is", subject, Known(pattern.value), pattern)
        if isinstance(pattern, ast.MatchAs):
            found: Any = Known(True)
            if pattern.pattern is not None:
                found = self._matches(pattern.pattern, subject)
            if pattern.name is None:
                return found
            name = pattern.name

            bind = self._rest(name, subject)
            return self.decide(self.truth(found, pattern), bind, lambda: Known(False), pattern)
        if isinstance(pattern, ast.MatchOr):
            return self._any(pattern.patterns, subject, pattern)
        if isinstance(pattern, ast.MatchSequence):
            return self._sequence(pattern, subject)
        if isinstance(pattern, ast.MatchMapping):
            return self._mapping_pattern(pattern, subject)
        if isinstance(pattern, ast.MatchClass):
            return self._class(pattern, subject)
        return self.refuse(pattern, "this pattern", "use if")

    def _any(self, patterns: list[ast.pattern], subject: Any, node: ast.AST) -> Any:
        if not patterns:
            return Known(False)
        held = self.truth(self._matches(patterns[0], subject), node)
        return self.decide(
            held, lambda: Known(True), lambda: self._any(patterns[1:], subject, node), node
        )

    def _sequence(self, pattern: ast.MatchSequence, subject: Any) -> Any:
        cls = self.type_of(subject, pattern)
        if not issubclass(cls, Sequence) or issubclass(cls, str | bytes | bytearray):
            if self.class_of(subject) is not None:
                self.needs.no_subclass(Sequence)
            return Known(False)
        items = self.items(subject, pattern)
        stars = [at for at, one in enumerate(pattern.patterns) if isinstance(one, ast.MatchStar)]
        count = len(pattern.patterns)
        if (len(items) != count) if not stars else (len(items) < count - 1):
            return Known(False)
        if not stars:
            pairs = list(zip(pattern.patterns, items, strict=True))
            return self._all([self._test(one, item) for one, item in pairs], pattern)
        at = stars[0]
        after = count - at - 1
        middle = items[at : len(items) - after]
        pairs = list(zip(pattern.patterns[:at], items, strict=False))
        ends = pattern.patterns[at + 1 :]
        pairs += list(zip(ends, items[len(items) - after :], strict=True))
        tests = [self._test(one, item) for one, item in pairs]
        star = pattern.patterns[at]
        assert isinstance(star, ast.MatchStar)
        if star.name is not None:
            tests.append(self._rest(star.name, self.new_list(middle)))
        return self._all(tests, pattern)

    def _test(self, pattern: ast.pattern, subject: Any) -> Then:
        return lambda: self._matches(pattern, subject)

    def _rest(self, name: str, value: Any) -> Then:
        """Keeps a value for a name, which is bound once all of the pattern has matched."""

        def bind() -> Any:
            self.state.environments[-1][f".match {name}"] = value
            return Known(True)

        return bind

    def _mapping_pattern(self, pattern: ast.MatchMapping, subject: Any) -> Any:
        if not issubclass(self.type_of(subject, pattern), Mapping):
            if self.class_of(subject) is not None:
                self.needs.no_subclass(Mapping)
            return Known(False)
        contents = self.contents(subject, pattern) if isinstance(subject, Reference) else None
        if not isinstance(contents, DictContents):
            self.refuse(pattern, "a dict as a pattern for this", "use a dict")
        tests = []
        keys = []
        for key, one in zip(pattern.keys, pattern.patterns, strict=True):
            found = self.constant_of(self.evaluate(key), pattern, "a key that is computed")
            keys.append(found)
            if found not in contents.keys:
                return Known(False)
            tests.append(self._test(one, contents.values[contents.keys.index(found)]))
        if pattern.rest is not None:
            left = [
                (key, value)
                for key, value in zip(contents.keys, contents.values, strict=True)
                if key not in keys
            ]
            rest = DictContents(tuple(k for k, _ in left), tuple(v for _, v in left))
            tests.append(self._rest(pattern.rest, self.allocate(rest)))
        return self._all(tests, pattern)

    def _class(self, pattern: ast.MatchClass, subject: Any) -> Any:
        classes = self.evaluate(pattern.cls)
        cls = self.constant_of(classes, pattern, "a class that is computed")
        if not isinstance(cls, type):
            self.leave("a class pattern of no class", pattern)
        self.ask_kind(subject)
        if not issubclass(self.type_of(subject, pattern), cls):
            self.needs.no_subclass(cls)
            return Known(False)
        tests = []
        if pattern.patterns and cls in BUILTIN:
            if len(pattern.patterns) > 1:
                self.leave("too many positional patterns", pattern)
            tests.append(self._test(pattern.patterns[0], subject))
        elif pattern.patterns:
            names = member_of(cls, "__match_args__", ())
            if isinstance(classes, Known) and classes.place is not None:
                where = classes.place.attribute("__match_args__")
                self.needs.test(where, ("equal", names) if names else ("absent",))
            if len(names) < len(pattern.patterns):
                self.leave("too many positional patterns", pattern)
            pairs = list(zip(names, pattern.patterns, strict=False))
            tests += [self._attribute_test(name, one, subject) for name, one in pairs]
        for name, one in zip(pattern.kwd_attrs, pattern.kwd_patterns, strict=True):
            if not self._pattern_has(subject, name, pattern):
                return Known(False)
            tests.append(self._attribute_test(name, one, subject))
        return self._all(tests, pattern)

    def _pattern_has(self, subject: Any, name: str, node: ast.AST) -> bool:
        if isinstance(subject, Reference):
            contents = self.contents(subject, node)
            if isinstance(contents, InstanceContents) and name in contents.names:
                return True
        if isinstance(subject, Known):
            return hasattr(subject.object, name)
        return member_of(self.type_of(subject, node), name, None) is not None

    def _attribute_test(self, name: str, pattern: ast.pattern, subject: Any) -> Then:
        def test() -> Any:
            return self._matches(pattern, self.attribute(subject, name, pattern))

        return test


def _captures(pattern: ast.pattern) -> list[str]:
    """The names that a pattern binds."""
    names = [
        one.rest if isinstance(one, ast.MatchMapping) else one.name
        for one in ast.walk(pattern)
        if isinstance(one, ast.MatchAs | ast.MatchStar | ast.MatchMapping)
    ]
    return sorted({name for name in names if name is not None})
