"""Python's integers beside floats: exact, of any size, and Python's rules of division."""

import enum

from .case import at


@at(1.5, 3)
@at(1.5, -3)
@at(1.5, 0)
def product_with_integer(x, n):
    return x * n + n


@at(1.5, 7, 2)
@at(1.5, -7, 2)
@at(1.5, 7, -2)
@at(1.5, -7, -2)
@at(1.5, 7, 0)
def floor_division(x, a, b):
    return x * (a // b)


@at(1.5, 7, 3)
@at(1.5, -7, 3)
@at(1.5, 7, -3)
@at(1.5, -7, -3)
@at(1.5, 7, 0)
def remainder(x, a, b):
    return x * (a % b)


@at(1.5, 7, 3)
@at(1.5, -7, 3)
@at(1.5, 7, -3)
@at(1.5, -6, -3)
@at(1.5, 6, 0)
def quotient_and_remainder(x, a, b):
    q, r = divmod(a, b)
    return x * q - r


@at(1.5, 7, 3)
@at(1.5, -7, 3)
@at(1.5, 1, 0)
@at(1.5, 2**53 + 1, 3)
def true_division(x, a, b):
    return x * (a / b)


@at(1.5, 3, 4)
@at(1.5, -3, 3)
@at(1.5, 3, -2)
@at(1.5, 0, 0)
@at(1.5, 0, -1)
@at(1.5, 3, 60)
def power(x, a, b):
    return x * a**b


@at(1.5, 12)
@at(1.5, 40)
def factorial_beyond_64_bits(x, n):
    k = 1
    for i in range(1, n + 1):
        k *= i
    return x / k


@at(1.5, 2**62)
@at(1.5, 2**63 - 1)
def sum_overflows(x, n):
    return x * (n + n)


@at(1.5, -(2**63))
def negation_overflows(x, n):
    return x * -n + x * abs(n)


@at(1.5, -(2**63), -1)
def quotient_overflows(x, a, b):
    return x * (a // b)


@at(1.5, 2**64)
@at(1.5, 10**30)
def argument_beyond_64_bits(x, n):
    return x * n


@at(1.5, 10**400)
def integer_too_large_for_float(x, n):
    return x * n


@at(1.5, 10**400)
def large_integer_only_compared(x, n):
    return x if n > 5 else -x


@at(1.5, 3, 70)
@at(1.5, 3, 5)
@at(1.5, -3, 2)
@at(1.5, 3, -1)
def shifts(x, n, by):
    return x * (n << by) + (n >> by)


@at(1.5, 12, 10)
@at(1.5, -12, 10)
def bits(x, a, b):
    return x * (a & b) + (a | b) - (a ^ b) * x + ~a


@at(1.5, 12)
def bits_with_truth(x, n):
    return x * ((n > 3) & (n < 20)) + ((n == 3) | (n == 12)) + (True ^ (n > 5))


@at(9007199254740993.0, 2**53)
@at(9007199254740992.0, 2**53 + 1)
@at(9007199254740994.0, 2**53 + 1)
def comparison_near_two_to_53(x, n):
    return (x if x > n else 2 * x) + (1.0 if x == n else 0.0)


@at(0.5, 2**53 + 1)
def sum_with_integer_near_two_to_53(x, n):
    return x + n


@at(5.9)
@at(-5.9)
@at(1e30)
@at(float("inf"))
@at(float("nan"))
def integer_of_float(x):
    return x * int(x)


@at(5.9)
@at(-5.9)
@at(1e19)
def rounding_to_integers(x):
    return x * round(x)


@at(1.5, True)
@at(1.5, False)
def truth_is_an_integer(x, flag):
    return x * (flag + 1) + True + x * flag - (-flag)


@at(1.5, True)
def truth_to_a_power(x, flag):
    return x * (flag**2) + flag // 1 + flag * True


@at(1.5, 3)
def augmented_assignments(x, n):
    n += 4
    n *= 3
    n -= 1
    n //= 2
    n %= 7
    n **= 2
    n <<= 1
    n |= 1
    n &= 29
    n ^= 5
    n >>= 1
    return x * n


@at(2.5, 3)
def integer_stays_integer(x, n):
    k = n
    k = k * 2 - 1
    return x * (k // 2) + x**k


@at(2.5, 3)
def integer_becomes_float(x, n):
    k = n
    for _ in range(2):
        k = k / 2
    return x * k


@at(2.5, 3)
def kind_changes_in_loop(x, n):
    k = 0
    for _ in range(n):
        k = k + x
    return k * k


@at(2.5, 10)
def greatest_common_divisor(x, n):
    a, b = n * 21, 66
    while b:
        a, b = b, a % b
    return x * a


@at(2.5, 27)
def collatz(x, n):
    steps = 0
    while n != 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return x * steps


@at(2.5, 45)
def fibonacci(x, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return x * a


@at(2.5, 100)
def fibonacci_beyond_64_bits(x, n):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return x * a


@at(2.5, 6)
def minimum_of_integers(x, n):
    return x * min(n, 4) + max(n, 9) + abs(-n) + sum([n, 1])


class Level(enum.IntEnum):
    """Integers of a class of their own."""

    LOW = 1
    HIGH = 3


@at(0.7)
@at(2.5)
def members_of_an_enumeration(x):
    y = x * Level.HIGH - Level.LOW / x
    if x > Level.LOW and Level.HIGH != x:
        return y**Level.HIGH
    return y + Level.HIGH % x


@at(1.5, 9)
@at(1.5, 0)
@at(1.5, -8)
@at(1.5, 2**40)
def bits_of_an_integer(x, n):
    total = x * n.bit_length()
    for k in range(5):
        total += x**k * (k * 3).bit_length()
    return total * True.bit_length()
