"""Judges of actions: a look into the wrong drawer is sensible and not nearer."""

import random

import pytest
from episode_toys import FORWARD, RENDERER, TASKS, Stairs, talker
from multiturn_toys import STOP

from pivotlab.distillation.verdicts import NearerGoal
from pivotlab.engines.protocol import Sampling
from pivotlab.environments.search_qa.players import NoisyReader
from pivotlab.environments.shop.players import NoisyShopper
from pivotlab.environments.textgame import TextGame, task_ids
from pivotlab.environments.textgame.players import HonestPlayer, NoisyPlayer
from pivotlab.experiments.methods.worlds import WORLDS
from pivotlab.records import Rollout, Turn
from pivotlab.rollouts import Settings, Start, play
from pivotlab.rollouts.branching import RememberingPlayer
from pivotlab.trajectories.game_play import play as play_game
from pivotlab.trajectories.web_play import play_search, play_shop

ORACLE = ("remaining_turns", "optimal_actions", "__dict__", "__weakref__")


@pytest.fixture(scope="module")
def climbs():
    player = RememberingPlayer(talker())
    starts = [Start(TASKS[i % 2], 20 + i) for i in range(4)]
    rules = Settings(max_turns=4, sampling=Sampling(6, 1.0, STOP))
    return play(player, RENDERER, Stairs, starts, rules)


def rollout_of(episode):
    """A labelled episode as the rollout that a policy would have played."""
    pairs = [
        (episode.messages[i].content, episode.messages[i + 1].content)
        for i in episode.assistant_turns()
    ]
    turns = tuple(Turn((0, 0), said, said, seen) for said, seen in pairs)
    task, won = episode.meta["task"], episode.reward
    return Rollout(task, (), (), (), turns, won, True, episode.messages)


def accepted(episode):
    places = episode.assistant_turns()
    found = [episode.contexts[i]["acceptable"] for i in places]
    said = [episode.messages[i].content for i in places]
    return [float(a in ok) for a, ok in zip(said, found, strict=True)]


@pytest.mark.parametrize("task", task_ids("train", 8))
def test_functional_is_the_acceptable_set_along_the_way(task):
    judge = WORLDS["textgame"].judge
    noisy = play_game(task, NoisyPlayer(0.3), random.Random(3))
    assert judge(rollout_of(noisy)) == accepted(noisy)
    honest = rollout_of(play_game(task, HonestPlayer(), random.Random(4)))
    assert set(judge(honest)) == {1.0} and honest.reward == 1.0


@pytest.mark.parametrize(
    "world, play_one, noisy",
    [
        ("shop", play_shop, NoisyShopper),
        ("search_qa", play_search, NoisyReader),
    ],
)
def test_functional_on_the_web_accepts_what_the_watcher_does(world, play_one, noisy):
    own, blamed = WORLDS[world], 0
    for seed, task in enumerate(own.tasks("train", 6, 0)):
        episode = play_one(task, noisy(0.4), random.Random(seed))
        verdicts, watched = own.judge(rollout_of(episode)), accepted(episode)
        # A query of other words that brings the same is right too.
        assert all(v >= w for v, w in zip(verdicts, watched, strict=True))
        blamed += verdicts.count(0.0)
    assert blamed, "no slip was blamed: choose other seeds"


def test_the_oracle_blames_honest_searches():
    blamed = turns = 0
    for seed, task in enumerate(task_ids("train", 24)):
        honest = play_game(task, HonestPlayer(), random.Random(seed))
        verdicts = NearerGoal(TextGame)(rollout_of(honest))
        blamed += verdicts.count(0.0)
        turns += len(verdicts)
    assert blamed > 0.2 * turns


def test_nearer_goal_by_hand(climbs):
    for rollout in climbs:
        found = NearerGoal(Stairs)(rollout)
        assert found == [float(t.action == FORWARD) for t in rollout.turns]


def test_an_environment_without_an_oracle_cannot_judge(climbs):
    own = {k: v for k, v in vars(Stairs).items() if k not in ORACLE}
    blind = type("Blind", (), own)
    with pytest.raises(ValueError, match="cannot be judged; give it remaining_turns"):
        NearerGoal(blind)(climbs[0])
