"""Numbers of the summary, by hand."""

import math

import pytest

from pivotlab.experiments.logs import summary as log_summary
from pivotlab.records import Candidate, Message, TurnProfile


def turn(uid, trajectory, domain="tool"):
    return Candidate(uid, trajectory, 0, (), Message("assistant", "x"), domain=domain)


def profiled(uid, rewards, strict, truncated=0):
    k = len(rewards)
    cut = (True,) * truncated + (False,) * (k - truncated)
    return TurnProfile(uid, rewards, ("c",) * k, cut, strict)


CANDIDATES = [
    turn("a", "t1"),
    turn("b", "t1"),
    turn("c", "t2"),
    turn("d", "t3", "chat"),
]
PROFILES = {
    p.uid: p
    for p in (
        profiled("a", (1.0, 1.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)),
        profiled("b", (1.0, 1.0, 1.0, 1.0), (0.0, 0.0, 0.0, 1.0)),
        profiled("c", (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), truncated=2),
        profiled("d", (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
    )
}


def test_one_row_a_domain_and_all():
    table = log_summary.summary(CANDIDATES, PROFILES, 0.6).set_index("domain")
    assert list(table.index) == ["tool", "chat", "all"]
    tool = table.loc["tool"]
    assert (tool["n"], tool["trajectories"], tool["k"]) == (3, 2, 4)
    assert tool["zero_signal"] == pytest.approx(2 / 3)
    assert tool["lo"] <= 2 / 3 <= tool["hi"]
    shares = [tool[c] for c in ("all_fail", "pivot", "easy_mixed", "all_pass")]
    assert shares == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3])
    # 6 accepted samples, 2 of them verbatim.
    assert tool["accepted"] == 6 and tool["miss_rate"] == pytest.approx(4 / 6)
    assert tool["truncated"] == pytest.approx(2 / 12)
    assert table.loc["all", "zero_signal"] == pytest.approx(3 / 4)


def test_nothing_accepted_leaves_the_miss_rate_undefined():
    table = log_summary.summary(CANDIDATES, PROFILES).set_index("domain")
    assert table.loc["chat", "accepted"] == 0
    assert math.isnan(table.loc["chat", "miss_rate"])


def test_record_rows():
    zero = log_summary.zero_signal_rows(PROFILES, "airline", "tiny")
    assert list(zero["k"]) == [2, 4] and set(zero["model"]) == {"tiny, airline"}
    assert zero.set_index("k").loc[4, "zero_share"] == pytest.approx(3 / 4)
    assert zero.set_index("k").loc[2, "zero_share"] == 1.0
    rows = log_summary.miss_rate_rows(CANDIDATES, PROFILES, "airline", "tiny")
    assert [r["verifier"] for r in rows] == ["by domain: tool", "by domain: all"]
    assert rows[0]["n"] == 6 and rows[0]["source"] == "airline, samples of tiny"


@pytest.mark.case(id="V46")
@pytest.mark.parametrize(
    "successes, k, said",
    [
        (18, 2, "0.18 looks constant at K = 2 in 70% of cases; sample more (--k)"),
        (18, 8, "0.18 looks constant at K = 8 in 20% of cases"),
        (0, 2, None),
        (100, 2, None),
    ],
)
def test_the_chance_of_looking_constant_by_hand(successes, k, said):
    """0.18^2 + 0.82^2 = 0.7048 and 0.18^8 + 0.82^8 = 0.2044."""
    profiles = [
        TurnProfile(f"t#{i}", (float(i < successes),) * k, ("x",) * k, (False,) * k)
        for i in range(100)
    ]
    note = log_summary.depth_note(profiles)
    assert note is None if said is None else note.endswith(said)
