"""Figures of turns and their profiles: which ones carry signal, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pivotlab import tool_call_text
from pivotlab.experiments.plotting import COLORS, GREY, figure, panel_letters
from pivotlab.intervals import wilson
from pivotlab.pivots.selection import class_shares, turn_class
from pivotlab.records import Candidate, TurnProfile

#: Colour and wording of every class of turn.
CLASSES = {
    "all_fail": (COLORS["red"], "all fail"),
    "pivot": (COLORS["blue"], "pivot"),
    "easy_mixed": (COLORS["sky"], "mixed, easy"),
    "all_pass": (COLORS["green"], "all pass"),
}


def turn_table(
    candidates: Sequence[Candidate],
    profiles: Sequence[TurnProfile],
    lambda_diff: float,
) -> pd.DataFrame:
    """One row a turn: uid, turn, source, phase, expert action, mu with its Wilson
    interval, strict mu, and class."""
    rows = []
    for candidate, profile in zip(candidates, profiles, strict=True):
        passed = wilson(int(sum(profile.rewards)), profile.k)
        rows.append(
            {
                "uid": candidate.uid,
                "turn": candidate.turn,
                "source": candidate.trajectory_uid.rpartition("/")[2],
                "phase": str(candidate.context.get("phase", "")),
                "expert": tool_call_text.write(candidate.expert).replace("\n", " "),
                "mu": profile.mu,
                "lo": passed.lo,
                "hi": passed.hi,
                "mu_strict": sum(profile.strict_rewards) / profile.k,
                "k": profile.k,
                "kind": turn_class(profile, lambda_diff),
            }
        )
    return pd.DataFrame(rows)


def trajectory_strip(table: pd.DataFrame, lambda_diff: float) -> Figure:
    """mu of every turn of one trajectory, coloured by class; rows of `turn_table`.

    Turns carry their number, since the same command is often given twice.
    """
    fig, ax = figure(ratio=0.1 + 0.045 * len(table))
    places = np.arange(len(table))[::-1]
    for kind, (color, label) in CLASSES.items():
        own = (table["kind"] == kind).to_numpy()
        if own.any():
            ax.barh(places[own], table["mu"][own], color=color, label=label, height=0.6)
    error = np.array([table["mu"] - table["lo"], table["hi"] - table["mu"]])
    ax.errorbar(table["mu"], places, xerr=error, fmt="none", ecolor="black", capsize=2)
    ax.plot(table["mu_strict"], places, "D", color="black", label="exact match only")
    limit = f"lambda_diff = {lambda_diff:g}"
    ax.axvline(lambda_diff, color=GREY, linestyle=":", marker="", label=limit)
    names = [f"{row.turn}: {row.expert}" for row in table.itertuples()]
    for label, kind in zip(ax.set_yticks(places, names), table["kind"], strict=True):
        # A turn nobody passes has no bar to be coloured.
        label.label1.set_color(CLASSES[kind][0])
    ax.set(xlim=(-0.02, 1.04), xlabel=f"share of {table['k'].iloc[0]} actions accepted")
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return fig


def class_bars(table: pd.DataFrame, by: str, order: Sequence[str]) -> Figure:
    """Shares of the four classes for every value of column `by`, with n."""
    fig, ax = figure(ratio=0.1 + 0.05 * len(order))
    places = np.arange(len(order))[::-1]
    left = np.zeros(len(order))
    groups = [table[table[by] == value] for value in order]
    for kind, (color, label) in CLASSES.items():
        width = np.array([(g["kind"] == kind).mean() for g in groups])
        ax.barh(places, width, left=left, color=color, label=label, height=0.7)
        left += width
    names = [f"{v} (n = {len(g):,})" for v, g in zip(order, groups, strict=True)]
    ax.set_yticks(places, names)
    ax.set(xlim=(0, 1), xlabel="share of turns")
    ax.grid(axis="y", visible=False)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return fig


def mu_histogram(table: pd.DataFrame, lambda_diff: float, reported: float) -> Figure:
    """Turns by number of accepted samples, and the zero-signal share beside the
    paper's."""
    fig, (left, right) = figure(
        columns=2, ratio=0.36, gridspec_kw={"width_ratios": (2.2, 1)}
    )
    k = int(table["k"].iloc[0])
    passed = (table["mu"] * k).round().astype(int)
    for kind, (color, label) in CLASSES.items():
        counts = np.bincount(passed[table["kind"] == kind], minlength=k + 1)
        left.bar(np.arange(k + 1) / k, counts, 0.9 / k, color=color, label=label)
    left.axvline(lambda_diff, color=GREY, linestyle=":", marker="")
    left.set(xlabel=f"share of {k} actions accepted", ylabel="turns")
    left.set_title("How often a turn is passed")
    left.legend(loc="upper center", frameon=True, framealpha=0.9)
    silent = table["kind"].isin(["all_fail", "all_pass"])
    share = wilson(int(silent.sum()), len(silent))
    error = [[share.value - share.lo], [share.hi - share.value]]
    right.bar([0], [share.value], color=COLORS["blue"], width=0.6)
    right.errorbar([0], [share.value], yerr=error, color="black", capsize=3)
    right.bar([1], [reported], color="white", edgecolor=GREY, hatch="//", width=0.6)
    right.set_xticks([0, 1], [f"ours\n(n = {len(table):,})", "paper,\nreported"])
    right.set(ylabel="zero-signal turns", ylim=(0, 1))
    right.set_title("No variance")
    panel_letters((left, right))
    return fig


