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


def test_trajectories_that_agree_are_no_certainty():
    agreed = log_summary.share([1.0, 1.0, 1.0, 1.0], ["t1", "t1", "t2", "t3"])
    # Wilson's lower limit of 3 of 3 trajectories: 3 / (3 + z^2).
    assert agreed.value == agreed.hi == 1.0
    assert agreed.lo == pytest.approx(3 / (3 + 1.96**2), abs=1e-4)
    mixed = log_summary.share([1.0, 0.0] * 20, [str(i // 2) for i in range(40)])
    assert mixed.lo < 0.5 < mixed.hi, "every trajectory has the same half"


def test_nothing_accepted_leaves_the_miss_rate_undefined():
    table = log_summary.summary(CANDIDATES, PROFILES).set_index("domain")
    assert table.loc["chat", "accepted"] == 0
    assert math.isnan(table.loc["chat", "miss_rate"])


def test_record_rows():
    rows = log_summary.record_rows(CANDIDATES, PROFILES, "airline", "tiny", seed=3)
    assert [row["domain"] for row in rows] == ["tool", "chat", "all"]
    every = rows[-1]
    assert (every["source"], every["model"], every["seed"]) == ("airline", "tiny", 3)
    assert (every["n"], every["trajectories"], every["k"]) == (4, 3, 4)
    assert every["zero_signal"] == 3 / 4
    assert (every["accepted"], every["truncated"]) == (6 / 16, 2 / 16)
    # Wilson's upper limit of 0 of 4: z^2 / (4 + z^2).
    assert rows[1]["accepted_hi"] == pytest.approx(1.96**2 / (4 + 1.96**2), abs=1e-4)
    assert rows[1]["zero_signal_hi"] == 1.0 > rows[1]["zero_signal_lo"]


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
