"""A recommender: its loss written here, trained at native speed, measured and asked."""

import numpy as np

import wyrmling as wy
from wyrmling.datasets import make_interactions
from wyrmling.evaluation import evaluate, popularity
from wyrmling.recommend import Custom

FACTORS = 16

data = make_interactions(n_users=300, n_items=160, seed=0)
train, test = data.split(0.2, seed=0)

rng = np.random.default_rng(0)


def vectors(count: int) -> wy.Parameter:
    """A random vector for each user or item."""
    return wy.Parameter(rng.normal(0.0, 0.1, (count, FACTORS)).astype(np.float32))


users, items = vectors(data.n_users), vectors(data.n_items)
bias = wy.Parameter(np.zeros(data.n_items, np.float32))

# A sample is a user, an item of the user's, and an item drawn from the others. To look up
# rows is an operator like any other; its gradient holds only the rows looked up.
user, item, other = wy.IndexInput([0]), wy.IndexInput([0]), wy.IndexInput([0])
score = wy.vecdot(users[user], items[item]) + bias[item]
other_score = wy.vecdot(users[user], items[other]) + bias[other]
loss = -(score - other_score).logsigmoid().sum()


def report(epoch: int, history: wy.History) -> None:
    """Called after every epoch; could stop the run by returning True."""
    if epoch % 5 == 4:
        print(f"epoch {epoch + 1:2}: loss {history.loss[-1] / len(train):.3f} a sample")


wy.fit(
    loss,
    {user: train.users, item: train.items},
    sample={
        other: wy.sampling.Uniform(data.n_items, positives=(train.users, train.items), given=user)
    },
    optimizer=wy.Adagrad(lr=0.1),
    epochs=20,
    threads=2,
    seed=0,
    callback=report,
)

model = Custom.from_factors(users.value, items.value, train, item_bias=bias.value)
found, baseline = (evaluate(ranker, test, "ndcg@10") for ranker in (model, popularity(train)))
print(f"NDCG@10: {found['ndcg@10']:.3f}, by popularity {baseline['ndcg@10']:.3f}")

best = ", ".join(item for item, _ in model.recommend(data.user_ids[0], 5))
print(f"for {data.user_ids[0]}: {best}")
