"""PivotRL's Algorithm 1, walked through on a profiled pool and one sampled group."""

from __future__ import annotations

from collections import Counter

import pandas as pd

from pivotlab.experiments.controls.walk import Step
from pivotlab.experiments.figures.pivots import shares_line
from pivotlab.experiments.pool import Pool
from pivotlab.experiments.presets import Preset
from pivotlab.pivots.selection import select
from pivotlab.records import Candidate

#: In our words; line numbers of the paper in front.
LINES = (
    "1  every assistant turn of every trajectory is a candidate   (Eq. 3)",
    "2  sample K actions at each with pi_0, verify: mu, sigma2     (Eq. 4)",
    "3  keep the turns with sigma2 > 0 and mu < lambda_diff, once  (Eq. 5)",
    "4  repeat: take a minibatch of pivots",
    "4    sample G actions at each with the current policy",
    "4    verify every action: one turn, one reward",
    "4    advantage = (reward - group mean) / group std            (Eq. 1)",
    "4    clipped update, held near pi_0 by beta KL                (Eq. 7)",
)


def pivotrl_steps(
    pool: Pool, preset: Preset, pivot: Candidate, group: pd.DataFrame
) -> list[Step]:
    """One step per line of `LINES`.

    Args:
        pool: the candidates with their profiles.
        preset: K, lambda_diff, beta, clip, prompts per step.
        pivot: the turn that is followed.
        group: its G samples, with columns action, verdict, reward, advantage.
    """
    profile = pool.profiles[pivot.uid]
    kept = select(pool.candidates, pool.profiles, "pivots", preset.lambda_diff)
    shares = shares_line(list(pool.profiles.values()), preset.lambda_diff)
    rewards = " ".join(f"{r:g}" for r in profile.rewards)
    return [
        Step(
            0,
            f"{len(pool.trajectories)} trajectories give {len(pool.candidates)} "
            f"candidates. One of them, {pivot.uid}:\n"
            f"{pivot.prefix[-1].content}\n-> demonstrated: {pivot.expert.content}",
        ),
        Step(
            1,
            f"K = {profile.k} samples there are worth {rewards}\n"
            f"mu = {profile.mu:.3f}, sigma2 = {profile.sigma2:.3f}",
        ),
        Step(
            2,
            f"of all candidates: {shares}\n{len(kept)} of {len(pool.candidates)} are "
            f"kept; ours is: 0 < {profile.mu:.3f} < {preset.lambda_diff}",
        ),
        Step(3, f"{preset.prompts_per_step} pivots a step; ours is one of them"),
        Step(4, _counted(group, "action")),
        Step(5, _counted(group, "verdict")),
        Step(6, _advantages(group)),
        Step(
            7,
            f"{_pushed(group)}\nThe first step has w = 1 everywhere, so the clip "
            f"(1 ± {preset.clip}) does nothing yet, and KL(pi || pi_0) = 0.",
        ),
    ]


def _counted(group: pd.DataFrame, column: str) -> str:
    counts = Counter(group[column])
    return "\n".join(f"{n} x {text}" for text, n in counts.most_common())


def _advantages(group: pd.DataFrame) -> str:
    told = group.drop_duplicates(["action", "reward"])
    rows = [
        f"{r.reward:g} -> {r.advantage:+.2f}  {r.action}" for r in told.itertuples()
    ]
    return "reward -> advantage\n" + "\n".join(rows)


def _pushed(group: pd.DataFrame) -> str:
    """Which way the log-prob of every sampled action is pushed."""
    pushes = group.groupby("action", sort=False)["advantage"].sum() / len(group)
    if not pushes.abs().max() > 0:
        return "All rewards are equal: no push, whatever the actions are."
    rows = [f"{push:+.3f}  {action}" for action, push in pushes.items()]
    return "push on log pi(action), summed over its samples\n" + "\n".join(rows)
