"""Episodes as labelled conversations, and relabelled prefixes."""

import random

import pytest

from pivotlab.environments.textgame.games import task_ids
from pivotlab.environments.textgame.players import HonestPlayer, NoisyPlayer
from pivotlab.environments.textgame.twin import TextGame
from pivotlab.records import Candidate, Message
from pivotlab.trajectories.game_play import SYSTEM, play, relabel
from pivotlab.verifiers.text_game import TextGameVerifier

TASKS = task_ids("train", 12)


@pytest.mark.parametrize("task", TASKS)
def test_an_honest_episode_is_a_won_conversation_of_commands(task):
    episode = play(task, HonestPlayer(), random.Random(0))
    roles = [m.role for m in episode.messages]
    assert roles == ["user"] + ["assistant", "user"] * episode.meta["turns"]
    assert episode.reward == 1.0 and episode.source == "honest"
    assert sorted(episode.contexts) == episode.assistant_turns()
    for index, context in episode.contexts.items():
        action = episode.messages[index].content
        assert context["task"] == task and context["honest"] == action
        assert action in context["acceptable"]
        assert set(context["acceptable"]) <= set(context["admissible"])


def test_the_given_environment_is_the_one_played():
    env = TextGame()
    episode = play(TASKS[0], HonestPlayer(), random.Random(0), env=env)
    assert episode == play(TASKS[0], HonestPlayer(), random.Random(0))
    assert env.remaining_turns() == 0


def test_the_conversation_replays_in_the_game():
    episode = play(TASKS[3], NoisyPlayer(0.3), random.Random(1), system=SYSTEM)
    assert episode.messages[0] == Message("system", SYSTEM)
    env = TextGame()
    assert env.reset(TASKS[3]) == episode.messages[1].content
    for index in episode.assistant_turns():
        assert env.admissible() == episode.contexts[index]["admissible"]
        answer = env.step(episode.messages[index].content).observation
        assert episode.messages[index + 1] == Message("user", answer)


def test_the_same_seed_gives_the_same_episode():
    first, second = (play(TASKS[5], NoisyPlayer(0.2), random.Random(7)) for _ in "ab")
    assert first == second
    assert play(TASKS[5], NoisyPlayer(0.2), random.Random(7), uid="x").uid == "x"


def test_relabelling_keeps_the_prefix_and_names_the_honest_way_out():
    task = task_ids("train", 1, types=("pick_heat_then_place_in_recep",))[0]
    actions = ["look", "dance", "go to moon 1"]
    episode = relabel(task, actions, random.Random(0))
    said = [episode.messages[i].content for i in episode.assistant_turns()]
    assert said == actions and episode.reward == 0.0
    for context in episode.contexts.values():
        assert context["honest"] in context["acceptable"]
        assert context["honest"] not in actions


def test_relabelling_an_honest_episode_changes_nothing_but_its_name():
    episode = play(TASKS[1], HonestPlayer(), random.Random(0))
    actions = [episode.messages[i].content for i in episode.assistant_turns()]
    again = relabel(TASKS[1], [*actions, "look"], random.Random(9))
    assert again.messages == episode.messages and again.contexts == episode.contexts
    assert again.reward == 1.0 and again.source == "script"


def test_turns_run_out():
    episode = play(TASKS[0], HonestPlayer(), random.Random(0), max_turns=2)
    assert episode.meta["turns"] == 2 and episode.reward == 0.0


def test_a_task_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="no game 'nowhere'"):
        play("nowhere", HonestPlayer(), random.Random(0))


def test_honest_commands_pass_the_functional_verdict():
    verifier = TextGameVerifier()
    for task in TASKS:
        episode = play(task, NoisyPlayer(0.3), random.Random(2))
        for turn, index in enumerate(episode.assistant_turns()):
            context = episode.contexts[index]
            candidate = Candidate(
                uid=f"{episode.uid}:{turn}",
                trajectory_uid=episode.uid,
                turn=turn,
                prefix=episode.messages[:index],
                expert=Message("assistant", context["honest"]),
                context=context,
            )
            assert verifier.verify(candidate, candidate.expert).reward == 1.0
            played = verifier.verify(candidate, episode.messages[index])
            legal = episode.messages[index].content in context["admissible"]
            assert (played.category == "inadmissible") == (not legal)
