"""Functions that never return: plain Python's exception is raised, by every transform."""

import pytest

import wyrmling as wy


def adds(a, b):
    b -= 2 if a < a else 1.0
    return 2 + (sum(2 for _ in range(2)) - b)


def raises(a, b=2.0):
    raise ValueError("at 2")


def returns_only_by_a_branch_that_is_not_taken(x, y, flag):
    if -1 > flag == 1.0 and 2.0:
        return x
    return adds(y, 2) * raises(1, 1.0)


@pytest.mark.parametrize("transform", [wy.grad, wy.value_and_grad, wy.jacobian, wy.hessian])
@pytest.mark.parametrize("mode", ["source", "auto", "trace"])
def test_only_the_derivative_shows_that_it_never_returns(transform, mode):
    for _ in range(3):
        with pytest.raises(ValueError, match="at 2"):
            transform(returns_only_by_a_branch_that_is_not_taken, mode=mode)(0.506, -0.66, True)
