"""What the PivotOPD paper measures around mistakes, beside ours: where failures start,
what one action is worth, what training does to it, and who recovers.
"""

from __future__ import annotations

import pandas as pd

from pivotlab.experiments.figures.looks import look
from pivotlab.experiments.figures.own_panels import (
    PIVOTOPD_ARMS,
    after,
    last_common_step,
    simple_bars,
)
from pivotlab.experiments.figures.own_recovery import (
    NOT_RECORDED,
    before_after_rows,
    oracle_pivot_rows,
    recovery_bars,
    recovery_lines,
    verdict_bars,
)
from pivotlab.experiments.figures.panels import Panel, note_panel, rows_of
from pivotlab.experiments.figures.papers import Pair, printed_rows
from pivotlab.experiments.figures.papers_pivotopd import DECODING
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.experiments.reported import PIVOTOPD, block

POLICIES = {
    arm: PIVOTOPD_ARMS[arm]
    for arm in ("base", "grpo", "opsd", "prevention", "recovery", "full")
}
#: One colour a policy in every panel of Figure 5; the paper's names are shorter.
POLICY_COLORS = {name: look(arm)["color"] for arm, name in POLICIES.items()}
POLICY_COLORS["standard OPD"] = POLICY_COLORS[POLICIES["opsd"]]


