"""The PivotRL paper's tables and figures as far as numbers are known, beside ours.

The paper's models, data and benchmarks are not ours: a pair shows the same question
asked twice, never one measurement repeated. Ours are greedy shares on the household
game and on skills that have nothing to do with it.
"""

from __future__ import annotations

import pandas as pd

from pivotlab.experiments.figures.looks import look
from pivotlab.experiments.figures.own_panels import (
    PIVOTRL_ARMS,
    after,
    cost_lines,
    curve_lines,
    last_common_step,
    retention_changes,
    silent_rows,
    success_bars,
    training_lines,
)
from pivotlab.experiments.figures.panels import Panel, note_panel, rows_of
from pivotlab.experiments.figures.papers import Pair, printed_rows
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.experiments.plotting import COLORS
from pivotlab.experiments.recomputation import TABLE_4
from pivotlab.experiments.reported import PIVOTRL, block
from pivotlab.experiments.summaries import success_rows

DECODING = "greedy"
#: Recorded steps, ten apart, that the share of silent groups is averaged over.
SMOOTHED = 7
_TRAINED = {"sft": "SFT", "functional/pivots": "PivotRL"}
_MAIN = {"base": "base"} | _TRAINED
_SAMPLED = {"functional/pivots": "pivots", "functional/random": "random turns"}
_CURVES = _SAMPLED | {"sft": "SFT"}
_COLORS = {name: look(arm)["color"] for arm, name in _CURVES.items()}
_SELECTION = {
    "base": "base",
    "sft": "SFT",
    "functional/random": "random turns",
    "functional/pivots": "pivots",
}
_SEEDS = "bars are means over seeds with 95 % t intervals (one seed: Wilson)."


