"""The PivotOPD paper's tables and figures as far as numbers are known, beside ours.

Ours are games at temperature 1 of the household twin and a model of a million
parameters: the same questions at another scale, never the same measurement.
"""

from __future__ import annotations

import pandas as pd

from pivotlab.experiments.figures.own_methods import method_grid, method_steps
from pivotlab.experiments.figures.own_panels import (
    PIVOTOPD_ARMS,
    after,
    last_common_step,
    overhead_rows,
    simple_bars,
    success_bars,
)
from pivotlab.experiments.figures.own_recovery import K_ARMS, k_bars
from pivotlab.experiments.figures.panels import Panel
from pivotlab.experiments.figures.papers import Pair, printed_rows
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.experiments.reported import PIVOTOPD, block

DECODING = "t1"
_SEEDS = "means over seeds with 95 % t intervals (one seed: Wilson)."


def table_1(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """The methods on all benchmarks."""
    students = ("Qwen3-1.7B", "Qwen3-8B")
    paper = tuple(
        Panel(
            f"Paper: {s}",
            "%",
            printed_rows(reported, PIVOTOPD, f"Table 1, {s}"),
            "grid",
        )
        for s in students
    )
    title = f"Ours: success{method_steps(own)}, mean [95 % interval]"
    return Pair(
        "10_pivotopd_table_1",
        paper,
        (Panel(title, "%", method_grid(own), "grid"),),
        "Table 1, means of three seeds, no spread printed. ALF: ALFWorld by type of "
        "task; NQ to Bam: search questions; WS: WebShop. Bold: best of a column. Three "
        "QA cells were joined by text recognition in the source, see the CSV.",
        "success by environment, means over seeds with 95 % t intervals (one seed, and "
        "the base: Wilson over tasks); no best is marked, for the seeds are few. Tasks "
        "and seeds stand under the columns.",
        stacked=True,
    )


def table_2(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Ablations."""
    columns = ("Pick", "Look", "Clean", "Heat", "Cool", "Pick2", "avg")
    paper = printed_rows(reported, PIVOTOPD, "Table 2", *columns)
    paper = paper[~paper["row"].str.contains(" against ")]
    arms = own.table("pivotopd_arms")
    steps = last_common_step(arms, list(PIVOTOPD_ARMS))
    bars = success_bars(arms, PIVOTOPD_ARMS, DECODING, {"success": {}}, steps)
    return Pair(
        "10_pivotopd_table_2",
        (Panel("Paper: 1.7B, ALFWorld", "success (%)", paper, "grid"),),
        (Panel(f"Ours: the game{after(steps)}", "games won (%)", bars),),
        "Table 2, test success by type of task, means of three seeds.",
        f"success over both splits at temperature 1 after {steps} steps; {_SEEDS}",
    )


def figure_3(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """The student as its own teacher."""
    paper = printed_rows(reported, PIVOTOPD, "Figure 3")
    paper["row"], paper["column"] = paper["column"], "points"
    labels = {"base": "base", "grpo": "GRPO", "self-teacher": "student as teacher"}
    labels |= {"full": "oracle as teacher"}
    arms = own.table("pivotopd_arms")
    steps = last_common_step(arms, list(labels))
    bars = success_bars(arms, labels, DECODING, {"success": {}}, steps)
    return Pair(
        "10_pivotopd_figure_3",
        (Panel("Paper: 8B, own teacher", "points", paper),),
        (Panel(f"Ours: the game{after(steps)}", "games won (%)", bars),),
        "Figure 3, what the text says of it: margins over the strongest baseline and "
        "gaps to the run with a large teacher. The bars themselves are an image.",
        f"success over both splits at temperature 1 after {steps} steps; {_SEEDS}",
    )


def figure_6(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """How many recovery turns."""
    paper = printed_rows(reported, PIVOTOPD, "Figure 6", "gain of the best K over K=0")
    best = block(reported, PIVOTOPD, "Figure 6")
    best = best[best["column"] == "best K"].set_index("row")["value"]
    paper["row"] = [f"{row} (best K = {best[row]})" for row in paper["row"]]
    bars = k_bars(own, DECODING)
    steps = last_common_step(own.table("pivotopd_arms"), list(K_ARMS))
    title = f"Ours: K = 0 to 3{after(steps)}"
    return Pair(
        "10_pivotopd_figure_6",
        (Panel("Paper: best K over K = 0", "gain (points)", paper),),
        (Panel(title, "%", bars, text="K = 0 to 3 not run"),),
        "Figure 6, gain in best validation score (1.7B). The scores of the single K "
        "are known as an image only.",
        f"success over both splits at temperature 1, and recovery; {_SEEDS}",
    )


def table_s1(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Does a teacher find the oracle's turn?"""
    paper = printed_rows(
        reported, PIVOTOPD, "Table S.1", "accuracy within 1 turn", "random"
    )
    paper = paper[paper["row"] != "mean"]
    table = own.table("agreement")
    names = table["teacher"].str.cat(table["student"], sep=" on ")
    columns = {"accuracy": "accuracy within 1 turn", "random": "random"}
    bars = simple_bars(table.assign(who=names), "who", columns, "trajectories")
    return Pair(
        "10_pivotopd_table_s1",
        (Panel("Paper: ALFWorld", "agreement (%)", paper),),
        (Panel("Ours: the game", "agreement (%)", bars),),
        "Table S.1, a named turn within one turn of the first oracle pivot, beside "
        "equally many random turns.",
        "failed episodes of the base, 95 % bootstrap over episodes. The oracle agrees "
        "with itself by construction.",
    )


def table_s5(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """What a step costs over GRPO's."""
    parts = ("self-teacher forward (%)", "recovery rollouts (%)", "total (%)")
    paper = printed_rows(reported, PIVOTOPD, "Table S.5", *parts)
    paper = paper[paper["row"].str.fullmatch("K=.")]
    paper["column"] = paper["column"].str.removesuffix(" (%)")
    return Pair(
        "10_pivotopd_table_s5",
        (Panel("Paper: 1.7B, ALFWorld", "step time over GRPO (%)", paper),),
        (
            Panel(
                "Ours: the game, one core",
                "step time over GRPO (%)",
                overhead_rows(own),
            ),
        ),
        "Table S.5, medians; GRPO's step takes 367.3 s. The self-teacher's forward is "
        "printed in percent for K = 0 only (17.2 s for every K). The teacher's calls "
        "are not included.",
        "medians of alternating steps in one process, teacher calls taken out; no "
        "interval.",
    )


def swe(reported: pd.DataFrame, own: OwnRecords) -> Pair:
    """Large-teacher distillation with pivots, no recovery (App. D.6)."""
    paper = printed_rows(
        reported, PIVOTOPD, "App. D.6, SWE-Bench Verified", "resolve rate"
    )
    labels = {"base": "base", "opd": "OPD", "swe": "OPD + pivots"}
    arms = own.table("pivotopd_arms")
    steps = last_common_step(arms, list(labels))
    bars = success_bars(arms, labels, DECODING, {"success": {}}, steps)
    return Pair(
        "10_pivotopd_swe",
        (Panel("Paper: SWE-Bench Verified", "resolved (%)", paper),),
        (Panel(f"Ours: the game{after(steps)}", "games won (%)", bars),),
        "Appendix D.6, 500 tasks, three seeds; pivots added to distillation from a "
        "large teacher, no recovery.",
        f"success over both splits at temperature 1 after {steps} steps; {_SEEDS}",
    )


#: The main tables and what they are made of, in the paper's order.
MAKERS = (table_1, table_2, figure_3, figure_6, table_s1, table_s5, swe)
