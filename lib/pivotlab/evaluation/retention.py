"""What a policy still knows: exact answers on unrelated skills, and distance to a base.

The distance is the Kullback-Leibler divergence of next-token distributions over the
full vocabulary, exact at every position of given sequences, nothing sampled: `forward`
is KL(base || policy), `reverse` is KL(policy || base), natural log, mean per position.
On sequences that the base itself sampled, the mean forward value estimates the
sequence-level KL(base || policy) per token; on any other text it is a distance at those
states only.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor
from transformers import PreTrainedModel

from pivotlab.engines.decoder import Decoder
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampler, Sampling
from pivotlab.intervals import bootstrap_mean, wilson
from pivotlab.models.skills import SKILLS, Skill
from pivotlab.records import Message
from pivotlab.rendering import Renderer

#: Name of a decoding -> temperature.
DECODINGS = {"greedy": 0.0, "t1": 1.0}
#: Logits held at once by one model, in numbers.
MOST_LOGITS = 2**24

#: Token ids, and 1 where a token's prediction counts (never the first token's).
Scored = tuple[Sequence[int], Sequence[int]]


@dataclass(frozen=True)
class Question:
    """One held-out question of one skill, with its only right answer."""

    skill: str
    text: str
    answer: str
    shares_game_tokens: bool


def questions(
    per_skill: int, seed: int = 0, skills: Mapping[str, Skill] = SKILLS
) -> list[Question]:
    """`per_skill` different held-out questions of every skill, the same for one seed.

    Raises:
        ValueError: a skill does not yield that many different questions.
    """
    drawn = []
    for number, (name, skill) in enumerate(sorted(skills.items())):
        rng = random.Random(derive_seed(seed, number))
        found: dict[str, str] = {}
        for _ in range(100 * per_skill):
            if len(found) == per_skill:
                break
            text, answer = skill.draw(rng, "held_out")
            found[text] = answer
        if len(found) < per_skill:
            raise ValueError(
                f"skill {name!r} yields only {len(found)} different held-out "
                f"questions, not {per_skill}; ask for fewer"
            )
        flag = skill.shares_game_tokens
        drawn += [Question(name, text, found[text], flag) for text in found]
    return drawn


def answer_all(
    sampler: Sampler,
    renderer: Renderer,
    asked: Sequence[Question],
    *,
    decodings: Mapping[str, float] = DECODINGS,
    seed: int = 0,
    max_new_tokens: int = 16,
) -> pd.DataFrame:
    """Ask every question once under every decoding.

    Returns:
        One row an answer: skill, shares_game_tokens, decoding, question, answer, given,
        correct (equal to the answer, blanks at the ends aside; a truncated answer is
        wrong).
    """
    prompts = [renderer.prompt_ids([Message("user", q.text)]) for q in asked]
    seeds = [derive_seed(seed, i) for i in range(len(asked))]
    stops = (renderer.end_of_turn,)
    rows = []
    for decoding, temperature in decodings.items():
        sampling = Sampling(max_new_tokens, temperature, stops)
        for question, samples in zip(
            asked, sampler.sample(prompts, 1, sampling, seeds), strict=True
        ):
            given = renderer.action(samples[0].token_ids).content
            right = given == question.answer and not samples[0].truncated
            rows.append(
                {"skill": question.skill, "decoding": decoding}
                | {"shares_game_tokens": question.shares_game_tokens}
                | {"question": question.text, "answer": question.answer}
                | {"given": given, "correct": right}
            )
    return pd.DataFrame(rows)


def accuracy_table(
    answers: pd.DataFrame, by: Sequence[str] = ("decoding", "skill")
) -> pd.DataFrame:
    """Exact-answer accuracy: `by`, n, accuracy with lo and hi (Wilson, 95 %).

    Group by "shares_game_tokens" for disjoint against token-sharing skills. Skills with
    equally many questions weigh the same in any group.
    """
    rows = []
    for key, group in answers.groupby(list(by), sort=True):
        rate = wilson(int(group["correct"].sum()), len(group))
        rows.append(
            dict(zip(by, key, strict=True))
            | {"n": len(group), "accuracy": rate.value, "lo": rate.lo, "hi": rate.hi}
        )
    return pd.DataFrame(rows)


def scored_answers(renderer: Renderer, asked: Sequence[Question]) -> list[Scored]:
    """Each question with its right answer as tokens; the answer's tokens count."""
    sequences = []
    for question in asked:
        prefix = [Message("user", question.text)]
        prompt = renderer.prompt_ids(prefix)
        said = renderer.completion_ids(prefix, Message("assistant", question.answer))
        sequences.append((prompt + said, [0] * len(prompt) + [1] * len(said)))
    return sequences


