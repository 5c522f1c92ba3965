"""What a decorator made is pickled by the name that it took, as functions are."""

import copy
import pickle

import pytest

import wyrmling as wy


@wy.compile
def doubled(x):
    return 2.0 * x


@wy.grad
def slope(x):
    return x * x


class Scaled:
    factor = 3.0

    @staticmethod
    @wy.grad
    def cube(x):
        return x**3

    @wy.compile
    def method(self, x):
        return self.factor * x


def plain(x):
    return x * x


@pytest.mark.parametrize("made", [doubled, slope, Scaled.cube, Scaled.method])
def test_a_name_stands_for_what_took_it(made):
    assert pickle.loads(pickle.dumps(made)) is made
    assert copy.deepcopy(made) is made


def test_other_transforms_are_made_anew():
    again = wy.grad(slope.__wrapped__)
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(again)
    made = wy.grad(plain)
    assert pickle.loads(pickle.dumps(made))(3.0) == made(3.0) == 6.0
    bound = pickle.loads(pickle.dumps(Scaled().method))
    assert bound(2.0) == 6.0


def test_it_says_what_it_is():
    assert repr(doubled) == "<wyrmling.compile of doubled>"
    assert repr(Scaled.cube) == "<wyrmling.grad of Scaled.cube>"
    assert repr(wy.grad((3.0).__add__)).startswith("<wyrmling.grad of float.__add__")
