"""if, elif, else and conditional expressions."""

from .case import at


@at(1.5)
@at(-1.5)
def two_ways(x):
    if x > 0:
        y = x * x
    else:
        y = -3 * x
    return y + x


@at(1.5)
@at(-1.5)
def one_way(x):
    y = x
    if x > 0:
        y = x * x * x
    return y


@at(0.5)
@at(1.5)
@at(2.5)
@at(3.5)
def several_ways(x):
    if x < 1:
        y = x
    elif x < 2:
        y = x * x
    elif x < 3:
        y = x**3
    else:
        y = 1 / x
    return y * 2


@at(1.5, 0.5)
@at(1.5, -0.5)
@at(-1.5, 0.5)
@at(-1.5, -0.5)
def nested(x, y):
    if x > 0:
        if y > 0:
            z = x * y
        else:
            z = x - y
        z = z * 2
    else:
        if y > 0:
            z = x / y
        else:
            z = x + y * y
    return z + x


@at(1.5)
@at(-1.5)
def defined_on_one_branch_only(x):
    if x > 0:
        extra = x * 2
    y = x * x
    if x > 0:
        y = y + extra
    return y


@at(1.5)
@at(-1.5)
def unbound_where_it_is_read(x):
    if x > 0:
        y = x * 2
    return y


@at(1.5, True)
@at(1.5, False)
@at(-1.5, False)
def unbound_where_one_of_several_things_is_copied(x, flag):
    if not flag:
        y = min(x, flag, 1)
    z = y  # noqa: F841
    return x * x


@at(1.5)
@at(-1.5)
def unbound_where_it_is_deleted(x):
    if x > 0:
        y = x * 2
    del y
    return x * x


@at(1.5)
@at(-1.5)
def defined_on_one_branch_and_never_read(x):
    if x > 0:
        extra = x * 2  # noqa: F841
    return x * x


@at(1.5)
@at(-1.5)
def kinds_differ_between_branches(x):
    if x > 0:
        y = x
    else:
        y = 3
    return y * 2 + x


@at(1.5)
@at(-1.5)
def returned_kinds_differ(x):
    if x > 0:
        return x * x
    return 1


@at(1.5)
@at(-1.5)
def conditional_expression(x):
    return (x * x if x > 0 else -x) * 2


@at(1.5)
@at(-1.5)
def conditional_expressions_nested(x):
    return x if x > 1 else x * x if x > 0 else x**3 if x > -1 else 2 * x


@at(1.5)
@at(-1.5)
def only_one_side_is_evaluated(x):
    y = 1 / (x + 1.5) if x != -1.5 else 4.0
    return y * x


@at(1.5)
@at(-1.5)
def swap_on_a_branch(x):
    a, b = x, x * x
    if x > 0:
        a, b = b, a
    return a - 2 * b


@at(1.5)
def pass_does_nothing(x):
    if x > 0:
        pass
    else:
        return -x
    return x * 2


@at(1.5, True)
@at(1.5, False)
def on_a_flag(x, flag):
    if flag:
        return x * 2
    return x * 3


@at(1.5, 0)
@at(1.5, 2)
def on_an_integer(x, n):
    if n:
        return x * n
    return x * x


@at(1.5, "")
@at(1.5, "text")
def on_a_string(x, text):
    return x * 2 if text else x * 3


@at(1.5)
@at(-1.5)
def both_branches_assign_several(x):
    if x > 0:
        a, b, c = x, 2 * x, 3 * x
    else:
        c = x * x
        a = b = c + 1
    return a * b - c


@at(1.5)
@at(0.1)
def after_a_branch_that_returns(x):
    if x > 1:
        return x * x
    y = x * 3
    if y > 1:
        return y
    return y * y


@at(0.3)
def many_branches_in_a_row(x):
    y = x
    if y > 0.1:
        y = y * 2
    if y > 0.5:
        y = y + x
    if y > 0.8:
        y = y * y
    if y > 5:
        y = -y
    return y


@at(1.5)
def constant_condition(x):
    if 1 + 1 == 2:
        return x * x
    return undefined_name  # noqa: F821


@at(1.5)
@at(-1.5)
def unused_difference(x):
    if x > 0:
        y = x
        z = 2 * x
    else:
        y = x
        z = 5.0
    return y * y + 0 * z


@at(2.0)
@at(1.0)
@at(-1.0)
def relu_by_hand(x):
    y = 0.0
    if x > 0:
        y = x
    return y * y + y