def kl_to_base(
    model: PreTrainedModel, base: PreTrainedModel, sequences: Sequence[Scored]
) -> pd.DataFrame:
    """Exact KL between next-token distributions at every counted position.

    Args:
        model: the policy.
        base: what it is compared with; same vocabulary.
        sequences: e.g. `scored_answers`, or (token_ids, mask) of rollouts.

    Returns:
        One row a counted token: sequence (index), position (of the predicted token),
        forward, reverse (nats).

    Raises:
        ValueError: the models have different vocabularies, or no position counts.
    """
    sizes = model.config.vocab_size, base.config.vocab_size
    if sizes[0] != sizes[1]:
        raise ValueError(f"policy and base have vocabularies of {sizes} tokens")
    decoders = Decoder(model), Decoder(base)
    most = max(1, MOST_LOGITS // sizes[0])
    parts = []
    for batch in _batches(sequences, most):
        index = [(i, t) for i in batch for t in _counted(sequences[i])]
        policy, reference = (_log_probs(d, sequences, batch).double() for d in decoders)
        part = pd.DataFrame(index, columns=["sequence", "position"])
        part["forward"] = _kl(reference, policy).numpy()
        part["reverse"] = _kl(policy, reference).numpy()
        parts.append(part)
    if not parts:
        raise ValueError("no sequence has a position that counts; check the masks")
    return pd.concat(parts, ignore_index=True)


def kl_table(kl: pd.DataFrame) -> pd.DataFrame:
    """Mean per token of both directions, with a bootstrap over sequences.

    Returns:
        Two rows: direction, n (tokens), sequences, kl with lo and hi (nats per token).
    """
    rows = []
    for direction in ("forward", "reverse"):
        mean = bootstrap_mean(kl[direction], kl["sequence"])
        rows.append(
            {"direction": direction, "n": len(kl)}
            | {"sequences": kl["sequence"].nunique()}
            | {"kl": mean.value, "lo": mean.lo, "hi": mean.hi}
        )
    return pd.DataFrame(rows)


def _counted(scored: Scored) -> list[int]:
    return [t for t, counts in enumerate(scored[1]) if counts and t]


def _batches(sequences: Sequence[Scored], most: int) -> Iterator[list[int]]:
    """Indices of sequences with counted positions, at most `most` tokens a batch."""
    batch: list[int] = []
    held = 0
    for i, scored in enumerate(sequences):
        if not _counted(scored):
            continue
        if batch and held + len(scored[0]) > most:
            yield batch
            batch, held = [], 0
        batch.append(i)
        held += len(scored[0])
    if batch:
        yield batch


def _log_probs(
    decoder: Decoder, sequences: Sequence[Scored], batch: Sequence[int]
) -> Float[Tensor, "positions vocab"]:
    """Log-probabilities that predict each counted token of the batch."""
    ids = [list(sequences[i][0]) for i in batch]
    _, logits = decoder.prefill(ids, all_logits=True)
    starts = [0]
    for row in ids:
        starts.append(starts[-1] + len(row))
    wanted = [
        start + t - 1
        for start, i in zip(starts, batch, strict=False)
        for t in _counted(sequences[i])
    ]
    chosen = logits[torch.tensor(wanted, device=logits.device)].cpu()
    return chosen.double().log_softmax(-1)


def _kl(
    p: Float[Tensor, "positions vocab"], q: Float[Tensor, "positions vocab"]
) -> Float[Tensor, " positions"]:
    """KL(p || q) of log-probabilities, one a line."""
    return (p.exp() * (p - q)).sum(-1)
