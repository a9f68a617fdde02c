"""Figures of mistakes show what their tables hold."""

import pandas as pd
import pytest
from test_distillation_teachers import optimal, rollout

from pivotlab.environments.textgame import TextGame
from pivotlab.evaluation.diagnosis import diagnose, turn_table
from pivotlab.experiments import plotting
from pivotlab.experiments.figures import opd as figures_opd


@pytest.fixture(scope="module")
def table():
    good = optimal(3)
    played = rollout([*good, "move mug 1 to sinkbasin 1", "look"])
    return turn_table(played, TextGame)


def texts(fig):
    return [t.get_text() for ax in fig.axes for t in ax.texts]


def test_side_by_side_prints_every_turn_of_both(table):
    with plotting.style():
        fig = figures_opd.side_by_side({"base": table, "full": table.head(2)})
    for action in table["action"]:
        assert action in texts(fig)
    titles = [ax.get_title(loc="left") for ax in fig.axes]
    assert titles[0].startswith("base: not done") and titles[1].startswith("full")


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


def test_counterfactual_bars_keep_the_papers_values_apart():
    rows = {"intervention": ["none"], "success": [0.2], "lo": [0.1], "hi": [0.3]}
    table = pd.DataFrame(rows | {"trajectories": [9]})
    with plotting.style():
        fig = figures_opd.counterfactual_bars(table, {"none": 0.08})
    (ax,) = fig.axes
    assert ax.patches[0].get_width() == 0.2
    marks = [line for line in ax.lines if line.get_marker() == "D"]
    assert marks[0].get_xdata().tolist() == [0.08]


def test_arms_are_drawn_from_text_records():
    rows = [
        {"arm": arm, "seed": str(s), "steps": steps, "split": "valid_seen"}
        | {"decoding": "t1", "task_type": "all", "n": "10", "success": str(success)}
        for arm, success in (("base", 0.2), ("full", 0.6))
        for s in (0, 1)
        for steps, success in (("0", 0.1), ("20", success))
    ]
    records = pd.DataFrame(rows)
    with plotting.style():
        fig = figures_opd.success_by_arm(records, ["base", "full"], "t1")
    assert [p.get_width() for p in fig.axes[0].patches] == pytest.approx([0.2, 0.6])


def test_recovery_curves_average_over_seeds():
    rows = [
        {"arm": "full", "seed": s, "turns": str(n), "recovered": str(n * (s + 1) / 9)}
        for s in (0, 1)
        for n in range(4)
    ]
    with plotting.style():
        fig = figures_opd.recovery_curves(pd.DataFrame(rows), ["full"])
    assert fig.axes[0].lines[0].get_ydata()[2] == pytest.approx((2 + 4) / 2 / 9)
    (band,) = fig.axes[0].collections
    heights = band.get_paths()[0].vertices[:, 1]
    # t(1, 0.975) = 12.706 times a standard error of 1/9: past both ends.
    assert heights.min() == 0.0 and heights.max() == 1.0
    one = [row for row in rows if row["seed"] == 0]
    with plotting.style():
        fig = figures_opd.recovery_curves(pd.DataFrame(one), ["full"])
    assert not fig.axes[0].collections, "one seed has no interval over seeds"


def test_overhead_shows_the_ratio_over_grpo():
    rows = [{"k": 0, "ratio": 1.02}, {"k": 1, "ratio": 1.1}, {"k": 2, "ratio": 1.2}]
    with plotting.style():
        fig = figures_opd.overhead_bars(pd.DataFrame(rows))
    heights = [p.get_height() for p in fig.axes[0].patches]
    assert heights == pytest.approx([0.02, 0.1, 0.2])
