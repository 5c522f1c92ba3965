"""Write the lists of docs/source.md: which constructs of Python are read, and which are not.

    python scripts/constructs.py

They come from the table by which functions are refused, ``wyrmling.source.text.refuse.TABLE``;
``tests/source/functions/test_constructs.py`` holds the page against it.
"""

from pathlib import Path

from wyrmling.source.text.refuse import GROUPS, TABLE

PAGE = Path(__file__).parent.parent / "docs" / "source.md"
BEGIN, END = "<!-- written by scripts/constructs.py -->\n", "<!-- until here -->\n"


def supported() -> str:
    """The table of what is read, a row for each kind of construct."""
    lines = ["| kind | read |", "| --- | --- |"]
    for kind, names in GROUPS.items():
        found: dict[str, str] = {}
        for name in names:
            entry = TABLE[name]
            if entry.is_supported:
                found[entry.construct] = entry.limits
        if found:
            written = [
                _cell(f"{construct} ({limits})" if limits else construct)
                for construct, limits in found.items()
            ]
            lines.append(f"| {kind} | {'; '.join(written)} |")
    return "\n".join(lines) + "\n"


def refused() -> str:
    """The table of what is not read, with what to write instead."""
    lines = ["| not read | instead |", "| --- | --- |"]
    found: dict[str, str] = {}
    for entry in TABLE.values():
        if entry.advice is not None:
            found[entry.construct] = entry.advice
    lines += [f"| {_cell(construct)} | {_cell(advice)} |" for construct, advice in found.items()]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("*", "\\*").replace("~", "\\~")


def page(text: str) -> str:
    """The page with lists that are current."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{supported()}\n{refused()}\n{END}{after}"


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text("utf-8")), "utf-8")
