"""A recommender of a loss of one's own: trained, saved, and asked by ids."""

import math

from wyrmling.datasets import make_interactions
from wyrmling.evaluation import evaluate, popularity
from wyrmling.recommend import Custom


def loss(users, items, item_bias, user, item, negatives, weight=1.0):
    """The worst violation counts most: the smooth maximum of the margins of several items."""
    wanted = users[user] @ items[item] + item_bias[item]
    total = 1.0
    for negative in negatives:
        other = users[user] @ items[negative] + item_bias[negative]
        total += math.exp(other - wanted)
    return weight * math.log(total)


train, test = make_interactions(n_users=300, n_items=160, seed=1).split(0.2, seed=1)
model = Custom(loss, factors=16, n_negatives=4, num_threads=1).fit(train)
ndcg, popular = (evaluate(one, test)["ndcg@10"] for one in (model, popularity(train)))
print(f"NDCG@10: {ndcg:.3f}, by popularity {popular:.3f}")
model.save("own_loss.safetensors")
print(model.recommend("user-1", n=3))
