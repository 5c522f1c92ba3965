"""try, raise and assert: types, texts and lines of exceptions are Python's."""

import math

from .case import at


@at(1.5)
@at(-1.5)
def raised_on_a_branch(x):
    if x < 0:
        raise ValueError(f"negative: {x}")
    return x * x


@at(1.5)
@at(-1.5)
def asserted(x):
    assert x > 0, "must be positive"
    return x * 2


@at(-1.5)
def asserted_without_text(x):
    assert x > 0
    return x


@at(1.5, 0.0)
@at(1.5, 2.0)
def division_by_zero_caught(x, y):
    try:
        z = x / y
    except ZeroDivisionError:
        z = x * 100
    return z + 1


@at(1.5, 0)
@at(1.5, 2)
def integer_division_caught(x, n):
    try:
        k = 10 // n
    except ZeroDivisionError:
        k = -1
    return x * k


@at(1.5, 0.0)
def division_by_zero_not_caught(x, y):
    z = x + 1
    return z / y


@at(1.5)
@at(-1.5)
def domain_error_caught(x):
    try:
        return math.sqrt(x)
    except ValueError:
        return x * x


@at(-1.5)
def domain_error_not_caught(x):
    y = x * 2
    return math.log(y)


@at(1000.0)
def overflow_of_exp(x):
    return math.exp(x)


@at(1000.0)
@at(1.0)
def overflow_caught(x):
    try:
        y = math.exp(x)
    except OverflowError:
        y = 2 * x
    return y


@at(1.5)
@at(-1.5)
def own_exception_caught(x):
    try:
        if x < 0:
            raise KeyError("x")
        y = x * 2
    except (KeyError, ValueError):
        y = -x * 3
    return y


@at(-1.5)
def exception_bound_to_a_name(x):
    try:
        raise ValueError("text")
    except ValueError as error:
        n = len(str(error))
    return x * n


@at(1.5)
@at(0.0)
def try_else(x):
    try:
        y = 1 / x
    except ZeroDivisionError:
        y = 5.0 + x
    else:
        y = y * 2
    return y


@at(1.5)
@at(0.0)
def try_finally(x):
    n = 0
    try:
        y = 1 / (x + 1)
    finally:
        n += 1
    return y * n


@at(0.0)
def finally_runs_and_exception_goes_on(x):
    try:
        y = 1 / x
    finally:
        x = 3.0
    return y * x


@at(1.5)
def finally_overrides_a_return(x):
    def f():
        try:
            return x
        finally:
            return x * 2

    return f()


@at(1.5)
@at(0.0)
def exception_of_a_callee_caught(x):
    def inverse(y):
        return 1 / y

    try:
        return inverse(x)
    except ZeroDivisionError:
        return x + 7


@at(0.0)
def exception_of_a_callee(x):
    def inverse(y):
        return 1 / y

    a = x + 1
    return inverse(x) * a


@at(1.5)
@at(0.0)
def state_before_the_exception_is_kept(x):
    y = 1.0
    try:
        y = x * 3
        z = 1 / x
        y = z
    except ZeroDivisionError:
        y = y + 10
    return y


@at(1.5)
@at(0.0)
def bare_except(x):
    try:
        return 1 / x
    except:
        return x * 2 + 1


@at(0.0)
def raised_again(x):
    try:
        return 1 / x
    except ZeroDivisionError:
        raise


@at(0.0)
def raised_from_another(x):
    try:
        return 1 / x
    except ZeroDivisionError as error:
        raise ValueError("bad x") from error


@at(1.5, 4)
def raised_in_a_loop(x, n):
    for i in range(n):
        x = x / (2 - i)
    return x


@at(1.5, 4)
def caught_in_a_loop(x, n):
    for i in range(n):
        try:
            x = x * 3 / (2 - i)
        except ZeroDivisionError:
            x = x + 0.5
    return x


@at(1.5)
def type_error(x):
    return x + "text"


@at(1.5)
def type_error_of_none(x):
    y = None
    return x * y


@at(1.5)
def not_implemented(x):
    raise NotImplementedError


class Own(Exception):
    def __init__(self, value):
        super().__init__(f"own {value}")
        self.value = value


@at(1.5)
def own_class_of_exception(x):
    raise Own(x)


@at(1.5)
def nested_try(x):
    try:
        try:
            y = x / 0.0
        except ValueError:
            y = 1.0
    except ArithmeticError:
        y = x * 4
    return y


@at(1.5)
def suppressed_by_continue(x):
    total = 0.0
    for d in (1.0, 0.0, 2.0):
        try:
            total += x / d
        except ZeroDivisionError:
            continue
        total *= 2
    return total


@at(1.5)
def argument_of_an_exception_has_an_effect(x):
    values = [x, 2 * x]
    last = x
    try:
        raise ValueError(values.pop(), last := 3 * x)
    except ValueError:
        return sum(values) * last


@at(1.5)
@at(2.5)
def argument_of_an_exception_raises(x):
    try:
        raise ValueError(1 / (x - 1.5))
    except ValueError:
        return x
    except ZeroDivisionError:
        return x * x


@at(1.5)
def class_of_a_system_error_follows_from_its_number(x):
    try:
        raise OSError(2, "no such file")
    except FileNotFoundError:
        return x * x
    except OSError:
        return x


@at(1.5)
def arguments_of_an_exception(x):
    texts = ["a", f"{x}"]
    try:
        raise ValueError(*texts, x)
    except ValueError:
        y = x * x
    try:
        raise KeyError(name="a")
    except KeyError:
        return x
    except TypeError:
        return y


@at(0.5)
@at(3.0)
@at(2.0)
def outside_of_a_domain(x):
    try:
        y = math.log(x - 2.0)
    except (ValueError, ZeroDivisionError):
        y = x * x
    else:
        y = y * 2.0
    finally:
        x = x * 3.0
    return y * x


@at(0.5)
@at(2.0)
def too_large_for_a_float(x):
    total = 0.0
    for i in range(4):
        try:
            total += math.exp(300.0 * x * i) * 1e-250
        except OverflowError as error:
            total += x * i + (error is not None)
        except ArithmeticError:
            return 0.0
    return total


@at(-0.5)
@at(1.5)
def a_domain_within_an_expression(x):
    made = []
    try:
        made = [x, x * 2.0]
        made.append(sum([math.sqrt(v + x) for v in (2.0, 1.0, 0.0)]) if x < 1.0 else x)
    except ValueError:
        made.append(7.0 * x)
    return made[0] * made[-1] + len(made)
