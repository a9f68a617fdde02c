"""The stop-watch: what is a median, what is a ratio, what survives a kill."""

import json
from pathlib import Path

import pytest

from pivotlab.experiments.benchmarks import measure as benchmarks
from pivotlab.experiments.benchmarks.measure import (
    Ledger,
    Pair,
    Usage,
    interleaved,
    metered,
    random_ids,
    row,
    setting,
    work,
)
from pivotlab.experiments.record_tables import read_records


def pair_of(ours, peer):
    return Pair([Usage(s, 10.0) for s in ours], [Usage(s, 40.0) for s in peer])


def test_row_of_seconds_by_hand():
    found = row("step", "model=m", pair_of([1, 2, 9], [6, 8, 7]), "stock")
    assert (found["ours"], found["peer"], found["ratio"]) == (2.0, 7.0, 3.5)
    assert (found["peak_mb_ours"], found["peak_mb_peer"]) == (10.0, 40.0)
    assert found["repeats"] == 3 and found["unit"] == "s"


def test_row_of_a_rate_by_hand():
    pair = pair_of([2.0], [5.0])
    found = row("profiling", "", pair, "stock", "turns/s", (40, 10))
    assert (found["ours"], found["peer"], found["ratio"]) == (20.0, 2.0, 10.0)


def test_unknown_peak_is_an_empty_cell():
    pair = Pair([Usage(1.0, None)], [Usage(1.0, None)])
    assert row("m", "s", pair, "p")["peak_mb_ours"] == ""


def test_both_sides_warm_up_and_take_turns_at_going_first():
    order = []

    def said(name):
        return lambda: order.append(name) or Usage(float(len(order)))

    pair = interleaved(said("a"), said("b"), 3)
    assert "".join(order) == "ab" + "ab" + "ba" + "ab"
    assert [u.seconds for u in pair.ours] == [3, 6, 7]
    with pytest.raises(ValueError, match="repeats=0"):
        interleaved(said("a"), said("b"), 0)


def test_peak_is_what_a_call_needs_above_the_start():
    held = bytearray(60 << 20)
    with metered() as small:
        pass
    with metered() as large:
        block = bytearray(200 << 20)
        del block
    if not Path("/proc/self/clear_refs").exists():
        assert (small.peak_mb, large.peak_mb) == (None, None)
        return
    assert len(held) and small.peak_mb < 20
    assert 190 < large.peak_mb < 260
    assert large.seconds > 0


def test_work_measures_the_call():
    ran = []
    usage = work(lambda: ran.append(1))()
    assert ran == [1] and usage.seconds >= 0


def ledger(tmp_path, **settings):
    return Ledger(tmp_path / "run", tmp_path / "records", settings)


def test_a_finished_measure_is_read_and_other_settings_measure_again(tmp_path):
    calls = []

    def rows():
        calls.append(1)
        line = row("m", "s", pair_of([1.0], [2.0]), "stock")
        return [{**line, "setting": f"call {len(calls)}"}]

    first = ledger(tmp_path, repeats=5).measure("benchmarks", "a/b c", rows)
    again = ledger(tmp_path, repeats=5).measure("benchmarks", "a/b c", rows)
    assert first == again and len(calls) == 1
    (tmp_path / "records" / "benchmarks.csv").unlink()
    ledger(tmp_path, repeats=5).measure("benchmarks", "a/b c", rows)
    merged = read_records("benchmarks", tmp_path / "records")
    assert len(calls) == 1 and merged["setting"].tolist() == ["call 1"], (
        "a run killed before it merged does so when it is run again"
    )
    ledger(tmp_path, repeats=6).measure("benchmarks", "a/b c", rows)
    assert len(calls) == 2
    (path,) = (tmp_path / "run" / "measures").iterdir()
    assert path.name == "a_b_c.json"
    assert json.loads(path.read_text())["settings"] == {"repeats": 6}
    with pytest.raises(KeyError):
        ledger(tmp_path).measure("unknown", "x", rows)


def test_a_measure_that_fails_leaves_nothing(tmp_path):
    def fails():
        raise RuntimeError("killed")

    with pytest.raises(RuntimeError):
        ledger(tmp_path).measure("benchmarks", "x", fails)
    assert not (tmp_path / "run").exists() and not (tmp_path / "records").exists()


def test_random_prompts_repeat_and_settings_are_one_line():
    assert random_ids(50, 20) == random_ids(50, 20) != random_ids(50, 20, seed=1)
    assert setting(model="m", K=8) == "model=m K=8"
    assert set(benchmarks.KEYS) == {"benchmarks", "profiling_growth", "adaptive"}
