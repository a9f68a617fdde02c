"""An arm looks the same wherever it is drawn, and like no other of its family."""

import matplotlib.pyplot as plt
import pytest

from pivotlab.experiments.arms import ARMS, BETAS, MAIN_ARMS
from pivotlab.experiments.figures.looks import legend_below, look, share_range, title
from pivotlab.experiments.opd.arms import ABLATIONS, EPISODE_ARMS, MAIN_EPISODE_ARMS
from pivotlab.experiments.plotting import COLORS, GREY

SWEPT = [f"functional/pivots@beta={beta:g}" for beta in BETAS]
RATES = ["sft@lr=1e-3", "sft@lr=1e-4", "functional/pivots@lr=1e-3"]
FAMILIES = {
    "single turns": [*ARMS, *SWEPT, *RATES],
    "whole episodes": list(EPISODE_ARMS),
}


@pytest.mark.parametrize("family", FAMILIES)
def test_no_two_arms_of_a_family_look_alike(family):
    looks = [str(look(arm)) for arm in FAMILIES[family]]
    assert len(set(looks)) == len(looks)


@pytest.mark.parametrize("arms", [MAIN_ARMS, (*MAIN_EPISODE_ARMS, "opd")])
def test_the_main_arms_differ_in_colour_marker_and_dash(arms):
    for part in ("color", "marker", "linestyle"):
        assert len({str(look(arm)[part]) for arm in arms}) == len(arms)


@pytest.mark.parametrize("ablation", ABLATIONS)
def test_ablations_differ_from_all_others_in_marks_and_in_lines(ablation):
    own = look(ablation)
    for arm in (*MAIN_EPISODE_ARMS, "opd", *ABLATIONS):
        other = look(arm)
        if arm != ablation and own["color"] == other["color"]:
            assert own["marker"] != other["marker"]
            assert own["linestyle"] != other["linestyle"]


@pytest.mark.parametrize("arm", [*SWEPT, *RATES, "sft/pivots", "sft/low-lr"])
def test_a_variant_has_its_arms_colour_with_another_mark_and_dash(arm):
    plain = arm.partition("@")[0]
    parent = look(plain if "@" in arm else "sft")
    assert look(arm)["color"] == parent["color"]
    assert look(arm)["marker"] != parent["marker"]
    assert look(arm)["linestyle"] != parent["linestyle"]


def test_the_papers_methods_are_blue_and_strangers_grey():
    assert look("full")["color"] == look("functional/pivots")["color"] == COLORS["blue"]
    assert look("an arm nobody knows")["color"] == GREY


def test_titles_are_those_of_the_papers_tables():
    assert title("full") == "PivotOPD"
    assert title("sft@lr=1e-3") == "SFT, lr 1e-3"
    assert title("K=2") == "K=2", "no row of its own"


@pytest.mark.parametrize(
    ("lowest", "highest", "bottom", "top"),
    [(0.1, 0.42, 0.0, 0.5), (0.91, 1.0, 0.9, 1.0), (0.3, 0.97, 0.0, 1.0)],
)
def test_ranges_of_shares(lowest, highest, bottom, top):
    low, high = share_range(lowest, highest)
    assert low == pytest.approx(bottom)
    assert top <= high <= top + 0.02


def test_the_legend_lists_every_label_once():
    fig, axes = plt.subplots(1, 2)
    for ax in axes:
        ax.plot([0, 1], label="one")
    axes[1].plot([1, 0], label="other")
    legend_below(fig, 2, axes)
    (legend,) = fig.legends
    assert sorted(t.get_text() for t in legend.get_texts()) == ["one", "other"]
    plt.close(fig)
