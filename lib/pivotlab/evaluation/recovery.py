"""Can a mistake be undone, and who undoes it: replays from recorded episodes.

Both replays continue a recorded episode from its environment snapshot and its own token
ids; nothing before the intervention is sampled again. Intervals are bootstraps over
trajectories, as in PivotOPD (counterfactual replay) and its Appendix E.2 (recovery).

Departures from the paper: (1) where several actions are optimal, the forced one is the
first in sorted order; (2) the later non-pivotal turn is drawn uniformly, anew in every
repeat, since the paper does not say which is taken; (3) a mistake on the last turn
leaves nothing to play and counts as not recovered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from pivotlab.engines.noise import derive_seed, uniform
from pivotlab.environments.protocol import Environment
from pivotlab.evaluation.diagnosis import MakeOracle, OraclePath, oracle_path
from pivotlab.intervals import bootstrap_mean
from pivotlab.records import Rollout
from pivotlab.rendering import Renderer
from pivotlab.rollouts import Player, Settings, Start, play, resume

#: Interventions of the counterfactual replay, in the paper's order.
INTERVENTIONS = (
    "none",
    "resampled at the pivot",
    "oracle at a later turn",
    "oracle at the pivot",
    "mistake kept, 2 turns forced",
    "mistake kept, 3 turns forced",
)


@dataclass(frozen=True)
class Mistake:
    """The first oracle pivot of a failed episode, and L along that episode."""

    rollout: Rollout
    turn: int
    path: OraclePath

    @property
    def remaining(self) -> float:
        """L right after the mistake: the shortest repair, in turns."""
        return self.path.remaining[self.turn + 1]


def first_mistakes(
    rollouts: Sequence[Rollout], environment: MakeOracle
) -> list[Mistake]:
    """The first pivot of every failed episode that has one, in order."""
    failed = [r for r in rollouts if r.reward < 1.0]
    paths = [oracle_path(r, environment) for r in failed]
    return [
        Mistake(r, p.first, p)
        for r, p in zip(failed, paths, strict=True)
        if p.first is not None
    ]


def counterfactual_replay(
    player: Player,
    renderer: Renderer,
    environment: MakeOracle,
    mistakes: Sequence[Mistake],
    settings: Settings,
    *,
    interventions: Sequence[str] = INTERVENTIONS,
    repeats: int = 8,
    seed: int = 0,
) -> pd.DataFrame:
    """Change one thing around a mistake and play on to the turn limit.

    Args:
        player: the policy that made the mistakes.
        renderer: of its tokenizer.
        environment: makes an environment with an oracle.
        mistakes: see `first_mistakes`.
        settings: as the episodes were played.
        interventions: names of `INTERVENTIONS`.
        repeats: plays per mistake and intervention.
        seed: of all plays.

    Returns:
        One row a play: intervention, trajectory, task_type, pivot, repeat, won, turns
        (played after the intervention's start). Mistakes without a later non-pivotal
        turn have no row for that intervention.

    Raises:
        ValueError: an intervention is unknown.
    """
    rows, starts = [], []
    for number, name in enumerate(interventions):
        for index, mistake in enumerate(mistakes):
            for repeat in range(repeats):
                own = derive_seed(seed, number, index, repeat)
                start = _start(name, mistake, own)
                if start is None and name == "oracle at a later turn":
                    continue
                rows.append(
                    {"intervention": name, "trajectory": index, "repeat": repeat}
                    | {"task_type": mistake.rollout.task.partition("/")[0]}
                    | {"pivot": mistake.turn}
                )
                starts.append(start)
    return _played(player, renderer, environment, settings, rows, starts)


def _start(name: str, mistake: Mistake, seed: int) -> Start | None:
    rollout, pivot = mistake.rollout, mistake.turn
    if name == "none":
        return _after(mistake, seed, forced=0)
    if name == "resampled at the pivot":
        return resume(rollout, pivot, seed=seed)
    if name == "oracle at the pivot":
        return _oracle_from(rollout, pivot, 1, seed)
    if name == "oracle at a later turn":
        pivots = set(mistake.path.pivots)
        later = [t for t in range(pivot + 1, len(rollout.turns)) if t not in pivots]
        if not later:
            return None
        pick = later[int(uniform(seed, 0, 0) * len(later))]
        return _oracle_from(rollout, pick, 1, seed)
    if name in INTERVENTIONS:
        return _after(mistake, seed, forced=int(name.split()[2]))
    raise ValueError(
        f"unknown intervention {name!r}; known: {', '.join(INTERVENTIONS)}"
    )


def _after(mistake: Mistake, seed: int, forced: int) -> Start | None:
    """Start right after the mistake; None if it was the last turn."""
    following = mistake.turn + 1
    if following == len(mistake.rollout.turns):
        return None
    return _oracle_from(mistake.rollout, following, forced, seed)


def _oracle_from(rollout: Rollout, turn: int, count: int, seed: int) -> Start:
    """Start before `turn`, with the oracle's action for `count` turns."""
    start = resume(rollout, turn, seed=seed)
    last = start.turn + count

    def force(environment: Environment, now: int) -> str | None:
        optimal = environment.optimal_actions() if now < last else []
        return optimal[0] if optimal else None

    return replace(start, force=force) if count else start


def recovery_replay(
    player: Player,
    renderer: Renderer,
    environment: MakeOracle,
    mistakes: Sequence[Mistake],
    settings: Settings,
    *,
    repeats: int = 8,
    seed: int = 0,
) -> pd.DataFrame:
    """Let any policy play on after recorded mistakes, to the turn limit.

    Returns:
        One row a play: trajectory, task_type, pivot, remaining (L after the mistake),
        repeat, won, turns (of the continuation).
    """
    rows, starts = [], []
    for index, mistake in enumerate(mistakes):
        for repeat in range(repeats):
            rows.append(
                {"trajectory": index, "repeat": repeat, "pivot": mistake.turn}
                | {"task_type": mistake.rollout.task.partition("/")[0]}
                | {"remaining": mistake.remaining}
            )
            starts.append(_after(mistake, derive_seed(seed, index, repeat), forced=0))
    return _played(player, renderer, environment, settings, rows, starts)


def _played(
    player: Player,
    renderer: Renderer,
    environment: MakeOracle,
    settings: Settings,
    rows: list[dict],
    starts: list[Start | None],
) -> pd.DataFrame:
    playable = [s for s in starts if s is not None]
    rollouts = iter(play(player, renderer, environment, playable, settings))
    for row, start in zip(rows, starts, strict=True):
        rollout = next(rollouts) if start is not None else None
        row["won"] = rollout is not None and rollout.reward >= 1.0
        row["turns"] = len(rollout.turns) if rollout is not None else 0
    return pd.DataFrame(rows)


def counterfactual_table(plays: pd.DataFrame) -> pd.DataFrame:
    """Success per intervention: intervention, trajectories, n (plays), success with lo
    and hi (mean over trajectories, bootstrap over them, 4,000 draws)."""
    rows = []
    for name, group in plays.groupby("intervention", sort=False):
        rates = group.groupby("trajectory")["won"].mean()
        mean = bootstrap_mean(rates, draws=4000)
        rows.append(
            {"intervention": name, "trajectories": len(rates), "n": len(group)}
            | {"success": mean.value, "lo": mean.lo, "hi": mean.hi}
        )
    return pd.DataFrame(rows)


def recovery_curve(replays: pd.DataFrame, most: int = 30) -> pd.DataFrame:
    """Share recovered within n turns, n = 0..most.

    Returns:
        turns (n), recovered with lo and hi: the mean over mistakes of the per-mistake
        rate, bootstrap over mistakes (2,000 draws).
    """
    rows = []
    for n in range(most + 1):
        within = replays["won"] & (replays["turns"] <= n)
        rates = within.groupby(replays["trajectory"]).mean()
        mean = bootstrap_mean(rates)
        rows.append({"turns": n, "recovered": mean.value, "lo": mean.lo, "hi": mean.hi})
    return pd.DataFrame(rows)


def recovery_table(replays: pd.DataFrame, base: pd.DataFrame) -> pd.DataFrame:
    """One policy's recovery beside the base's on the same mistakes.

    Returns:
        One row: mistakes, repeats, recovered (plays), rate with lo and hi (bootstrap
        over mistakes), better / worse / same (mistakes with a higher, lower, equal rate
        than the base), turns and optimal (means over recovered plays; missing if none).

    Raises:
        ValueError: the two replays are not of the same mistakes.
    """
    rates, other = (r.groupby("trajectory")["won"].mean() for r in (replays, base))
    if not rates.index.equals(other.index):
        raise ValueError(
            f"replays of {len(rates)} and {len(other)} mistakes can't be compared"
        )
    mean = bootstrap_mean(rates)
    won = replays[replays["won"]]
    gap = np.sign((rates - other).round(9))
    row = {
        "mistakes": len(rates),
        "repeats": len(replays) // len(rates),
        "recovered": len(won),
        "rate": mean.value,
        "lo": mean.lo,
        "hi": mean.hi,
        "better": int((gap > 0).sum()),
        "worse": int((gap < 0).sum()),
        "same": int((gap == 0).sum()),
        "turns": won["turns"].mean(),
        "optimal": won["remaining"].mean(),
    }
    return pd.DataFrame([row])
