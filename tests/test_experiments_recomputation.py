"""What the papers compute is computed again from what they print."""

import pytest

from pivotlab.experiments.recomputation import (
    KEYS,
    KNOWN_MISMATCHES,
    NOT_RECOMPUTABLE,
    RULES,
    checks,
    report,
)
from pivotlab.experiments.reported import PIVOTOPD, PIVOTRL, Cell, load_reported


@pytest.fixture(scope="module")
def reported():
    return load_reported()


@pytest.fixture(scope="module")
def table(reported):
    return report(reported)


def at(table, *cell):
    cells = table.set_index(list(Cell._fields))
    return cells.loc[[cell]].iloc[0]


def test_only_the_known_mismatch_disagrees(table):
    counts = table["status"].value_counts().to_dict()
    assert counts.get("unexpected mismatch", 0) == 0
    assert counts["agrees"] == 159
    assert counts["known mismatch"] == len(KNOWN_MISMATCHES) == 1
    assert counts["inputs not printed"] == len(NOT_RECOMPUTABLE) == 29


def test_every_check_is_made_once(table):
    assert not table.duplicated(list(KEYS)).any()
    assert (table[table["status"] == "agrees"]["inputs"] != "").all()


def test_hand_worked_numbers(table):
    base = at(table, PIVOTRL, "Table 2", "average", "base")
    assert base["recomputed"] == pytest.approx(66.98375)
    assert base["status"] == "known mismatch" and "66.98" in base["reason"]
    gain = at(table, PIVOTRL, "Table 1", "mean gain over base", "SFT")
    assert gain["recomputed"] == pytest.approx((14.09 + 18.33 + 8.33 - 1.00) / 4)
    ratio = at(
        table, PIVOTRL, "Figure 1", "E2E RL over PivotRL", "rollout turns (ratio)"
    )
    assert ratio["recomputed"] == pytest.approx(542 / 133)
    batch = at(table, PIVOTRL, "Settings", "PivotRL", "batch")
    assert batch["recomputed"] == pytest.approx(1023.08, abs=0.01)
    mean = at(table, PIVOTOPD, "Table S.1", "mean", "accuracy within 1 turn")
    assert mean["recomputed"] == pytest.approx(77.75)
    cost = at(table, PIVOTOPD, "Table S.5", "K=2", "total (%)")
    assert cost["recomputed"] == pytest.approx(100 * (17.2 + 328.7) / 367.3)


def test_tolerance_is_the_rounding_of_inputs_and_result(table):
    delta = at(table, PIVOTRL, "Table 1", "τ²-Bench", "delta vs SFT")
    assert delta["tolerance"] == pytest.approx(3 * 0.005)
    mean = at(table, PIVOTOPD, "Table 1, Qwen3-1.7B", "TCOD", "ALF avg")
    assert mean["tolerance"] == pytest.approx(0.1)
    assert abs(mean["difference"]) == pytest.approx(0.07, abs=0.005)
    part = at(table, PIVOTOPD, "Figure 5", "PivotOPD", "final rate")
    slope = 100 * 0.5 / 576
    shrunk = abs(100 * 419 / 576.5 - 100 * 419 / 576)
    assert part["tolerance"] == pytest.approx(0.05 + slope + shrunk)


def test_every_printed_average_of_the_main_tables_is_checked(reported):
    found = checks(reported)
    averages = [c for c in found if c.target.column in ("ALF avg", "QA avg")]
    means = [c for c in averages if c.rule == "mean"]
    assert len(means) == 2 * 2 * 15
    assert len({c.target for c in means}) == len(means)


def test_a_changed_cell_is_an_unexpected_mismatch(reported):
    changed = reported.copy()
    place = (changed["table"] == "Table 6") & (changed["row"] == "SFT")
    changed.loc[place & (changed["column"] == "retail"), "number"] += 0.1
    wrong = report(changed)
    wrong = wrong[wrong["status"] == "unexpected mismatch"]
    assert wrong[["table", "row", "column"]].values.tolist() == [
        ["Table 6", "SFT", "average"]
    ]


def test_rules_by_hand():
    assert RULES["mean of a - b"](3.0, 1.0, 7.0, 2.0) == 3.5
    assert RULES["100 (a + b) / c"](1.0, 2.0, 4.0) == 75.0
    assert RULES["product"](16.0, 8.0) == 128.0


def test_every_delta_column_of_the_data_is_accounted_for(reported, table):
    """Whatever calls itself a mean, delta, gain, average or ratio is in the report."""
    words = "avg|average|^mean|delta|gain|change|difference|ratio|margin|effect"
    own = reported[reported["paper"].isin([PIVOTRL, PIVOTOPD])]
    named = own["column"].str.contains(words) | own["row"].str.contains("^mean")
    named &= own["number"].notna()
    cells = {Cell(*c) for c in own[named][list(Cell._fields)].itertuples(index=False)}
    done = {Cell(*c) for c in table[list(Cell._fields)].itertuples(index=False)}
    # The clip is called delta, and so many runs were averaged.
    settings = {"Hyperparameters", "Settings"}
    assert {c for c in cells - done if c.table not in settings} == set()
