"""The vectors of a model, as requests read them."""

from pathlib import Path

import numpy as np

from wyrmling import datasets
from wyrmling.recommend import BPR, ImplicitALS

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
