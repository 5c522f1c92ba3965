"""Arguments of other kinds, to data, evaluation and serving: the error names argument and value."""

from __future__ import annotations

import importlib.util
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from wyrmling import datasets, evaluation, serving
from wyrmling.data import Interactions
from wyrmling.evaluation import integers, log_uniform, search, uniform
from wyrmling.recommend import BPR, Custom, FactorizationMachine, ImplicitALS

DATA = datasets.make_interactions(40, 24, 8, seed=3)
TRAIN, TEST = DATA.split()
NOW = BPR(epochs=1, factors=4)
MODEL = BPR(epochs=1, factors=4, num_threads=1).fit(TRAIN)
ANY: Any = None
# NumPy 1.26 and 2 write it in two ways.
SECOND = np.timedelta64(1, "s")


def found(**given: Any) -> object:
    return search(NOW, {"factors": [2, 4]}, TRAIN, trials=1, **given)


CASES: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "share-text": (lambda: DATA.split("a"), TypeError, "test is 'a', expected a number"),  # type: ignore[arg-type]
    "share-none": (lambda: DATA.split(ANY), TypeError, "test is None, "),
    "share-true": (lambda: DATA.split(True), TypeError, "test is True, "),
    "share-nan": (lambda: DATA.split(np.nan), ValueError, "test is nan, which holds out 0 of"),
    "seed-text": (lambda: DATA.split(0.2, seed="a"), TypeError, "seed is 'a', expected an int"),  # type: ignore[arg-type]
    "seed-float": (lambda: DATA.split(0.2, seed=1.5), TypeError, "seed is 1.5, "),  # type: ignore[arg-type]
    "seed-below": (lambda: DATA.split(0.2, seed=-1), ValueError, "seed is -1, "),
    "by-array": (lambda: DATA.split(by=np.array([])), ValueError, "by is array([], "),  # type: ignore[arg-type]
    "pairs-array": (
        lambda: DATA.unique_pairs(np.array([])),  # type: ignore[arg-type]
        ValueError,
        "values is array([], ",
    ),
    "frame-number": (
        lambda: Interactions.from_frame(np.int64(1), user="a", item="b"),
        TypeError,
        "frame: expected a data frame, got int64",
    ),
    "frame-column-array": (
        lambda: Interactions.from_frame({"a": [1]}, user=np.array([]), item="a"),  # type: ignore[arg-type]
        KeyError,
        '"user: no column array',
    ),
    "folds-array": (
        lambda: evaluation.cross_validate(NOW, TRAIN, np.array(1)),
        TypeError,
        "folds is array(1), expected an integer from 2",
    ),
    "folds-text": (
        lambda: evaluation.cross_validate(NOW, TRAIN, "5"),
        TypeError,
        "folds is '5', expected an integer",
    ),
    "features-array": (
        lambda: FactorizationMachine().fit(TRAIN, item_features={"a": np.array(1)}),
        TypeError,
        "item_features: features of 'a': expected a list of features, got array(1)",
    ),
    "users-number": (lambda: Interactions.from_ids(3, [1]), TypeError, "users is 3, expected a"),  # type: ignore[arg-type]
    "values-number": (
        lambda: Interactions.from_ids([1, 2], [1, 2], values=3.0),  # type: ignore[arg-type]
        TypeError,
        "values is 3.0, expected a column of numbers",
    ),
    "values-true": (
        lambda: Interactions.from_ids([1, 2], [1, 2], values=[2.5, True]),
        TypeError,
        "values: row 1, counted from 0, is True, expected a number",
    ),
    "made-users": (lambda: datasets.make_interactions(1.5), TypeError, "n_users is 1.5, "),  # type: ignore[arg-type]
    "made-items": (
        lambda: datasets.make_interactions(9, 7),
        ValueError,
        "n_users, n_items and per_user are 9, 7 and 40, ",
    ),
    "made-per-user": (
        lambda: datasets.make_interactions(9, 9, 0),
        ValueError,
        "n_users, n_items and per_user are 9, 9 and 0, ",
    ),
    "made-skew": (
        lambda: datasets.make_interactions(skew=10**400),
        ValueError,
        "skew is inf, expected a finite number",
    ),
    "made-negative-skew": (
        lambda: datasets.make_interactions(skew=-(10**5000)),
        ValueError,
        "skew is -inf, expected a finite number",
    ),
    "made-without-end": (
        lambda: datasets.make_interactions(per_user=np.inf),
        ValueError,
        "per_user is inf, expected a finite number",
    ),
    "made-repeats": (
        lambda: datasets.make_interactions(repeats=10**5000),
        ValueError,
        "repeats is inf, expected a finite number",
    ),
    "made-of-none": (
        lambda: datasets.make_interactions(per_user=np.nan),
        ValueError,
        "n_users, n_items and per_user are 2000, 800 and nan, ",
    ),
    "made-too-many": (
        lambda: datasets.make_interactions(2**80),
        ValueError,
        f"n_users is {2**80}, expected an integer at most {2**32 - 1}",
    ),
    "made-noise": (lambda: datasets.make_interactions(noise=ANY), TypeError, "noise is None, "),
    "lowest": (lambda: log_uniform("a", 1), TypeError, "low is 'a', expected a number"),  # type: ignore[arg-type]
    "highest": (lambda: uniform(0, np.inf), ValueError, "bounds are 0.0 and inf, "),
    "beyond-int64": (lambda: integers(0, 2**63), ValueError, f"high is {2**63}, "),
    "log-word": (lambda: integers(1, 2, "yes"), TypeError, "log is 'yes', expected True or F"),  # type: ignore[arg-type]
    "callback": (lambda: found(callback=3), TypeError, "callback is 3, expected a function"),
    "refit": (lambda: found(refit="x"), TypeError, "refit is 'x', expected True or False"),
    "metrics-for-one": (
        lambda: evaluation.worse_than_popularity(MODEL, TEST, ["auc"]),  # type: ignore[arg-type]
        TypeError,
        r"metric is ['auc'], expected one name",
    ),
    "difference": (
        lambda: evaluation.evaluate(MODEL, TEST).difference(ANY, "ndcg@10"),
        TypeError,
        "other is None, expected an Evaluation",
    ),
    "rate": (lambda: BPR(lr=10**400).fit(TRAIN), ValueError, "lr is 1000"),
    "schedule": (
        lambda: BPR(schedule=np.array([1.0, 2.0])).fit(TRAIN),  # type: ignore[arg-type]
        ValueError,
        "schedule is array([1., 2.]), expected 'linear' or 'constant'",
    ),
    "wheel-name": (lambda: serving.build_wheel(MODEL, 3), TypeError, "name is 3, expected text"),  # type: ignore[arg-type]
    "wheel-version": (
        lambda: serving.build_wheel(MODEL, "recs", version=ANY),
        TypeError,
        "version is None, expected text",
    ),
    "wheel-model": (lambda: serving.build_wheel(ANY, "recs"), TypeError, "model is None, expect"),
    "wheel-needs": (
        lambda: serving.build_wheel(MODEL, "recs", needs=np.array([1, 2])),  # type: ignore[arg-type]
        ValueError,
        "needs is array([1, 2]), expected 'wyrmling' or 'numpy'",
    ),
    "wheel-histories": (
        lambda: serving.build_wheel(MODEL, "recs", histories="no"),  # type: ignore[arg-type]
        TypeError,
        "histories is 'no', expected True or False",
    ),
    "confidence-huge": (
        lambda: evaluation.evaluate(MODEL, TEST, confidence=10**400),
        ValueError,
        "confidence is 1000",
    ),
    "confidence-duration": (
        lambda: evaluation.evaluate(MODEL, TEST, confidence=SECOND),  # type: ignore[arg-type]
        TypeError,
        f"confidence is {SECOND!r}, expected a number",
    ),
    "validation-huge": (
        lambda: BPR().fit(DATA, validation=10**400),
        ValueError,
        "validation is 1000",
    ),
    "validation-duration": (
        lambda: found(validation=SECOND),
        TypeError,
        f"validation is {SECOND!r}, expected Interactions or a share",
    ),
    "places-one": (lambda: DATA.take(ANY), ValueError, "places must have one axis, found shape ()"),
    "places-texts": (lambda: DATA.take(["a"]), TypeError, "places: expected integers or a mask"),  # type: ignore[arg-type]
    "places-floats": (
        lambda: DATA.take(np.ones(len(DATA))),
        TypeError,
        "places: expected integers or a mask, found float64",
    ),
    "places-masked": (
        lambda: DATA.take(np.ma.masked_less(np.arange(3), 1)),
        ValueError,
        "places[0] is masked, expected an integer",
    ),
    "places-negative": (
        lambda: DATA.take([0, -len(DATA) - 1]),
        IndexError,
        f"places[1] is {-len(DATA) - 1}, expected {-len(DATA)} to {len(DATA) - 1}",
    ),
    "places-mask": (
        lambda: DATA.take(np.ones(3, bool)),
        IndexError,
        f"places: a mask of 3, expected one of {len(DATA)} interactions",
    ),
    "places-beyond": (
        lambda: DATA.take(np.array([0, 2**63], np.uint64)),
        IndexError,
        f"places[1] is {2**63}, expected {-len(DATA)} to {len(DATA) - 1}",
    ),
    "space-masked": (
        lambda: search(NOW, {"l2": np.ma.masked_array([0.1, 0.2], [False, True])}, TRAIN, trials=2),
        TypeError,
        "l2 is masked, expected a finite number",
    ),
    "spelled": (lambda: DATA.user_ids.spelled(ANY), TypeError, "text is None, expected a str"),
    "loss-number": (
        lambda: Custom.from_factors(np.ones((40, 2)), np.ones((24, 2)), DATA, loss=3),  # type: ignore[arg-type]
        TypeError,
        "loss is 3, expected a function",
    ),
    "loss-type": (lambda: Custom(int).fit(TRAIN), TypeError, "loss is <class 'int'>, expected a"),
    "loss-none": (lambda: Custom().fit(TRAIN), TypeError, "loss is None, expected a function"),
    "loss-by-place": (
        lambda: Custom(lambda users, items, /, user, item: users[user] @ items[item]).fit(TRAIN),
        ValueError,
        "loss: argument 'users' comes before a '/', expected one given by name",
    ),
    "loss-no-sample": (
        lambda: Custom(lambda users, items: users[0] @ items[0]).fit(TRAIN),
        ValueError,
        "loss: expected an argument of a sample: user, item, value, weight, time",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_an_error_names_the_argument_and_the_value(case: str) -> None:
    call, error, message = CASES[case]
    with pytest.raises(error) as raised:
        call()
    assert str(raised.value).startswith(message)


def test_a_column_may_be_all_that_python_iterates_over() -> None:
    class Items:
        """A sequence of the old protocol, which has no method __iter__."""

        def __getitem__(self, place: int) -> int:
            return [7, 7, 9][place]

    items: Any = Items()
    data = Interactions.from_ids(items, iter("aba"), values=items)
    assert list(data.user_ids) == [7, 9]
    assert data.values is not None
    assert data.values.tolist() == [7, 7, 9]


@pytest.mark.parametrize(
    ("column", "field", "message"),
    [
        ("weight_column", "-1", r"a\.csv: weights\[1\] is -1\.0, expected at least 0"),
        ("weight_column", "x", r'a\.csv, line 3: found "x", expected a finite number as the'),
        ("time_column", "x", r"a\.csv, row 1, counted from 0: found 'x' as a time, expected"),
    ],
)
def test_a_bad_field_of_a_file_is_found(
    tmp_path: Path, column: str, field: str, message: str
) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"u,i,more\nann,tea,1\nbob,rye,{field}\n")
    given: Any = {"user_column": "u", "item_column": "i", column: "more"}
    with pytest.raises(ValueError, match=message):
        datasets.read_interactions(path, **given)


