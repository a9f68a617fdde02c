"""The comparison's figures draw their tables, all of them and in the right order."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from test_experiments_summaries import arms_table, distance_table, retention_table

from pivotlab.experiments import plotting, summaries
from pivotlab.experiments.figures import comparison as figures
from pivotlab.experiments.figures.looks import look


@pytest.fixture(autouse=True)
def styled():
    with plotting.style():
        yield
    plt.close("all")


@pytest.fixture
def rows():
    success = summaries.success_rows(arms_table())
    return success, summaries.retention_rows(retention_table())


def labels(fig):
    (legend,) = fig.legends
    return [text.get_text() for text in legend.get_texts()]


def test_curves_start_at_the_base_and_name_every_arm(rows):
    success, skills = rows
    panels = [
        ("Game", "games won", success, "success"),
        ("Skills", "skills kept", skills, "accuracy"),
    ]
    table = summaries.curve_means(panels, ["sft"], "greedy")
    fig = figures.curves(table, ["sft"], "greedy")
    line = fig.axes[0].get_lines()[0]
    assert list(line.get_xdata()) == [0, 60, 120]
    assert labels(fig) == ["SFT"]
    names = [ax.get_ylabel() for ax in fig.axes]
    assert names == ["games won, greedy", "skills kept, greedy"]


def test_nothing_is_drawn_left_of_step_0(rows):
    table = summaries.curve_means(
        [("Game", "won", rows[0], "success")], ["sft"], "greedy"
    )
    left, right = figures.curves(table, ["sft"], "greedy").axes[0].get_xlim()
    assert -5 < left < 0 and right > 120


def test_panels_of_high_shares_do_not_begin_at_0():
    steps = {"panel": "p", "measure": "m", "arm": ["base", "sft"], "steps": [0, 60]}
    high = pd.DataFrame(steps | {"mean": 0.98, "lo": 0.95, "hi": 0.99})
    low = high.assign(mean=0.4, lo=0.3, hi=0.44)
    limits = [figures.curves(t, ["sft"], "t1").axes[0].get_ylim() for t in (high, low)]
    assert limits[0][0] == pytest.approx(0.9)
    assert limits[1] == pytest.approx((0.0, 0.51))


def test_the_trade_off_rings_the_last_step_and_says_how_far_each_arm_went(rows):
    table = summaries.success_and_skills(*rows, ["sft"], "greedy")
    fig = figures.trade_off(table, ["sft"], "greedy")
    path, ring = fig.axes[0].get_lines()
    assert list(path.get_xdata()) == table["success"].tolist()
    assert ring.get_xdata() == [table["success"].iloc[-1]]
    assert labels(fig) == ["base, 95 % interval of 20 questions", "SFT, to 60 steps"]


def test_forgetting_draws_every_run(rows):
    near = summaries.distance_rows(distance_table(), "game", "forward")
    table = summaries.lost_at_distance(rows[1], near, ["sft"], "greedy")
    ax = figures.forgetting_against_distance(table, ["sft"], "greedy").axes[0]
    marks = ax.get_lines()[0]
    assert list(marks.get_xdata()) == [0.1, 0.2]
    assert marks.get_color() == look("sft")["color"]


def test_the_sweep_says_how_many_seeds_each_weight_has():
    steps = {"measure": ["won", "won"], "beta": [0.1, 1.0], "seeds": [5, 1]}
    table = pd.DataFrame(steps | {"mean": 0.5, "lo": 0.4, "hi": 0.6})
    ax = figures.sweep(table, "greedy").axes[0]
    ticks = [text.get_text() for text in ax.get_xticklabels()]
    assert ticks == ["0.1\n(5 seeds)", "1\n(1 seed)"]
