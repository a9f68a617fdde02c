"""Figures of notebook 02 show the numbers of their table."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from pivotlab.experiments import plotting
from pivotlab.experiments.figures import ranking as figures_ranking

PI0 = np.array([0.15, 0.05, 0.5, 0.3])
CORRECT = np.array([True, True, False, False])


def test_policies_at_a_slider_position():
    table = figures_ranking.policies_at(PI0, CORRECT, 0.2, 0.5)
    assert table["panel"].unique().tolist() == ["ρ = 0.20, β = 0.50: q = 0.65"]
    policies = {name: rows["y"].to_numpy() for name, rows in table.groupby("series")}
    assert policies["reference"] == pytest.approx(PI0)
    assert policies["functional"][:2].sum() == pytest.approx(0.648786, abs=5e-7)
    assert policies["strict"][1] < PI0[1] < policies["functional"][1]
    for policy in policies.values():
        assert policy.sum() == pytest.approx(1)


def test_bars_have_the_heights_of_the_table():
    table = figures_ranking.policies_at(PI0, CORRECT, 0.2, 0.5)
    with plotting.style():
        _, ax = plotting.figure("column")
        figures_ranking.block_bars(ax, table, table["panel"].iloc[0], accepted=2)
    heights = [bar.get_height() for bars in ax.containers for bar in bars]
    assert heights == pytest.approx(table["y"].tolist())
    assert ax.get_xlim() == (-0.5, 3.5)
    plt.close("all")


def test_factors_above_the_bars_are_constant_in_a_block():
    tilted = np.array([0.486589, 0.162196, 0.219509, 0.131705])
    parts = [
        plotting.series(panel, name, range(4), policy)
        for panel in ("functional", "strict")
        for name, policy in (("reference", PI0), (panel, tilted))
    ]
    with plotting.style():
        fig = figures_ranking.two_blocks(
            pd.concat(parts), {"functional": 2, "strict": 1}
        )
    shown = [text.get_text() for text in fig.axes[0].texts]
    assert shown == ["×3.24", "×3.24", "×0.44", "×0.44"]
    plt.close("all")