@pytest.fixture(scope="module")
def wheel_module(tmp_path_factory: pytest.TempPathFactory) -> ModuleType:
    """The module of a wheel that needs NumPy alone."""
    directory = tmp_path_factory.mktemp("wheel")
    path = serving.build_wheel(MODEL, "recs", directory=directory, needs="numpy")
    with zipfile.ZipFile(path) as archive:
        archive.extractall(directory)
    spec = importlib.util.spec_from_file_location("recs", directory / "recs" / "__init__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_wheel_without_wyrmling_names_its_arguments(wheel_module: ModuleType) -> None:
    user = MODEL.user_ids[0]
    assert len(wheel_module.recommend(user, np.int64(3))) == 3
    for n in (True, 1.5, "3", None):
        with pytest.raises(TypeError, match=f"^n is {n!r}, expected an integer at least 1"):
            wheel_module.recommend(user, n)
    with pytest.raises(TypeError, match=r"^exclude_seen is 'no', expected True or False"):
        wheel_module.recommend(user, exclude_seen="no")


def test_a_model_of_wrong_hyperparameters_can_be_shown() -> None:
    """Of arrays == is an array, which is neither true nor false."""
    wrong: Any = np.array([1.0, 2.0])
    assert repr(BPR(lr=wrong)) == "BPR(lr=array([1., 2.]))"
    with pytest.raises(TypeError, match=r"^lr is array\(\[1\., 2\.\]\), expected"):
        BPR(lr=wrong).fit(TRAIN)


@pytest.mark.parametrize("model", [NOW, ImplicitALS(factors=2, epochs=3)])
def test_a_callback_must_say_what_it_means(model: Any) -> None:
    """A loss that a callback returns would end the run after the first epoch."""
    for wrong in (0.5, 1, "stop", np.ones(2)):
        with pytest.raises(TypeError, match=r"^what callback returns is .*, expected True"):
            model.fit(TRAIN, callback=lambda epoch, history, wrong=wrong: wrong)
    for answer, epochs in ((None, 3), (False, 3), (np.True_, 1)):
        found = model.fit(TRAIN, epochs=3, callback=lambda epoch, history, a=answer: a)
        assert len(found.history) == epochs
