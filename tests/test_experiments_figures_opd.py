"""Figures of mistakes show what their tables hold."""

import pandas as pd
import pytest
from test_distillation_teachers import optimal, rollout
from test_experiments_episode_summaries import replay_rows, retention

from pivotlab.environments.textgame import TextGame
from pivotlab.evaluation.diagnosis import collapse_repeats, diagnose, turn_table
from pivotlab.experiments import episode_summaries, plotting
from pivotlab.experiments.figures import opd as figures_opd


@pytest.fixture(scope="module")
def table():
    good = optimal(3)
    played = rollout([*good, "move mug 1 to sinkbasin 1", "look"])
    return turn_table(played, TextGame)


def texts(fig):
    return [t.get_text() for ax in fig.axes for t in ax.texts]


def test_remaining_path_names_the_mistake(table):
    with plotting.style():
        fig = figures_opd.remaining_path(table)
    wrong = table[table["kind"] == "mistake"]["action"].tolist()
    assert texts(fig) == wrong


def test_first_mistakes_are_counted():
    lost = rollout([*optimal(3), "move mug 1 to sinkbasin 1", "look"])
    found = diagnose([lost, rollout(optimal(99)), rollout(["look"])], TextGame)
    with plotting.style():
        fig = figures_opd.first_mistakes_figure(found)
    assert "1 of 2 failures" in fig.axes[0].get_title(loc="left")
    widths = [sum(p.get_width() for p in bars) for bars in fig.axes[1].containers]
    assert widths == [1, 1], "with a mistake, without one"


def test_counterfactual_bars_keep_the_papers_values_apart():
    rows = {"intervention": ["none"], "success": [0.2], "lo": [0.1], "hi": [0.3]}
    table = pd.DataFrame(rows | {"trajectories": [9]})
    with plotting.style():
        fig = figures_opd.counterfactual_bars(table, {"none": 0.08})
    (ax,) = fig.axes
    assert ax.patches[0].get_width() == 0.2
    marks = [line for line in ax.lines if line.get_marker() == "D"]
    assert marks[0].get_xdata().tolist() == [0.08]


def test_overhead_shows_the_ratio_over_grpo():
    rows = [{"k": 0, "ratio": 1.02}, {"k": 1, "ratio": 1.1}, {"k": 2, "ratio": 1.2}]
    with plotting.style():
        fig = figures_opd.overhead_bars(pd.DataFrame(rows))
    heights = [p.get_height() for p in fig.axes[0].patches]
    assert heights == pytest.approx([0.02, 0.1, 0.2])


def test_the_overheads_dashes_are_named():
    with plotting.style():
        fig = figures_opd.overhead_bars(pd.DataFrame([{"k": 1, "ratio": 1.1}]))
    (legend,) = fig.legends
    named = {text.get_text() for text in legend.get_texts()}
    assert named == {"measured", "our limits, 12 % and 30 %"}


def test_side_by_side_prints_repeated_turns_once_and_how_often(table):
    looks = [*optimal(3), *["look"] * 4]
    stuck = collapse_repeats(turn_table(rollout(looks), TextGame))
    cases = {"longest": {"base": stuck, "full": collapse_repeats(table).head(2)}}
    with plotting.style():
        fig = figures_opd.side_by_side(cases)
    assert "look  ×4" in texts(fig) and texts(fig).count("look") == 0
    titles = [ax.get_title(loc="left") for ax in fig.axes]
    assert titles[0].startswith("longest, base:\nnot done after 7 turns")


def test_side_by_side_says_what_it_leaves_out(table):
    many = pd.concat([table] * 9, ignore_index=True).assign(times=2)
    with plotting.style():
        fig = figures_opd.side_by_side({"case": {"base": many}})
    left = 2 * (len(many) - figures_opd.SHOWN)
    assert f"… {left} more turns" in texts(fig)


def test_arms_have_their_titles_and_their_means():
    rows = {"arm": ["base", "full"], "mean": [0.2, 0.6], "lo": 0.1, "hi": 0.7}
    with plotting.style():
        fig = figures_opd.success_by_arm(pd.DataFrame(rows), "t1")
    (ax,) = fig.axes
    assert [p.get_width() for p in ax.patches] == [0.2, 0.6]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["base", "PivotOPD"]


def test_recovery_curves_have_a_band_where_there_are_seeds():
    rows = {"turns": [0, 1], "mean": [0.0, 0.3], "lo": [0.0, 0.1], "hi": [0.0, 0.42]}
    full = pd.DataFrame(rows).assign(arm="full", seeds=5)
    base = full.assign(arm="base", seeds=1, lo=float("nan"), hi=float("nan"))
    with plotting.style():
        ax = figures_opd.recovery_curves(pd.concat([base, full])).axes[0]
    assert len(ax.lines) == 2 and len(ax.collections) == 1
    assert ax.get_ylim() == pytest.approx((0, 0.51))
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert named == ["base (seeds: 1)", "PivotOPD (seeds: 5)"]


def test_recovery_and_retention_share_their_rows():
    summary = episode_summaries.recovery_summary(
        replay_rows(), retention(), ["base", "full"], "greedy"
    )
    with plotting.style():
        fig = figures_opd.recovery_and_retention(summary, "greedy")
    recovered, against, kept = fig.axes
    assert recovered.get_ylim() == kept.get_ylim()
    widths = [p.get_width() for p in against.patches if p.get_width() > 0]
    assert widths == pytest.approx([0.7, 0.2, 0.1])
    assert kept.get_xlim()[0] == -kept.get_xlim()[1]
