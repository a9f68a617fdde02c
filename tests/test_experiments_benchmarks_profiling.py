"""The profiling measures on a random model: right rows, right numbers, real checks."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from training_toys import make_model, make_tokenizer

from pivotlab.engines.local import LocalSampler
from pivotlab.engines.protocol import Sampling
from pivotlab.experiments.benchmarks import profiling as benchmark_profiling
from pivotlab.experiments.benchmarks.measure import random_ids
from pivotlab.experiments.benchmarks.profiling import (
    STOCK,
    frequency_p_value,
    grouped,
    growth_in_size,
    growth_in_turns,
    logits_difference,
    matrix_flops,
    profiling_speed,
    roofline,
    stock_profile,
)


@pytest.fixture(scope="module")
def model():
    return make_model(make_tokenizer()).eval()


def prompts(turns=6):
    ids = random_ids(90, 8 * turns)
    return [ids[: 8 * (t + 1)] for t in range(turns)]


def test_profiling_speed_counts_turns_per_second(model):
    (found,) = profiling_speed(
        model, "toy", prompts(), 1, Sampling(3), k=2, repeats=2, peer_turns=3
    )
    assert found["unit"] == "turns/s" and found["peer_name"] == STOCK
    assert found["ratio"] == pytest.approx(found["ours"] / found["peer"], rel=1e-3)
    assert "trajectories=1 turns=6 prompt=28 K=2 new=3" in found["setting"]


def test_peer_sees_other_turns_in_every_repeat(model, monkeypatch):
    seen = []
    monkeypatch.setattr(
        benchmark_profiling, "stock_profile", lambda m, p, k, s: seen.append(p)
    )
    profiling_speed(
        model, "toy", prompts(), 1, Sampling(1), k=1, repeats=2, peer_turns=2
    )
    assert [[len(p) for p in batch] for batch in seen] == [[8, 32], [16, 40], [24, 48]]


def test_stock_draws_k_samples_of_every_prompt(model, monkeypatch):
    drawn = []
    generate = type(model).generate

    def watched(self, ids, **given):
        out = generate(self, ids, **given)
        drawn.append((tuple(out.shape), given["top_k"], given["top_p"]))
        return out

    monkeypatch.setattr(type(model), "generate", watched)
    stock_profile(model, prompts(2), 3, Sampling(4))
    assert drawn == [((3, 12), 0, 1.0), ((3, 20), 0, 1.0)]


def test_reuse_path_gives_the_logits_of_a_plain_forward(model, monkeypatch):
    assert logits_difference(model, prompts()) < 1e-4
    shared = benchmark_profiling.SharedDecode.first_logits
    monkeypatch.setattr(
        benchmark_profiling.SharedDecode, "first_logits", lambda s: shared(s) + 0.5
    )
    assert logits_difference(model, prompts(), steps=0) == pytest.approx(0.5, abs=1e-3)


def test_frequencies_agree_and_a_wrong_temperature_is_found(model, monkeypatch):
    assert frequency_p_value(model, prompts()[2], 2000) > 1e-3
    honest = LocalSampler.sample

    def warmer(self, given, n, sampling, seeds):
        return honest(self, given, n, replace(sampling, temperature=2.0), seeds)

    monkeypatch.setattr(LocalSampler, "sample", warmer)
    assert frequency_p_value(model, prompts()[2], 2000) < 1e-6


def test_tokens_are_grouped_from_the_likeliest_on():
    expected = np.array([1.0, 9.0, 2.0, 2.0, 4.0, 0.5])
    assert grouped(expected, 5.0).tolist() == [1, 0, 1, 1, 1, 1]
    assert grouped(np.array([6.0, 6.0, 7.0]), 5.0).tolist() == [1, 2, 0]


def test_growth_in_turns_is_the_cost_of_the_added_ones(model, monkeypatch):
    rows = growth_in_turns(
        model, "toy", (2, 4), turn_tokens=8, k=2, new_tokens=2, repeats=1
    )
    assert [r["value"] for r in rows] == [2, 4]
    first, second = (r["ours_seconds"] for r in rows)
    assert rows[0]["ours_seconds_per_added_turn"] == pytest.approx(first / 2)
    added = rows[1]["ours_seconds_per_added_turn"]
    assert added == pytest.approx((second - first) / 2)


def test_growth_in_size_takes_one_factor(model):
    for factor in ("prefix", "k"):
        rows = growth_in_size(
            model, "toy", factor, (4, 8), prefix=16, k=2, new_tokens=2, repeats=1
        )
        assert [(r["factor"], r["value"]) for r in rows] == [(factor, 4), (factor, 8)]
        assert all(r["ours_seconds"] > 0 and r["peer_seconds"] > 0 for r in rows)
    with pytest.raises(ValueError, match="'prefix' or 'k'"):
        growth_in_size(model, "toy", "width", (4,))


def test_flops_by_hand(model):
    # hidden 32: q 32x32, k and v 32x16 each, o 32x32, MLP 3 x 32x48; two layers.
    linear = 2 * (2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 48)
    vocabulary = model.config.vocab_size * 32
    # attention: 2 layers, two products of 4 heads x 8 over half the square of 10
    attention = 2 * 2 * 32 * 10**2
    wanted = 2 * linear * 10 + attention + 2 * vocabulary
    assert matrix_flops(model, 10) == wanted


def test_roofline_is_a_share_of_the_measured_product(model):
    (found,) = roofline(model, "toy", tokens=64, size=64, repeats=1)
    assert found["unit"] == "GFLOP/s" and found["peer_name"] == "matrix product 64 x 64"
    assert 0 < found["ratio"] < 1.5
    assert "dtype=float32" in found["setting"] and model.dtype == torch.float32
