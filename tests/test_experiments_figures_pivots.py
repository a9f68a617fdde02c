"""Tables behind the profile figures; the figures themselves draw without error."""

import matplotlib.pyplot as plt
import pytest

from pivotlab.experiments import plotting
from pivotlab.experiments.figures import pivots as figures
from pivotlab.records import Candidate, Message, TurnProfile


def pair(successes, k=4, uid="game/honest#0", phase="take"):
    expert = Message("assistant", f"take mug {successes}")
    trajectory = uid.partition("#")[0]
    candidate = Candidate(uid, trajectory, 0, (), expert, context={"phase": phase})
    rewards = (1.0,) * successes + (0.0,) * (k - successes)
    profile = TurnProfile(uid, rewards, ("x",) * k, (False,) * k, (0.0,) * k)
    return candidate, profile


@pytest.fixture
def table():
    candidates, profiles = zip(*(pair(s) for s in range(5)), strict=True)
    return figures.turn_table(candidates, profiles, 0.6)


def test_turn_table_by_hand(table):
    assert list(table["mu"]) == [0, 0.25, 0.5, 0.75, 1]
    assert list(table["kind"]) == [
        "all_fail",
        "pivot",
        "pivot",
        "easy_mixed",
        "all_pass",
    ]
    assert set(table["source"]) == {"honest"} and (table["lo"] <= table["mu"]).all()


def test_subsampling_uses_the_first_samples():
    """Rewards 1, 1, 0, 0: constant at K = 2, mixed at K = 4; K = 8 was not drawn."""
    _, profile = pair(2)
    found = figures.subsampled_zero_share([profile], (2, 4, 8), "m")
    assert list(found["k"]) == [2, 4] and list(found["zero_share"]) == [1.0, 0.0]


def test_the_figures_draw_what_the_table_holds(table):
    with plotting.style():
        strip = figures.trajectory_strip(table, 0.6)
        bars = figures.class_bars(table, "source", ("honest",))
        histogram = figures.mu_histogram(table, 0.6, 0.71)
    assert len(strip.axes[0].get_yticklabels()) == len(table)
    widths = [p.get_width() for p in bars.axes[0].patches]
    assert sum(widths) == pytest.approx(1.0)
    heights = [p.get_height() for p in histogram.axes[0].patches]
    assert sum(heights) == len(table)
    plt.close("all")


def test_a_command_given_twice_has_two_labels_and_the_limit_is_in_the_legend(table):
    table = table.assign(expert="go to desk 1", turn=range(5))
    with plotting.style():
        (ax,) = figures.trajectory_strip(table, 0.6).axes
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == [f"{turn}: go to desk 1" for turn in range(5)]
    (line,) = [x for x in ax.lines if x.get_label() == "lambda_diff = 0.6"]
    assert set(line.get_xdata()) == {0.6}
    shown = [text.get_text() for text in ax.get_legend().get_texts()]
    assert "lambda_diff = 0.6" in shown and len(set(shown)) == len(shown)
    plt.close("all")


def test_shares_in_words():
    profiles = [pair(s)[1] for s in (0, 0, 2, 4)]
    line = figures.shares_line(profiles, 0.6)
    assert line == "all fail 50%, pivot 25%, mixed, easy 0%, all pass 25%"
