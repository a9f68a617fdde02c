"""Which turns get a signal, what is asked of the teacher, and how it is counted."""

from dataclasses import replace

import pytest
from episode_toys import RENDERER, TASKS, Stairs, talker, teacher
from multiturn_toys import STOP, Advising

from pivotlab.distillation import hints
from pivotlab.distillation.losses import Weights
from pivotlab.engines.protocol import Sampling
from pivotlab.evaluation.diagnosis import oracle_path
from pivotlab.rollouts import Settings, Start, play
from pivotlab.rollouts.branching import RememberingPlayer
from pivotlab.training.distilled import Distillation, Distiller

SAMPLING = Sampling(6, 1.0, STOP)
FULL = Distillation(Weights(0.1, 1.0, 0.1))
NONE = Weights(0.0, 0.0, 0.0)


@pytest.fixture(scope="module")
def scene():
    player = RememberingPlayer(talker())
    starts = [Start(task, 10 + i) for i, task in enumerate(TASKS + TASKS[:2])]
    rules = Settings(max_turns=4, sampling=SAMPLING)
    return player, play(player, RENDERER, Stairs, starts, rules)


def signals(scene, settings, named=None, first=0, exchange=lambda items: items):
    player, rollouts = scene
    own = Distiller(settings, named or teacher(), RENDERER, Stairs, SAMPLING, 4)
    seeds = range(len(rollouts))
    return own.signals(rollouts, player, seeds, 5, first, exchange)


def test_pivots_are_the_oracles_and_every_one_is_accounted_for(scene):
    _, rollouts = scene
    pivots = [
        (i, t) for i, r in enumerate(rollouts) for t in oracle_path(r, Stairs).pivots
    ]
    found = signals(scene, replace(FULL, recovery_turns=1))
    starts = [(m.rollout, m.start) for m in found.prevention]
    assert starts == [(i, rollouts[i].turns[t].span[0]) for i, t in pivots]
    tally = found.tally
    assert (
        tally["pivots"]
        == len(pivots)
        == (tally["recovery/followed"] + tally["recovery/last turn"])
    )
    dropped = sum(v for k, v in tally.items() if k.startswith("recovery/dropped/"))
    assert tally["recovery/rows"] + dropped == tally["recovery/followed"]
    assert tally["recovery/rows"] == len(found.recoveries) > 0
    assert tally["teacher/reports"] == len(rollouts)


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_the_limit_bounds_the_pivots_followed(scene, limit):
    found = signals(scene, replace(FULL, max_recoveries=limit))
    assert len({(r.rollout, r.turn) for r in found.recoveries}) <= limit
    assert found.tally["recovery/followed"] == limit
    whole = signals(scene, FULL).tally["recovery/followed"]
    if limit:
        assert found.tally["recovery/over the limit"] == whole - limit


def test_processes_choose_together(scene):
    """Two processes with half of the rollouts each follow what one follows alone."""
    player, rollouts = scene
    limited = replace(FULL, max_recoveries=3, recovery_turns=1)
    alone = signals(scene, limited).recoveries
    counts = []
    for part in (rollouts[:4], rollouts[4:]):
        signals((player, part), limited, exchange=lambda c: counts.extend(c) or c)
    seeds = range(len(rollouts))
    together = []
    for first in (0, 4):
        own = Distiller(limited, teacher(), RENDERER, Stairs, SAMPLING, 4)
        part = rollouts[first : first + 4]
        chosen = own.signals(
            part, player, seeds[first:], 5, first, lambda _: counts
        ).recoveries
        together += [(r.rollout + first, r.turn) for r in chosen]
    assert sorted(together) == sorted((r.rollout, r.turn) for r in alone)


def test_random_turns_keep_number_and_hints(scene):
    usual, random_ = (
        signals(scene, replace(FULL, turns=t)) for t in ("teacher", "random")
    )
    assert usual.tally["pivots"] == random_.tally["pivots"]
    assert [m.start for m in usual.prevention] != [m.start for m in random_.prevention]
    assert len(usual.prevention) == len(random_.prevention)


def test_final_audits_one_episode_of_a_group_that_failed_altogether(scene):
    player, rollouts = scene
    lost = [replace(r, reward=0.0) for r in rollouts[:4]]
    won = [replace(r, reward=float(i == 1)) for i, r in enumerate(rollouts[4:])]
    settings = Distillation(Weights(0.1, 0.0), turns="final", recovery_turns=0)
    found = signals((player, lost + won), settings)
    assert found.tally["teacher/reports"] == 0 and found.recoveries == []
    assert found.tally["teacher/action_queries"] == 1
    for mark in found.prevention:
        assert mark.rollout < 4
        assert mark.start == lost[mark.rollout].turns[-1].span[0]


def test_every_turn_gets_the_teachers_action(scene):
    _, rollouts = scene
    found = signals(scene, Distillation(NONE, 0.0, 1.0, recovery_turns=0))
    assert len(found.every) == sum(len(r.turns) for r in rollouts)
    assert found.tally["teacher/action_queries"] == len(found.every)
    assert found.tally["teacher/reports"] == 0 and not found.prevention


def test_lessons_reach_the_episodes_that_have_one(scene):
    _, rollouts = scene
    found = signals(scene, replace(FULL, recovery_turns=0), Advising(Stairs()))
    wanted = [i for i, r in enumerate(rollouts) if int(r.task) % 2]
    assert [m.rollout for m in found.lesson] == wanted
    assert found.tally["lesson/none given"] == len(rollouts) - len(wanted)
    for mark in found.lesson:
        shown = RENDERER.tokenizer.decode(list(mark.request.prompt))
        with pytest.raises(AssertionError):
            hints.assert_unprivileged(shown)


def test_weights_of_zero_ask_nobody(scene):
    found = signals(scene, Distillation(NONE, recovery_turns=0))
    assert not found.tally["teacher/reports"]
    assert not (found.prevention or found.lesson or found.every or found.recoveries)
