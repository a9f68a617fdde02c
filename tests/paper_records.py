"""Small record tables of every kind that figures beside the papers read."""

import numpy as np
import pandas as pd

from pivotlab.experiments.figures import papers
from pivotlab.experiments.figures.panels import rows_of
from pivotlab.experiments.own_records import OwnRecords

TYPES = ("all", "look_at_obj_in_light", "pick_and_place_simple")


def arm_rows(arms, decodings=("greedy", "t1")):
    rows = []
    for place, arm in enumerate(arms):
        for steps in (0,) if arm == "base" else (20, 40):
            for seed in (0,) if arm == "base" else (0, 1):
                share = 0.2 + 0.05 * place + 0.002 * steps + 0.02 * seed
                row = {"arm": arm, "seed": seed, "steps": steps, "success": share}
                rows += [
                    row | {"split": s, "decoding": d, "task_type": t, "n": 50}
                    for s in ("valid_seen", "valid_unseen")
                    for d in decodings
                    for t in TYPES
                ]
    return pd.DataFrame(rows)


def retention_rows(arms):
    own = arm_rows(arms, ("greedy",)).query("task_type == 'all'")
    own = own.query("split == 'valid_seen'").rename(columns={"success": "accuracy"})
    own = own.assign(shares_game_tokens=False)
    return pd.concat([own.assign(skill=skill) for skill in ("add", "sort")])


def write_records(folder):
    """One table per name of `own_records.REQUIRED`; returns the folder."""
    from pivotlab.experiments.arms import MAIN_ARMS
    from pivotlab.experiments.figures.own_panels import PIVOTOPD_ARMS

    episodes = [*PIVOTOPD_ARMS, *(f"K={k}" for k in range(4))]
    episodes += ["self-teacher", "opd", "swe"]
    own = arm_rows(episodes, ("t1",)).query("split == 'valid_seen'")
    own = own.query("task_type == 'all'").rename(columns={"success": "rate"})
    last = own[own["steps"].isin([0, 40])].assign(mistakes=9, repeats=8)
    last = last.assign(lo=last["rate"] - 0.1, hi=last["rate"] + 0.1)
    last = last.assign(better=5, worse=1, same=3, p_gold=0.3, p_mistake=0.2)
    share = {"lo": 0.2, "hi": 0.6}
    tables = {
        "pivotrl_arms": arm_rows(MAIN_ARMS),
        "pivotrl_retention": retention_rows(MAIN_ARMS),
        "pivotrl_training": arm_rows(MAIN_ARMS[1:], ("t1",)).assign(
            reward_std=0.4, frac_reward_zero_std=0.2
        ),
        "pivotopd_arms": arm_rows(episodes),
        "recovery_replay": last,
        "recovery_curve": pd.concat(
            [last.assign(turns=t, recovered=last["rate"] * t / 30) for t in range(31)]
        ),
        "counterfactual": [
            {"model": "tiny", "intervention": name, "trajectories": 9, "success": 0.4}
            | share
            for name in ("oracle at the pivot", "none")
        ],
        "agreement": [
            {"teacher": "oracle", "student": "tiny", "trajectories": 9}
            | {f"accuracy{e}": 1.0 for e in ("", "_lo", "_hi")}
            | {f"random{e}": 0.4 for e in ("", "_lo", "_hi")}
        ],
        "overhead": [
            {"k": k, "steps": 5, "seconds_grpo": 1.0, "seconds": 1.1, "ratio": 1.1}
            | {"teacher_seconds": 0.1}
            for k in range(3)
        ],
        "e2e_vs_pivot": [
            {"method": m, "seed": s, "steps": t, "decoding": "greedy", "n": 50}
            | {"success": 0.3 + t / 100 + s / 50, "rollout_turns": t * 640}
            for m in ("pivots", "end-to-end")
            for s in (0, 1)
            for t in (0, 20, 40)
        ],
        "methods": [
            {"environment": e, "method": m, "seed": s, "steps": 20, "n": 50}
            | {"success": 0.4 + 0.1 * s}
            for e in ("textgame", "shop")
            for m in ("grpo", "pivot_opd")
            for s in (0, 1)
        ],
        "zero_signal": [{"model": "tiny", "k": 16, "n": 99, "zero_share": 0.4} | share],
    }
    for name, table in tables.items():
        pd.DataFrame(table).to_csv(folder / f"{name}.csv", index=False)
    return folder


def printed():
    """Four printed values of two rows, one of them missing with a note."""
    table = {"row": ["a", "a", "b", "b"], "column": ["base", "new"] * 2}
    table |= {"number": [1.0, 2.0, 3.0, np.nan], "note": ["", "", "", "not printed"]}
    return rows_of(pd.DataFrame(table).assign(provenance="article"))


def ours():
    """Two own values with intervals, seeds and n."""
    table = {"row": ["a", "b"], "column": "new", "mean": [0.4, 0.5], "lo": [0.3, 0.4]}
    return rows_of(
        pd.DataFrame(table | {"hi": 0.6, "n": 30, "seeds": [1, 2]}), "mean", 100.0
    )


def made_pairs(makers, reported, folder):
    """The pairs of some makers over small records."""
    return papers.pairs(makers, reported, OwnRecords(write_records(folder)))


def panel_values(paper, pairs, name, which, place=0):
    """What a panel of a pair shows, rows by columns."""
    rows = getattr(pairs[f"10_{paper}_{name}"], which)[place].rows
    return rows.pivot(index="row", columns="column", values="value")
