"""Constructs together, as people write them."""

import math

import numpy as np

from .case import at


@at(2.0, 20)
@at(50.0, 20)
def newton_sqrt(a, n):
    x = a
    for _ in range(n):
        if abs(x * x - a) < 1e-12:
            break
        x = 0.5 * (x + a / x)
    return x


@at(0.3, 1.7)
def bisection(a, b):
    lo, hi = a, b
    for _ in range(30):
        mid = (lo + hi) / 2
        if mid * mid < 2.0:
            lo = mid
        else:
            hi = mid
    return lo * a + hi * b


@at(1.0, 0.1)
def runge_kutta(y, h):
    def slope(v):
        return -v * v + math.sin(v)

    for _ in range(10):
        k1 = slope(y)
        k2 = slope(y + h / 2 * k1)
        k3 = slope(y + h / 2 * k2)
        k4 = slope(y + h * k3)
        y += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@at(0.0, 1.0, 0.7)
def simpson(a, b, k):
    n = 20
    h = (b - a) / n
    total = 0.0
    for i in range(n + 1):
        x = a + i * h
        weight = 1 if i in (0, n) else 4 if i % 2 else 2
        total += weight * math.exp(-k * x * x)
    return total * h / 3


@at(0.3)
def mandelbrot_escape(c):
    x = 0.0
    n = 0
    while x < 4 and n < 50:
        x = x * x + c
        n += 1
    return x / n


@at(1.2, 0.3, 5)
def continued_fraction(a, b, depth):
    y = a
    for k in range(depth, 0, -1):
        y = a + k * b / y
    return y


@at(0.5, 30)
def bessel_by_recurrence(x, n):
    above, here, total = 0.0, 1e-30, 0.0
    for k in range(n, 0, -1):
        above, here = here, 2 * k / x * here - above
        if k % 2 == 1:
            total += 2 * here
    return above / (total - here)


@at([1.0, 2.0, 0.5, 3.0])
def maximum_subarray(xs):
    best = running = xs[0]
    for x in xs[1:]:
        running = x - 1 if running < 0 else running + x - 1
        best = running if running > best else best
    return best


@at([0.2, 1.1, -0.4])
def log_sum_exp(xs):
    top = max(xs)
    return top + math.log(sum([math.exp(x - top) for x in xs]))


@at([0.2, 1.1, -0.4], [1.0, 0.0, 1.0])
def logistic_loss(scores, labels):
    loss = 0.0
    for score, label in zip(scores, labels):
        p = 1 / (1 + math.exp(-score))
        loss -= label * math.log(p) + (1 - label) * math.log(1 - p)
    return loss / len(scores)


@at(0.9, 0.4)
def pendulum(angle, speed):
    dt = 0.05
    t = 0
    while t < 20:
        speed -= dt * math.sin(angle)
        angle += dt * speed
        t += 1
    return 0.5 * speed**2 - math.cos(angle)


@at(100.0, 95.0, 0.2)
def black_scholes(spot, strike, volatility):
    def cdf(z):
        return 0.5 * (1 + math.erf(z / math.sqrt(2)))

    d1 = (math.log(spot / strike) + 0.5 * volatility**2) / volatility
    d2 = d1 - volatility
    return spot * cdf(d1) - strike * cdf(d2)


@at(np.array([-1.2, 1.0, 0.8, 1.1]))
def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@at([-1.2, 1.0, 0.8])
def rosenbrock_in_a_loop(x):
    total = 0.0
    for i in range(len(x) - 1):
        total += 100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2
    return total


@at(np.array([[0.5, 0.1], [0.2, 0.4]]), np.array([[1.0, 2.0], [0.5, -1.0], [0.1, 0.3]]))
def rnn(w, x):
    h = np.zeros(2)
    for t in range(3):
        h = np.tanh(x[t] @ w + h)
    return np.sum(h * h)


@at(np.array([[4.0, 1.0], [1.0, 3.0]]))
def power_iteration(a):
    v = np.ones(2)
    for _ in range(8):
        v = a @ v
        v = v / np.sqrt(np.sum(v * v))
    return v @ a @ v


# The post of the seed: functions that call each other, and matrix multiplication and trace.


def bar(x):
    return math.sin(x) * x


def baz(a):
    return a * a + 1


@at(1.5)
def foo(x):
    a = bar(x)
    b = baz(a)
    return b


@at(1.5)
@at(0.5)
def foo_with_a_branch(x):
    if x > 1:
        return bar(x)
    return baz(x)


@at(1.5)
def foo_with_a_loop(x):
    for x in range(1, 11):
        bar(x)
    return baz(x) * 1.0


@at(np.arange(9.0).reshape(3, 3) / 7, np.arange(9.0)[::-1].reshape(3, 3) / 5)
def mul_tr(a, b):
    return np.trace(a @ b)
