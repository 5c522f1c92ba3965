"""``wyrmling wheel``: a model as a package that pip installs."""

from __future__ import annotations

import argparse
import json

from ..serving import build_wheel

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Writes a wheel of a model, whose recommend() works once it is installed."""
    path = build_wheel(
        options.model,
        options.name,
        version=options.wheel_version,
        directory=options.out,
        needs=options.needs,
        histories=options.histories,
    )
    package, size = path.name.partition("-")[0], path.stat().st_size
    if options.json:
        print(json.dumps({"path": str(path), "bytes": size, "package": package}))
        return
    print(f"{path}  {size:,} bytes, needs {options.needs}")
    print(f"pip install {path}, then: import {package}")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    option = parser.add_argument
    option("model", metavar="MODEL", help="what train has written")
    option("--name", required=True, help="what pip calls the wheel, such as my-recs")
    option("--wheel-version", default="1.0", metavar="VERSION", help="its version [%(default)s]")
    option("--out", default="dist", metavar="DIRECTORY", help="where to write it [%(default)s]")
    option(
        "--needs",
        choices=("wyrmling", "numpy"),
        default="wyrmling",
        help="what must be there to use it: wyrmling, for any model, or NumPy alone, for models of "
        "vectors [%(default)s]",
    )
    option(
        "--histories",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="include what users had, to leave it out of recommendations [yes]",
    )
    option("--json", action="store_true", help="print JSON")
