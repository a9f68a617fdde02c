"""Which sequences are worth laying out as one tree.

Tokens of a tree are computed once, but attention looks at every pair of places of a
row, so a tree of long branches that share little costs more than the branches on their
own. Episodes of one task share a short beginning; a recovery turn shares nearly all of
its context with its episode.
"""

from __future__ import annotations

from collections.abc import Sequence

from transformers import PreTrainedModel

from pivotlab.rollouts.players import common_prefix
from pivotlab.training.packing import Ids


def token_cost(model: PreTrainedModel) -> float:
    """Price of one token outside attention, in units of one pair inside it.

    A block multiplies each token with about 13 d^2 weights and each pair with 2 d
    numbers (hidden size d), so a token costs some 6 d pairs.
    """
    return 6.0 * model.config.get_text_config(decoder=True).hidden_size


def sharing_groups(sequences: Sequence[tuple[Ids, Ids]], cost: float) -> list[int]:
    """A number per (prompt, completion): equal numbers share one tree.

    Sequences are taken in sorted order, where each has most in common with the one
    before it, and join the tree before them whenever n tokens at n^2 + cost n come out
    cheaper than apart.

    Args:
        sequences: in any order.
        cost: see `token_cost`.
    """
    numbers = [0] * len(sequences)
    size, number, before = 0, -1, ((), ())
    for index in sorted(range(len(sequences)), key=sequences.__getitem__):
        prompt, completion = sequences[index]
        length = len(prompt) + len(completion)
        shared = len(prompt) + common_prefix(before[1], completion)
        together = size + length - shared
        apart = _price(size, cost) + _price(length, cost)
        if number >= 0 and prompt == before[0] and _price(together, cost) <= apart:
            size = together
        else:
            size, number = length, number + 1
        numbers[index], before = number, sequences[index]
    return numbers


def _price(tokens: int, cost: float) -> float:
    return tokens * tokens + cost * tokens
