"""Figures show the rows they are given."""

import pandas as pd
import pytest

from pivotlab.experiments import plotting
from pivotlab.experiments.benchmarks.measure import Pair, Usage, row
from pivotlab.experiments.figures import benchmarks as figures_benchmarks


@pytest.fixture(autouse=True)
def _style():
    with plotting.style():
        yield


def test_ratios_stand_at_their_value_with_their_model_and_peer():
    pair = Pair([Usage(1.0)], [Usage(8.0)])
    table = pd.DataFrame(
        [
            row("profiling", "model=a K=8", pair, "stock, K at once"),
            row("GRPO step", "model=b", pair, "p"),
        ]
    )
    (ax,) = figures_benchmarks.ratios(table).axes
    assert ax.get_lines()[1].get_xdata().tolist() == [8.0, 8.0]
    assert [t.get_text() for t in ax.get_yticklabels()] == [
        "profiling, a,\nagainst stock",
        "GRPO step, b,\nagainst p",
    ]


def growth_rows():
    rows = [
        {"factor": "k", "value": v, "ours_seconds": 1.0, "peer_seconds": v}
        for v in (4, 2)
    ]
    rows += [
        {
            "factor": "turns",
            "value": v,
            "ours_seconds": 9.0,
            "ours_seconds_per_added_turn": 0.5,
            "peer_seconds": v,
        }
        for v in (4, 8)
    ]
    return pd.DataFrame(rows)


def test_depth_shows_the_added_turn_and_the_rest_the_whole():
    turns, k = figures_benchmarks.growth(growth_rows()).axes
    assert turns.get_xlabel() == "depth, turns"
    assert list(turns.get_lines()[1].get_ydata()) == [0.5, 0.5]
    assert list(turns.get_lines()[0].get_ydata()) == [4, 8]
    assert list(k.get_lines()[0].get_xdata()) == [2, 4], "sorted by the factor"
    assert k.get_title(loc="left").startswith("(b)")


def test_adaptive_points_are_named():
    table = pd.DataFrame(
        [
            {"k_max": 16, "step": 0, "error": 0.0, "rollouts_share": 1.0, "f1": 0.9},
            {"k_max": 64, "step": 4, "error": 0.1, "rollouts_share": 0.4, "f1": 0.96},
        ]
    )
    (ax,) = figures_benchmarks.adaptive(table).axes
    assert {t.get_text() for t in ax.texts} == {"K=16", "0.1"}
    labels = ax.get_legend_handles_labels()[1]
    assert labels == ["fixed K", "adaptive, by allowed error"]
