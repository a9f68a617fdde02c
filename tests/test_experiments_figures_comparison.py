"""Curves and looks of the comparison of arms."""

import matplotlib.pyplot as plt
from test_experiments_summaries import arms_table, retention_table

from pivotlab.experiments import plotting, summaries
from pivotlab.experiments.figures import comparison as figures


def test_curves_start_at_the_base_and_name_every_arm():
    success = summaries.success_rows(arms_table())
    skills = summaries.retention_rows(retention_table())
    with plotting.style():
        panels = [("Game", success, "success"), ("Skills", skills, "accuracy")]
        fig = figures.curves(panels, ["sft"], "greedy")
    (line,) = fig.axes[0].get_lines()
    assert list(line.get_xdata()) == [0, 60, 120]
    assert [t.get_text() for t in fig.axes[0].get_legend().get_texts()] == ["sft"]
    plt.close("all")


def test_no_two_of_many_arms_look_alike():
    arms = [f"arm {i}" for i in range(20)]
    looks = [str(figures.look(arm, arms)) for arm in arms]
    assert len(set(looks)) == len(arms)
    assert figures.look("arm 0", arms)["color"] == plotting.COLORS["black"]
