"""RMSE and MAE, beside their formulas, wherever a metric is named."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import wyrmling as wy
from wyrmling.__main__ import main
from wyrmling._core import Csr
from wyrmling.data import Interactions
from wyrmling.data.pairs import among, users_of
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import compare, cross_validate, evaluate, search
from wyrmling.recommend import BPR, Custom, ExplicitMF, ImplicitALS


@pytest.fixture(scope="module")
def parts() -> tuple[Interactions, Interactions]:
    data = make_interactions(60, 40, 8, seed=3)
    stars = (data.users % 3 + data.items % 2 + 1).astype(np.float32)
    return replace(data, values=stars).split(0.25, seed=1)


def model() -> ExplicitMF:
    return ExplicitMF(factors=2, epochs=3, num_threads=1)


def by_hand(fitted: ExplicitMF, test: Interactions) -> dict[str, float]:
    assert test.values is not None
    users, items = test.user_ids.take(test.users), test.item_ids.take(test.items)
    off = fitted.predict(users, items).astype(np.float64) - test.values
    return {"rmse": np.sqrt(np.mean(off**2)), "mae": np.mean(np.abs(off))}


def test_errors_are_of_each_interaction(parts: tuple[Interactions, Interactions]) -> None:
    train, test = parts
    fitted = model().fit(train)
    twice = test.take(np.repeat(np.arange(len(test)), 2)[3:])
    found = evaluate(fitted, twice, ["rmse", "ndcg@5", "mae"])
    assert list(found) == ["rmse", "ndcg@5", "mae"]
    assert dict(found) == pytest.approx(
        by_hand(fitted, twice) | {"ndcg@5": evaluate(fitted, test, "ndcg@5")["ndcg@5"]}
    )
    assert set(found.interval) == {"ndcg@5"}
    # What was trained on counts if it is asked for, and only then.
    both = Interactions.from_ids(
        [*train.user_ids.take(train.users), *test.user_ids.take(test.users), "nobody"],
        [*train.item_ids.take(train.items), *test.item_ids.take(test.items), train.item_ids[0]],
        values=np.concatenate([train.values, test.values, [9.0]]),  # type: ignore[list-item]
    )
    found = evaluate(fitted, both, "rmse")
    assert found["rmse"] == pytest.approx(by_hand(fitted, test)["rmse"])
    assert (found.skipped.seen, found.skipped.unknown) == (len(train), 1)
    known = both.take(np.arange(len(both) - 1))
    found = evaluate(fitted, both, ["mae"], exclude_seen=False)
    assert found["mae"] == pytest.approx(by_hand(fitted, known)["mae"])
    some = train.user_ids[3], train.user_ids[5]
    of_some = test.take(np.isin(test.users, [3, 5]))
    found = evaluate(fitted, test, "mae", users=some)
    assert found["mae"] == pytest.approx(by_hand(fitted, of_some)["mae"])


def test_the_least_error_is_the_best(parts: tuple[Interactions, Interactions]) -> None:
    train, test = parts
    found = search(model(), {"lr": [1e-6, 0.05, 1e9]}, train, metric="rmse", validation=test)
    assert found.parameters == {"lr": 0.05}
    assert found.best.value == min(trial.value for trial in found if trial.error is None)
    assert [row.split()[1] for row in repr(found).splitlines()[1:]] == ["0.05", "1e-06", "1e+09"]
    two = {"few": ExplicitMF(epochs=1, lr=1e-6), "more": model()}
    table = compare(two, train, test, ["mae", "ndcg@10"])
    assert (table.best, list(table)[-1]) == ("more", "popularity")
    assert "mae" not in table["popularity"]
    assert list(compare(two, train, test, "rmse")) == ["more", "few"]
    assert next(iter(compare(two, train, test, ["ndcg@10", "rmse"]))) in table
    rng = np.random.default_rng(0)
    noise = replace(train, values=rng.normal(size=len(train)).astype(np.float32))
    test = replace(test, values=rng.normal(size=len(test)).astype(np.float32))
    fitted = ExplicitMF(factors=32, epochs=60, lr=0.05, l2=0, num_threads=1)
    fitted.fit(noise, validation=test, metric="rmse", patience=3)
    assert fitted.history is not None
    curve = fitted.history.validation["rmse"]
    assert fitted.history.best_epoch == int(np.argmin(curve)) == len(curve) - 4
    assert by_hand(fitted, test)["rmse"] == pytest.approx(min(curve))
    assert 0 < cross_validate(model(), train, 2, "rmse")["rmse"] < 3


def test_errors_of_what_has_no_ratings_are_refused(
    parts: tuple[Interactions, Interactions],
) -> None:
    train, test = parts
    fitted = model().fit(train)
    with pytest.raises(ValueError, match="are of values, and test has no values"):
        evaluate(fitted, replace(test, values=None), "rmse")
    with pytest.raises(ValueError, match="unknown 'mae@10'"):
        evaluate(fitted, test, "mae@10")
    large = np.full((60, 4), 1e30, np.float32)
    infinite = Custom.from_factors(large, np.tile(large[:1] * [1, -1, 1, -1], (40, 1)), train)
    with pytest.raises(FloatingPointError, match="not a number"):
        evaluate(infinite, test, "rmse")
    infinite = Custom.from_factors(large, np.tile(large[:1], (40, 1)), train)
    with pytest.raises(FloatingPointError, match="or infinite"):
        evaluate(infinite, test, "mae")


def test_errors_of_a_model_whose_scores_are_an_order_are_refused_before_it_is_trained(
    parts: tuple[Interactions, Interactions],
) -> None:
    train, test = parts
    refused = "are of values, and BPR gives none, for its scores are an order: expected a model of"
    never = BPR(epochs=2**31 - 1, num_threads=1)
    for learn in (
        lambda: never.fit(train, validation=test, metric="rmse"),
        lambda: compare({"als": ImplicitALS(epochs=2**31 - 1), "bpr": never}, train, test, "mae"),
        lambda: search(never, {"lr": [0.1]}, train, metric="rmse"),
        lambda: cross_validate(never, train, 2, ["ndcg@10", "mae"]),
    ):
        with pytest.raises(ValueError, match=r"are of values, and (BPR|ImplicitALS) gives none"):
            learn()
    fitted = BPR(epochs=1, num_threads=1).fit(train)
    for ask in (
        lambda: evaluate(fitted, test, ["ndcg@10", "rmse"]),
        lambda: compare({"bpr": fitted}, None, test, "rmse"),
    ):
        with pytest.raises(ValueError, match=refused):
            ask()
    for none, error in ((3, "a fitted model, got int"), (BPR, "got the class BPR")):
        with pytest.raises(TypeError, match=error):
            compare({"none": none}, None, test, "rmse")
        with pytest.raises(TypeError, match=error):
            evaluate(none, test, "rmse")
    with pytest.raises(ValueError, match="are of values, and validation has no values"):
        model().fit(train, validation=replace(test, values=None), metric="rmse")

    def squared(users, items, user, item, value):  # type: ignore[no-untyped-def]
        return (users[user] @ items[item] - value) ** 2

    def order(users, items, user, item, negative):  # type: ignore[no-untyped-def]
        return -wy.logsigmoid(users[user] @ (items[item] - items[negative]))

    rated = Custom(squared, epochs=1, num_threads=1).fit(train)
    assert evaluate(rated, test, "rmse")["rmse"] > 0
    with pytest.raises(ValueError, match="and Custom gives none"):
        evaluate(Custom(order, epochs=1, num_threads=1).fit(train), test, "rmse")
    # Nobody knows what vectors are that were trained elsewhere.
    arrays = rated.fitted.arrays
    assert evaluate(Custom.from_factors(arrays["users"], arrays["items"], train), test, "mae")


def test_the_command_line_knows_errors(
    parts: tuple[Interactions, Interactions], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train, test = parts
    file, path = tmp_path / "test.csv", tmp_path / "model"
    rows = zip(
        test.user_ids.take(test.users), test.item_ids.take(test.items), test.values, strict=True
    )  # type: ignore[arg-type]
    file.write_text("".join(f"{user},{item},{value}\n" for user, item, value in rows))
    fitted = model().fit(train)
    fitted.save(path)
    main(["evaluate", str(path), str(file), "--metric", "rmse", "--json"])
    assert json.loads(capsys.readouterr().out)["rmse"] == pytest.approx(
        by_hand(fitted, test)["rmse"]
    )
    asked = ["search", str(file), "--model", "explicit", "--metric", "mae", "--trials", "2"]
    main([*asked, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["popularity"] is None
    assert found["best"]["value"] == min(trial["value"] for trial in found["trials"])
    main(asked)
    assert "popularity" not in capsys.readouterr().out
    train_it = ["train", str(file), "--model", "explicit", "--holdout", "0.3", "--out", str(path)]
    main([*train_it, "--threads", "1", "--json"])
    held_out = json.loads(capsys.readouterr().out)["held_out"]
    assert held_out["ExplicitMF"].keys() - held_out["popularity"].keys() == {"rmse", "mae"}
    main([*train_it, "--threads", "1", "--quiet"])
    said = f"errors of ratings by ExplicitMF: rmse {held_out['ExplicitMF']['rmse']:.4f}, mae "
    assert said in capsys.readouterr().out


def test_pairs_of_many_users_and_items_are_told_apart() -> None:
    # Users times items are more than 32 bits hold; 0 and 4096 times 2²⁰ are equal in these.
    users, items = np.array([[0, 3, 4096], [7, 9, 8]], np.uint32)
    pairs = Csr(users, items, 5000, 1 << 20)
    assert users_of(pairs).tolist() == users.tolist()
    asked = np.array([0, 4096, 4096, 3], np.uint32), np.array([7, 7, 8, 8], np.uint32)
    assert among(pairs, *asked).tolist() == [True, False, True, False]
