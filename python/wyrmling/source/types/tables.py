"""Tables: lists of lists of numbers, all of one length, whose places are found by computed indices.

Where a loop is entered in which such indices look up its numbers, a table becomes an array: the
loop then stays a loop, while each run of it by itself would make a program as long as the table is
large. Numbers of several kinds are told apart by a second array, of their places among the kinds.

The rows have to be the table's alone, since arrays have no rows that other names could stand for.
Whatever else is done with a table makes lists of it again; in a loop, or where it is too large for
that, the function is read anew with lists as they are (``NO_TABLES``).
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from ..abstract.columns import LARGEST, NumberForm
from ..abstract.restarts import Restart
from ..abstract.state import (
    ListContents,
    State,
    TableContents,
    TableRowContents,
    addresses,
    names_of,
    reachable,
)
from ..abstract.values import (
    INTEGERS,
    Choice,
    Known,
    Lazy,
    Number,
    Reference,
    Tuple,
    alternatives_of,
    kind_of,
)
from .computed_slices import is_computed
from .grown import Grown

KINDS = frozenset({"float", "float64", "int"})
"""What numbers in tables may be."""
FEWEST, MOST = 80, 1_000_000
"""Of how many numbers a table is made: fewer are read one by one in less time."""
MOST_LISTED = 2000
"""Of how many numbers lists are made again."""
NO_TABLES, SMALL_TABLES = ".no_tables", ".small_tables"


class Tabled(Exception):
    """A list of lists becomes a table where a loop is entered; the loop is then written anew."""

    def __init__(self, entry: State, address: int) -> None:
        self.entry, self.address = entry, address


class Tables(Grown):
    """Lists of lists as arrays."""

    def __init__(self, builder: Any, needs: Any, kept: frozenset[Hashable]) -> None:
        super().__init__(builder, needs, kept)
        self.tabled = False
        # Whether a list was too short for a table.
        self.was_small = False
        # The kinds of the numbers of each table, as far as they were seen.
        self._kinds: dict[int, tuple[str, ...]] = {}

    @contextmanager
    def entered(self) -> Iterator[State]:
        """While a loop is written that is entered in this state."""
        self.entries.append(self.state)
        try:
            yield self.state
        finally:
            self.entries.pop()

    def as_lists(self, value: Reference, node: ast.AST) -> None:
        """Makes lists of a table. Of a row of one, which shares its numbers, there is no list."""
        found = self.state.heap[value.address]
        if not isinstance(found, TableContents):
            raise Restart(kept=frozenset({NO_TABLES}))
        self._list_again(value, found, node)

    def table(self, owner: Any) -> TableContents | None:
        """The table that a value is."""
        found = self.state.heap.get(owner.address) if isinstance(owner, Reference) else None
        return found if isinstance(found, TableContents) else None

    def table_length(self, value: Reference) -> Known | None:
        """The length of a table or of a row of one."""
        found = self.state.heap.get(value.address)
        if isinstance(found, TableRowContents):
            table = self.table(found.owner)
            return None if table is None else Known(table.shape[1])
        return Known(found.shape[0]) if isinstance(found, TableContents) else None

    def is_list_of_lists(self, owner: Any) -> bool:
        """Whether a value is a table, or can become one."""
        found = self.state.heap.get(owner.address) if isinstance(owner, Reference) else None
        if isinstance(found, ListContents):
            return bool(self.entries and _rows(self.state, found))
        return isinstance(found, TableContents)

    def place_in_lists(self, owner: Any, row: Any, node: ast.Subscript) -> tuple[Any, Any]:
        """What ``owner[row][…]`` is an item of, and the index: a table, or the row."""
        index = self.evaluate(node.slice)
        if self.becomes_table(owner, row, index):
            return owner, _cell(owner, row, index, node)
        value = self.item(owner, row, node.value)
        self.hold(value)
        return value, index

    def of_table(self, value: Reference, index: Any, node: ast.AST) -> Any:
        """An item of a row of a table, or a row; None of anything else."""
        if (found := self._cell_of_row(value, index, node)) is not None:
            return self.table_item(found, node)
        if not self.becomes_table(value, index) or isinstance(index, Lazy) or not self.entries:
            return None
        # In a loop only the length of a row and its numbers are asked for.
        return self.allocate(TableRowContents(value, self._place(index, node)))

    def stores_in_table(self, owner: Any, index: Any, value: Any, node: ast.AST) -> bool:
        """``owner[index] = value``, if that is a place in a table."""
        found = index if is_cell(index) else self._cell_of_row(owner, index, node)
        if found is not None:
            self._table_store(found, value, node)
        return found is not None

    def _cell_of_row(self, row: Any, index: Any, node: ast.AST) -> Lazy | None:
        """The place of an item of a row of a table; None for what is no such row."""
        found = self.state.heap.get(row.address) if isinstance(row, Reference) else None
        if not isinstance(found, TableRowContents):
            return None
        return _cell(found.owner, found.index, index, node)

    def becomes_table(self, owner: Any, *indices: Any) -> bool:
        """Whether something is a table. If it can be one, and an index is computed, the loop that
        it was there before is written anew, with a table.
        """
        if self.table(owner) is not None:
            return True
        if NO_TABLES in self.names_kept or not any(map(is_computed, indices)):
            return False
        contents = self.state.heap.get(owner.address) if isinstance(owner, Reference) else None
        if not isinstance(contents, ListContents):
            return False
        entry = next((one for one in self.entries if owner.address in one.heap), None)
        if entry is None or entry.heap[owner.address] != contents:
            return False
        if self._can_be_table(entry, contents):
            raise Tabled(entry, owner.address)
        return False

    def _can_be_table(self, state: State, contents: ListContents) -> bool:
        rows = _rows(state, contents)
        count = sum(len(row.items) for row in rows)
        if not 0 < count <= MOST or count != len(rows) * len(rows[0].items):
            return False
        if any(len(row.items) != len(rows[0].items) for row in rows):
            return False
        if count < FEWEST and SMALL_TABLES not in self.names_kept:
            self.was_small = True
            return False
        items = [item for row in rows for item in row.items]
        if not KINDS.issuperset(map(kind_of, items)) or any(map(_is_large, items)):
            return False
        if contents.external:
            # Nobody writes to any of them.
            return all(row.external for row in rows)
        return not any(row.external for row in rows) and self._are_its_own(state, contents)

    def _are_its_own(self, state: State, contents: ListContents) -> bool:
        """Whether nothing else leads to the rows of a list."""
        roots = [*names_of(state), *self.held, *(one for one, _ in self.memos.values())]
        found = [state.heap[address] for address in reachable(state, roots)]
        parts = (part for one in found for part in getattr(one, "parts", ()))
        count = Counter(address for value in (*roots, *parts) for address in addresses(value))
        return all(count[row.address] == 1 for row in contents.items)

    def make_table(self, address: int, node: ast.AST) -> None:
        """Makes an array of a list of lists, or has one that is made take numbers of more kinds."""
        self.tabled = True
        contents: Any = self.state.heap[address]
        if isinstance(contents, TableContents):
            self._widen(address, contents, node)
            return
        rows, block = _rows(self.state, contents), self.state.block
        shape = (len(rows), len(rows[0].items))
        kinds = dict.fromkeys(str(kind_of(item)) for row in rows for item in row.items)
        kinds |= dict.fromkeys(self._kinds.get(address, ()))
        self._kinds[address] = tuple(kinds)
        places = {kind: float(at) for at, kind in enumerate(kinds)}
        which = [[Known(places[str(kind_of(one))]) for one in row.items] for row in rows]
        values = self._new_array([[self._float_for(one) for one in r.items] for r in rows], node)
        of_kinds = self._new_array(which, node) if len(kinds) > 1 else None
        assert self.state.block == block, "the numbers of a table are put together without a branch"
        self.state.heap[address] = TableContents(
            tuple(kinds), shape, values, of_kinds, contents.external
        )

    def _widen(self, address: int, table: TableContents, node: ast.AST) -> None:
        """Numbers of the kinds that were seen find place in a table that a loop before made."""
        kinds = dict.fromkeys((*table.kinds, *self._kinds[address]))
        rows, columns = table.shape
        which = table.which or self._new_array([[Known(0.0)] * columns] * rows, node)
        self.state.heap[address] = replace(table, kinds=tuple(kinds), which=which)

    def _new_array(self, rows: list[list[Any]], node: ast.AST) -> Any:
        made: Any = self.new_list([self.new_list(row) for row in rows])
        if all(isinstance(one, Known) for row in rows for one in row):
            made = Known(np.array([[one.object for one in row] for row in rows]))
        return self.array_call(np.array, [made], {}, node)

    def _float_for(self, item: Any) -> Any:
        if isinstance(item, Known):
            return Known(float(item.object))
        return Number("float", self._held(item, NumberForm(str(kind_of(item)))))

    def _list_again(self, owner: Reference, table: TableContents, node: ast.AST) -> None:
        """Makes lists of a table."""
        inside = any(isinstance(e.heap.get(owner.address), TableContents) for e in self.entries)
        rows, columns = table.shape
        if inside or rows * columns * len(table.kinds) ** 3 > MOST_LISTED:
            raise Restart(kept=frozenset({NO_TABLES}))
        items = []
        for at in range(rows):
            cells = [self._number_at(table, Known(at), Known(to), node) for to in range(columns)]
            items.append(self.allocate(ListContents(tuple(cells), external=table.external)))
        self.state.heap[owner.address] = ListContents(tuple(items), external=table.external)

    def exchanges_rows(self, node: ast.Assign) -> bool:
        """``x[i], x[k] = x[k], x[i]`` of rows of a table, if this is such a statement."""
        names = _exchanged(node)
        if names is None:
            return False
        owner = self.evaluate(names[0])
        if not (self.is_list_of_lists(owner) and self._are_integers(names[1:])):
            return False
        indices = [self.evaluate(index) for index in names[1:]]
        if not self.becomes_table(owner, *indices):
            return False
        table: Any = self.table(owner)
        if table.external:
            raise Restart(kept=frozenset({NO_TABLES}))
        first, second = (self._place(one, node) for one in indices)
        for array in table.parts:
            rows = self.array_item(array, self.new_list([second, first]), node)
            self.array_store(array, self.new_list([first, second]), rows, node)
        return True

    def _are_integers(self, indices: list[ast.expr]) -> bool:
        """Whether all names in them stand for integers, whose operators do nothing else."""
        parts = [part for index in indices for part in ast.walk(index)]
        names = [part for part in parts if isinstance(part, ast.Name)]
        return all(kind_of(self.evaluate(name)) in INTEGERS for name in names)

    # Its numbers.

    def table_item(self, cell: Lazy, node: ast.AST) -> Any:
        """``x[i][j]``."""
        table, at, to = self._table_at(cell, node)
        return self._number_at(table, at, to, node)

    def _number_at(self, table: TableContents, at: Any, to: Any, node: ast.AST) -> Any:
        index = Tuple((at, to))
        held = self.as_real(self.array_item(table.values, index, node), "float", node)
        if table.which is None:
            return self.number_of_kind(table.kinds[0], held, node)
        which = self.array_item(table.which, index, node)

        def among(first: int) -> Any:
            kind = table.kinds[first]
            if first == len(table.kinds) - 1:
                return self.number_of_kind(kind, held, node)
            return self.decide(
                self.compare("Eq", which, Known(float(first)), node),
                lambda: self.number_of_kind(kind, held, node),
                lambda: among(first + 1),
                node,
            )

        return among(0)

    def _table_store(self, cell: Lazy, value: Any, node: ast.AST) -> None:
        """``x[i][j] = value``."""
        table, at, to = self._table_at(cell, node)
        alternatives = alternatives_of(value)
        kinds = [str(kind_of(one)) for one in alternatives]
        if table.external or not KINDS.issuperset(kinds) or any(map(_is_large, alternatives)):
            raise Restart(kept=frozenset({NO_TABLES}))
        address = cell.over[0].address
        if not set(kinds) <= set(table.kinds):
            self._kinds[address] = tuple(dict.fromkeys((*table.kinds, *kinds)))
            entry = next((one for one in self.entries if address in one.heap), None)
            if entry is None:
                raise Restart(kept=frozenset({NO_TABLES}))
            raise Tabled(entry, address)

        def each(made: Any) -> Any:
            if isinstance(value, Choice):
                return self.distribute(value, made, node)
            return made(value)

        index = Tuple((at, to))
        self.array_store(table.values, index, each(self._float_for), node)
        if table.which is not None:
            place = table.kinds.index
            of_kind = each(lambda one: Known(float(place(str(kind_of(one))))))
            self.array_store(table.which, index, of_kind, node)

    def _table_at(self, cell: Lazy, node: ast.AST) -> tuple[TableContents, Any, Any]:
        """The table that has a number, and where."""
        owner, *indices = cell.over
        table = self.table(owner)
        if table is None:
            raise Restart(kept=frozenset({NO_TABLES}))
        at, to = (self._place(one, node) for one in indices)
        return table, at, to

    def _place(self, index: Any, node: ast.AST) -> Any:
        index = self.as_index(index, node) if isinstance(index, Number | Known) else index
        if kind_of(index) not in INTEGERS and kind_of(index) != "bool":
            raise Restart(kept=frozenset({NO_TABLES}))
        if isinstance(index, Known):
            return Known(int(index.object))
        return Number("int", self.as_int(index))


def _cell(owner: Any, at: Any, to: Any, node: ast.AST) -> Lazy:
    """The place of a number in a table."""
    return Lazy("cell", (owner, at, to), node)


def is_cell(index: Any) -> bool:
    """Whether an index is such a place."""
    return isinstance(index, Lazy) and index.name == "cell"


def _is_large(item: Any) -> bool:
    """Whether this is a known integer that an array of floats does not hold."""
    return isinstance(item, Known) and kind_of(item) == "int" and abs(item.object) > LARGEST


def _rows(state: State, contents: ListContents) -> list[ListContents]:
    """The lists that are the items of one; none if other items are among them."""
    found = [
        state.heap.get(row.address) if isinstance(row, Reference) else None
        for row in contents.items
    ]
    lists = [row for row in found if isinstance(row, ListContents)]
    return lists if len(lists) == len(found) else []


def _exchanged(node: ast.Assign) -> list[ast.expr] | None:
    """The name of a list and the two indices whose items a statement exchanges, made of names and
    constants by operators; None if it does something else.
    """
    to, of = node.targets[0], node.value
    if len(node.targets) != 1 or not (isinstance(to, ast.Tuple) and isinstance(of, ast.Tuple)):
        return None
    written = [ast.unparse(one) for one in (*to.elts, *of.elts)]
    if len(to.elts) != 2 or written[:2] != written[:1:-1]:
        return None
    first, second = of.elts
    if not (isinstance(first, ast.Subscript) and isinstance(second, ast.Subscript)):
        return None
    if not (isinstance(first.value, ast.Name) and isinstance(second.value, ast.Name)):
        return None
    parts = [part for one in (first, second) for part in ast.walk(one.slice)]
    plain = ast.Name | ast.Constant | ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop
    if first.value.id != second.value.id or not all(
        isinstance(part, plain | ast.expr_context) for part in parts
    ):
        return None
    return [first.value, second.slice, first.slice]
