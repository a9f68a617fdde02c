"""Where episodes go wrong: oracle pivots, and how well they are found or avoided.

L(s) is the least number of turns still needed from latent state s. Turn t is pivotal
iff L(s_{t+1}) > L(s_t) (PivotOPD Section 2); analyses use the first such turn of a
failed episode. The oracle serves analysis only, never training.

Departures from the paper: (1) the random baseline of the agreement is its exact
expectation instead of a draw; (2) the probability of the right action is that of the
whole optimal set, since several actions can be equally short.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb

import pandas as pd
import torch
from transformers import PreTrainedModel

from pivotlab.engines.decoder import Decoder
from pivotlab.environments.protocol import OracleEnvironment
from pivotlab.intervals import bootstrap_mean
from pivotlab.records import Rollout
from pivotlab.rendering import Renderer

MakeOracle = Callable[[], OracleEnvironment]
#: Detected turns this near to the first oracle pivot count as agreement.
TOLERANCE = 1


@dataclass(frozen=True)
class OraclePath:
    """L along an episode: `remaining[t]` before turn t, the last entry at the end."""

    remaining: tuple[float, ...]

    @property
    def pivots(self) -> tuple[int, ...]:
        """Turns that made the shortest way longer."""
        pairs = zip(self.remaining, self.remaining[1:], strict=False)
        return tuple(t for t, (before, after) in enumerate(pairs) if after > before)

    @property
    def first(self) -> int | None:
        """First pivotal turn, or None."""
        return self.pivots[0] if self.pivots else None


def oracle_path(rollout: Rollout, environment: MakeOracle) -> OraclePath:
    """L before every turn and after the last one, from the rollout's snapshots."""
    world = environment()
    world.reset(rollout.task)
    remaining = []
    for turn in rollout.turns:
        world.restore(turn.snapshot)
        remaining.append(float(world.remaining_turns()))
    if rollout.turns:
        world.step(rollout.turns[-1].action)
        remaining.append(float(world.remaining_turns()))
    return OraclePath(tuple(remaining))


def reproduces(rollout: Rollout, environment: MakeOracle) -> bool:
    """Whether playing the recorded actions from a reset gives the recorded episode.

    Every observation and every state must be equal; only for rollouts that began with
    a reset.
    """
    world = environment()
    first = world.reset(rollout.task)
    opening = next(m.content for m in rollout.messages if m.role == "user")
    if first != opening:
        return False
    for turn in rollout.turns:
        same_state = world.snapshot() == turn.snapshot
        if not same_state or world.step(turn.action).observation != turn.observation:
            return False
    return True


def diagnose(rollouts: Sequence[Rollout], environment: MakeOracle) -> pd.DataFrame:
    """One row an episode: where, if anywhere, the oracle sees the first mistake.

    Returns:
        trajectory (index), task, task_type, won, turns, start_remaining (L at the
        start), pivots (count), first_pivot (turn from 0, missing if none),
        turns_after (turns played after the first pivot, missing if none).
    """
    rows = []
    for index, rollout in enumerate(rollouts):
        path = oracle_path(rollout, environment)
        first = path.first
        rows.append(
            {"trajectory": index, "task": rollout.task}
            | {"task_type": rollout.task.partition("/")[0]}
            | {"won": rollout.reward >= 1.0, "turns": len(rollout.turns)}
            | {"start_remaining": path.remaining[0], "pivots": len(path.pivots)}
            | {"first_pivot": first}
            | {"turns_after": None if first is None else len(rollout.turns) - first - 1}
        )
    kinds = {"first_pivot": "Int64", "turns_after": "Int64"}
    return pd.DataFrame(rows).astype(kinds)


@dataclass(frozen=True)
class Detection:
    """Turns a detector named in one reading of one failed episode.

    `picked` is empty where its answer could not be read: that counts as wrong.
    """

    trajectory: int
    first_pivot: int
    turns: int
    picked: tuple[int, ...]


def agreement(
    detections: Sequence[Detection], tolerance: int = TOLERANCE
) -> pd.DataFrame:
    """Agreement with the oracle beside random turns of equal count (Table S.1).

    A reading agrees if one of its turns lies within `tolerance` of the first oracle
    pivot. Readings are averaged within an episode, then over episodes.

    Returns:
        One row: trajectories, readings, then accuracy, random and gain (accuracy minus
        random), each with _lo and _hi (bootstrap over episodes, 95 %).

    Raises:
        ValueError: there are no detections, or one names a turn outside its episode.
    """
    if not detections:
        raise ValueError("no detections to compare with the oracle")
    rows = pd.DataFrame(
        [
            {
                "trajectory": d.trajectory,
                "accuracy": float(_hits(d, tolerance)),
                "random": _random_hit(d, tolerance),
            }
            for d in detections
        ]
    )
    means = rows.groupby("trajectory").mean()
    means["gain"] = means["accuracy"] - means["random"]
    table = {"trajectories": len(means), "readings": len(rows)}
    for column in ("accuracy", "random", "gain"):
        mean = bootstrap_mean(means[column], draws=4000)
        table |= {column: mean.value, f"{column}_lo": mean.lo, f"{column}_hi": mean.hi}
    return pd.DataFrame([table])


