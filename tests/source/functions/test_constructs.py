"""The page about reading lists what the table of constructs says."""

import runpy
from pathlib import Path

ROOT = Path(__file__).parents[3]
constructs = runpy.run_path(str(ROOT / "scripts" / "constructs.py"))


def test_the_lists_are_current():
    text = constructs["PAGE"].read_text("utf-8")
    assert text == constructs["page"](text), "run python scripts/constructs.py"


def test_the_lists_have_each_construct():
    listed = constructs["supported"]() + constructs["refused"]()
    for name in ("while, with else", "yield from", "alternatives, \\|", "-x, +x, \\~x, not x"):
        assert name in listed
