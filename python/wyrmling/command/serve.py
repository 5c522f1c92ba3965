"""``wyrmling serve``: a model over HTTP."""

from __future__ import annotations

import argparse

from .. import serving
from . import types

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Answers HTTP requests with a model, which is read again when its file changes."""
    serving.serve(
        options.model,
        host=options.host,
        port=options.port,
        ui=options.ui,
        threads=options.threads,
        max_body=options.max_body,
        mmap=options.mmap,
    )


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the command."""
    option = parser.add_argument
    option("model", metavar="MODEL", help="what train has written")
    option(
        "--host",
        default="127.0.0.1",
        help="the address to listen at; the default is this machine alone [%(default)s]",
    )
    option(
        "--port",
        type=types.whole,
        default=8000,
        help="the port to listen at; 0 takes a free one [%(default)s]",
    )
    option("--ui", action="store_true", help="show a web page at /")
    option(
        "--threads", type=types.natural, default=4, help="requests answered at once [%(default)s]"
    )
    option(
        "--max-body",
        type=types.natural,
        default=1 << 20,
        metavar="BYTES",
        help="how large a request may be [%(default)s]",
    )
    option(
        "--mmap",
        action="store_true",
        help="map the file into memory, shared by processes; a new model has to be moved to its "
        "name, for writing over a file that is mapped ends the server",
    )
