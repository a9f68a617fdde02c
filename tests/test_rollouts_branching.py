"""A remembered episode gives the same logits as its tokens run anew."""

import torch
from episode_toys import RENDERER, TASKS, Stairs, talker

from pivotlab.engines.protocol import Sampling
from pivotlab.rollouts import CachedPlayer, Settings, Start, play
from pivotlab.rollouts.branching import RememberingPlayer

RULES = Settings(max_turns=5, sampling=Sampling(6))
STARTS = [Start(task, seed) for seed, task in enumerate(TASKS)]


def played():
    player = RememberingPlayer(talker())
    return player, play(player, RENDERER, Stairs, STARTS, RULES)


def test_remembering_changes_no_episode():
    plain = play(CachedPlayer(talker()), RENDERER, Stairs, STARTS, RULES)
    assert played()[1] == plain


def test_branches_hold_what_is_shared_and_give_the_same_logits():
    player, rollouts = played()
    cut = [r.turns[len(r.turns) // 2].span[0] for r in rollouts]
    prompts = [
        [*r.token_ids[:stop], 9, 10, 11 + i]
        for i, (r, stop) in enumerate(zip(rollouts, cut, strict=True))
    ]
    order = [3, 0, 5, 5, 1]
    asked = [prompts[i] for i in order]
    cache, kept = player.branch(order, asked)
    assert kept == [cut[i] for i in order] and cache.lengths.tolist() == kept
    rest = [p[k:] for p, k in zip(asked, kept, strict=True)]
    found = player.decoder.extend(cache, rest)
    _, anew = player.decoder.prefill(asked)
    assert torch.allclose(found, anew, atol=1e-5)


def test_an_episode_nobody_played_starts_empty_and_keeps_its_place():
    player, rollouts = played()
    ids = rollouts[2].token_ids
    cache, kept = player.branch([2, 99, 1], [ids, ids, rollouts[1].token_ids])
    assert kept[1] == 0 and kept[0] == len(ids) - 1 > 0
    assert cache.lengths.tolist() == kept
