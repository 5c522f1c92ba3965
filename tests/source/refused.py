"""Functions of ``conformance/`` that are refused, or traced otherwise; lists that only shrink."""

# What ``mode="source"`` refuses.
REFUSED: set[str] = set()

# What ``mode="trace"`` gives other numbers for: they ask what class a number is, or print it, or
# are given one list twice.
TRACED_OTHERWISE = {
    "calls.isinstance_of_arguments",
    "effects.two_arguments_are_one_list",
    "statements.formatted_string",
    "statements.match_classes",
}
