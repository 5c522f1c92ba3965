"""What the function returns: the results of the program, and how a Python object is made of them.

Where a function returns values of different kinds on different paths, the program says by an
integer which it was; such a result has no form, and ``build`` makes it.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..abstract.columns import NumberForm, built, has_lists, single_forms
from ..abstract.masks import as_floats
from ..abstract.state import (
    ArrayContents,
    DictContents,
    GeneratorContents,
    GrownContents,
    InstanceContents,
    ListContents,
    SetContents,
)
from ..abstract.values import (
    CLASSES,
    Array,
    Choice,
    Known,
    Lazy,
    Number,
    Recorded,
    Reference,
    Text,
    Tuple,
    ZeroDimensional,
    is_integers,
)
from ..abstract.walker import Walker
from ..library.standard import INSTANCES
from ..program import form
from ..types.computed_slices import cut

PLAIN = (int, float, bool, complex, str, bytes, type(None), type, frozenset)


@dataclass(frozen=True)
class OutputLeaf:
    """A result of the program: its kind in Python, and the path to it in what is returned."""

    kind: str
    path: tuple[Any, ...]


@dataclass
class Results:
    """The results of a program, as they are collected."""

    ids: list[int] = field(default_factory=list)
    outputs: list[OutputLeaf] = field(default_factory=list)
    tagged: bool = False
    seen: set[int] = field(default_factory=set)

    def add(self, id: int, kind: str, path: tuple[Any, ...]) -> int:
        """Another result."""
        self.ids.append(id)
        self.outputs.append(OutputLeaf(kind, path))
        return len(self.ids) - 1


class Returned(Walker):
    """The form of what is returned."""

    def form_of(self, value: Any, results: Results, path: tuple[Any, ...], node: ast.AST) -> Any:
        """The form of a value; adds what is computed to the results."""
        if isinstance(value, Number):
            return form.Leaf(results.add(value.id, value.kind, path), value.kind)
        if isinstance(value, Array):
            if is_integers(value):
                self.refuse(node, "an array of integers as a result", "return its numbers")
            place = self.outer_arrays.get(value.id) if value.outer else None
            memory = value.bases | value.outer
            element = None if value.shape else value.dtype.name
            return form.Leaf(results.add(value.id, "array", path), "array", place, memory, element)
        if isinstance(value, Known):
            if value.place is not None and not isinstance(value.object, PLAIN):
                return form.Argument(value.place)
            return form.Constant(value.object)
        if isinstance(value, Tuple):
            items = self._forms(value.items, results, path, node)
            if value.cls is tuple:
                return tuple(items)
            plain = form.is_named_class(value.cls)
            return form.Make(form.MakeNamed(value.cls) if plain else value.cls, items)
        if isinstance(value, Choice):
            results.tagged = True
            tag = results.add(value.tag, "int", (*path, "tag"))
            forms = [self.form_of(one, results, path, node) for one in value.alternatives]
            return form.Either(tag, tuple(forms))
        if isinstance(value, ZeroDimensional):
            return form.Argument(value.place)
        if isinstance(value, Recorded):
            if value.is_array and not value.variable.shape:
                self.refuse(node, "an array without axes as a result", "return its number")
            held = as_floats(self.builder, value)
            number = results.add(held.id, "array", path)
            element = None if value.variable.shape else "float64"
            leaf = form.Leaf(number, "array", memory=value.bases, element=element)
            return form.Make(form.AsType(value.variable.dtype.name), [leaf])
        if isinstance(value, Text) and value.template is not None:
            # Each text shows what it is made of, wherever else that is.
            seen, results.seen = results.seen, set()
            parts = self._forms(value.values, results, path, node)
            results.seen = seen
            return form.Make(form.Formatted(value.template), parts)
        if isinstance(value, Reference):
            return self._object(value, results, path, node)
        if isinstance(value, Lazy) and value.name in ("dict_values", "dict_items", "dict_keys"):
            self.refuse(node, "a view of a dict as a result", "return a list")
        return self.refuse(node, "such a result", "return numbers, arrays, tuples, lists or dicts")

    def _forms(
        self, items: Sequence[Any], results: Results, path: tuple[Any, ...], node: ast.AST
    ) -> list[Any]:
        return [self.form_of(one, results, (*path, at), node) for at, one in enumerate(items)]

    def _list(
        self, contents: GrownContents, results: Results, path: tuple[Any, ...], node: ast.AST
    ) -> Any:
        """A list of computed length, of one array for each of its columns."""
        forms = single_forms(contents.form)
        if not all(isinstance(one, NumberForm) for one in forms) or has_lists(contents.form):
            what = "a list of computed length with arrays or lists as a result"
            self.refuse(node, what, "return np.array(…) of it")
        parts = []
        for at, one in enumerate(contents.columns):
            made = cut(self, one, *self.rows_of(contents, node), one.shape[0])
            parts.append(form.Leaf(results.add(made, "array", (*path, at)), "array"))
        return form.Make(ItemsOf(contents.form), parts)

    def _object(
        self, value: Reference, results: Results, path: tuple[Any, ...], node: ast.AST
    ) -> Any:
        contents = self.contents(value, node)
        if contents.external:
            place = self.outer_places.get(value.address)
            if place is None and isinstance(contents, ArrayContents) and not path:
                # Another name may have the same array, but this is all that is returned.
                return self.form_of(contents.value, results, path, node)
            if place is None:
                self.refuse(node, "a captured container as a result", "return a copy")
            return form.Argument(place)
        if value.address in results.seen:
            self.refuse(node, "a result that has one object twice", "return copies")
        results.seen.add(value.address)
        if isinstance(contents, ListContents):
            return self._forms(contents.items, results, path, node)
        if isinstance(contents, GrownContents):
            return self._list(contents, results, path, node)
        if isinstance(contents, DictContents):
            if contents.cls is not dict:
                what = f"a {contents.cls.__name__} as a result"
                self.refuse(node, what, "return dict(…) of it")
            pairs = zip(contents.keys, contents.values, strict=True)
            return {key: self.form_of(one, results, (*path, key), node) for key, one in pairs}
        if isinstance(contents, InstanceContents):
            if (cls := INSTANCES.get(contents.cls)) is not None:
                self.refuse(node, f"a {cls.__name__} as a result", "return a list of it")
            parts = [
                self.form_of(one, results, (*path, name), node)
                for name, one in zip(contents.names, contents.values, strict=True)
            ]
            return form.Make(form.Instance.of(contents.cls, contents.names), parts)
        if isinstance(contents, GeneratorContents | SetContents):
            self.refuse(node, "a generator or a set as a result", "return a list")
        held = contents.value if contents.head is None else self.array_of(value)
        found = self.form_of(held, results, path, node)
        if isinstance(found, form.Leaf):
            return replace(found, memory=found.memory | {value.address})
        return found


@dataclass(frozen=True)
class ItemsOf:
    """Makes a list of the columns of its items."""

    form: Any

    def __call__(self, *columns: Any) -> list[Any]:
        """A list of numbers of Python's or NumPy's, or of tuples of these."""
        forms = single_forms(self.form)
        kinds = [CLASSES[one.kind] for one in forms if isinstance(one, NumberForm)]
        found = [map(kind, column) for kind, column in zip(kinds, columns, strict=True)]
        return [built(self.form, iter(row), _named) for row in zip(*found, strict=True)]


def _named(items: tuple[Any, ...], cls: type) -> Any:
    return tuple.__new__(cls, items)
