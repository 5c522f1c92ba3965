"""Arguments that Python's own functions and methods refuse: the exception is Python's."""

from .case import at


@at(1.5)
def two_items_appended_at_once(x):
    values = [x]
    values.append(x, x)
    return sum(values)


@at(1.5)
def nothing_appended(x):
    values = [x]
    values.append()
    return sum(values)


@at(1.5)
def default_by_its_name(x):
    return {"a": x}.get("b", default=x)


@at(1.5)
def argument_that_sorted_has_not(x):
    return sorted([x], descending=True)[0]


@at(1.5)
def argument_that_enumerate_has_not(x):
    return sum(value for _, value in enumerate([x], first=1))


@at(1.5)
def slice_of_another_length(x):
    values = [x, x, x, x]
    values[::2] = [1.0, 2.0, 3.0]
    return sum(values)


@at(1.5)
def slice_of_step_zero(x):
    values = [x, x]
    del values[::0]
    return sum(values)


@at(1.5)
def inserted_at_no_integer(x):
    values = [x]
    values.insert(1.5, x)
    return sum(values)
