"""Figures of notebook 01 show the numbers of their table."""

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from pivotlab.experiments import plotting
from pivotlab.experiments.figures import variance as figures_variance


def test_triangle_puts_certain_policies_on_its_corners():
    corners = figures_variance.triangle_point(np.eye(3))
    sides = np.linalg.norm(corners - np.roll(corners, 1, axis=0), axis=1)
    assert sides == pytest.approx([1, 1, 1])
    centre = figures_variance.triangle_point(np.full(3, 1 / 3))
    assert centre == pytest.approx(corners.mean(0))


def test_redrawing_from_the_saved_csv_gives_the_same_picture(tmp_path):
    k = np.arange(1, 4)
    table = pd.concat(
        [
            plotting.series("advantage", "each success", k, 3.0 - k),
            plotting.series("loudness", "divided by std", range(5), [0, 1, 1, 1, 0]),
        ]
    )
    pictures = []
    for folder in (tmp_path / "1", tmp_path / "2"):
        with plotting.style():
            fig = figures_variance.group_advantages(table, 4)
            png = plotting.save_figure(fig, "demo", "Demo.", table, folder)
        pictures.append(png.read_bytes())
        table = pd.read_csv(folder / "demo.csv")
    assert pictures[0] == pictures[1]
    plt.close("all")
