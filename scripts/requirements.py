"""Print what to install, read from pyproject.toml, one requirement a line.

``build``: what builds and runs the package (build system, dependencies, progress bar).
``dev``: that and everything the tests and linters use.
"""

import sys
import tomllib
from pathlib import Path


def requirements(which: str) -> list[str]:
    """Return the requirements named by ``which``, ``"build"`` or ``"dev"``."""
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    settings = tomllib.loads(text)
    project = settings["project"]
    found: list[str] = settings["build-system"]["requires"] + project["dependencies"]
    for extra in {"build": ["progress"], "dev": ["progress", "dev"]}[which]:
        found += project["optional-dependencies"][extra]
    return found


if __name__ == "__main__":
    print("\n".join(requirements(sys.argv[1])))
