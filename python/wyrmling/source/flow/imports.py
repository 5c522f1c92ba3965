"""``import`` inside a function, of what is loaded already: it then only binds names.

A module is found where Python finds it, in ``sys.modules``, at each call anew. There is a way to it
from every function: ``__import__`` is a builtin, and from its module on everything is an attribute
or an item.
"""

from __future__ import annotations

import ast
import builtins
import sys
from typing import Any

from ..abstract.values import Known
from ..abstract.walker import Walker
from ..library import standard, standard_arrays, standard_collections
from ..text.scope import ABSENT, Place, take

OUTSIDE = "import at the top of the module"


class Imports(Walker):
    """What binds modules and what they have."""

    def execute_Import(self, node: ast.Import) -> None:
        """``import package.module as name``."""
        for alias in node.names:
            found = self._module(alias.name, node)
            first, *inner = alias.name.split(".")
            if alias.asname is None:
                self.store_name(first, self._module(first, node), node)
                continue
            value = self._module(first, node) if inner else found
            for name in inner:
                value = self.member(value, name, node)
            self.store_name(alias.asname, value, node)

    def execute_ImportFrom(self, node: ast.ImportFrom) -> None:
        """``from module import name``."""
        if node.level or node.module is None:
            self.refuse(node, "a relative import", OUTSIDE)
        module = self._module(node.module, node)
        for alias in node.names:
            if alias.name not in vars(module.object):
                self.refuse(node, f"an import of {alias.name}, which may be a module,", OUTSIDE)
            self.store_name(alias.asname or alias.name, self.member(module, alias.name, node), node)

    def written_out(self, name: str, node: ast.AST) -> Any:
        """The text that stands for a function of Python's library (``standard.py``)."""
        homes = (standard_arrays, standard_collections)
        home = next((one for one in homes if hasattr(one, name)), standard)
        return self.member(self._module(home.__name__, node), name, node)

    def _module(self, name: str, node: ast.AST) -> Known:
        """A module that is loaded, and where."""
        function = self.frame.names.place
        imports = function.globals("__import__")
        found = take("global", self.frame.names.function, "__import__")
        if found is not builtins.__import__:
            self.refuse(node, "import by a function of one's own", OUTSIDE)
        self.needs.test(imports, ("is", found))
        place = _modules(imports).item(name)
        module = sys.modules.get(name)
        if not isinstance(module, type(sys)):
            self.refuse(node, f"an import of {name}, which is not loaded,", OUTSIDE)
        self.needs.expect(place, module)
        return Known(module, place)


def _modules(imports: Place) -> Place:
    """Where ``sys.modules`` is, from ``__import__``: ``sys`` is a global of what loads builtins."""
    loader = imports.attribute("__self__").attribute("__spec__").attribute("loader")
    return (
        loader.attribute("create_module").attribute("__globals__").item("sys").attribute("modules")
    )


def is_found() -> bool:
    """Whether this Python has ``sys.modules`` where it is looked for."""
    place = _modules(Place(None, "root", 0).globals("__import__"))
    found: Any = place.read((is_found,))
    return found is not ABSENT and found is sys.modules
