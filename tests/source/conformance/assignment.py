"""Every form of assignment."""

from .case import at


@at(1.5, 2.5)
def swap(x, y):
    x, y = y, x
    return x - 2 * y


@at(1.5, 2.5, 3.5)
def rotation(x, y, z):
    x, y, z = z, x, y
    return x - 2 * y * z


@at(1.5)
def chained(x):
    a = b = c = x * x
    a += 1
    return a * b + c


@at(1.5)
def augmented(x):
    y = x
    y += 2
    y *= x
    y -= 0.5
    y /= 3
    y **= 2
    y %= 0.7
    return y * x


@at(7.5)
def augmented_floor(x):
    y = x
    y //= 2
    return x * y


@at(1.5)
def unpacking_a_tuple(x):
    (a, b), c = (x, x * x), 3.0
    return a * b - c


@at(1.5)
def starred(x):
    first, *middle, last = x, 2.0, x * x, 3.0, x + 1
    return first * last + middle[0] * middle[1] - len(middle) * middle[2]


@at(1.5)
def starred_empty(x):
    first, *rest = (x * x,)
    return first + len(rest)


@at((1.5, 2.5))
@at((1.5, 2.5, 3.5))
def unpacking_the_wrong_number(values):
    a, b = values
    return a * b


@at(1.5)
def list_as_a_target(x):
    [a, b] = [x, x * x]
    return a * b


@at(1.5)
def walrus(x):
    y = (z := x * 2) + z * z
    return y * z


@at(1.5)
@at(0.2)
def walrus_in_a_condition(x):
    if (y := x * x) > 1:
        return y * 3
    return y - x


@at(1.5)
def annotated(x: float) -> float:
    y: float = x * 2
    z: int
    z = 3
    return y * z


@at(1.5)
def evaluation_goes_from_left_to_right(x):
    order = []

    def note(value):
        order.append(value)
        return value

    y = note(x) * note(x + 1) - note(2.0)
    return y + order[0] * 10 + order[1] * 100 + order[2]


@at(1.5)
def same_name_again_and_again(x):
    x = x + 1
    x = x * x
    x = x - 2 * x
    return x * x


@at(1.5)
def rebinding_a_constant(x):
    c = 3
    y = c * x
    c = 0.5
    return y * c


@at(1.5)
def deleted(x):
    y = x * 2
    z = y * x
    del y
    return z


@at(1.5)
def read_after_deletion(x):
    y = x * 2
    del y
    return y


@at(1.5)
def read_before_assignment(x):
    z = y * x  # noqa: F821
    y = 3.0
    return z * y


@at(1.5)
def unused_results(x):
    x * 2
    x / 3
    (x, x)
    return x * x


@at(1.5)
def division_by_zero_in_an_unused_result(x):
    x / 0.0
    return x * x


@at(1.5)
def conditional_in_an_index(x):
    a = [x, x * x]
    i = 0 if x > 1 else 1
    a[i] = a[i] + 5
    a[1 - i] *= 3
    return a[0] * a[1]


@at(1.5)
def unpacking_overlaps(x):
    a = [x, 2.0]
    i = 0
    i, a[i] = 1, 7.0
    return a[0] * x + a[1] * i


@at(1.5)
def augmented_evaluates_its_target_once(x):
    seen = []
    a = [x, x]

    def place():
        seen.append(1)
        return 0

    a[place()] += 2.0
    return a[0] * len(seen)


@at(1.5, 2.5)
def no_common_subexpression_across_assignment(x, y):
    a = x * y
    x = x + 1
    b = x * y
    return a - b * a


@at(1.5)
def underscore_names(x):
    _, __, _y = x, x * x, x**3
    return _ + __ * _y


@at(1.5)
def unicode_names(x):
    α = x * 2
    δx = α + 1
    return α * δx
