"""The training duel on a random model: equal work, equal gradients."""

import pytest
import torch
from training_toys import make_candidates, make_model, make_tokenizer

from pivotlab.experiments.benchmarks.training import (
    STOCK,
    Duel,
    every_other,
    gradient_error,
    growth_in_training,
    long_prompts,
    one_step,
    step_speed,
    without_thoughts,
)
from pivotlab.records import Candidate, Message
from pivotlab.rendering import Renderer

TOKENIZER = make_tokenizer()


def duel(folder, group=4, new_tokens=3):
    model = make_model(TOKENIZER).eval()
    settings = one_step(2, group, new_tokens)
    return Duel(model, TOKENIZER, make_candidates(2), settings, folder)


def test_equal_samples_give_equal_gradients(tmp_path):
    assert gradient_error(duel(tmp_path)) <= 1e-5


def test_another_completion_gives_another_gradient(tmp_path, monkeypatch):
    both = duel(tmp_path)
    stock = both.stock

    def altered(rollout_func, **more):
        def other(prompts, trainer):
            given = rollout_func(prompts, trainer)
            ids = [[*c[:-1], (c[-1] + 1) % 50] for c in given["completion_ids"]]
            return {**given, "completion_ids": ids}

        return stock(rollout_func=other, **more)

    monkeypatch.setattr(both, "stock", altered)
    assert gradient_error(both) > 1e-3


def test_both_sample_exactly_as_many_tokens_and_the_step_is_timed(tmp_path):
    both = duel(tmp_path)
    lengths = {}
    for name, make in (("ours", both.ours), ("stock", both.stock)):
        trainer = make()
        trainer.train()
        log = [r for r in trainer.state.log_history if "completions/mean_length" in r]
        lengths[name] = [log[0][f"completions/{k}_length"] for k in ("min", "max")]
    assert lengths == {"ours": [3, 3], "stock": [3, 3]}
    (found,) = step_speed(both, "toy", repeats=1)
    assert found["peer_name"] == STOCK and found["repeats"] == 1
    assert found["ours"] > 0 and found["peer"] > 0
    assert "model=toy prompts=2" in found["setting"] and "G=4 new=3" in found["setting"]


def test_the_handed_model_stays_as_it_was(tmp_path):
    both = duel(tmp_path)
    before = [p.clone() for p in both.model.parameters()]
    trainer = both.ours()
    trainer.train()
    assert all(
        torch.equal(a, b) for a, b in zip(before, both.model.parameters(), strict=True)
    )


def test_growth_in_training_names_its_factors(tmp_path):
    rows = growth_in_training(
        lambda group, prefix: duel(tmp_path, group), "toy", (2,), (8,), repeats=1
    )
    assert [(r["factor"], r["value"]) for r in rows] == [
        ("G", 2),
        ("training prefix", 8),
    ]


def test_long_prompts_are_the_shortest_that_are_long_enough():
    renderer, candidates = Renderer(TOKENIZER), make_candidates(6)
    lengths = sorted(renderer.length(c.prefix) for c in candidates)
    found = long_prompts(candidates, renderer, lengths[2], 2)
    assert [renderer.length(c.prefix) for c in found] == lengths[2:4]


def test_short_conversations_are_joined_until_they_are_long_enough():
    renderer, candidates = Renderer(TOKENIZER), make_candidates(6)
    least = max(renderer.length(c.prefix) for c in candidates) + 1
    first, second = long_prompts(candidates, renderer, least, 2)
    assert first.prefix[: len(candidates[0].prefix)] == candidates[0].prefix
    assert first.prefix[len(candidates[0].prefix)] == candidates[0].expert
    assert all(renderer.length(c.prefix) >= least for c in (first, second))
    assert [m.role for m in first.prefix[:-1:2]] == ["user"] * (len(first.prefix) // 2)
    with pytest.raises(ValueError, match="6 conversations make 0 prompts of 9999"):
        long_prompts(candidates, renderer, 9999, 1)


def test_a_template_that_renders_otherwise_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(Renderer, "prompt_ids", lambda *_: [1, 2, 3])
    with pytest.raises(ValueError, match="would not do the same work"):
        duel(tmp_path)


def test_reward_differs_and_a_group_of_one_is_refused():
    assert every_other([[1, 2], [2, 2], [3]]) == [0.0, 1.0, 0.0]
    with pytest.raises(ValueError, match="group=1"):
        one_step(2, 1, 3)


def test_thoughts_of_earlier_turns_are_left_out_of_the_prompts():
    said = Message("assistant", "look", reasoning="I do not know this room.")
    turn = Candidate(
        "t/1", "t", 1, (Message("user", "A room."), said, Message("user", "A desk.")),
        Message("assistant", "go to desk 1"),
    )  # fmt: skip
    plain = without_thoughts(turn)
    assert [m.content for m in plain.prefix] == [m.content for m in turn.prefix]
    assert all(m.reasoning is None for m in plain.prefix)
