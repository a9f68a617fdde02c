"""A plan is arithmetic; these are its numbers by hand."""

import pytest
from training_toys import make_model, make_tokenizer

from pivotlab.experiments.benchmarks.planner import (
    ASSUMPTIONS,
    Throughput,
    assumption_table,
    assumptions,
    measure,
    plan_table,
)

#: One token a second each way makes hours of tokens.
UNIT = Throughput(1.0, 1.0, "typed in")
H100 = Throughput(1e9, 10_000.0, "typed in")


def test_profiling_of_the_papers_size_by_hand():
    table = plan_table(H100)
    line = table.loc["profiling, 281,774 turns, prefix per turn"]
    assert line.decode_tokens == 281_774 * 16 * 300 == 1_352_515_200
    assert line.prefill_tokens == 281_774 * 6_000 == 1_690_644_000
    # 1.35 B tokens at 10 K tokens/s are 37.6 hours, at 15 K 25.0.
    assert line.hours == pytest.approx(37.57, abs=0.01)
    faster = plan_table(Throughput(1e9, 15_000.0, "typed in"))
    assert faster.hours.iloc[0] == pytest.approx(25.05, abs=0.01)


def test_sharing_pays_a_trajectory_once():
    table = plan_table(
        UNIT, trajectories=10, turns_per_trajectory=5, prompt_tokens=100, k=2
    )
    shared = table.loc["profiling, 10 trajectories, prefixes shared"]
    apart = table.loc["profiling, 10 trajectories, prefix per turn"]
    assert (shared.turns, apart.turns) == (50, 50)
    assert (shared.prefill_tokens, apart.prefill_tokens) == (10 * 200, 50 * 100)
    assert shared.decode_tokens == 50 * 2 * 300
    assert shared.hours == pytest.approx((2_000 + 30_000) / 3600)


def test_training_by_hand():
    table = plan_table(
        Throughput(2.0, 1.0, "typed in"),
        pivotrl_steps=2,
        prompts_per_step=3,
        group=4,
        prompt_tokens=100,
        action_tokens=10,
        passes=4,
    )
    shared = table.loc["PivotRL, 2 steps, prompt shared by its group"]
    apart = table.loc["PivotRL, 2 steps, prompt per sample in the update"]
    assert shared.turns == apart.turns == 24
    assert shared.update_tokens == 6 * 100 + 24 * 10
    assert apart.update_tokens == 24 * 110
    assert shared.hours == pytest.approx(((600 + 4 * 840) / 2 + 240) / 3600)


def test_turns_are_the_reported_ones():
    table = plan_table(UNIT)
    turns = table.turns
    pivotrl = turns["PivotRL, 130 steps, prompt shared by its group"]
    e2e = turns["end to end, 72 steps"]
    assert pivotrl == 130 * 1024 == 133_120
    assert e2e == pytest.approx(542_000, rel=2e-3)
    assert e2e / pivotrl == pytest.approx(4.08, abs=0.02)


def test_every_assumption_has_a_source_and_can_be_replaced():
    table = assumption_table(k=8)
    assert table.loc["k", ["value", "source"]].tolist() == [8, "typed in"]
    assert set(table.index) == set(ASSUMPTIONS)
    assert all(len(a.source) > 5 and a.unit for a in ASSUMPTIONS.values())
    before, after = plan_table(UNIT), plan_table(UNIT, action_tokens=600)
    assert (after.decode_tokens == 2 * before.decode_tokens).all()


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="no assumption 'kk'; there are: traj"):
        assumptions(kk=3)
    with pytest.raises(ValueError, match="k=0 must be positive"):
        assumptions(k=0)
    with pytest.raises(ValueError, match="decode=0"):
        Throughput(1.0, 0.0, "typed in")


def test_measured_throughput_counts_tokens_of_this_model():
    model = make_model(make_tokenizer()).eval()
    found = measure(model, "toy", prompt_tokens=64, samples=8, new_tokens=8)
    assert found.prefill > 0 and found.decode > 0
    assert "toy, prompt of 64, 8 samples of 8 tokens, cpu" in found.source
