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


class OthersArray:
    """An array of another library, whose types are its own."""

    dtype = "theirs.float32"

    def __init__(self, numbers: list[list[float]]) -> None:
        self.numbers = np.array(numbers)

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.numbers


def test_vectors_may_be_of_another_library() -> None:
    data = Interactions([0], [0], ["u"], ["x", "y"])
    model = Custom.from_factors(OthersArray([[2.0]]), OthersArray([[1.0], [3.0]]), data)
    assert model.recommend("u") == [("y", 6.0)]


def test_masked_vectors_are_refused() -> None:
    data = Interactions([0, 1], [0, 0], ["u", "v"], ["x"])
    masked = np.ma.array([[1.0], [5.0]], mask=[[False], [True]])
    with pytest.raises(ValueError, match=r"^users\[1, 0\] is masked, expected a number"):
        Custom.from_factors(masked, [[1.0]], data)


@pytest.mark.parametrize("width", [0, 1, 2**16 + 1])
def test_vectors_of_any_length_come_back_from_a_file(tmp_path: Path, width: int) -> None:
    data = Interactions.from_ids(["ann", "bob"], ["tea", "rye"])
    vectors = np.ones((2, width), np.float32)
    model = Custom.from_factors(vectors, vectors, data, item_bias=[1.0, 2.0])
    model.save(tmp_path / "model")
    back = Custom.load(tmp_path / "model")
    assert back.recommend("ann") == model.recommend("ann") == [("rye", width + 2.0)]


def test_nobody_and_nothing_are_no_model() -> None:
    for users, items in ((["ann"], []), ([], ["tea"])):
        data = Interactions([], [], users, items)
        said = f"^data has {len(users)} users and {len(items)} items, expected some of each"
        with pytest.raises(ValueError, match=said):
            Custom.from_factors(np.ones((len(users), 2)), np.ones((len(items), 2)), data)


def test_what_no_reader_takes_is_not_written(tmp_path: Path) -> None:
    model = BPR(factors=2, epochs=1).fit(datasets.make_interactions(30, 40, 8))
    model.save(tmp_path / "model")
    before = (tmp_path / "model").read_bytes()
    for lr, error in ((-1.0, ValueError), ("fast", TypeError)):
        with pytest.raises(error, match=f"^lr is {lr!r}, expected a finite number"):
            model.set_params(lr=lr).save(tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == before


@pytest.mark.parametrize("left_out", [0, 1, 5, 17, 18, 39, 40])
@pytest.mark.parametrize("exclude_seen", [True, False])
def test_items_that_may_not_come_are_left_out_of_any_ranking(
    left_out: int, exclude_seen: bool
) -> None:
    rng = np.random.default_rng(left_out)
    data = Interactions(rng.integers(0, 6, 90), rng.integers(0, 40, 90), range(6), range(40))
    users, items = rng.integers(-2, 3, (6, 3)), rng.integers(-2, 3, (40, 3))
    model = Custom.from_factors(users.astype(np.float32), items.astype(np.float32), data)
    out = rng.choice(40, left_out, replace=False)
    for several in ([2], range(6)):
        best = model.recommend(several, 30, exclude_seen=exclude_seen, filter_items=out)
        assert best.items.shape == (len(several), min(30, 40 - left_out))
        rest = np.setdiff1d(np.arange(40), out)
        same = model.recommend(several, 30, exclude_seen=exclude_seen, items=rest)
        assert np.array_equal(best.items, same.items)
        assert np.array_equal(best.scores, same.scores)
        for row, user in enumerate(several):
            had = data.items[data.users == user] if exclude_seen else []
            there = np.setdiff1d(rest, had)
            scores = items[there] @ users[user]
            expected = there[np.argsort(-scores, kind="stable")][:30]
            assert [item for item, _ in best.row(row)] == expected.tolist()


def test_what_is_popular_is_counted_anew_after_a_fit() -> None:
    model = BPR(factors=2, epochs=1, num_threads=1)
    model.fit(Interactions.from_ids(["a", "b", "c", "c"], ["x", "x", "y", "z"]))
    for _ in range(2):
        assert model.recommend("who", 2, cold_start="popular") == [("x", 2.0), ("y", 1.0)]
    model.partial_fit(Interactions.from_ids(["a", "b"], ["y", "y"]))
    assert model.recommend("who", 2, cold_start="popular") == [("y", 3.0), ("x", 2.0)]
