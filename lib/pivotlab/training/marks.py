"""Where on a rollout's tokens a teacher says something, and what (Eq. 4).

A_distill of a token is its log-prob under the frozen student with privileged text minus
the one without. The latter is what the token was sampled with, so only the former costs
a forward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from torch import Tensor

from pivotlab.distillation.recovery import Tally, hinted_prompt
from pivotlab.distillation.self_teacher import Request, SelfTeacher
from pivotlab.records import PivotalTurn, Rollout
from pivotlab.rollouts.prompts import PromptGrower


@dataclass(frozen=True)
class Mark:
    """A_distill on consecutive tokens of a rollout; 0 where the environment wrote.

    `request` is what the teacher scored: the privileged prompt and the tokens, which
    begin at index `start` of the rollout's token ids. `distribution` holds the
    teacher's log-probs of the whole vocabulary there, where they are asked for.
    """

    rollout: int
    start: int
    values: tuple[float, ...]
    request: Request
    distribution: Float[Tensor, "tokens vocab"] | None = None


def hinted_marks(
    rollouts: Sequence[Rollout],
    named: Sequence[tuple[int, int, str | None]],
    grower: PromptGrower,
    scorer: SelfTeacher,
    tally: Tally,
) -> list[Mark]:
    """A_distill on recorded turns, the hint standing right before each.

    Args:
        rollouts: as played.
        named: (rollout, turn, action in the hint or None for one that names nothing).
        grower: of the student's prompts.
        scorer: the teacher.
        tally: gets the seconds.
    """
    asked = []
    with tally.timed("seconds/self_teacher"):
        for index, turn, action in named:
            rollout = rollouts[index]
            start, stop = rollout.turns[turn].span
            prompt = hinted_prompt(grower, rollout, turn, action)
            recorded = rollout.token_ids[start:stop]
            asked.append((start, Request(index, prompt, recorded)))
        return scored(rollouts, asked, scorer)


def scored(
    rollouts: Sequence[Rollout],
    asked: Sequence[tuple[int, Request]],
    scorer: SelfTeacher,
) -> list[Mark]:
    """Marks from (first token's index, request) pairs."""
    scores = scorer.score([request for _, request in asked])
    marks = []
    for (start, request), found in zip(asked, scores, strict=True):
        rollout, stop = rollouts[request.episode], start + len(request.response)
        plain, mask = rollout.log_probs[start:stop], rollout.mask[start:stop]
        triples = zip(found.tolist(), plain, mask, strict=True)
        gaps = tuple((hinted - own) * on for hinted, own, on in triples)
        marks.append(Mark(request.episode, start, gaps, request))
    return marks


def whole(index: int, rollout: Rollout) -> tuple[int, Request]:
    """Everything after the first prompt of a rollout, as one response."""
    start = rollout.turns[0].span[0]
    ids = rollout.token_ids
    return start, Request(index, ids[:start], ids[start:])


def scattered(
    rollout: Rollout, pivots: Sequence[PivotalTurn], seed: int
) -> list[PivotalTurn]:
    """The same hints at as many turns drawn by chance, each turn at most once."""
    draw = np.random.default_rng(seed)
    turns = draw.choice(len(rollout.turns), size=len(pivots), replace=False)
    pairs = zip(sorted(turns.tolist()), pivots, strict=True)
    return [PivotalTurn(turn, pivot.gold_action) for turn, pivot in pairs]
