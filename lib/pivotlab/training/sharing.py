"""Which sequences are worth laying out as one tree.

Tokens of a tree are computed once, but attention looks at every pair of places of a row
and all rows are as long as the longest tree. Episodes of one task share a short
beginning, so large trees cost more than they save; a recovery turn shares nearly all of
its context with its episode. So trees are built up to a largest size, and of several
such sizes the one with the cheapest layout is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from transformers import PreTrainedModel

from pivotlab.rollouts.players import common_prefix
from pivotlab.training.packing import Ids, first_fit

#: Largest trees that are tried, in lengths of the longest sequence; 0 shares nothing.
SIZES = (0.0, 1.0, 1.05, 1.1, 1.2, 1.35, 1.5, 2.0, 3.0, 5.0, 8.0, 16.0)


def token_cost(model: PreTrainedModel) -> float:
    """Price of one token outside attention, in units of one pair inside it.

    A block multiplies each token with about 13 d^2 weights and each pair with 2 d
    numbers (hidden size d), so a token costs some 6 d pairs.
    """
    return 6.0 * model.config.get_text_config(decoder=True).hidden_size


def sharing_groups(sequences: Sequence[tuple[Ids, Ids]], cost: float) -> list[int]:
    """A number per (prompt, completion): equal numbers share one tree.

    Args:
        sequences: in any order.
        cost: see `token_cost`.
    """
    longest = max(len(prompt) + len(completion) for prompt, completion in sequences)
    layouts = [_trees(sequences, size * longest) for size in SIZES]
    numbers, _ = min(layouts, key=lambda layout: layout_price(layout[1], cost))
    return numbers


def layout_price(trees: Sequence[int], cost: float) -> float:
    """Price of the rows that hold trees of these sizes, in pairs of attention."""
    time = max(trees)
    _, rows = first_fit(dict(enumerate(trees)), time)
    return rows * time * (time + cost)


def _trees(
    sequences: Sequence[tuple[Ids, Ids]], largest: float
) -> tuple[list[int], list[int]]:
    """Numbers of the sequences, and the tokens of each tree.

    Sequences are taken in sorted order, where each has most in common with the one
    before it, and join its tree as long as that stays below `largest`.
    """
    numbers, sizes = [0] * len(sequences), Counter[int]()
    number, before = -1, ((), ())
    for index in sorted(range(len(sequences)), key=sequences.__getitem__):
        prompt, completion = sequences[index]
        shared = len(prompt) + common_prefix(before[1], completion)
        added = len(prompt) + len(completion) - shared
        fits = number >= 0 and sizes[number] + added <= largest
        if prompt != before[0] or not fits:
            number, added = number + 1, added + shared
        sizes[number] += added
        numbers[index], before = number, sequences[index]
    return numbers, [sizes[n] for n in range(number + 1)]
