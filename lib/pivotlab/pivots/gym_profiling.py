"""NeMo Gym's reward-profiling files: K scored rollouts per task, in and out.

Departure: `std/reward` is the sample standard deviation (n - 1), as Gym's tables have
it, while `TurnProfile.sigma2` is the population variance of PivotRL Eq. 4.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from pathlib import Path

from pivotlab.pivots.nemo_gym import GymPivot, Row, from_row, plain_profile, read_lines
from pivotlab.records import TurnProfile
from pivotlab.trajectories import fields


def read_profiles(
    path: str | Path,
) -> tuple[list[tuple[GymPivot, TurnProfile]], list[fields.FormatError]]:
    """Pivots with profiles of a reward-profiling file, and one error per bad line.

    Raises:
        FileNotFoundError: there is no such file.
    """
    return read_lines(path, lambda row, source, line: profile_from_row(row))


def profiling_row(
    index: int, profile: TurnProfile, sample: Row, expected: int | None = None
) -> Row:
    """One row of a reward-profiling file.

    Args:
        index: the task's number in the profiled file.
        profile: K scored samples.
        sample: the pivot row that was profiled.
        expected: samples that were asked for; K by default.
    """
    rewards = list(profile.rewards)
    expected = len(rewards) if expected is None else expected
    return {
        "_ng_task_index": index,
        "mean/reward": profile.mu,
        "max/reward": max(rewards),
        "min/reward": min(rewards),
        "median/reward": statistics.median(rewards),
        "std/reward": statistics.stdev(rewards) if len(rewards) > 1 else 0.0,
        "num_rollouts": len(rewards),
        "expected_num_rollouts": expected,
        "missing_num_rollouts": expected - len(rewards),
        "reward_profile_completion_pct": 100.0 * len(rewards) / max(expected, 1),
        "rollout_infos": [
            {
                "rollout_id": f"{index}:{k}",
                "_ng_task_index": index,
                "_ng_rollout_index": k,
                "reward": reward,
                "category": category,
                "truncated": truncated,
            }
            for k, (reward, category, truncated) in enumerate(
                zip(rewards, profile.categories, profile.truncated, strict=True)
            )
        ],
        "sample": sample,
    }


def profile_from_row(row: Row) -> tuple[GymPivot, TurnProfile]:
    """A pivot and its profile from a reward-profiling row.

    Rollouts that never came back stay in the denominator with reward 0, as `missing`.

    Raises:
        FormatError: the row names no sample or no single rewards.
    """
    pivot = from_row(fields.part(row, "sample", "row"))
    infos = [
        fields.mapping(info, "rollout_infos[]")
        for info in fields.sequence(row.get("rollout_infos"), "rollout_infos")
    ]
    if not infos:
        raise fields.FormatError(
            "rollout_infos", "is missing", "profile again: a mean cannot be split up"
        )
    infos.sort(key=lambda i: i.get("_ng_rollout_index") or 0)
    expected = row.get("expected_num_rollouts")
    gone = max(0, expected - len(infos)) if isinstance(expected, int) else 0
    return pivot, TurnProfile(
        pivot.candidate.uid,
        (*(fields.reward(i.get("reward")) or 0.0 for i in infos), *[0.0] * gone),
        (*(str(i.get("category", "gym")) for i in infos), *["missing"] * gone),
        (*(bool(i.get("truncated")) for i in infos), *[False] * gone),
        provenance={"source": "nemo_gym"},
    )


def profiles_from_rollouts(rows: Iterable[Row]) -> dict[int, TurnProfile]:
    """Profiles by task from a rollouts file, samples in the order of their index.

    Raises:
        FormatError: a row lacks its task or rollout index.
    """
    found: dict[int, dict[int, float]] = {}
    for number, row in enumerate(rows):
        task, rollout = row.get("_ng_task_index"), row.get("_ng_rollout_index")
        if not isinstance(task, int) or not isinstance(rollout, int):
            raise fields.FormatError(
                f"row {number}",
                "has no _ng_task_index and _ng_rollout_index",
                "keep both",
            )
        found.setdefault(task, {})[rollout] = fields.reward(row.get("reward")) or 0.0
    profiles = {}
    for task, samples in sorted(found.items()):
        rewards = tuple(samples[k] for k in sorted(samples))
        profiles[task] = plain_profile(str(task), rewards)
    return profiles
