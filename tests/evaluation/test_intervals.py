"""Intervals by the bootstrap: against their definition, theory, and at special points."""

import numpy as np
import pytest
from ranking_oracle import interactions, model_of

from wyrmling.evaluation import Evaluation, evaluate
from wyrmling.evaluation.intervals import MANY_USERS, bootstrap


def test_the_bounds_are_quantiles_of_means_of_users_drawn_again() -> None:
    values = np.random.default_rng(0).normal(size=(7, 3))
    found = bootstrap(values, 0.9, 50, 3)
    drawn = np.random.default_rng(3).integers(7, size=(50, 7))
    means = values[drawn].mean(axis=1)
    np.testing.assert_allclose(found, np.quantile(means, [0.05, 0.95], axis=0).T)


def test_blocks_make_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.random.default_rng(0).normal(size=(100, 2))
    whole = bootstrap(values, 0.95, 40, 3)
    monkeypatch.setattr("wyrmling.evaluation.intervals.BLOCK", 700)
    np.testing.assert_array_equal(bootstrap(values, 0.95, 40, 3), whole)


@pytest.mark.parametrize("count", [2_000, MANY_USERS])
def test_the_bounds_of_many_users_are_those_of_the_normal_distribution(count: int) -> None:
    values = np.random.default_rng(1).exponential(size=(count, 1))
    low, high = bootstrap(values, 0.95, 2_000, 0)[0]
    reach = 1.959964 * values.std() / count**0.5
    assert low == pytest.approx(values.mean() - reach, abs=0.1 * reach)
    assert high == pytest.approx(values.mean() + reach, abs=0.1 * reach)


def test_intervals_repeat_and_have_the_mean_between_them() -> None:
    rng = np.random.default_rng(2)
    train = {(u, i) for u in range(60) for i in rng.choice(45, 3).tolist()}
    model = model_of(rng.normal(size=(60, 45)), train)
    pairs = {(u, i) for u in range(60) for i in rng.choice(45, 4).tolist()}
    test = interactions(pairs - train, 60, 45)
    found = evaluate(model, test)
    assert found.interval == evaluate(model, test).interval
    assert found.interval != evaluate(model, test, random_state=1).interval
    assert set(found.interval) == set(found) - {"coverage"}
    wide = evaluate(model, test, confidence=0.99, resamples=4_000)
    for name, (low, high) in found.interval.items():
        assert low < found[name] < high
        assert wide.interval[name][0] < low
        assert high < wide.interval[name][1]
    assert "60 users; the mean and its 95 % interval" in repr(found)
    assert "99 %" in repr(wide)


def test_a_difference_draws_the_users_of_both_together() -> None:
    rng = np.random.default_rng(5)
    hard = rng.random(400)
    users = np.arange(400)
    one = Evaluation({"auc": hard + 0.01}, {"coverage": 1.0}, users)
    other = Evaluation({"auc": hard + rng.normal(0, 0.01, 400)}, {}, users)
    gap, low, high = one.difference(other, "auc")
    assert gap == pytest.approx(one["auc"] - other["auc"])
    assert 0 < low < gap < high
    # Each interval by itself holds the other's mean.
    assert one.interval["auc"][0] < other["auc"] < one.interval["auc"][1]
    with pytest.raises(KeyError, match="'coverage' has no values of users"):
        one.difference(one, "coverage")
    with pytest.raises(ValueError, match="other is about 400 users"):
        one.difference(Evaluation({"auc": hard}, {}, users + 1), "auc")


def test_a_table_escapes_what_it_shows() -> None:
    shown = Evaluation({"<b>": np.ones(1)}, {"coverage": 0.25}, ["u"])._repr_html_()
    assert "<b>" not in shown
    assert "&lt;b&gt;" in shown
    assert "0.2500" in shown