def failures(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """How many failures hold a pivotal mistake."""
    columns = ("failures", "with an oracle pivot")
    table = "Failures with an oracle pivot"
    paper = printed_rows(reported, PIVOTOPD, table, *columns)
    paper = paper[paper["row"] != "all"]
    return Pair(
        "10_pivotopd_failures",
        (Panel("Paper: failures", "of 140 games", paper),),
        (Panel("Ours: failures", "games", oracle_pivot_rows(own)),),
        "motivating analysis on ALFWorld, 140 games a model at temperature 0.4: lost "
        "games, and those of them in which an action made the shortest remaining "
        "solution longer.",
        "lost games of the base in which the oracle finds such an action, which are "
        "the mistakes that all replays start from; temperature 1. How many games were "
        "lost in all is in no record table.",
    )


def counterfactual(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """What one corrected action is worth."""
    printed = block(reported, PIVOTOPD, "Counterfactual replay")
    shape = printed.pivot(index="row", columns="column", values="number")
    ends = printed[printed["column"] == "success"].set_index("row")
    ends = ends.join(shape[["lo", "hi"]]).reset_index()
    paper = rows_of(ends)
    table = own.table("counterfactual")
    found = simple_bars(table, "intervention", {"success": "success"}, "trajectories")
    order = {name: place for place, name in enumerate(paper["row"])}
    found = found.sort_values("row", key=lambda r: r.map(order), kind="stable")
    return Pair(
        "10_pivotopd_counterfactual",
        (Panel("Paper: 72 failures", "success (%)", paper),),
        (Panel("Ours: first mistakes", "success (%)", found),),
        "success after one thing is changed around the first mistake of Qwen3-8B on "
        "ALFWorld; 95 % bootstrap over trajectories.",
        "the same for the base's mistakes in the game; 95 % bootstrap over mistakes, "
        "which are what n counts.",
    )


def standard_opd(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """What standard distillation changes at pivotal mistakes."""
    return Pair(
        "10_pivotopd_standard_opd",
        (Panel("Paper: 120 steps", "%", _standard_opd(reported)),),
        (
            Panel(
                f"Ours: OPSD{_opsd_steps(own)}",
                "%",
                before_after_rows(own, "opsd", DECODING),
            ),
        ),
        "Standard OPD (the OPSD baseline) on Qwen3-8B. Probability of the mistake: "
        "median over mistakes, after training an upper bound (0.001 %); of the oracle "
        "action: an upper bound at every pivot, after a rise by ten orders of "
        "magnitude.",
        "the same for OPSD on the game at temperature 1; means, over mistakes where "
        "they are probabilities, then over seeds, with 95 % t intervals (base: Wilson "
        "over games, none for probabilities).",
    )


def _opsd_steps(own: OwnRecords) -> str:
    return after(last_common_step(own.table("pivotopd_arms"), ["opsd"]))


def _standard_opd(reported: pd.DataFrame) -> pd.DataFrame:
    """The printed block in percent: categories, before and after."""
    printed = block(reported, PIVOTOPD, "Standard OPD")
    names = {
        "failure rate": "failure rate",
        "failures after a pivot": "failures after a pivot",
        "median probability of the mistake": "probability of the mistake",
        "probability of the oracle action at every pivot": (
            "probability of the oracle action"
        ),
    }
    kept = printed[printed["row"].isin(names)]
    kept = kept[kept["column"].str.startswith(("before", "after"))]
    share = ~kept["column"].str.endswith("(%)")
    kept = kept.assign(
        number=kept["number"].where(~share, 100 * kept["number"]),
        row=kept["row"].map(names),
        column=kept["column"].str.extract("(before|after)")[0],
    )
    missing = {"row": "probability of the oracle action", "column": "before"}
    missing |= {"note": "not printed", "provenance": ""}
    return pd.concat([rows_of(kept), pd.DataFrame([missing])], ignore_index=True)


def figure_5(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Recovery from recorded mistakes."""
    paper = printed_rows(reported, PIVOTOPD, "Figure 5", "final rate")
    curve, replays = own.table("recovery_curve"), own.table("recovery_replay")
    steps = last_common_step(replays, list(POLICIES))
    finals = recovery_bars(replays, POLICIES, steps)
    lines = recovery_lines(curve, POLICIES)
    unit = "recovered (%)"
    colors = POLICY_COLORS
    look = {"x": "turns after the mistake", "colors": colors, "legend": False}
    return Pair(
        "10_pivotopd_figure_5",
        (Panel("Paper: within 30 turns", unit, paper, colors=colors),),
        (
            Panel("Ours: within 30 turns", unit, finals, colors=colors),
            Panel("Ours: within n turns", unit, lines, "lines", **look),
        ),
        "Figure 5, share of 72 mistakes of the base recovered, 8 plays each; the "
        "curves over turns are known as an image only.",
        f"mistakes of our base, 8 plays each at temperature 1, after {steps} steps; "
        "bars: means over seeds with 95 % t intervals (one seed: bootstrap over "
        "mistakes; the base: Wilson over plays), bands: range over seeds, in the "
        "colours of the bars.",
    )


def figure_5_counts(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Mistake by mistake against the base: better, worse, the same."""
    columns = ("better than base", "worse than base", "same as base")
    paper = printed_rows(reported, PIVOTOPD, "Figure 5", *columns)
    paper["column"] = paper["column"].str.split().str[0]
    replays = own.table("recovery_replay")
    trained = {arm: name for arm, name in POLICIES.items() if arm != "base"}
    steps = last_common_step(replays, list(trained))
    bars = verdict_bars(replays, trained, steps)
    most = f" of {bars['n'].max():.0f}" if len(bars) else ""
    return Pair(
        "10_pivotopd_figure_5_counts",
        (Panel("Paper: against the base", "mistakes of 72", paper),),
        (Panel(f"Ours: against the base{after(steps)}", f"mistakes{most}", bars),),
        "Figure 5, mistakes from which a policy recovers in more, fewer or as many of "
        "its 8 plays as the base.",
        "the same for our base's mistakes; mean count over seeds, whiskers: range over "
        "seeds.",
    )


def figure_7(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Divergence from the hinted student along an episode; nothing of ours."""
    printed = block(reported, PIVOTOPD, "Figure 7").set_index(["row", "column"])
    count, found = (
        f"{printed.loc[('preventive only', column), 'number']:.0f}"
        for column in ("trajectories", "trajectories with a pivot")
    )
    text = (
        "The curves are known as an image only and are not redrawn.\nKnown: forward KL "
        "from self-teacher to student, aligned at the first detected pivot, peaks "
        "there; prevention alone stays at least twice as high as K = 1 at every "
        f"displayed turn. {count} trajectories, {found} with a pivot."
    )
    rows = rows_of(block(reported, PIVOTOPD, "Figure 7"))
    return Pair(
        "10_pivotopd_figure_7",
        (note_panel("Paper: divergence", text, rows),),
        (note_panel("Ours", f"{NOT_RECORDED}: no run keeps it turn by turn"),),
        "Figure 7, an image.",
        "",
    )


#: In the paper's order.
MAKERS = (
    failures,
    counterfactual,
    standard_opd,
    figure_5,
    figure_5_counts,
    figure_7,
)
