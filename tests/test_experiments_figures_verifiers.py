"""Figures show the numbers of their tables."""

import pandas as pd
import pytest

from pivotlab.experiments import plotting
from pivotlab.experiments.figures import verifiers as figures_verifiers
from pivotlab.experiments.logs import error_gallery


def test_acceptance_bars_and_points():
    nan = float("nan")
    table = pd.DataFrame(
        {
            "domain": ["tool", "chat"],
            "n": [4, 2],
            "strict": [0.25, 0.0],
            "functional": [0.5, 0.0],
            "miss_rate": [0.5, nan],
            "miss_rate_lo": [0.1, nan],
            "miss_rate_hi": [0.9, nan],
        }
    )
    with plotting.style():
        fig = figures_verifiers.acceptance_figure(table)
    left, right = fig.axes
    widths = [bar.get_width() for bar in left.patches]
    assert widths == pytest.approx([0.5, 0.0, 0.25, 0.0])
    labels = [label.get_text() for label in left.get_yticklabels()]
    assert labels == ["tool (n = 4)", "chat (n = 2)"]
    (points,) = (line for line in right.lines if line.get_marker() == "o")
    assert list(points.get_xdata()) == [0.5], "an undefined rate is not drawn"


def test_gallery_marks_every_verdict_once():
    table = error_gallery.gallery(error_gallery.cases(), error_gallery.compared())
    with plotting.style():
        fig = figures_verifiers.gallery_figure(table)
    (ax,) = fig.axes
    drawn = {
        c.get_label().rsplit(" (")[0]: len(c.get_offsets()) for c in ax.collections
    }
    assert drawn == table["outcome"].value_counts().to_dict()
