"""Nested functions, lambdas, nonlocal, and when names are looked up."""

import functools

from .case import add, at


@at(1.5)
def nested_function(x):
    def square(y):
        return y * y

    return square(x) + square(x + 1)


@at(1.5)
def reads_an_enclosing_variable(x):
    def scaled(y):
        return x * y

    return scaled(2.0) * scaled(x)


@at(1.5)
def sees_a_later_value(x):
    scale = 2.0

    def scaled(y):
        return y * scale

    a = scaled(x)
    scale = 5.0
    return a + scaled(x)


@at(1.5)
def nonlocal_counts(x):
    count = 0

    def step(y):
        nonlocal count
        count += 1
        return y * count

    return step(x) + step(x) + step(x) * count


@at(1.5)
def nonlocal_carries_a_gradient(x):
    total = 0.0

    def add_to(y):
        nonlocal total
        total = total + y * x

    add_to(x)
    add_to(x * x)
    add_to(3.0)
    return total


@at(1.5, 4)
def nonlocal_in_a_loop(x, n):
    y = x

    def advance():
        nonlocal y
        y = y * 0.5 + x * x

    for _ in range(n):
        advance()
    return y


@at(1.5)
@at(-1.5)
def nonlocal_on_a_branch(x):
    y = 1.0

    def change():
        nonlocal y
        y = x * x

    if x > 0:
        change()
    return y * x


@at(1.5)
def lambda_called_at_once(x):
    return (lambda y: y * y + x)(x + 1)


@at(1.5)
def lambda_in_a_variable(x):
    f = lambda y, k=2.0: y * k
    return f(x) + f(x, 3.0) + f(k=x, y=2.0)


@at(1.5)
def late_binding_in_a_loop(x):
    functions = []
    for k in (1.0, 2.0, 3.0):
        functions.append(lambda y: y * k)
    return functions[0](x) + functions[1](x) * 10 + functions[2](x) * 100


@at(1.5)
def early_binding_by_a_default(x):
    functions = []
    for k in (1.0, 2.0, 3.0):
        functions.append(lambda y, k=k: y * k)
    return functions[0](x) + functions[1](x) * 10 + functions[2](x) * 100


@at(1.5)
def late_binding_in_a_comprehension(x):
    functions = [lambda y: y * k for k in (1.0, 2.0, 3.0)]
    return sum([f(x) for f in functions])


@at(1.5)
def function_returned(x):
    def power(n):
        def f(y):
            return y**n

        return f

    return power(2)(x) + power(3)(x)


@at(1.5)
def function_passed(x):
    def twice(f, y):
        return f(f(y))

    return twice(lambda y: y * x, 3.0)


@at(1.5)
@at(-1.5)
def function_chosen_by_a_value(x):
    def up(y):
        return y * y

    def down(y):
        return 3 * y

    f = up if x > 0 else down
    return f(x) + 1


@at(1.5, 3)
def function_composed_in_a_loop(x, n):
    def compose(f, g):
        return lambda y: f(g(y))

    h = lambda y: y
    for _ in range(3):
        h = compose(h, lambda y: y * x + 1)
    return h(x)


@at(1.5)
def functions_in_a_tuple(x):
    y = x
    for f in (lambda v: v * v, lambda v: v + 1, abs):
        y = f(y)
    return y


@at(1.5)
def functions_in_a_dict(x):
    operations = {"double": lambda y: 2 * y, "square": lambda y: y * y}
    return operations["double"](x) + operations["square"](x)


@at(1.5)
def defined_after_its_use_in_a_body(x):
    def first(y):
        return second(y) + 1

    def second(y):
        return y * y

    return first(x)


@at(1.5)
@at(-1.5)
def defined_on_a_branch(x):
    if x > 0:

        def f(y):
            return y * y
    else:

        def f(y):
            return -y

    return f(x)


@at(1.5)
def shares_a_variable_between_two(x):
    state = x

    def put(v):
        nonlocal state
        state = v

    def get():
        return state

    put(get() * x)
    put(get() + 1)
    return get()


@at(1.5)
def each_call_has_its_own(x):
    def counter():
        n = x

        def step():
            nonlocal n
            n = n * 2
            return n

        return step

    a, b = counter(), counter()
    return a() + a() + b()


def _accumulator():
    total = 0.0

    def f(x):
        return x * x + total

    return f


add(lambda x: x * x + 1, 1.5, name="lambda_at_module_level")
add(_accumulator(), 1.5, name="made_by_a_function")
first, second = (lambda x: x * 2), (lambda x: x * 3)
add(first, 1.5, name="first_lambda_of_a_line")
add(second, 1.5, name="second_lambda_of_a_line")
twice = [lambda x: x * 2, lambda x: x * 2]
add(twice[1], 1.5, name="equal_lambdas_of_a_line")
add(
    lambda x: (
        x * x  # a comment
        + 1
    ),
    1.5,
    name="lambda_of_several_lines",
)


def doubled(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs) * 2

    return wrapper


@at(1.3, 0.7)
def decorators_that_wrap(x, y):
    @doubled
    @doubled
    def product(a, b=2.0):
        return a * b

    def tripled(a):
        return product(a) * 3

    return product(x, b=y) + functools.update_wrapper(tripled, product)(y)


@at(1.3)
def name_of_what_wraps(x):
    @doubled
    def product(a):
        return a

    return product(x) * len(product.__name__)


@at(1.3)
def whether_it_wraps(x):
    @doubled
    def product(a):
        return a

    return product(x) * hasattr(product, "__wrapped__")
