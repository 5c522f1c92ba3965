"""FizzBuzz by a network that sees the binary digits of a number.

It learns the numbers 101 to 1023 and is asked for 1 to 100, as in Grus, "Fizz Buzz in TensorFlow",
2016. The run ends when all that it learns from is right.
"""

import numpy as np

import wyrmling as wy

DIGITS, HIDDEN, EPOCHS = 10, 100, 200
WORDS = ("{}", "fizz", "buzz", "fizzbuzz")


def digits(numbers: np.ndarray) -> np.ndarray:
    """The binary digits of each number, as -1 and 1."""
    bits = numbers[:, None] >> np.arange(DIGITS) & 1
    return (2 * bits - 1).astype(np.float32)


def answers(numbers: np.ndarray) -> np.ndarray:
    """For each number which of the words is right."""
    return (numbers % 3 == 0) + 2 * (numbers % 5 == 0)


rng = np.random.default_rng(0)


def weights(inputs: int, outputs: int) -> wy.Parameter:
    """A matrix drawn at random."""
    drawn = rng.normal(0.0, 1.0 / np.sqrt(inputs), (inputs, outputs))
    return wy.Parameter(drawn.astype(np.float32))


first, second = weights(DIGITS, HIDDEN), weights(HIDDEN, len(WORDS))
b, c = (wy.Parameter(np.zeros(n, np.float32)) for n in (HIDDEN, len(WORDS)))

known, asked = np.arange(101, 1024), np.arange(1, 101)
number, answer = wy.Input(digits(known)), wy.IndexInput(answers(known))
scores = (number @ first + b).relu() @ second + c
loss = wy.cross_entropy(scores, answer).sum()


def answered(numbers: np.ndarray) -> np.ndarray:
    """For each number the word with the highest score."""
    number.value = digits(numbers)
    return scores.value.argmax(axis=1)


def learnt(epoch: int, history: wy.History) -> bool:
    """Called after every epoch; ends the run when nothing is left to learn."""
    right = np.mean(answered(known) == answers(known))
    if right == 1.0 or epoch % 20 == 19:
        print(f"epoch {epoch + 1}: loss {history.loss[-1]:.3f}, {right:.1%} of 101 to 1023 right")
    return bool(right == 1.0)


wy.fit(
    loss,
    {number: digits(known), answer: answers(known)},
    optimizer=wy.Adam(lr=0.01),
    epochs=EPOCHS,
    batch_size=64,
    seed=0,
    callback=learnt,
)

words = answered(asked)
print(*(WORDS[word].format(n) for n, word in zip(asked, words, strict=True)))
print(f"{np.mean(words == answers(asked)):.0%} of 1 to 100 right")
