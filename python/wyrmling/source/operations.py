"""What the parts of the abstract interpreter do for each other, each in the file that its method
names: those files need not import one another.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import Any


class Operations:
    """What one part does for others."""

    def call(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a function returns (``calls.py``)."""
        raise NotImplementedError

    def call_known(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a callable returns that is not written in Python (``builtins.py``)."""
        raise NotImplementedError

    def joined_text(self, parts: Sequence[Any]) -> Any:
        """One string of several (``texts.py``)."""
        raise NotImplementedError

    def filled_in(self, change: str, text: str, values: Any, node: ast.AST) -> Any:
        """A text with values in it (``texts.py``)."""
        raise NotImplementedError

    def place_within(self, index: Any, length: Any, node: ast.AST) -> int:
        """An index within a length; negative ones count from the end (``arrays.py``)."""
        raise NotImplementedError

    def index_of(self, at: int, node: ast.AST) -> int:
        """An integer of the program as an index (``arrays.py``)."""
        raise NotImplementedError

    def grown_delete(self, owner: Any, index: Any, node: ast.AST) -> None:
        """``del`` of an item of a list of computed length (``grown.py``)."""
        raise NotImplementedError

    def grown_product(self, item: Any, count: Any, node: ast.AST) -> Any:
        """``[item] * count`` as a list of computed length (``grown.py``)."""
        raise NotImplementedError

    def grown_sum(self, left: Any, right: Any, node: ast.AST) -> Any:
        """The sum of two lists, one of which has a computed length (``grown.py``)."""
        raise NotImplementedError

    def is_only_printed(self, node: ast.AST) -> bool:
        """Whether the class that is asked for here is printed, and nothing else (``texts.py``)."""
        raise NotImplementedError

    def prints_since(self, entry: Any, ways: Sequence[Any]) -> bool:
        """Whether something was printed on a way from there (``texts.py``)."""
        raise NotImplementedError

    def pure(self, found: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """What a function without effects gives, whose arguments are known (``builtins.py``)."""
        raise NotImplementedError

    def call_mathematics(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a function of ``math`` or NumPy gives for numbers; None if it is none that is known
        (``mathematics.py``).
        """
        raise NotImplementedError

    def packed(self, column: Any) -> int:
        """A column of a list of known length, where it is not known any more (``grown.py``)."""
        raise NotImplementedError

    def grown(self, value: Any) -> Any:
        """What a list of computed length holds; None for anything else (``grown.py``)."""
        raise NotImplementedError

    def loosened(self, value: Any, node: ast.AST) -> bool:
        """Whether a list got a computed length (``grown.py``)."""
        raise NotImplementedError

    def set_apart(
        self, write: Callable[[], tuple[list[Any], list[Any]]]
    ) -> tuple[list[Any], list[Any]]:
        """Writes where it can be dropped (``loops.py``)."""
        raise NotImplementedError

    def grow(self, owner: Any, item: Any, node: ast.AST) -> None:
        """``owner.append(item)`` (``grown.py``)."""
        raise NotImplementedError

    def grown_item(self, value: Any, index: Any, node: ast.AST) -> Any:
        """An item of a list of computed length (``grown.py``)."""
        raise NotImplementedError

    def grown_store(self, owner: Any, index: Any, value: Any, node: ast.AST) -> None:
        """Another item for a list of computed length (``grown.py``)."""
        raise NotImplementedError

    def through_grown(
        self, over: Any, action: Callable[[Any], None], node: ast.AST
    ) -> tuple[list[Any], list[Any]]:
        """Goes through a list of computed length (``grown.py``)."""
        raise NotImplementedError

    def counted_grown(
        self, over: Any, contents: Any, node: ast.AST
    ) -> tuple[Any, Callable[[Any], Any]]:
        """The length and the items of a list of computed length (``grown.py``)."""
        raise NotImplementedError

    def arrays_for(self, name: str, args: Any, node: ast.AST) -> list[Any]:
        """Arguments, of which lists of computed length are arrays (``grown.py``)."""
        raise NotImplementedError

    def filled(self, function: Any, shape: Any, node: ast.AST) -> Any:
        """An array of computed length (``cuts.py``)."""
        raise NotImplementedError

    def is_cut(self, index: Any) -> bool:
        """Whether this is a slice of which an end is computed (``cuts.py``)."""
        raise NotImplementedError

    def part_of(self, value: Any, array: Any, index: Any, node: ast.AST) -> Any:
        """A slice by computed ends (``cuts.py``)."""
        raise NotImplementedError

    def bounds(self, start: Any, stop: Any, length: Any, node: ast.AST) -> tuple[Any, Any]:
        """Where a slice of step 1 begins, and how long it is (``grown.py``)."""
        raise NotImplementedError

    def fitting(self, args: Sequence[Any], node: ast.AST) -> Iterator[list[Any]]:
        """Arguments with other lengths in the place of computed ones (``grown.py``)."""
        raise NotImplementedError

    def list_of(
        self, over: Any, node: ast.AST, change: Callable[[Any], Any] = lambda item: item
    ) -> Any:
        """A new list (``reductions.py``)."""
        raise NotImplementedError

    def transform(
        self, name: str, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """``grad(f)`` (``nested.py``)."""
        raise NotImplementedError

    def made_outside(self, function: Any, node: ast.AST) -> Any:
        """What is called instead of what a transform made before (``nested.py``)."""
        raise NotImplementedError

    def call_transformed(
        self, made: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """``grad(f)(x)`` (``nested.py``)."""
        raise NotImplementedError

    def call_method(
        self, name: str, owner: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a method of a container or number returns (``methods.py``)."""
        raise NotImplementedError

    def instantiate(
        self, cls: type, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """An instance of a class (``objects.py``)."""
        raise NotImplementedError

    def rounded(self, name: str, value: Any, node: ast.AST) -> Any:
        """A number as an integer (``mathematics.py``)."""
        raise NotImplementedError

    def array_call(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a function of NumPy's gives for arrays (``arrays.py``)."""
        raise NotImplementedError

    def replace_array(self, owner: Any, value: Any, node: ast.AST) -> None:
        """Gives an array the values of another, in place (``arrays.py``)."""
        raise NotImplementedError

    def array_truth(self, value: Any, node: ast.AST) -> Any:
        """Whether an array of one element counts as true (``arrays.py``)."""
        raise NotImplementedError

    def with_number_for_truth(self, args: Sequence[Any], node: ast.AST) -> Sequence[Any]:
        """The arguments of ``np.where`` for a condition that is one bool (``arrays.py``)."""
        raise NotImplementedError

    def ragged_entry(self, ragged: Any, index: Any, node: ast.AST) -> Any:
        """An entry of a ``Ragged`` (``cuts.py``)."""
        raise NotImplementedError

    def array_item(self, value: Any, index: Any, node: ast.AST) -> Any:
        """An item or slice of an array (``arrays.py``)."""
        raise NotImplementedError

    def array_store(self, owner: Any, index: Any, value: Any, node: ast.AST) -> None:
        """Assigns to an item or slice of an array (``arrays.py``)."""
        raise NotImplementedError

    def fold(self, function: Callable[..., Any], args: Sequence[Any], node: ast.AST) -> Any:
        """What Python gives for known objects (``numbers.py``)."""
        raise NotImplementedError

    def binary(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """An operator on two values (``numbers.py``)."""
        raise NotImplementedError

    def unary(self, operator: str, value: Any, node: ast.AST) -> Any:
        """An operator on one value (``numbers.py``)."""
        raise NotImplementedError

    def negated(self, value: Any) -> Any:
        """``not`` of a bool (``numbers.py``)."""
        raise NotImplementedError

    def common_kind(self, left: Any, right: Any, node: ast.AST) -> str:
        """The kind in which two numbers meet (``numbers.py``)."""
        raise NotImplementedError

    def as_real(self, value: Any, kind: str, node: ast.AST) -> int:
        """A number as one of a real kind (``numbers.py``)."""
        raise NotImplementedError

    def as_int(self, value: Any) -> int:
        """An integer or a bool as an integer (``numbers.py``)."""
        raise NotImplementedError

    def reals(self, operator: str, kind: str, x: int, y: int, right: Any, node: ast.AST) -> int:
        """An operator on two numbers of one real kind (``numbers.py``)."""
        raise NotImplementedError

    def array_of(self, value: Any) -> Any:
        """The array that stands under an address; anything else as it is (``arrays.py``)."""
        raise NotImplementedError

    def is_array(self, value: Any) -> bool:
        """Whether a value is an array (``arrays.py``)."""
        raise NotImplementedError

    def compare(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """A comparison of two values (``truth.py``)."""
        raise NotImplementedError

    def same_or_equal(self, left: Any, right: Any, node: ast.AST) -> Any:
        """Whether items of containers are equal, as Python compares them (``truth.py``)."""
        raise NotImplementedError

    def truth(self, value: Any, node: ast.AST) -> Any:
        """Whether a value counts as true: a bool, known or computed (``truth.py``)."""
        raise NotImplementedError

    def loop(
        self,
        condition: Callable[[], Any],
        body: Callable[[], Any],
        step: Callable[[], Any] | None,
        node: ast.AST,
        turns: Any = ...,
    ) -> tuple[list[Any], list[Any]]:
        """A loop: the ways on which it ended, and those that left it (``loops.py``)."""
        raise NotImplementedError

    def unrolled(
        self,
        condition: Callable[[], Any],
        body: Callable[[], Any],
        step: Callable[[], Any] | None,
        node: ast.AST,
    ) -> tuple[list[Any], list[Any]]:
        """Every run of a body by itself (``loops.py``)."""
        raise NotImplementedError

    def after_loop(self, ended: list[Any], left: list[Any], node: Any) -> None:
        """``else``, and where the ways out of a loop meet (``loops.py``)."""
        raise NotImplementedError

    def each(self, over: Any, action: Callable[[Any], None], node: ast.AST) -> None:
        """Runs an action for each item (``iteration.py``)."""
        raise NotImplementedError

    def items(self, over: Any, node: ast.AST) -> list[Any]:
        """The items of what has a known length (``sequences.py``)."""
        raise NotImplementedError

    def length(self, value: Any, node: ast.AST) -> Any:
        """``len(value)`` (``sequences.py``)."""
        raise NotImplementedError

    def own_length(self, value: Any, node: ast.AST) -> Any:
        """What a class's own ``__len__`` gives (``sequences.py``)."""
        raise NotImplementedError

    def subscript(self, node: ast.Subscript) -> tuple[Any, Any]:
        """What ``value[index]`` is an item of, and the index (``containers.py``)."""
        raise NotImplementedError

    def item(self, value: Any, index: Any, node: ast.AST) -> Any:
        """``value[index]`` (``containers.py``)."""
        raise NotImplementedError

    def store_item(self, owner: Any, index: Any, value: Any, node: ast.AST) -> None:
        """``owner[index] = value`` (``containers.py``)."""
        raise NotImplementedError

    def sequence_operator(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """An operator on tuples, lists or strings (``containers.py``)."""
        raise NotImplementedError

    def floats_of(self, value: Any, node: ast.AST) -> Any:
        """Nested numbers as floats (``sequences.py``)."""
        raise NotImplementedError

    def list_or_row(self, value: Any, node: ast.AST) -> tuple[type, list[Any]] | None:
        """The type and the items of a list or a tuple (``containers.py``)."""
        raise NotImplementedError

    def attribute(self, value: Any, name: str, node: ast.AST) -> Any:
        """An attribute (``attributes.py``)."""
        raise NotImplementedError

    def store_attribute(self, owner: Any, name: str, value: Any, node: ast.AST) -> None:
        """``owner.name = value`` (``objects.py``)."""
        raise NotImplementedError

    def class_of(self, value: Any) -> type | None:
        """The class of an instance that has Python's own methods (``objects.py``)."""
        raise NotImplementedError

    def bound(self, value: Any, name: str, node: ast.AST) -> Any:
        """A method that a class defines in Python, bound, or None (``objects.py``)."""
        raise NotImplementedError

    def known(self, found: Any, place: Any, node: ast.AST) -> Any:
        """The value for an object that was found at a place (``environment.py``)."""
        raise NotImplementedError

    def member(self, value: Any, name: str, node: ast.AST) -> Any:
        """An attribute of an object that exists outside (``environment.py``)."""
        raise NotImplementedError

    def update(self, owner: Any, other: Any, node: ast.AST) -> None:
        """Gives a dict the items of another (``containers.py``)."""
        raise NotImplementedError

    def bind(self, name: str, value: Any) -> None:
        """Gives a name a value (``environment.py``)."""
        raise NotImplementedError

    def view_item(self, kind: str, owner: Any, at: int, node: ast.AST) -> Any:
        """An item of a view of a dict (``sequences.py``)."""
        raise NotImplementedError

    def load(self, name: str, node: ast.AST) -> Any:
        """What a name stands for (``environment.py``)."""
        raise NotImplementedError

    def store_name(self, name: str, value: Any, node: ast.AST) -> None:
        """Binds a name where a statement says so (``environment.py``)."""
        raise NotImplementedError

    def delete_name(self, name: str, node: ast.AST) -> None:
        """``del name`` (``environment.py``)."""
        raise NotImplementedError

    def delete_item(self, owner: Any, index: Any, node: ast.AST) -> None:
        """``del owner[index]`` (``containers.py``)."""
        raise NotImplementedError

    def closure(self, node: ast.FunctionDef | ast.Lambda) -> Any:
        """A function that stands in the text (``calls.py``)."""
        raise NotImplementedError

    def ask_kind(self, value: Any) -> None:
        """Notes that the way depends on the kind of a value (``objects.py``)."""
        raise NotImplementedError

    def type_of(self, value: Any, node: ast.AST) -> type:
        """The class of a value (``objects.py``)."""
        raise NotImplementedError

    def isinstance_of(self, value: Any, classes: Any, node: ast.AST) -> Any:
        """``isinstance(value, classes)`` (``objects.py``)."""
        raise NotImplementedError

    def fields_of(self, value: Any, node: ast.AST) -> Any:
        """The fields of an instance of a dataclass that are compared (``objects.py``)."""
        raise NotImplementedError

    def smaller(self, left: Any, right: Any, node: ast.AST) -> Any:
        """The smaller of two numbers (``iteration.py``)."""
        raise NotImplementedError

    def position(self, index: Any, length: int, node: ast.AST) -> int:
        """An index that is known, within a length (``containers.py``)."""
        raise NotImplementedError

    def listed(
        self, over: Any, node: ast.AST, change: Callable[[Any], Any] = lambda item: item
    ) -> list[Any]:
        """The items, one after the other (``reductions.py``)."""
        raise NotImplementedError

    def first_of(
        self,
        over: Any,
        wanted: Callable[[Any], Any],
        made: Callable[[Any], Any],
        default: Any,
        node: ast.AST,
    ) -> Any:
        """What is made of the first item that is wanted (``reductions.py``)."""
        raise NotImplementedError

    def in_order(self, items: list[Any], keywords: dict[str, Any], node: ast.AST) -> list[Any]:
        """Items sorted (``reductions.py``)."""
        raise NotImplementedError

    def key(self, index: Any, node: ast.AST) -> Any:
        """A key that is known (``containers.py``)."""
        raise NotImplementedError

    def accumulate(
        self, over: Any, first: Any, step: Callable[[Any, Any], Any], node: ast.AST
    ) -> Any:
        """A value that each item changes (``reductions.py``)."""
        raise NotImplementedError

    def written_out(self, name: str, node: ast.AST) -> Any:
        """The text of a function of Python's library (``imports.py``)."""
        raise NotImplementedError

    def owned(self, value: Any) -> Any:
        """A generator expression as an object (``generators.py``)."""
        raise NotImplementedError

    def handed_back(self, value: Any, node: ast.AST) -> Any:
        """A value that a function returns (``generators.py``)."""
        raise NotImplementedError

    def runs(self, over: Any) -> bool:
        """Whether something runs while one goes through this (``generators.py``)."""
        raise NotImplementedError

    def running(
        self, over: Any, action: Callable[[Any], None], node: ast.AST
    ) -> tuple[list[Any], list[Any]]:
        """Goes through what runs meanwhile: the ways on which it ended, and those that left it
        (``generators.py``).
        """
        raise NotImplementedError

    def generator(
        self, function: Any, bound: dict[str, Any], cells: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a call of a function with ``yield`` gives (``generators.py``)."""
        raise NotImplementedError

    def scope_of(self, node: ast.FunctionDef | ast.Lambda) -> Any:
        """The names of a function (``calls.py``)."""
        raise NotImplementedError

    def walk_body(self, frame: Any, bound: dict[str, Any]) -> list[Any]:
        """Follows the body of a function: the ways on which it returns (``calls.py``)."""
        raise NotImplementedError

    def ways_through(
        self, over: Any, action: Callable[[Any], None], node: ast.AST
    ) -> tuple[list[Any], list[Any]]:
        """Goes through something: the ways on which it ended, and those that left it
        (``iteration.py``).
        """
        raise NotImplementedError

    def counted(self, over: Any, node: ast.AST) -> tuple[Any, Callable[[Any], Any]] | None:
        """The length of what any item can be had of by a computed index, and how
        (``iteration.py``).
        """
        raise NotImplementedError

    def assign(self, target: ast.expr, value: Any) -> None:
        """Binds a target (``statements.py``)."""
        raise NotImplementedError

    def add_to_set(self, owner: Any, item: Any, node: ast.AST) -> None:
        """Gives a set what it may have already (``comprehensions.py``)."""
        raise NotImplementedError

    def comprehend(self, node: Any, add: Callable[[], None], first: Any = None) -> None:
        """Goes through a comprehension (``comprehensions.py``)."""
        raise NotImplementedError
