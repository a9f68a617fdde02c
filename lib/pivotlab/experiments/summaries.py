"""Tables of records to tables of means: what the figures of the comparisons draw.

Points are means over seeds; intervals are Student's t over seed means where there are
two seeds or more, else the Wilson interval over games or questions. The tables come as
text (`record_tables.read_records`) or as numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from pivotlab.intervals import t_mean, wilson

#: Rows of the retention table that are no unrelated skill.
GAME_ROWS = ("held-out turns", "following a hint")


def over_seeds(rows: pd.DataFrame, value: str, by: Sequence[str]) -> pd.DataFrame:
    """Mean over seeds of a share, with an interval.

    Args:
        rows: columns `by`, seed, `value`, n.
        value: a share in [0, 1].

    Returns:
        `by`, mean, lo, hi, seeds, n (cases of all seeds together).
    """
    table = []
    for key, group in rows.groupby(list(by), sort=False):
        means = group[value].astype(float).to_numpy()
        n = int(group["n"].astype(int).sum())
        mean, seeds = float(means.mean()), len(means)
        if seeds > 1:
            _, lo, hi = np.clip(t_mean(means), 0, 1)
        else:
            _, lo, hi = wilson(round(mean * n), n)
        row = dict(zip(by, key, strict=True)) | {"mean": mean, "lo": lo, "hi": hi}
        table.append(row | {"seeds": seeds, "n": n})
    return pd.DataFrame(table)


def success_rows(
    arms: pd.DataFrame,
    task_type: str = "all",
    splits: Sequence[str] = ("valid_seen", "valid_unseen"),
) -> pd.DataFrame:
    """Splits taken together: one share per arm, seed, steps and decoding."""
    own = arms[(arms["task_type"] == task_type) & arms["split"].isin(splits)].copy()
    own = own.astype({"n": int, "success": float, "steps": int, "seed": int})
    own["won"] = own["success"] * own["n"]
    keys = ["arm", "seed", "steps", "decoding"]
    both = own.groupby(keys, sort=False, as_index=False)[["n", "won"]].sum()
    return both.assign(success=both["won"] / both["n"])


def retention_rows(retention: pd.DataFrame, shared: bool | None = None) -> pd.DataFrame:
    """Accuracy averaged over skills per arm, seed, steps and decoding.

    Args:
        retention: the record table; rows about the game are left out.
        shared: only the skills that share the game's tokens (True), only the others
            (False), or all (None).
    """
    own = retention[~retention["skill"].str.startswith(GAME_ROWS)].copy()
    if shared is not None:
        own = own[own["shares_game_tokens"].astype(str) == str(shared)]
    own = own.astype({"n": int, "accuracy": float, "steps": int, "seed": int})
    keys = ["arm", "seed", "steps", "decoding"]
    grouped = own.groupby(keys, sort=False, as_index=False)
    return grouped.agg(n=("n", "sum"), accuracy=("accuracy", "mean"))


def ability_rows(retention: pd.DataFrame, name: str) -> pd.DataFrame:
    """Accuracy of one row of the retention table, such as "following a hint"."""
    own = retention[retention["skill"] == name].copy()
    own = own.astype({"n": int, "accuracy": float, "steps": int, "seed": int})
    return own[["arm", "seed", "steps", "decoding", "n", "accuracy"]]


def distance_rows(distance: pd.DataFrame, states: str, direction: str) -> pd.DataFrame:
    """KL per token per arm, seed and steps, in nats."""
    own = distance[(distance["states"] == states)]
    own = own[own["direction"] == direction]
    own = own.astype({"kl": float, "steps": int, "seed": int})
    return own[["arm", "seed", "steps", "kl"]]


def last_steps(records: pd.DataFrame) -> pd.DataFrame:
    """The rows of every arm and seed at its last evaluated step."""
    steps = records["steps"].astype(int)
    latest = steps.groupby([records["arm"], records["seed"]]).transform("max")
    return records[steps == latest]


def curve_means(
    panels: Sequence[tuple[str, str, pd.DataFrame, str]],
    arms: Sequence[str],
    decoding: str,
) -> pd.DataFrame:
    """Means of several shares at every evaluated step, for the arms and the base.

    Args:
        panels: (panel, what is measured, rows with arm, seed, steps, decoding and n,
            name of the share among their columns).
        arms: the others are left out.

    Returns:
        panel, measure, arm, steps, mean, lo, hi, seeds, n.
    """
    parts = []
    for panel, measure, rows, value in panels:
        own = rows[(rows["decoding"] == decoding) & rows["arm"].isin(["base", *arms])]
        means = over_seeds(own, value, ("arm", "steps"))
        parts.append(means.assign(panel=panel, measure=measure))
    table = pd.concat(parts, ignore_index=True)
    return table[["panel", "measure", *table.columns[:-2]]]


def success_and_skills(
    success: pd.DataFrame, skills: pd.DataFrame, arms: Sequence[str], decoding: str
) -> pd.DataFrame:
    """Games won beside skills kept at every evaluated step, means over seeds.

    Args:
        success: of `success_rows`.
        skills: of `retention_rows`.
        arms: of these and the base.

    Returns:
        arm, steps, success, skills, each with _lo and _hi, games and questions (of all
        seeds together), seeds.
    """
    parts = []
    for rows, value, name, cases in (
        (success, "success", "success", "games"),
        (skills, "accuracy", "skills", "questions"),
    ):
        own = rows[(rows["decoding"] == decoding) & rows["arm"].isin(["base", *arms])]
        means = over_seeds(own, value, ("arm", "steps"))
        named = {"mean": name, "lo": f"{name}_lo", "hi": f"{name}_hi", "n": cases}
        parts.append(means.rename(columns=named))
    both = parts[1].drop(columns="seeds")
    return parts[0].merge(both, on=["arm", "steps"], validate="1:1")


def lost_at_distance(
    skills: pd.DataFrame, distance: pd.DataFrame, arms: Sequence[str], decoding: str
) -> pd.DataFrame:
    """Skill accuracy lost beside the distance moved, one row a run and step.

    Args:
        skills: of `retention_rows`.
        distance: of `distance_rows`.
        arms: of these.

    Returns:
        arm, seed, steps, n (questions), accuracy, kl, lost (the base's accuracy minus
        the run's).
    """
    own = skills[skills["decoding"] == decoding]
    base = own[own["arm"] == "base"]["accuracy"].mean()
    points = own[own["arm"].isin(arms)].merge(distance, on=["arm", "seed", "steps"])
    return points.assign(lost=base - points["accuracy"]).drop(columns="decoding")


def sweep_means(
    success: pd.DataFrame,
    skills: pd.DataFrame,
    betas: Mapping[str, float],
    steps: int,
    decoding: str,
) -> pd.DataFrame:
    """Games won and skills kept at one length against beta.

    Args:
        betas: arm -> its weight of the KL.

    Returns:
        measure, beta, mean, lo, hi, seeds, n, in the order of beta.
    """
    parts = []
    for rows, value, measure in (
        (success, "success", "games won"),
        (skills, "accuracy", "skills kept"),
    ):
        own = rows[(rows["decoding"] == decoding) & (rows["steps"] == steps)]
        own = own[own["arm"].isin(betas)].assign(measure=measure)
        own["beta"] = own["arm"].map(dict(betas))
        parts.append(over_seeds(own, value, ("measure", "beta")).sort_values("beta"))
    return pd.concat(parts, ignore_index=True)


def main_table(
    arms: pd.DataFrame,
    retention: pd.DataFrame,
    distance: pd.DataFrame,
    names: Sequence[str],
    steps: int,
) -> pd.DataFrame:
    """The comparison at one length: `mean [lo, hi]` per cell, with seeds and n."""
    success, skills = success_rows(arms), retention_rows(retention)
    kl = distance_rows(distance, "game", "forward")
    rows = []
    for name in names:
        at = 0 if name == "base" else steps
        row: dict[str, object] = {"arm": name, "steps": at}
        for label, table, value in (
            ("success", success, "success"),
            ("skills", skills, "accuracy"),
        ):
            own = table[(table["arm"] == name) & (table["steps"] == at)]
            for cell in over_seeds(own, value, ("decoding",)).to_dict("records"):
                text = f"{cell['mean']:.3f} [{cell['lo']:.3f}, {cell['hi']:.3f}]"
                row[f"{label}, {cell['decoding']}"] = text
                row["seeds"], row[f"n {label}"] = cell["seeds"], cell["n"]
        near = kl[(kl["arm"] == name) & (kl["steps"] == at)]["kl"]
        row["KL, game"] = f"{near.mean():.4f}"
        rows.append(row)
    return pd.DataFrame(rows)