def silent_turns(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Share of turns at which every sample gets the same reward (Section 3)."""
    paper = printed_rows(reported, PIVOTRL, "Section 3", "all samples equal (%)")
    return Pair(
        "10_pivotrl_silent_turns",
        (Panel("Paper: random turns", "turns without signal (%)", paper),),
        (
            Panel(
                "Ours: the game's turns", "turns without signal (%)", silent_rows(own)
            ),
        ),
        "turns of τ²-Bench and SWE-Bench whose samples are all right or all wrong; the "
        "number of samples is not printed.",
        "the same share for K samples a turn, 95 % Wilson intervals.",
    )


def table_1(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """In-domain accuracy with equal data."""
    paper = printed_rows(reported, PIVOTRL, "Table 1", "base", "SFT", "PivotRL")
    paper = paper[paper["row"] != "mean gain over base"]
    arms = own.table("pivotrl_arms")
    steps = last_common_step(arms, list(_MAIN))
    columns = {
        "rooms seen": {"splits": ("valid_seen",)},
        "rooms unseen": {"splits": ("valid_unseen",)},
    }
    bars = success_bars(arms, _MAIN, DECODING, columns, steps)
    return Pair(
        "10_pivotrl_table_1",
        (Panel("Paper: in domain", "accuracy (%)", paper),),
        (Panel(f"Ours: in domain{after(steps)}", "games won (%)", _swapped(bars)),),
        "Table 1, base, SFT and PivotRL on the same data.",
        f"greedy success on held-out games after {steps} steps; {_SEEDS}",
    )


def table_2(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Change on what was not trained."""
    paper = printed_rows(reported, PIVOTRL, "Table 2", "delta SFT", "delta PivotRL")
    paper["column"] = paper["column"].str.removeprefix("delta ")
    paper["row"] = paper["row"].replace("average", "average (printed)")
    panel, said = _forgotten(own)
    return Pair(
        "10_pivotrl_table_2",
        (Panel("Paper: out of domain", "change over the base (points)", paper),),
        (panel,),
        "Table 2, change averaged over the four training domains.",
        said,
    )


def _forgotten(own: OwnRecords) -> tuple[Panel, str]:
    """Our change on unrelated skills, and what its caption says."""
    retention = own.table("pivotrl_retention")
    steps = last_common_step(retention, list(_TRAINED))
    changes = retention_changes(retention, _TRAINED, DECODING, steps)
    title = f"Ours: unrelated skills{after(steps)}"
    said = (
        f"greedy accuracy on skills that no arm trains, after {steps} steps, minus the "
        f"base's, whose own error is left out; average: over the skills; {_SEEDS}"
    )
    return Panel(title, "change over the base (points)", changes), said


def table_3(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Change after training on one domain; only fragments are known."""
    paper = printed_rows(reported, PIVOTRL, "Table 3", "delta SFT", "delta PivotRL")
    paper["column"] = paper["column"].str.removeprefix("delta ")
    panel, said = _forgotten(own)
    return Pair(
        "10_pivotrl_table_3",
        (Panel("Paper: after terminal data", "change over the base (points)", paper),),
        (panel,),
        "Table 3, one training domain; the known cells, every other cell is unknown.",
        f"we train on one domain, so this is the panel of Table 2 again: {said}",
    )


def table_4(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Ablation of turns and reward."""
    paper = printed_rows(reported, PIVOTRL, "Table 4", "τ²-Bench")
    missing = {"row": "D_adv + strict", "column": "τ²-Bench"}
    missing |= {"note": "not in the paper", "provenance": ""}
    paper = pd.concat([paper, pd.DataFrame([missing])], ignore_index=True)
    full, unfiltered, strict, sft = TABLE_4
    order = ["base", sft, strict, unfiltered, "D_adv + strict", full]
    paper = paper.set_index("row").loc[order].reset_index()
    arms = own.table("pivotrl_arms")
    steps = last_common_step(arms, list(PIVOTRL_ARMS))
    bars = success_bars(arms, PIVOTRL_ARMS, DECODING, {"greedy": {}}, steps)
    return Pair(
        "10_pivotrl_table_4",
        (Panel("Paper: τ²-Bench", "accuracy (%)", paper),),
        (Panel(f"Ours: the game{after(steps)}", "games won (%)", bars),),
        "Table 4. D_cand: random turns, D_adv: pivots, strict: exact match. The row "
        'that the paper calls "without functional reward" drops the filter too.',
        f"greedy success over both splits after {steps} steps, with the cell that the "
        f"paper leaves out and a placebo; {_SEEDS}",
    )


def table_5(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """A large model before and after its RL stage."""
    paper = printed_rows(reported, PIVOTRL, "Table 5", "before", "after")
    text = "no counterpart: no model of ours went through such a stage"
    return Pair(
        "10_pivotrl_table_5",
        (Panel("Paper: Nemotron-3-Super", "accuracy (%)", paper),),
        (note_panel("Ours", text),),
        "Table 5. The stage mixes PivotRL with other RL: the gain is not PivotRL's "
        "alone.",
        "",
    )


def table_6(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Selection of turns, domain by domain."""
    printed = ("airline", "retail", "telecom", "average")
    paper = _swapped(printed_rows(reported, PIVOTRL, "Table 6", *printed))
    arms = own.table("pivotrl_arms")
    steps = last_common_step(arms, list(_SELECTION))
    types = sorted(set(arms["task_type"]) - {"all"})
    columns = {t.replace("_", " "): {"task_type": t} for t in types} | {"all": {}}
    bars = success_bars(arms, _SELECTION, DECODING, columns, steps)
    return Pair(
        "10_pivotrl_table_6",
        (Panel("Paper: τ² by domain", "accuracy (%)", paper),),
        (Panel(f"Ours: by task{after(steps)}", "games won (%)", _swapped(bars)),),
        "Table 6, selection rule by domain and on average.",
        f"greedy success by type of task after {steps} steps; {_SEEDS}",
    )


def _swapped(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows as series and series as rows."""
    return rows.rename(columns={"row": "column", "column": "row"})


def figure_1(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """What equal success costs, single turns against episodes."""
    paper = printed_rows(
        reported, PIVOTRL, "Figure 1", "rollout turns (thousands)", "step"
    )
    costs = paper[paper["column"] != "step"]
    costs = costs[costs["row"] != "E2E RL over PivotRL"]
    colors = {"PivotRL": COLORS["blue"], "E2E RL": COLORS["orange"]}
    lines = cost_lines(own.table("e2e_vs_pivot"), DECODING)
    label, title = "rollout turns (thousands)", "Paper: cost of 32.67 % on SWE-Bench"
    return Pair(
        "10_pivotrl_figure_1",
        (Panel(title, label, costs, colors=colors),),
        (Panel("Ours: pivots and episodes", "games won (%)", lines, "lines", x=label),),
        "Figure 1, rollout turns until both reach the same accuracy (PivotRL at step "
        "130, end-to-end RL at about step 72). The curves are known as an image only.",
        "greedy success against rollout turns, those of profiling charged to the "
        "pivots, whose line therefore starts late; means over seeds with 95 % t "
        "intervals.",
    )


def figure_2(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Accuracy against training step, pivots against random turns."""
    arms = own.table("pivotrl_arms")
    rows = success_rows(arms)
    lines = curve_lines(rows[rows["decoding"] == DECODING], "success", _CURVES)
    printed = block(reported, PIVOTRL, "Table 6").set_index(["row", "column"])["value"]
    text = (
        "The curves are known as an image only and are not redrawn.\nKnown: pivots end "
        f"above random turns (Table 6: {printed['low reward mean (D_adv)', 'average']} "
        f"and {printed['random turns (D_cand)', 'average']} %), both above the SFT "
        f"line ({printed['SFT', 'average']} %)."
    )
    return Pair(
        "10_pivotrl_figure_2",
        (note_panel("Paper: τ² against step", text, _image(reported, "Figure 2")),),
        (
            Panel(
                "Ours: success against step",
                "games won (%)",
                lines,
                "lines",
                x="optimizer steps",
                colors=_COLORS,
            ),
        ),
        "Figure 2, an image.",
        "greedy success over both splits; means over seeds with 95 % t intervals (one "
        "seed: Wilson).",
    )


def figure_3(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Reward spread within a batch against training step, and silence of its groups."""
    training = own.table("pivotrl_training")
    spread = training_lines(training, "reward_std", _SAMPLED)
    silent = training_lines(training, "frac_reward_zero_std", _SAMPLED, SMOOTHED)
    text = (
        "The curves are known as an image only and are not redrawn.\nKnown: the spread "
        "collapses early on random turns; on pivots it stays higher for longer and "
        "saturates too."
    )
    look_of = {"x": "optimizer steps", "colors": _COLORS}
    return Pair(
        "10_pivotrl_figure_3",
        (note_panel("Paper: reward std", text, _image(reported, "Figure 3")),),
        (
            Panel("Ours: std of a batch", "std of rewards", spread, "lines", **look_of),
            Panel("Ours: silent groups", "share of groups", silent, "lines", **look_of),
        ),
        "Figure 3, standard deviation of rewards within a batch, an image.",
        "(b) standard deviation of all rewards of a batch of 8 turns with 8 samples "
        "each, every tenth step. It is no measure of signal: turns that are always "
        "right beside turns that are always wrong spread a batch and teach nothing. "
        "(c) Share of the batch's groups without signal, whose rewards are all equal, "
        f"as a centred running mean over {SMOOTHED} recorded steps of each run (fewer "
        "at the ends). Lines: means over seeds; bands: their range.",
    )


def _image(reported: pd.DataFrame, table: str) -> pd.DataFrame:
    return rows_of(block(reported, PIVOTRL, table))


#: All pairs, in the paper's order.
MAKERS = (
    silent_turns,
    table_1,
    table_2,
    table_3,
    table_4,
    table_5,
    table_6,
    figure_1,
    figure_2,
    figure_3,
)