def looks_constant(table: pd.DataFrame) -> Figure:
    """Zero-signal share against K (columns k, zero_share, lo, hi, model)."""
    fig, ax = figure("column", ratio=0.7)
    for name, rows in table.groupby("model", sort=True):
        error = [rows["zero_share"] - rows["lo"], rows["hi"] - rows["zero_share"]]
        ax.errorbar(rows["k"], rows["zero_share"], yerr=error, capsize=2, label=name)
    ax.set_xscale("log", base=2)
    ticks = sorted(table["k"].unique())
    ax.set_xticks(ticks, [str(t) for t in ticks])
    ax.set(xlabel="K, samples per turn", ylabel="turns that look constant", ylim=(0, 1))
    ax.legend()
    return fig


def before_after(table: pd.DataFrame) -> Figure:
    """Mean mu of turn groups before and after (columns turns, when, n, mu, lo, hi)."""
    fig, ax = figure("column", ratio=0.62)
    groups = list(dict.fromkeys(table["turns"]))
    for offset, (when, color) in enumerate(
        (("before", GREY), ("after", COLORS["blue"]))
    ):
        rows = table[table["when"] == when].set_index("turns").loc[groups]
        places = np.arange(len(groups)) + 0.36 * (offset - 0.5)
        error = [rows["mu"] - rows["lo"], rows["hi"] - rows["mu"]]
        ax.bar(places, rows["mu"], 0.34, color=color, label=when)
        ax.errorbar(places, rows["mu"], yerr=error, fmt="none", ecolor="black")
    sizes = table[table["when"] == "before"].set_index("turns")["n"]
    ax.set_xticks(
        np.arange(len(groups)), [f"{g}\n(n = {int(sizes[g]):,})" for g in groups]
    )
    ax.set(ylabel="accepted actions", ylim=(0, 1))
    ax.legend(loc="upper left")
    return fig


def subsampled_zero_share(
    profiles: Sequence[TurnProfile], sizes: Sequence[int], model: str
) -> pd.DataFrame:
    """Zero-signal share if only the first K of the samples had been drawn.

    Returns:
        model, k, n, zero_share, lo, hi for every K of `sizes` that the profiles have.
    """
    rows = []
    for k in sizes:
        kept = [p.rewards[:k] for p in profiles if p.k >= k]
        if not kept:
            continue
        share = wilson(sum(len(set(r)) == 1 for r in kept), len(kept))
        rows.append(
            {"model": model, "k": k, "n": len(kept)}
            | {"zero_share": share.value, "lo": share.lo, "hi": share.hi}
        )
    return pd.DataFrame(rows)


def shares_line(profiles: Sequence[TurnProfile], lambda_diff: float) -> str:
    """The four shares in words."""
    shares = class_shares(profiles, lambda_diff)
    return ", ".join(f"{CLASSES[k][1]} {v:.0%}" for k, v in shares.items())
