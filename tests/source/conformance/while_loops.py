"""while loops, whose trip count depends on values."""

from .case import at


@at(1.5)
@at(0.01)
@at(100.0)
def doubling(x):
    y = x
    while y < 10:
        y = y * 2
    return y


@at(2.0)
@at(81.0)
@at(1e-3)
def newton_square_root(a):
    x = a
    while abs(x * x - a) > 1e-10 * a:
        x = 0.5 * (x + a / x)
    return x


@at(1.5, 4)
@at(1.5, 0)
def counting_down(x, n):
    y = 1.0
    while n > 0:
        y *= x
        n -= 1
    return y


@at(1.5)
@at(20.0)
def two_conditions(x):
    n = 0
    while x > 1e-3 and n < 8:
        x = x / (1 + n)
        n += 1
    return x * n


@at(0.5)
def body_never_runs(x):
    while x > 1:
        x = x / 2
        y = x  # noqa: F841
    return x * x


@at(0.5)
def variable_unbound_after_no_iteration(x):
    while x > 1:
        y = x
        x = x / 2
    return y


@at(5.0)
def variable_of_the_last_iteration(x):
    while x > 1:
        y = x * x
        x = x / 2
    return y + x


@at(5.0)
def true_with_break(x):
    while True:
        x = x * 0.7
        if x < 1:
            break
    return x * x


@at(5.0)
def true_with_return(x):
    n = 0
    while True:
        n += 1
        x = x * 0.7 + 0.01 * n
        if x < 1:
            return x * n


@at(5.0)
@at(0.5)
def loop_else(x):
    while x > 1:
        x = x - 0.75
        if x < 0.3:
            break
    else:
        x = x * 10
    return x


@at(7.0)
def continues(x):
    y = 0.0
    while x > 0:
        x = x - 1.0
        if x > 3:
            continue
        y = y + x * x
    return y


@at(3.0)
def nested(x):
    y = 0.0
    while x > 0.5:
        z = x
        while z > 0.25:
            z = z * 0.5
            y = y + z * x
        x = x - 1
    return y


@at(1.5)
def swap_in_a_loop(x):
    a, b = x, x * x
    n = 0
    while n < 5:
        a, b = b, a + 0.1 * b
        n += 1
    return a - b


@at(0.7)
def logistic_map(x):
    n = 0
    while n < 12:
        x = 3.2 * x * (1 - x)
        n += 1
    return x


@at(2.0, 1.0)
def fixed_point_of_two(x, y):
    while abs(x - y) > 1e-9:
        x, y = (x + y) / 2, (x * y) ** 0.5
    return x


@at(0.3)
def branch_in_a_loop(x):
    n = 0
    while n < 10:
        if x > 1:
            x = x / 2 + 0.1
        else:
            x = x * 1.7
        n += 1
    return x


@at(3.7)
def carried_flag(x):
    going = True
    total = 0.0
    while going:
        total += x * x
        x -= 1
        going = x > 0
    return total


@at(10.0)
def condition_with_walrus(x):
    total = 0.0
    while (x := x * 0.5) > 1:
        total += x * x
    return total + x


@at(1.0)
def endless_until_exception(x):
    n = 3
    while True:
        n -= 1
        x = x * 2 / n


@at(1.5)
def grows_with_the_iteration(x):
    power, total, n = 1.0, 0.0, 0
    while abs(power) > 1e-6:
        total += power
        n += 1
        power = power * x / n
    return total
