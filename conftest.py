"""The examples in the package's docstrings call the functions as users do.

A file of ``wyrmling`` defines functions that always give variables; users get them in their public
form (``wyrmling.plain``). So an example finds that form by the names of the file, whether pytest
finds it in the file or in the package that exports it.
"""

import doctest
import inspect
from importlib import import_module
from typing import Any

import pytest

EXPORTING = ("wyrmling.arrays", "wyrmling.linalg")


@pytest.fixture(autouse=True)
def _public_forms(request: pytest.FixtureRequest, doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace.clear()
    example = getattr(request.node, "dtest", None)
    if not isinstance(example, doctest.DocTest):
        return
    for package in EXPORTING:
        if example.name.startswith(f"{package}."):
            from wyrmling import plain

            public = import_module(package)
            form = vars(public).get(example.name.rpartition(".")[2])
            function = inspect.unwrap(plain.inner(form))
            defined = getattr(function, "__globals__", example.globs)
            forms = {name: vars(public)[name] for name in defined if name in public.__all__}
            doctest_namespace.update({**defined, **forms})
            example.globs.clear()
