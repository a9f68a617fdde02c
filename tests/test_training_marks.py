"""Marks: A_distill where the policy spoke, zero where the environment did."""

import pytest
import torch
from episode_toys import FORWARD, RENDERER, TASKS, Stairs, log_prob, talker

from pivotlab.distillation.recovery import Tally
from pivotlab.distillation.self_teacher import Request, SelfTeacher
from pivotlab.engines.protocol import Sampling
from pivotlab.records import PivotalTurn
from pivotlab.rollouts import Settings, Start, play
from pivotlab.rollouts.branching import RememberingPlayer
from pivotlab.rollouts.prompts import PromptGrower
from pivotlab.training.marks import hinted_marks, scattered, scored, whole


@pytest.fixture(scope="module")
def scene():
    player = RememberingPlayer(talker())
    starts = [Start(task, seed) for seed, task in enumerate(TASKS)]
    rules = Settings(max_turns=4, sampling=Sampling(6))
    rollouts = play(player, RENDERER, Stairs, starts, rules)
    return player, rollouts


def test_marks_are_the_hinted_minus_the_plain_log_probs(scene):
    player, rollouts = scene
    model, tally = player.decoder.model, Tally()
    named = [(0, 0, FORWARD), (2, 1, FORWARD), (1, 1, None)]
    grower = PromptGrower(RENDERER)
    marks = hinted_marks(rollouts, named, grower, SelfTeacher(player), tally)
    for mark, (index, turn, _) in zip(marks, named, strict=True):
        rollout = rollouts[index]
        start, stop = rollout.turns[turn].span
        own = rollout.token_ids[start:stop]
        assert (mark.rollout, mark.start, mark.request.response) == (index, start, own)
        gap = log_prob(model, mark.request.prompt, own)
        gap = gap - log_prob(model, rollout.token_ids[:start], own)
        assert mark.values == pytest.approx(gap.tolist(), abs=2e-5)
    assert tally["seconds/self_teacher"] > 0


def test_without_privileged_text_there_is_nothing_to_distill(scene):
    player, rollouts = scene
    asked = [whole(i, r) for i, r in enumerate(rollouts)]
    for mark in scored(rollouts, asked, SelfTeacher(player)):
        assert mark.values == pytest.approx([0.0] * len(mark.values), abs=2e-5)


def test_environment_tokens_carry_nothing(scene):
    player, rollouts = scene
    start, request = whole(0, rollouts[0])
    prompt = (*request.prompt[:-1], 12, request.prompt[-1])
    privileged = Request(0, prompt, request.response)
    (mark,) = scored(rollouts, [(start, privileged)], SelfTeacher(player))
    mask = torch.tensor(rollouts[0].mask[start:])
    values = torch.tensor(mark.values)
    assert (values[mask == 0] == 0).all() and (values[mask == 1] != 0).any()


def test_scattered_turns_are_distinct_seeded_and_keep_the_hints(scene):
    rollout = max(scene[1], key=lambda r: len(r.turns))
    pivots = [PivotalTurn(0, "a"), PivotalTurn(1, "b")]
    found = [tuple(scattered(rollout, pivots, seed)) for seed in range(40)]
    assert found[3] == tuple(scattered(rollout, pivots, 3))
    turns = {p.turn for pair in found for p in pair}
    assert turns == set(range(len(rollout.turns)))
    for pair in found:
        assert len({p.turn for p in pair}) == 2
        assert [p.gold_action for p in pair] == ["a", "b"]
