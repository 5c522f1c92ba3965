"""Exceptions that carry values to what handles them."""

from .case import at


def checked(y):
    if y > 2.0:
        raise ValueError(y * 2.0, "too large")
    if y < 0.0:
        raise ValueError(-y)
    return y


@at(1.5)
@at(0.5)
def first_argument(x):
    try:
        return checked(x * 3.0) * 2.0
    except ValueError as error:
        return error.args[0] * x


@at(1.5)
@at(-0.5)
def one_argument_or_two(x):
    total = 0.0
    try:
        total += checked(x * 3.0)
    except ValueError as error:
        total += sum(part for part in error.args if not isinstance(part, str))
        total *= len(error.args)
    return total * x


@at(1.5)
@at(0.25)
def found_in_a_loop(x):
    try:
        for i in range(10):
            x = x * 1.25
            if x > 2.0:
                raise StopIteration(x, i)
    except StopIteration as found:
        value, turns = found.args
        return value * (turns + 1)
    return x


@at(1.5)
@at(0.5)
def through_a_last_block(x):
    total = x
    try:
        try:
            if x > 1.0:
                raise ArithmeticError(x * x)
        finally:
            total = total * 2.0
    except ArithmeticError as error:
        (value,) = error.args
        total += value
    return total


@at(1.5)
@at(0.5)
def raised_anew(x):
    try:
        try:
            if x > 1.0:
                raise KeyError(x)
            return x
        except KeyError as error:
            raise ValueError(error.args[0] * 2.0, 1.0) from None
    except ValueError as error:
        return error.args[0] * error.args[1]


@at(1.5)
@at(-1.5)
def text_of_one(x):
    try:
        if x > 0.0:
            raise ValueError("positive")
        raise RuntimeError(f"{1 + 1} negative")
    except (ValueError, RuntimeError) as error:
        text = str(error)
        print(error, f"<{error}>", "and", error, sep="|")
    return x * len("positive") if text == "positive" else -x


@at(1.5)
def text_of_several(x):
    try:
        raise ValueError("at", x, 3)
    except ValueError as error:
        print(error)
        return error.args[1] * error.args[2]


@at(1.5)
def without_arguments(x):
    try:
        raise ValueError
    except ValueError as error:
        return x * (1.0 + len(error.args))


@at(1.5)
def quoted_key(x):
    try:
        raise KeyError("name")
    except KeyError as error:
        print(error)
        return x * len(str(error))


@at(0.0)
@at(2.0)
def arguments_of_pythons_own(x):
    try:
        return 1.0 / x
    except ZeroDivisionError as error:
        return x + len(error.args)


class Found(Exception):
    """One that keeps what it is given."""


@at(1.5)
@at(0.5)
def of_a_class_of_ones_own(x):
    def search(low):
        for k in range(4):
            low = low + 0.5 * k
            if low * low > 3.0:
                raise Found(low, k)
        return low

    try:
        return search(x)
    except Found as found:
        return found.args[0] ** 2 + found.args[1]


@at(1.5)
def argument_is_a_list(x):
    try:
        raise ValueError([x, x * x])
    except ValueError as error:
        error.args[0].append(3.0)
        return sum(error.args[0])