def _hits(detection: Detection, tolerance: int) -> bool:
    wrong = [t for t in detection.picked if not 0 <= t < detection.turns]
    if wrong:
        raise ValueError(
            f"trajectory {detection.trajectory} has turns 0..{detection.turns - 1}, "
            f"detected {wrong}"
        )
    return any(abs(t - detection.first_pivot) <= tolerance for t in detection.picked)


def _random_hit(detection: Detection, tolerance: int) -> float:
    """Chance that as many different turns, drawn uniformly, hit the window."""
    low = max(0, detection.first_pivot - tolerance)
    high = min(detection.turns - 1, detection.first_pivot + tolerance)
    count = len(set(detection.picked))
    missing = comb(detection.turns - (high - low + 1), count)
    return 1.0 - missing / comb(detection.turns, count)


def pivot_probabilities(
    model: PreTrainedModel,
    renderer: Renderer,
    environment: MakeOracle,
    mistakes: Sequence[tuple[Rollout, int]],
) -> pd.DataFrame:
    """How likely a policy finds the recorded mistake and the optimal actions there.

    Args:
        model: the policy.
        renderer: of its tokenizer.
        environment: makes an environment with an oracle.
        mistakes: (rollout, turn of the mistake).

    Returns:
        One row a mistake: mistake, turn, log_p_mistake, log_p_gold (of the whole set of
        optimal actions), both natural logs at temperature 1, end-of-turn included.
    """
    decoder = Decoder(model)
    world = environment()
    rows = []
    for index, (rollout, turn) in enumerate(mistakes):
        taken = rollout.turns[turn]
        world.reset(rollout.task)
        world.restore(taken.snapshot)
        prompt = list(rollout.token_ids[taken.prompt_start : taken.span[0]])
        actions = [taken.action, *world.optimal_actions()]
        scores = action_log_probs(decoder, renderer, prompt, actions)
        rows.append(
            {"mistake": index, "turn": turn, "log_p_mistake": scores[0].item()}
            | {"log_p_gold": scores[1:].logsumexp(0).item()}
        )
    return pd.DataFrame(rows)


def action_log_probs(
    decoder: Decoder, renderer: Renderer, prompt: Sequence[int], actions: Sequence[str]
) -> torch.Tensor:
    """Log-probability (float64) of saying each action after one prompt."""
    said = [[*renderer.encode(action), renderer.end_of_turn] for action in actions]
    cache, last = decoder.prefill([prompt])
    forked = cache.fork(len(said))
    logits = decoder.extend(forked, said, all_logits=True).double().log_softmax(-1)
    first = last[0].double().log_softmax(-1)
    scores, start = [], 0
    for ids in said:
        rest = logits[start : start + len(ids) - 1]
        following = rest.gather(1, torch.tensor(ids[1:], device=rest.device)[:, None])
        scores.append(first[ids[0]] + following.sum())
        start += len(ids)
    return torch.stack(scores).cpu()


def turn_table(rollout: Rollout, environment: MakeOracle) -> pd.DataFrame:
    """An episode turn by turn, for reading.

    Returns:
        turn, action, observation, before and after (L), kind: "nearer" (L fell),
        "idle" (L stayed) or "mistake" (L grew).
    """
    remaining = oracle_path(rollout, environment).remaining
    rows = []
    for index, turn in enumerate(rollout.turns):
        before, after = remaining[index], remaining[index + 1]
        kind = "nearer" if after < before else "idle" if after == before else "mistake"
        row = {"turn": index, "action": turn.action, "observation": turn.observation}
        rows.append(row | {"before": before, "after": after, "kind": kind})
    return pd.DataFrame(rows)


def collapse_repeats(table: pd.DataFrame) -> pd.DataFrame:
    """Equal successive turns as one row.

    Args:
        table: of `turn_table`; turns are equal in action, observation and both L.

    Returns:
        The same columns, of the first of them, and times (how often it was taken).
    """
    same = ["action", "observation", "before", "after"]
    block = (table[same] != table[same].shift()).any(axis=1).cumsum()
    first = table.groupby(block).first()
    return first.assign(times=table.groupby(block).size()).reset_index(drop=True)
