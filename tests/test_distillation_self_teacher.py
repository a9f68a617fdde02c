"""The self-teacher scores what a plain forward pass scores, and writes by its seeds."""

import pytest
import torch
from episode_toys import RENDERER, TASKS, Stairs, log_prob, talker

from pivotlab.distillation import self_teacher
from pivotlab.distillation.self_teacher import Request, SelfTeacher
from pivotlab.engines.protocol import Sampling
from pivotlab.rollouts import Settings, Start, play
from pivotlab.rollouts.branching import RememberingPlayer

STOP = (RENDERER.end_of_turn,)


@pytest.fixture(scope="module")
def scene():
    model = talker()
    player = RememberingPlayer(model)
    starts = [Start(task, seed) for seed, task in enumerate(TASKS)]
    rules = Settings(max_turns=4, sampling=Sampling(6))
    return model, player, play(player, RENDERER, Stairs, starts, rules)


def requests(rollouts):
    """Each episode's second turn, after a prompt with something added."""
    found = []
    for index, rollout in enumerate(rollouts):
        start, stop = rollout.turns[1].span
        prompt = (*rollout.token_ids[: start - 2], 12, *rollout.token_ids[start - 2 :])
        found.append(Request(index, prompt[: start + 1], rollout.token_ids[start:stop]))
    return found


@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_scores_equal_a_plain_forward_pass(scene, temperature):
    model, player, rollouts = scene
    asked = requests(rollouts)
    scores = SelfTeacher(player, temperature).score(asked)
    whole = SelfTeacher(player, temperature).distributions(asked)
    for request, found, table in zip(asked, scores, whole, strict=True):
        ids = torch.tensor([[*request.prompt, *request.response]])
        logits = model(ids).logits[0, len(request.prompt) - 1 : -1] / temperature
        assert torch.allclose(table, logits.log_softmax(-1), atol=1e-5)
        chosen = table.gather(1, torch.tensor(request.response)[:, None])[:, 0]
        assert torch.equal(found, chosen) and not found.requires_grad


def test_unhinted_scores_are_what_the_tokens_were_sampled_with(scene):
    _, player, rollouts = scene
    asked = [
        Request(i, r.token_ids[: t.span[0]], r.token_ids[slice(*t.span)])
        for i, r in enumerate(rollouts)
        for t in r.turns
    ]
    recorded = [
        r.log_probs[slice(*t.span)] for i, r in enumerate(rollouts) for t in r.turns
    ]
    for found, wanted in zip(SelfTeacher(player).score(asked), recorded, strict=True):
        assert torch.allclose(found, torch.tensor(wanted), atol=1e-5)


def test_writing_depends_on_the_seed_and_not_on_the_batch(scene, monkeypatch):
    model, player, rollouts = scene
    asked = [Request(r.episode, r.prompt) for r in requests(rollouts)]
    seeds = [70 + i for i in range(len(asked))]
    together = SelfTeacher(player).write(asked, seeds, Sampling(6, 1.0, STOP))
    monkeypatch.setattr(self_teacher, "BATCH", 1)
    alone = SelfTeacher(player).write(asked, seeds, Sampling(6, 1.0, STOP))
    assert [s.token_ids for s in together] == [s.token_ids for s in alone]
    for request, sample in zip(asked, together, strict=True):
        wanted = log_prob(model, request.prompt, sample.token_ids)
        assert torch.allclose(torch.tensor(sample.log_probs), wanted, atol=1e-5)
    other = SelfTeacher(player).write(asked, seeds[::-1], Sampling(6, 1.0, STOP))
    assert [s.token_ids for s in other] != [s.token_ids for s in alone]
