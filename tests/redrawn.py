"""Every figure that needs no model, drawn from committed records, from theory, or from
the table saved beside it: `python tests/redrawn.py FOLDER STEP`."""

import re
import sys
from functools import cache, partial
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd

from pivotlab import paths
from pivotlab.experiments import episode_summaries, plotting, summaries
from pivotlab.experiments.arms import MAIN_ARMS
from pivotlab.experiments.figures import (
    benchmarks,
    comparison,
    controls,
    methods,
    opd,
    papers,
    papers_pivotopd,
    papers_pivotopd_analyses,
    papers_pivotrl,
    pivots,
    ranking,
    variance,
    verifiers,
)
from pivotlab.experiments.opd.arms import MAIN_EPISODE_ARMS
from pivotlab.experiments.own_records import OwnRecords
from pivotlab.experiments.reported import PIVOTOPD, load_reported, wide

COMMITTED = paths.ROOT / "figures"
#: Figures that play or train a model, which a test cannot repeat in seconds.
NEEDS_MODEL = re.compile("06_remaining|07_side_by_side")


@cache
def record(name):
    return pd.read_csv(paths.RESULTS / f"{name}.csv")


@cache
def beside(name):
    """The table that is committed with a figure."""
    return pd.read_csv(COMMITTED / f"{name}.csv")


@cache
def drawings():
    """Name -> a function that draws the figure."""
    found = theory() | profiles() | comparisons() | recoveries() | measured()
    makers = (
        *papers_pivotrl.MAKERS,
        *papers_pivotopd.MAKERS,
        *papers_pivotopd_analyses.MAKERS,
    )
    for name, pair in papers.pairs(makers, load_reported(), OwnRecords()).items():
        found[name] = partial(papers.draw, pair)
    return found


def theory():
    blocks = {"functional": 2, "strict": 1}
    calls = {
        "01_group_advantages": (variance.group_advantages, 16),
        "01_silent_groups": (variance.silent_groups, 0.71, 100_000),
        "01_kl_path": (variance.kl_paths, 1e-9),
        "01_update_size": (variance.update_sizes, 16, 100_000),
        "02_two_blocks": (ranking.two_blocks, blocks),
        "02_mass_shift": (ranking.mass_shift,),
        "02_rankings": (ranking.rankings,),
        "02_who_gains": (ranking.who_gains,),
        "02_slider_grid": (ranking.policy_grid, 2, 3),
        "04_control": (controls.profile_grid, 0.6, 3),
    }
    found = {n: partial(f, beside(n), *rest) for n, (f, *rest) in calls.items()}
    paths_of_k = [controls.repair_paths(k, (0.25, 1.0, 4.0)) for k in (1, 2, 3)]
    found["07_repair_toy"] = partial(controls.repair_grid, pd.concat(paths_of_k))
    return found


def profiles():
    sources = ("honest", "noisy", "own")
    phases = list(beside("04_by_phase")["phase"].value_counts().index[:5])
    calls = {
        "00_one_trajectory": (pivots.trajectory_strip, 0.6),
        "00_classes": (pivots.class_bars, "source", sources),
        "00_before_after": (pivots.before_after,),
        "03_strict_functional": (verifiers.acceptance_figure,),
        "03_error_gallery": (verifiers.gallery_figure,),
        "04_profile": (pivots.mu_histogram, 0.6, 0.71),
        "04_by_source": (pivots.class_bars, "source", sources),
        "04_by_phase": (pivots.class_bars, "phase", phases),
    }
    found = {n: partial(f, beside(n), *rest) for n, (f, *rest) in calls.items()}
    return found | {"04_k": partial(pivots.looks_constant, record("zero_signal"))}


