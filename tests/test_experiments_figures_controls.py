"""What the controls' figures show, at positions that can be worked by hand."""

import matplotlib.pyplot as plt
import pandas as pd
import pytest

from pivotlab.experiments import plotting
from pivotlab.experiments.figures import controls as figures
from pivotlab.theory.repair_chain import repair_path


@pytest.fixture(autouse=True)
def looks():
    with plotting.style():
        yield
    plt.close("all")


def heights(ax):
    return [bar.get_height() for bars in ax.containers for bar in bars]


def test_a_group_is_told_its_advantages_and_a_constant_one_nothing():
    # m = 1/4: sqrt(3) and -1/sqrt(3)
    assert figures.told(1, 4) == "1 of 4: each success +1.73, each failure -0.58"
    assert "no signal" in figures.told(0, 4) and "no signal" in figures.told(4, 4)
    (ax,) = figures.group_bars(1, 4).axes
    assert heights(ax) == pytest.approx([3**0.5, *[-(3**-0.5)] * 3])
    assert [t.get_text() for t in ax.texts] == ["✓", "✗", "✗", "✗"]
    (ax,) = figures.group_bars(4, 4).axes
    assert heights(ax) == [0.0] * 4


def test_law_of_a_profile_by_hand():
    law = figures.profile_law(0.5, 4, 0.6)
    assert list(law["probability"]) == pytest.approx(
        [1 / 16, 4 / 16, 6 / 16, 4 / 16, 1 / 16]
    )
    kinds = ["all_fail", "pivot", "pivot", "easy_mixed", "all_pass"]
    assert list(law["kind"]) == kinds
    assert law["panel"].unique().tolist() == [
        "pass rate 0.50, K = 4\nkept 62%, silent 12%"
    ]


def test_a_grid_has_one_panel_a_position_and_every_bar():
    pairs = ((0.05, 4), (0.3, 4), (0.3, 16))
    table = pd.concat([figures.profile_law(p, k, 0.6) for p, k in pairs])
    fig = figures.profile_grid(table, 0.6, columns=3)
    assert [sum(map(len, ax.containers)) for ax in fig.axes] == [5, 5, 17]
    assert [sum(heights(ax)) for ax in fig.axes] == pytest.approx([1.0] * 3)


def test_repair_paths_are_those_of_the_theory():
    table = figures.repair_paths(2, (0.25, 1.0))
    own = table[table["series"] == "w_rec = 0.25"]
    assert list(own["y"]) == pytest.approx(list(repair_path(2, 0.25)))
    assert list(table["series"].unique()) == ["GRPO alone", "w_rec = 0.25", "w_rec = 1"]
    both = pd.concat([table, figures.repair_paths(3, (1.0,))])
    fig = figures.repair_grid(both)
    assert [len(ax.lines) for ax in fig.axes] == [3, 2]
