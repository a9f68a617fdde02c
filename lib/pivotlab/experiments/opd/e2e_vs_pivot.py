"""Single turns from pivots against whole episodes: what equal success costs.

Both papers put the cost of end-to-end RL at a few times that of their own method; here
the question is asked of our own records. Costs are rollout turns sampled in training
(for pivots also those of profiling the pool) and training seconds.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from pivotlab.experiments.summaries import success_rows

#: Method -> arm in its record table.
METHODS = {"pivots": "functional/pivots", "end-to-end": "grpo"}
E2E_KEYS = ("method", "seed", "steps", "decoding")


def cost_rows(
    pivotrl: pd.DataFrame, pivotopd: pd.DataFrame, profiling_turns: int
) -> pd.DataFrame:
    """Success and costs of both methods at every evaluated step.

    Args:
        pivotrl: the table pivotrl_arms.
        pivotopd: the table pivotopd_arms.
        profiling_turns: samples drawn to find the pivots, charged to every pivot run.

    Returns:
        method, seed, steps, decoding, n, success, rollout_turns, seconds; step 0 is the
        untrained base, charged with profiling for the pivots.
    """
    parts = []
    for method, records in (("pivots", pivotrl), ("end-to-end", pivotopd)):
        own = records[records["arm"].isin([METHODS[method], "base"])]
        rows = success_rows(own)
        spent = own[own["task_type"] == "all"].astype({"steps": int, "seed": int})
        spent = spent.drop_duplicates(["arm", "seed", "steps"])
        costs = spent[["arm", "seed", "steps", "rollout_turns", "seconds"]]
        rows = rows.merge(costs, on=["arm", "seed", "steps"])
        turns = rows["rollout_turns"].astype(float)
        rows["rollout_turns"] = turns + profiling_turns * (method == "pivots")
        rows["seconds"] = rows["seconds"].astype(float)
        parts.append(rows.assign(method=method).drop(columns=["arm", "won"]))
    return pd.concat(parts, ignore_index=True)


def cost_at(rows: pd.DataFrame, success: float, cost: str) -> float:
    """Cost at which one run first reaches a success, linear between evaluations.

    Args:
        rows: of one method, seed and decoding, base included.
        cost: "rollout_turns" or "seconds".

    Returns:
        The cost; nan if the run never gets there.
    """
    line = rows.sort_values("steps")
    reached, spent = line["success"].to_numpy(), line[cost].to_numpy()
    for place in range(len(reached)):
        if reached[place] >= success:
            if place == 0:
                return float(spent[0])
            before, after = reached[place - 1], reached[place]
            share = (success - before) / (after - before)
            return float(spent[place - 1] + share * (spent[place] - spent[place - 1]))
    return float("nan")


def ratios(rows: pd.DataFrame, decoding: str, success: float) -> pd.DataFrame:
    """End-to-end cost over pivot cost at equal success, seed by seed.

    Returns:
        seed, success, turns_ratio, seconds_ratio; nan where a run never gets there.
    """
    own = rows[rows["decoding"] == decoding]
    base = own[own["steps"] == 0]
    table = []
    for seed in sorted(set(own[own["steps"] > 0]["seed"])):
        row: dict[str, float] = {"seed": seed, "success": success}
        for cost, name in (("rollout_turns", "turns"), ("seconds", "seconds")):
            spent = {}
            for method in METHODS:
                runs = own[(own["seed"] == seed) & (own["steps"] > 0)]
                both = pd.concat([base, runs])
                spent[method] = cost_at(both[both["method"] == method], success, cost)
            with np.errstate(divide="ignore", invalid="ignore"):
                ratio = np.divide(spent["end-to-end"], spent["pivots"])
            row[f"{name}_ratio"] = float(ratio)
        table.append(row)
    return pd.DataFrame(table)
