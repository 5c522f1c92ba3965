"""An optimizer of each kind, and what it remembers as bytes, equal where all bits are."""

from typing import Any

import numpy as np

import wyrmling as wy

OPTIMIZERS: dict[str, Any] = {
    "sgd": lambda: wy.SGD(lr=0.05, l2=0.01),
    "momentum": lambda: wy.SGD(lr=0.02, momentum=0.9, clip=0.5),
    "adagrad": lambda: wy.Adagrad(lr=0.1, l2={"users": 0.01}, l2_per="sample"),
    "adam": lambda: wy.Adam(lr=0.01),
}


def state_bits(optimizer: wy.Optimizer, of: Any) -> Any:
    """The result of ``state_dict``, with the bytes of its arrays."""
    saved = optimizer.state_dict(of)
    return saved | {
        "state": {
            (name, key): np.asarray(value).tobytes()
            for name, state in saved["state"].items()
            for key, value in state.items()
        }
    }
