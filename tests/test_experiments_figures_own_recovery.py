"""Records around mistakes become panel rows; what is not recorded says so."""

import pandas as pd
import pytest
from paper_records import write_records

from pivotlab.experiments.figures import own_recovery
from pivotlab.experiments.own_records import OwnRecords

ROW = {"seed": 0, "steps": 9, "mistakes": 10, "repeats": 8, "lo": 0.1, "hi": 0.6}
LABELS = {"base": "base", "full": "all"}


@pytest.fixture
def own(tmp_path):
    return OwnRecords(write_records(tmp_path))


def test_recovery_of_one_seed_keeps_its_bootstrap():
    table = pd.DataFrame([ROW | {"arm": "full", "rate": 0.3}])
    (found,) = own_recovery.recovery_bars(table, {"full": "all"}, 9).to_dict("records")
    assert found["value"] == pytest.approx(30) and found["n"] == 80
    assert (found["lo"], found["hi"]) == pytest.approx((10, 60))


def test_recovery_lines_average_over_seeds():
    rows = [
        {"arm": "full", "seed": s, "turns": t, "recovered": 0.1 * t * (s + 1)}
        for s in (0, 1)
        for t in (0, 1)
    ]
    found = own_recovery.recovery_lines(pd.DataFrame(rows), {"full": "all"})
    assert found["value"].tolist() == pytest.approx([0, 15])
    assert found.loc[1, ["lo", "hi", "seeds"]].tolist() == pytest.approx([10, 20, 2])


def test_verdicts_are_counts_with_the_range_over_seeds():
    rows = [
        ROW | {"arm": "full", "seed": s, "better": 6 + s, "worse": 1, "same": 3 - s}
        for s in (0, 1)
    ]
    labels = {"grpo": "GRPO", "full": "all"}
    found = own_recovery.verdict_bars(pd.DataFrame(rows), labels, 9)
    assert found["row"].tolist() == ["GRPO"] * 3 + ["all"] * 3
    assert found["note"].tolist() == ["not run"] * 3 + [""] * 3
    mine = found.set_index("row").loc["all"]
    assert mine["value"].tolist() == [6.5, 1, 2.5] and mine["hi"].tolist() == [7, 1, 3]
    assert set(mine["n"]) == {10} and set(mine["seeds"]) == {2}


def test_the_sweep_of_k_is_picked_up_as_far_as_it_was_run(own):
    rows = own_recovery.k_bars(own, "t1")
    assert list(rows["row"]) == [f"K = {k}" for k in range(4)] * 2
    assert set(rows["column"]) == {"success", "recovered"}
    assert set(rows["seeds"]) == {2}

    def without(arms):
        for name in ("pivotopd_arms", "recovery_replay"):
            table = own.table(name)
            kept = table[~table["arm"].isin(arms)]
            kept.to_csv(own.folder / f"{name}.csv", index=False)
        return own_recovery.k_bars(OwnRecords(own.folder), "t1")

    notes = without(["K=2", "K=3"])["note"].tolist()
    assert notes == ["", "", "not run", "not run"] * 2
    assert without([f"K={k}" for k in range(4)]).empty


def test_failures_with_a_pivot_are_those_that_are_replayed(own):
    rows = own_recovery.oracle_pivot_rows(own)
    assert rows["row"].tolist() == ["tiny", "tiny"]
    assert rows["value"].isna().tolist() == [True, False] and rows["value"][1] == 9
    assert rows["note"][0] == own_recovery.NOT_RECORDED


def test_before_and_after_by_hand(own):
    rows = own_recovery.before_after_rows(own, "opsd", "t1")
    shape = rows.set_index(["row", "column"])
    # The third arm of the made-up records: 0.2 + 0.05 * 2 + 0.002 * 40, + 0.02 a seed.
    assert shape.loc[("failure rate", "after"), "value"] == pytest.approx(61)
    assert shape.loc[("failure rate", "before"), "value"] == pytest.approx(80)
    after = shape.loc[("probability of the mistake", "after")]
    assert after["value"] == pytest.approx(20) and after["seeds"] == 2
    before = shape.loc[("probability of the oracle action", "before")]
    assert before["value"] == pytest.approx(30) and pd.isna(before["lo"])
    lost = shape.loc["failures after a pivot"]
    assert lost["value"].isna().all() and set(lost["note"]) == {"not recorded"}


def test_nothing_recorded_gives_nothing(tmp_path):
    own = OwnRecords(tmp_path)
    replays = own.table("recovery_replay")
    assert own_recovery.recovery_bars(replays, LABELS, 0).empty
    assert own_recovery.verdict_bars(replays, LABELS, 0).empty
    assert own_recovery.recovery_lines(own.table("recovery_curve"), LABELS).empty
    assert own_recovery.k_bars(own, "t1").empty
    assert own_recovery.oracle_pivot_rows(own).empty
    assert own_recovery.before_after_rows(own, "opsd", "t1").empty