def comparisons():
    success = summaries.success_rows(record("pivotrl_arms"))
    skills = summaries.retention_rows(record("pivotrl_retention"))
    near = summaries.distance_rows(record("pivotrl_distance"), "game", "forward")
    arms = list(MAIN_ARMS)
    panels = [
        ("Learning", "games won", success, "success"),
        ("Unrelated skills", "skills kept", skills, "accuracy"),
    ]
    found = {}
    for decoding in ("greedy", "t1"):
        table = summaries.curve_means(panels, arms, decoding)
        draw = partial(comparison.curves, table, arms, decoding)
        found[f"05_curves_{decoding}"] = draw
    varied = [a for a in dict.fromkeys(success["arm"]) if "@lr=" in a]
    for name, shown in (
        ("05_trade_off", arms),
        ("05_varied", ["functional/pivots", "sft", *varied]),
    ):
        table = summaries.success_and_skills(success, skills, shown, "greedy")
        found[name] = partial(comparison.trade_off, table, shown, "greedy")
    lost = summaries.lost_at_distance(skills, near, arms, "greedy")
    draw = partial(comparison.forgetting_against_distance, lost, arms, "greedy")
    swept = {a: float(a.partition("@beta=")[2]) for a in success["arm"] if "beta" in a}
    swept |= {"functional/pivots": 0.1}
    table = summaries.sweep_means(success, skills, swept, 240, "greedy")
    beta = partial(comparison.sweep, table, "greedy")
    return found | {"05_forgetting_kl": draw, "05_beta": beta}


def recoveries():
    arms = list(MAIN_EPISODE_ARMS)
    curves = episode_summaries.recovery_means(record("recovery_curve"), arms)
    final = episode_summaries.final_success(record("pivotopd_arms"), arms, "t1")
    replays, kept = record("recovery_replay"), record("pivotopd_retention")
    summary = episode_summaries.recovery_summary(replays, kept, arms, "greedy")
    printed = wide(load_reported(), PIVOTOPD, "Counterfactual replay", ["success"])
    paper = dict(printed["success"] / 100)
    effects = record("counterfactual")
    return {
        "06_first_mistakes": partial(
            opd.first_mistakes_figure, beside("06_first_mistakes")
        ),
        "06_counterfactual": partial(opd.counterfactual_bars, effects, paper),
        "07_success": partial(opd.success_by_arm, final, "t1"),
        "07_recovery": partial(opd.recovery_curves, curves),
        "07_overhead": partial(opd.overhead_bars, record("overhead")),
        "09_recovery": partial(opd.recovery_and_retention, summary, "greedy"),
    }


def measured():
    growth = record("profiling_growth")
    tiny = growth[growth["model"] == "tiny"]
    found = {
        "90_ratios": partial(benchmarks.ratios, record("benchmarks")),
        "90_growth_tiny": partial(benchmarks.growth, tiny),
        "90_adaptive": partial(benchmarks.adaptive, record("adaptive")),
    }
    if (paths.RESULTS / "methods.csv").exists():
        table = pd.read_csv(paths.RESULTS / "methods.csv", dtype=str).fillna("")
        for name in sorted(set(table["environment"])):
            draw = partial(methods.success_points, table, name)
            found[f"08_success_{name}"] = lambda draw=draw: draw()[0]
            zoo = f"08_loss_zoo_{name}"
            found[zoo] = partial(methods.zoo_figure, beside(zoo))
    return found


def draw_all(folder, step):
    """Draw everything and save it as PNG, coarse, since bytes differ at any resolution
    or at none; every `step`-th figure as PDF too, which takes longer than all the rest.

    Returns:
        The names.
    """
    data = pd.DataFrame({"drawn": [1]})
    folder.mkdir()
    names = []
    for place, (name, draw) in enumerate(drawings().items()):
        with plotting.style():
            fig = draw()
        if place % step:
            plotting._save(fig, folder / f"{name}.png", {"Software": None})
        else:
            plotting.save_figure(fig, name, "Redrawn.", data, folder)
        plt.close(fig)
        names.append(name)
    return names


if __name__ == "__main__":
    plotting._STYLE["savefig.dpi"] = 40
    print("\n".join(draw_all(Path(sys.argv[1]), int(sys.argv[2]))))
