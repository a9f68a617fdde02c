"""Sizes are complete and subjects bring turns that fit them."""

import pytest

from pivotlab.experiments.benchmarks.subjects import (
    SIZES,
    evenly,
    games,
    qwen3_shape,
    subject,
)
from pivotlab.experiments.presets import PRESETS
from pivotlab.models import tiny
from pivotlab.models.tokenizer import build_tokenizer


def test_every_preset_has_sizes_and_repeats_that_make_a_median():
    assert set(SIZES) == set(PRESETS)
    assert all(SIZES[p].repeats >= 5 for p in ("cpu", "gpu", "paper"))
    cpu = SIZES["cpu"]
    assert cpu.trajectories >= 20 and cpu.step_length >= 350 and cpu.group == cpu.k == 8
    assert 16 <= cpu.step_tokens <= 24 and cpu.reference == 64


def test_random_subject_plays_games_whose_prompts_grow():
    sizes = SIZES["smoke"]
    found = subject("random", sizes)
    again = subject("random", sizes)
    assert found.trajectories == sizes.trajectories
    assert found.prompts == again.prompts
    assert all(
        (a == b).all()
        for a, b in zip(found.model.parameters(), again.model.parameters(), strict=True)
    )
    first = [c for c in found.candidates if c.trajectory_uid == "train-0/0"] or [
        c
        for c in found.candidates
        if c.trajectory_uid == found.candidates[0].trajectory_uid
    ]
    lengths = [len(c.prefix) for c in first]
    assert lengths == sorted(set(lengths)) and len(lengths) > 1
    assert max(map(len, found.prompts)) <= sizes.longest


def test_games_depend_on_their_seed_only():
    one, other = games(2, 5, 0), games(2, 5, 1)
    assert [t.messages for t in one] == [t.messages for t in games(2, 5, 0)]
    assert [t.messages for t in one] != [t.messages for t in other]


def test_evenly_spaced_choice_by_hand():
    items = games(5, 2, 0)
    assert evenly(items, 2) == [items[0], items[2]]
    with pytest.raises(ValueError, match="6 trajectories are wanted, there are 5"):
        evenly(items, 6)


def test_shape_has_the_size_of_its_name():
    tokenizer = build_tokenizer(tiny.vocabulary())
    import torch

    model = qwen3_shape(tokenizer, 0, "meta", torch.bfloat16)
    # Tied embeddings are counted once.
    assert 1.7e9 < sum(p.numel() for p in model.parameters()) < 1.75e9
