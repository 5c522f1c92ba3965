"""The vectors of a model, as requests read them."""

from pathlib import Path

import numpy as np
import pytest

from wyrmling import datasets
from wyrmling.data import Interactions
from wyrmling.recommend import BPR, Custom, ImplicitALS

LINE = 64


def test_the_items_of_a_model_begin_at_a_cache_line(tmp_path: Path) -> None:
    data = datasets.make_interactions(30, 40, 8)
    for model in (BPR(factors=5, epochs=1), ImplicitALS(factors=5, epochs=1)):
        model.fit(data)
        model.save(tmp_path / "model")
        read = type(model).load(tmp_path / "model")
        for one in (model, read):
            assert one.fitted.arrays["items"].ctypes.data % LINE == 0
            assert one.fitted.arrays["items"].shape == (40, 5)
        mapped = type(model).load(tmp_path / "model", mmap=True).fitted.arrays["items"]
        assert not mapped.flags.writeable, "it is in the file, not copied"
        assert np.array_equal(mapped, model.fitted.arrays["items"])
        assert np.array_equal(mapped, read.fitted.arrays["items"])


@pytest.mark.parametrize("size", [1e-45, 1e-24, 1.0, 1e20, 1e38])
def test_cosines_do_not_depend_on_the_length_of_vectors(size: float) -> None:
    data = Interactions([0], [0], ["u"], ["x", "y", "z"])
    vectors = np.array([[1, 1], [1, 1], [-1, -1]]) * size
    similar = Custom.from_factors([[1, 1]], vectors, data).similar_items("x")
    assert [item for item, _ in similar] == ["y", "z"]
    np.testing.assert_allclose([score for _, score in similar], [1, -1], rtol=1e-6)


def test_masked_vectors_are_refused() -> None:
    data = Interactions([0, 1], [0, 0], ["u", "v"], ["x"])
    masked = np.ma.array([[1.0], [5.0]], mask=[[False], [True]])
    with pytest.raises(ValueError, match=r"^users\[1, 0\] is masked, expected a number"):
        Custom.from_factors(masked, [[1.0]], data)
