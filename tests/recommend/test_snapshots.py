"""Requests are answered from one state of a model, whatever is fitted meanwhile."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from wyrmling.data import Interactions
from wyrmling.evaluation import evaluate
from wyrmling.recommend import BPR, EASE, EWMA, FactorizationMachine, ImplicitALS, Popularity

BEFORE = Interactions.from_ids(list("aabbc"), list("xyxzy"))
AFTER = Interactions.from_ids(list("cabdeab"), list("vzwyxwv"))


def fit_within(model: Any, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Has a step of a request fit the model anew before it goes on."""
    step = getattr(type(model), name)

    def fitted_first(self: Any, *args: Any) -> Any:
        monkeypatch.undo()
        model.fit(AFTER)
        return step(self, *args)

    monkeypatch.setattr(type(model), name, fitted_first)


REQUESTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "one": ("_scores", lambda m: m.recommend("a", n=5)),
    "several": ("_scores", lambda m: m.recommend(["a", "c"], n=5).items.tolist()),
    "predict": ("_predict", lambda m: m.predict(["a", "b"], ["x", "z"]).tolist()),
    "items": ("_item_similarity", lambda m: m.similar_items("x", n=5)),
    "users": ("_user_similarity", lambda m: m.similar_users("a", n=5)),
    "fold_in": ("_query", lambda m: m.fold_in(["x", "z"]).items.tolist()),
    "explain": ("_reasons", lambda m: m.explain("a", "z")),
    "evaluate": (
        "_scores",
        lambda m: evaluate(m, Interactions.from_ids(["c"], ["x"]), "mrr")["mrr"],
    ),
}


@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("kind", [BPR, ImplicitALS, EASE, Popularity, EWMA])
def test_a_request_does_not_mix_two_states(
    kind: Any, request_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, ask = REQUESTS[request_name]
    settings: dict[str, Any] = {} if kind in (EASE, Popularity) else {"epochs": 2, "num_threads": 1}
    settings |= {"random_state": 1} if kind in (BPR, EWMA, ImplicitALS) else {}
    model = kind(**settings).fit(BEFORE)
    try:
        expected = ask(model)
    except (TypeError, NotImplementedError):
        pytest.skip("the model does not answer this")
    fit_within(model, monkeypatch, step)
    assert ask(model) == expected
    assert model.item_ids[0] == "v"


@pytest.mark.parametrize("kind", [BPR, ImplicitALS, EASE, Popularity, EWMA])
def test_nobody_writes_to_what_was_learnt(kind: Any, tmp_path: Path) -> None:
    """Cosines and other things are computed of it once, and would be of what it was before."""
    model = kind().fit(BEFORE)
    model.save(tmp_path / "model")
    copies = copy.deepcopy(model), pickle.loads(pickle.dumps(model)), kind.load(tmp_path / "model")
    for one in (model, *copies, model.partial_fit(AFTER)):
        for array in one.fitted.arrays.values():
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0


def test_reasons_and_new_users_of_a_factorization_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features = {"x": ["hot"], "z": ["cold"]}
    model = FactorizationMachine(epochs=2, num_threads=1).fit(BEFORE, item_features=features)
    expected = model.explain("a", "z")
    fit_within(model, monkeypatch, "_offsets")
    assert model.explain("a", "z") == expected
    model.fit(BEFORE, item_features=features)
    fit_within(model, monkeypatch, "_query")
    assert model.fold_in(["x", "z"]).items.tolist() == [0, 2]


def test_what_users_had_of_each_item_stays_out_of_a_file_without_histories(tmp_path: Path) -> None:
    data = Interactions.from_ids(list("aab"), list("xyy"), values=[7.0, 1234.0, 3.0])
    model = ImplicitALS(factors=2, epochs=1, num_threads=1).fit(data)
    model.save(tmp_path / "with")
    model.save(tmp_path / "without", histories=False)
    amount = np.float32(1234.0).tobytes()
    assert amount in (tmp_path / "with").read_bytes()
    assert amount not in (tmp_path / "without").read_bytes()
    loaded = ImplicitALS.load(tmp_path / "without")
    assert loaded.recommend("a", exclude_seen=False) == model.recommend("a", exclude_seen=False)
    assert ImplicitALS.load(tmp_path / "with").explain("a", "x") == model.explain("a", "x")
