"""Success of a policy on whole episodes: rates with intervals, and what they cost.

One row per game is the record; every table is a view of those rows, so arms that played
the same games are compared game by game.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter

import numpy as np
import pandas as pd

from pivotlab.engines.noise import derive_seed
from pivotlab.environments.protocol import Environment
from pivotlab.intervals import bootstrap_mean, paired_difference, wilson
from pivotlab.records import Rollout
from pivotlab.rendering import Renderer
from pivotlab.rollouts import Player, Settings, Start, play

#: Name of a decoding -> temperature.
DECODINGS = {"greedy": 0.0, "t1": 1.0}
#: The answer of the household game to a command it refuses.
REFUSAL = "Nothing happens."
#: What identifies one game of an evaluation.
KEYS = ("split", "decoding", "task", "seed")


def play_games(
    player: Player,
    renderer: Renderer,
    environment: Callable[[], Environment],
    tasks: Mapping[str, Sequence[str]],
    settings: Settings,
    *,
    decodings: Mapping[str, float] = DECODINGS,
    seed: int = 0,
    refusal: str = REFUSAL,
) -> pd.DataFrame:
    """Play every task of every split under every decoding, once each.

    Args:
        player: takes the turns.
        renderer: of the player's tokenizer.
        environment: makes a fresh environment.
        tasks: split name -> task ids; an id up to its first "/" is its type.
        settings: the temperature is replaced by each decoding's own.
        decodings: name -> temperature.
        seed: of the evaluation; game i of a split has noise of its own derived from it,
            the same for every policy.
        refusal: observation that answers an inadmissible action.

    Returns:
        One row a game: split, decoding, task, seed, task_type, won, turns, refused
        (turns), truncated (turns), tokens (sampled), seconds (wall time of its batch,
        shared equally).

    Raises:
        ValueError: a split has no tasks, or a task id names none.
    """
    rows = []
    for split, ids in tasks.items():
        if not len(ids):
            raise ValueError(f"split {split!r} has no task ids to play")
        starts = [Start(t, derive_seed(seed, i)) for i, t in enumerate(ids)]
        for decoding, temperature in decodings.items():
            sampling = replace(settings.sampling, temperature=temperature)
            own = replace(settings, sampling=sampling)
            began = perf_counter()
            rollouts = play(player, renderer, environment, starts, own)
            share = (perf_counter() - began) / len(rollouts)
            keys = {"split": split, "decoding": decoding, "seed": seed}
            rows += [
                {**keys, **outcome(r, refusal), "seconds": share} for r in rollouts
            ]
    return pd.DataFrame(rows)


def outcome(rollout: Rollout, refusal: str = REFUSAL) -> dict[str, object]:
    """One game as a row; won means the environment paid its full reward of 1."""
    return {
        "task": rollout.task,
        "task_type": rollout.task.partition("/")[0],
        "won": rollout.reward >= 1.0,
        "turns": len(rollout.turns),
        "refused": sum(t.observation == refusal for t in rollout.turns),
        "truncated": sum(t.truncated for t in rollout.turns),
        "tokens": sum(rollout.mask),
    }


def success_table(
    games: pd.DataFrame, by: Sequence[str] = ("split", "decoding")
) -> pd.DataFrame:
    """Rates per group of games.

    Args:
        games: rows of `play_games`, any further columns (arm, training seed) kept.
        by: columns to group by; add "task_type" for a table by type.

    Returns:
        `by`, n (games), success with lo and hi (Wilson, 95 %), turns (mean of a game),
        refused (share of turns) with refused_lo and refused_hi (bootstrap over games),
        rollout_turns, tokens and seconds (sums).
    """
    rows = []
    for key, group in games.groupby(list(by), sort=True):
        rate = wilson(int(group["won"].sum()), len(group))
        refused = refused_share(group)
        rows.append(
            dict(zip(by, key, strict=True))
            | {"n": len(group), "success": rate.value, "lo": rate.lo, "hi": rate.hi}
            | {"turns": group["turns"].mean(), "refused": refused.value}
            | {"refused_lo": refused.lo, "refused_hi": refused.hi}
            | {"rollout_turns": int(group["turns"].sum())}
            | {"tokens": int(group["tokens"].sum()), "seconds": group["seconds"].sum()}
        )
    return pd.DataFrame(rows)


def refused_share(games: pd.DataFrame):
    """Share of turns that the environment refused, bootstrap over whole games."""
    turns, refused = games["turns"].to_numpy(), games["refused"].to_numpy()
    game = np.repeat(np.arange(len(games)), turns)
    rank = np.concatenate([np.arange(t) for t in turns])
    return bootstrap_mean(rank < refused[game], game)


def compare(
    games: pd.DataFrame,
    other: pd.DataFrame,
    by: Sequence[str] = ("split", "decoding"),
) -> pd.DataFrame:
    """Success of `games` minus success of `other`, paired game by game.

    Returns:
        `by`, n (pairs), difference with lo and hi (Newcombe's paired interval, 95 %),
        gained and lost (games won by one side only).

    Raises:
        ValueError: the two did not play the same games; some missing ones are named.
    """
    keys = list(dict.fromkeys([*KEYS, *by]))
    left, right = (g.set_index(keys)["won"].astype(bool) for g in (games, other))
    odd = left.index.symmetric_difference(right.index)
    if len(odd) or not left.index.is_unique or not right.index.is_unique:
        raise ValueError(
            "paired comparison needs each game once on both sides; unmatched: "
            f"{list(odd[:3])} ({len(odd)} in all)"
        )
    paired = pd.DataFrame({"won": left, "other": right}).reset_index()
    rows = []
    for key, group in paired.groupby(list(by), sort=True):
        gap = paired_difference(group["won"], group["other"])
        rows.append(
            dict(zip(by, key, strict=True))
            | {"n": len(group), "difference": gap.value, "lo": gap.lo, "hi": gap.hi}
            | {"gained": int((group["won"] & ~group["other"]).sum())}
            | {"lost": int((~group["won"] & group["other"]).sum())}
        )
    return pd.DataFrame(rows)
