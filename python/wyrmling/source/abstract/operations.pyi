"""What the parts of the abstract interpreter do for each other, each in the file that its method
names: those files need not import one another.
"""

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, NoReturn

from .frames import LoopCode, LoopEnds
from .state import DictContents

class Operations:
    """What one part does for others."""

    printed: Any
    """The cell of what is printed, if something is (``texts.py``)."""

    def refuse(self, node: ast.AST, construct: str, advice: str) -> NoReturn:
        """Raises the error that names a place in the text (``walker.py``)."""

    def decide(
        self, condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any], node: ast.AST
    ) -> Any:
        """The values of two paths as one (``walker.py``)."""

    def leaving(self, around: list[Any], *values: Any) -> Any:
        """The path that is followed, as it arrives elsewhere (``walker.py``)."""

    def call(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a function returns (``calls.py``)."""

    def call_known(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a callable returns that is not written in Python (``known.py``)."""

    def joined_text(self, parts: Sequence[Any]) -> Any:
        """One string of several (``texts.py``)."""

    def text_between(self, between: str, args: Sequence[Any], node: ast.AST) -> Any:
        """``between.join(parts)`` (``texts.py``)."""

    def in_known(self, item: Any, container: Any, node: ast.AST) -> Any:
        """``item in container`` of a known object (``texts.py``)."""

    def class_with_operators(self, value: Any) -> type | None:
        """The class of an instance or a named tuple (``objects.py``)."""

    def holds_numbers(self, value: Any) -> bool:
        """Whether this is a number, an array, or a list of these (``creation.py``)."""

    def filled_in(self, change: str, text: str, values: Any, node: ast.AST) -> Any:
        """A text with values in it (``texts.py``)."""

    def place_within(self, index: Any, length: Any, node: ast.AST) -> int:
        """An index within a length; negative ones count from the end (``arrays.py``)."""

    def index_of(self, at: int, node: ast.AST) -> int:
        """An integer of the program as an index (``arrays.py``)."""

    def grown_delete(self, owner: Any, index: Any, node: ast.AST) -> None:
        """``del`` of an item of a list of computed length (``grown.py``)."""

    def grown_product(self, item: Any, count: Any, node: ast.AST) -> Any:
        """``[item] * count`` as a list of computed length (``grown.py``)."""

    def grown_sum(self, left: Any, right: Any, node: ast.AST) -> Any:
        """The sum of two lists, one of which has a computed length (``grown.py``)."""

    def is_only_printed(self, node: ast.AST) -> bool:
        """Whether the class that is asked for here is printed, and nothing else (``texts.py``)."""

    def prints_since(self, entry: Any, ways: Sequence[Any]) -> bool:
        """Whether something was printed on a path from there (``texts.py``)."""

    def pure(self, found: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """What a function without effects gives, whose arguments are known (``known.py``)."""

    def call_mathematics(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a function of ``math`` or NumPy gives for numbers; None if it is none that is known
        (``mathematics.py``).
        """

    def packed(self, column: Any) -> int:
        """A column of a list of known length, where it is not known any more (``grown.py``)."""

    def grown(self, value: Any) -> Any:
        """What a list of computed length holds; None for anything else (``grown.py``)."""

    def loosened(self, value: Any, node: ast.AST) -> bool:
        """Whether a list got a computed length (``grown.py``)."""

    def set_apart(self, write: Callable[[], LoopEnds]) -> LoopEnds:
        """Writes where it can be dropped (``loops.py``)."""

    def grow(self, owner: Any, item: Any, node: ast.AST) -> None:
        """``owner.append(item)`` (``grown.py``)."""

    def grown_item(self, value: Any, index: Any, node: ast.AST) -> Any:
        """An item of a list of computed length (``grown.py``)."""

    def grown_store(self, owner: Any, index: Any, value: Any, node: ast.AST) -> None:
        """Another item for a list of computed length (``grown.py``)."""

    def entered(self) -> AbstractContextManager[Any]:
        """While a loop is written that is entered in this state (``tables.py``)."""

    def as_lists(self, value: Any, node: ast.AST) -> None:
        """Makes lists of a table (``tables.py``)."""

    def make_table(self, address: int, node: ast.AST) -> None:
        """Makes an array of a list of lists (``tables.py``)."""

    def is_list_of_lists(self, owner: Any) -> bool:
        """Whether a value is a table, or can become one (``tables.py``)."""

    def place_in_lists(self, owner: Any, row: Any, node: ast.Subscript) -> tuple[Any, Any]:
        """What ``owner[row][…]`` is an item of, and the index (``tables.py``)."""

    def of_table(self, value: Any, index: Any, node: ast.AST) -> Any:
        """An item of a row of a table, or a row; None of anything else (``tables.py``)."""

    def stores_in_table(self, owner: Any, index: Any, value: Any, node: ast.AST) -> bool:
        """``owner[index] = value``, if that is a place in a table (``tables.py``)."""

    def table_item(self, cell: Any, node: ast.AST) -> Any:
        """``x[i][j]`` of a table (``tables.py``)."""

    def table_length(self, value: Any) -> Any:
        """The length of a table or of a row of one; None of anything else (``tables.py``)."""

    def exchanges_rows(self, node: ast.Assign) -> bool:
        """``x[i], x[k] = x[k], x[i]`` of rows of a table, if it is that (``tables.py``)."""

    def through_grown(self, over: Any, action: Callable[[Any], None], node: ast.AST) -> LoopEnds:
        """Goes through a list of computed length (``grown.py``)."""

    def counted_grown(
        self, over: Any, contents: Any, node: ast.AST
    ) -> tuple[Any, Callable[[Any], Any]]:
        """The length and the items of a list of computed length (``grown.py``)."""

    def arrays_for(self, name: str, args: Any, node: ast.AST) -> list[Any]:
        """Arguments, of which lists of computed length are arrays (``grown.py``)."""

    def quadrature(self, found: Any, args: Any, keywords: Any, node: ast.AST) -> Any:
        """Points and weights of a rule of quadrature (``creation.py``)."""

    def filled(self, function: Any, shape: Any, node: ast.AST) -> Any:
        """An array of computed length (``computed_slices.py``)."""

    def is_cut(self, index: Any) -> bool:
        """Whether this is a slice of which an end is computed (``computed_slices.py``)."""

    def part_of(self, value: Any, array: Any, index: Any, node: ast.AST) -> Any:
        """A slice by computed ends (``computed_slices.py``)."""

    def bounds(self, start: Any, stop: Any, length: Any, node: ast.AST) -> tuple[Any, Any]:
        """Where a slice of step 1 begins, and how long it is (``grown.py``)."""

    def rows_of(self, contents: Any, node: ast.AST) -> tuple[Any, Any, Any]:
        """Which rows of its columns a list of computed length has (``grown.py``)."""

    def fitting(self, args: Sequence[Any], node: ast.AST) -> Iterator[list[Any]]:
        """Arguments with other lengths in the place of computed ones (``computed_slices.py``)."""

    def list_of(
        self, over: Any, node: ast.AST, change: Callable[[Any], Any] = lambda item: item
    ) -> Any:
        """A new list (``reductions.py``)."""

    def transform(
        self, name: str, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """``grad(f)`` (``nested.py``)."""

    def made_outside(self, function: Any, node: ast.AST) -> Any:
        """What is called instead of what a transform made before (``nested.py``)."""

    def call_transformed(
        self, made: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """``grad(f)(x)`` (``nested.py``)."""

    def call_method(
        self, name: str, owner: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a method of a container or number returns (``methods.py``)."""

    def instantiate(
        self, cls: type, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """An instance of a class (``instantiation.py``)."""

    def class_place(self, value: Any) -> Any:
        """The place of the class of an instance, or None (``objects.py``)."""

    def rounded(self, name: str, value: Any, node: ast.AST) -> Any:
        """A number as an integer (``mathematics.py``)."""

    def list_items(self, value: Any) -> tuple[Any, ...] | None:
        """The items of a tuple or list of known length, or None (``creation.py``)."""

    def array_call(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a function of NumPy's gives for arrays (``arrays.py``)."""

    def one_beside(self, value: Any, others: Sequence[Any], node: ast.AST) -> Any:
        """One of several floats as one number, beside an array (``creation.py``)."""

    def replace_array(self, owner: Any, value: Any, node: ast.AST) -> None:
        """Gives an array the values of another, in place (``arrays.py``)."""

    def array_truth(self, value: Any, node: ast.AST) -> Any:
        """Whether an array of one element counts as true (``arrays.py``)."""

    def with_number_for_truth(self, args: Sequence[Any], node: ast.AST) -> Sequence[Any]:
        """The arguments of ``np.where`` for a condition that is one bool (``arrays.py``)."""

    def ragged_entry(self, ragged: Any, index: Any, node: ast.AST) -> Any:
        """An entry of a ``Ragged`` (``computed_slices.py``)."""

    def array_item(self, value: Any, index: Any, node: ast.AST) -> Any:
        """An item or slice of an array (``arrays.py``)."""

    def array_store(self, owner: Any, index: Any, value: Any, node: ast.AST) -> None:
        """Assigns to an item or slice of an array (``arrays.py``)."""

    def fold(self, function: Callable[..., Any], args: Sequence[Any], node: ast.AST) -> Any:
        """What Python gives for known objects (``numbers.py``)."""

    def binary(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """An operator on two values (``numbers.py``)."""

    def unary(self, operator: str, value: Any, node: ast.AST) -> Any:
        """An operator on one value (``numbers.py``)."""

    def negated(self, value: Any) -> Any:
        """``not`` of a bool (``numbers.py``)."""

    def common_kind(self, left: Any, right: Any, node: ast.AST) -> str:
        """The kind in which two numbers meet (``numbers.py``)."""

    def as_real(self, value: Any, kind: str, node: ast.AST) -> int:
        """A number as one of a real kind (``numbers.py``)."""

    def as_int(self, value: Any) -> int:
        """An integer or a bool as an integer (``numbers.py``)."""

    def reals(self, operator: str, kind: str, x: int, y: int, right: Any, node: ast.AST) -> int:
        """An operator on two numbers of one real kind (``numbers.py``)."""

    def array_of(self, value: Any) -> Any:
        """The array that stands under an address; anything else as it is (``arrays.py``)."""

    def is_array(self, value: Any) -> bool:
        """Whether a value is an array (``arrays.py``)."""

    def compare(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """A comparison of two values (``truth.py``)."""

    def same_or_equal(self, left: Any, right: Any, node: ast.AST) -> Any:
        """Whether items of containers are equal, as Python compares them (``truth.py``)."""

    def truth(self, value: Any, node: ast.AST) -> Any:
        """Whether a value counts as true: a bool, known or computed (``truth.py``)."""

    def loop(self, code: LoopCode, turns: Any = ...) -> LoopEnds:
        """A loop: the paths on which it ended, and those that left it (``loops.py``)."""

    def unrolled(self, code: LoopCode) -> LoopEnds:
        """Every run of a body by itself (``loops.py``)."""

    def after_loop(self, ended: list[Any], left: list[Any], node: Any) -> None:
        """``else``, and where the paths out of a loop meet (``loops.py``)."""

    def each(self, over: Any, action: Callable[[Any], None], node: ast.AST) -> None:
        """Runs an action for each item (``iteration.py``)."""

    def items(self, over: Any, node: ast.AST) -> list[Any]:
        """The items of what has a known length (``sequences.py``)."""

    def length(self, value: Any, node: ast.AST) -> Any:
        """``len(value)`` (``sequences.py``)."""

    def own_length(self, value: Any, node: ast.AST) -> Any:
        """What a class's own ``__len__`` gives (``sequences.py``)."""

    def subscript(self, node: ast.Subscript) -> tuple[Any, Any]:
        """What ``value[index]`` is an item of, and the index (``containers.py``)."""

    def item(self, value: Any, index: Any, node: ast.AST) -> Any:
        """``value[index]`` (``containers.py``)."""

    def store_item(self, owner: Any, index: Any, value: Any, node: ast.AST) -> None:
        """``owner[index] = value`` (``containers.py``)."""

    def sequence_operator(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """An operator on tuples, lists or strings (``containers.py``)."""

    def floats_of(self, value: Any, node: ast.AST) -> Any:
        """Nested numbers as floats (``sequences.py``)."""

    def list_or_row(self, value: Any, node: ast.AST) -> tuple[type, list[Any]] | None:
        """The type and the items of a list or a tuple (``containers.py``)."""

    def attribute(self, value: Any, name: str, node: ast.AST) -> Any:
        """An attribute (``attributes.py``)."""

    def store_attribute(self, owner: Any, name: str, value: Any, node: ast.AST) -> None:
        """``owner.name = value`` (``objects.py``)."""

    def class_of(self, value: Any) -> type | None:
        """The class of an instance that has Python's own methods (``objects.py``)."""

    def bound(self, value: Any, name: str, node: ast.AST) -> Any:
        """A method that a class defines in Python, bound, or None (``objects.py``)."""

    def as_index(self, index: Any, node: ast.AST) -> Any:
        """An index with integers for instances with ``__index__`` (``objects.py``)."""

    def known(self, found: Any, place: Any, node: ast.AST) -> Any:
        """The value for an object that was found at a place (``environment.py``)."""

    def member(self, value: Any, name: str, node: ast.AST) -> Any:
        """An attribute of an object that exists outside (``environment.py``)."""

    def are_one(self, left: Any, right: Any) -> bool | None:
        """Whether two objects that exist outside are one (``environment.py``)."""

    def update(self, owner: Any, other: Any, node: ast.AST, pairs: bool = False) -> None:
        """Gives a dict the items of another, or of pairs (``dicts.py``)."""

    def delete_attribute(self, owner: Any, name: str, node: ast.AST) -> None:
        """``del owner.name`` (``objects.py``)."""

    def cached(self, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST) -> Any:
        """``cache(f)`` or ``lru_cache(…)`` (``caching.py``)."""

    def call_cached_outside(
        self, function: Any, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """A call of what was decorated outside of the function (``caching.py``)."""

    def inline(
        self,
        function: Any,
        args: Sequence[Any],
        keywords: dict[str, Any],
        node: ast.AST,
        is_cached: bool = False,
    ) -> Any:
        """The body of a function, with its arguments bound (``calls.py``)."""

    def closure_of(self, function: Any, place: Any, node: ast.AST) -> Any:
        """A Python function as a value (``calls.py``)."""

    def made_dict(
        self, cls: type, args: Sequence[Any], keywords: dict[str, Any], node: ast.AST
    ) -> Any:
        """A dict of a class of ``collections`` (``dicts.py``)."""

    def missing(self, owner: Any, contents: Any, key: Any, node: ast.AST) -> Any:
        """What a dict gives for a key that is not there (``dicts.py``)."""

    def dict_method(self, contents: Any, name: str) -> Any:
        """What a method of a dict is read by (``dicts.py``)."""

    def counter_operator(self, operator: str, left: Any, right: Any, node: ast.AST) -> Any:
        """``+`` and ``-`` of two counters (``dicts.py``)."""

    def bind(self, name: str, value: Any) -> None:
        """Gives a name a value (``environment.py``)."""

    def view_item(self, kind: str, owner: Any, at: int, node: ast.AST) -> Any:
        """An item of a view of a dict (``sequences.py``)."""

    def load(self, name: str, node: ast.AST) -> Any:
        """What a name stands for (``environment.py``)."""

    def store_name(self, name: str, value: Any, node: ast.AST) -> None:
        """Binds a name where a statement says so (``environment.py``)."""

    def delete_name(self, name: str, node: ast.AST) -> None:
        """``del name`` (``environment.py``)."""

    def delete_item(self, owner: Any, index: Any, node: ast.AST) -> None:
        """``del owner[index]`` (``containers.py``)."""

    def closure(self, node: ast.FunctionDef | ast.Lambda) -> Any:
        """A function that stands in the text (``calls.py``)."""

    def ask_kind(self, value: Any) -> None:
        """Notes that the path depends on the kind of a value (``objects.py``)."""

    def type_of(self, value: Any, node: ast.AST) -> type:
        """The class of a value (``objects.py``)."""

    def isinstance_of(self, value: Any, classes: Any, node: ast.AST) -> Any:
        """``isinstance(value, classes)`` (``objects.py``)."""

    def fields_of(self, value: Any, node: ast.AST) -> Any:
        """The fields of an instance of a dataclass that are compared (``objects.py``)."""

    def smaller(self, left: Any, right: Any, node: ast.AST) -> Any:
        """The smaller of two numbers (``iteration.py``)."""

    def position(self, index: Any, items: Sequence[Any], node: ast.AST) -> int:
        """An index of one of these that is known (``containers.py``)."""

    def listed(
        self, over: Any, node: ast.AST, change: Callable[[Any], Any] = lambda item: item
    ) -> list[Any]:
        """The items, one after the other (``reductions.py``)."""

    def first_of(
        self,
        over: Any,
        wanted: Callable[[Any], Any],
        made: Callable[[Any], Any],
        default: Any,
        node: ast.AST,
    ) -> Any:
        """What is made of the first item that is wanted (``reductions.py``)."""

    def in_order(self, items: list[Any], keywords: dict[str, Any], node: ast.AST) -> list[Any]:
        """Items sorted (``reductions.py``)."""

    def key(self, index: Any, node: ast.AST, within: DictContents | None = None) -> Any:
        """A key that is known (``containers.py``)."""

    def picks_key(self, contents: DictContents, index: Any) -> bool:
        """Whether one of the numbers of a dict is picked by a computed key (``picks.py``)."""

    def contains(self, item: Any, container: Any, node: ast.AST) -> Any:
        """Whether a container has an item (``truth.py``)."""

    def accumulate(
        self, over: Any, first: Any, step: Callable[[Any, Any], Any], node: ast.AST
    ) -> Any:
        """A value that each item changes (``reductions.py``)."""

    def written_out(self, name: str, node: ast.AST) -> Any:
        """The text of a function of Python's library (``imports.py``)."""

    def as_generator(self, value: Any, node: ast.AST) -> Any:
        """An iterator of Python's own as a generator."""

    def owned(self, value: Any) -> Any:
        """A generator expression as an object (``generators.py``)."""

    def handed_back(self, value: Any, node: ast.AST) -> Any:
        """A value that a function returns (``generators.py``)."""

    def runs(self, over: Any) -> bool:
        """Whether something runs while one goes through this (``generators.py``)."""

    def running(self, over: Any, action: Callable[[Any], None], node: ast.AST) -> LoopEnds:
        """Goes through what runs meanwhile: the paths on which it ended, and those that left it
        (``generators.py``).
        """

    def generator(
        self, function: Any, bound: dict[str, Any], cells: dict[str, Any], node: ast.AST
    ) -> Any:
        """What a call of a function with ``yield`` gives (``generators.py``)."""

    def scope_of(self, node: ast.FunctionDef | ast.Lambda) -> Any:
        """The names of a function (``calls.py``)."""

    def walk_body(self, frame: Any, bound: dict[str, Any]) -> list[Any]:
        """Follows the body of a function: the paths on which it returns (``calls.py``)."""

    def ways_through(self, over: Any, action: Callable[[Any], None], node: ast.AST) -> LoopEnds:
        """Goes through something: the paths on which it ended, and those that left it
        (``iteration.py``).
        """

    def counted(self, over: Any, node: ast.AST) -> tuple[Any, Callable[[Any], Any]] | None:
        """The length of what any item can be had of by a computed index, and how
        (``iteration.py``).
        """

    def assign(self, target: ast.expr, value: Any) -> None:
        """Binds a target (``statements.py``)."""

    def add_to_set(self, owner: Any, item: Any, node: ast.AST) -> None:
        """Gives a set what it may have already (``comprehensions.py``)."""

    def comprehend(self, node: Any, add: Callable[[], None], first: Any = None) -> None:
        """Goes through a comprehension (``comprehensions.py``)."""
