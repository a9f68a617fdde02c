"""Single turns nobody trained on: the mean reward of sampled actions, per verifier.

The same samples are judged by every verifier, so functional and strict reward of one
turn differ by judgement alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampler, Sampling
from pivotlab.intervals import bootstrap_mean
from pivotlab.pivots.profiling import judge
from pivotlab.records import Candidate
from pivotlab.rendering import Renderer
from pivotlab.verifiers.protocol import Verifier


def held_out_rewards(
    sampler: Sampler,
    renderer: Renderer,
    candidates: Sequence[Candidate],
    verifiers: Sequence[Verifier],
    *,
    n: int = 4,
    temperature: float = 1.0,
    max_new_tokens: int = 24,
    seed: int = 0,
) -> pd.DataFrame:
    """Sample `n` actions at every candidate turn and judge them.

    Returns:
        One row a candidate and verifier: uid, trajectory_uid, turn, phase (of the
        candidate's context, "" if none), verifier, n, mu (mean reward; a truncated or
        failed sample stays in the mean with 0).

    Raises:
        ValueError: there are no candidates.
    """
    if not candidates:
        raise ValueError("no held-out candidates to sample at")
    prompts = [renderer.prompt_ids(c.prefix, c.tools) for c in candidates]
    seeds = [derive_seed(seed, i) for i in range(len(candidates))]
    sampling = Sampling(max_new_tokens, temperature, (renderer.end_of_turn,))
    rows = []
    for candidate, samples in zip(
        candidates, sampler.sample(prompts, n, sampling, seeds), strict=True
    ):
        for verifier in verifiers:
            rewards = [judge(verifier, candidate, s, renderer).reward for s in samples]
            rows.append(
                {"uid": candidate.uid, "trajectory_uid": candidate.trajectory_uid}
                | {"turn": candidate.turn, "verifier": verifier.name}
                | {"phase": str(candidate.context.get("phase", ""))}
                | {"n": n, "mu": sum(rewards) / n}
            )
    return pd.DataFrame(rows)


def mu_table(rewards: pd.DataFrame, by: Sequence[str] = ("verifier",)) -> pd.DataFrame:
    """Mean reward: `by`, turns, mu with lo and hi (bootstrap over trajectories, 95 %),
    zero_signal (share of turns whose samples all got the same binary reward)."""
    rows = []
    for key, group in rewards.groupby(list(by), sort=True):
        mean = bootstrap_mean(group["mu"], group["trajectory_uid"])
        rows.append(
            dict(zip(by, key, strict=True))
            | {"turns": len(group), "mu": mean.value, "lo": mean.lo, "hi": mean.hi}
            | {"zero_signal": float(group["mu"].isin([0.0, 1.0]).mean())}
        )
    return pd.DataFrame(rows)
