"""Training conversations: slips are muted, hints are followed, games are real."""

import random

from pivotlab.environments.textgame.games import TASK_TYPES
from pivotlab.environments.textgame.players import NoisyPlayer
from pivotlab.environments.textgame.twin import TextGame
from pivotlab.models.conversations import (
    HINTS,
    Games,
    add_hints,
    skill_source,
)
from pivotlab.models.skills import SKILLS, is_held_out
from pivotlab.trajectories.game_play import play

TASK = "pick_and_place_simple/train/000007"


def test_a_game_ends_with_the_last_command_and_depends_on_the_generator_alone():
    games = Games(NoisyPlayer, eps=0.0)
    example = games(random.Random(3))
    assert example == games(random.Random(3)) != games(random.Random(4))
    assert [m.role for m in example.messages[:3]] == ["user", "assistant", "user"]
    assert example.messages[-1].role == "assistant"
    assert not example.muted


def test_slips_are_muted_and_everything_else_is_the_players_own():
    player = NoisyPlayer(0.4)
    found = play(TASK, player, random.Random(1))
    assert player.slips, "no slip at eps 0.4: choose another seed"
    for turn, index in enumerate(found.assistant_turns()):
        acceptable = found.contexts[index]["acceptable"]
        if turn not in player.slips:
            assert found.messages[index].content in acceptable
    refused = [m for m in found.messages if m.content == "Nothing happens."]
    assert refused, "half of the slips are refused"


def test_muted_messages_are_those_of_the_slips():
    example = Games(NoisyPlayer, eps=1.0, max_turns=5)(random.Random(0))
    assert example.muted == {1, 3, 5, 7, 9}
    assert Games(NoisyPlayer, eps=0.0)(random.Random(0)).muted == frozenset()


def test_a_hint_names_the_command_that_follows_a_slip_or_not():
    example = Games(NoisyPlayer, eps=1.0, max_turns=6)(random.Random(0))
    hinted = add_hints(example, 1.0, random.Random(0))
    assert hinted.muted == frozenset()
    for turn in range(1, len(hinted.messages), 2):
        text = hinted.messages[turn - 1].content
        command = example.messages[turn].content
        hints = [hint.format(action=command) for hint in HINTS]
        observation = example.messages[turn - 1].content
        wanted = {f"{h}\n{observation}" for h in hints}
        wanted |= {f"{observation}\n{h}" for h in hints}
        assert text in wanted
        assert hinted.messages[turn].content == command


def test_a_game_with_hints_has_no_other_targets():
    example = Games(NoisyPlayer, eps=0.0, hinted=0.5)(random.Random(2))
    for turn in range(1, len(example.messages), 2):
        text = example.messages[turn - 1].content
        starts = [hint.split("{action}")[0] for hint in HINTS]
        assert (turn in example.muted) == (not any(s in text for s in starts))


def test_games_are_played_in_the_rooms_of_the_training_split_by_the_rules():
    example = Games(NoisyPlayer, eps=0.0, full=0.0)(random.Random(11))
    rng, game = random.Random(11), TextGame()
    rng.random()  # decides the size of the room
    task = f"{rng.choice(TASK_TYPES)}/train/{rng.randrange(10**6):06d}"
    assert game.reset(task) == example.messages[0].content
    for turn in range(1, len(example.messages), 2):
        step = game.step(example.messages[turn].content)
        if turn + 1 < len(example.messages):
            assert step.observation == example.messages[turn + 1].content
    assert step.reward == 1.0


def test_skills_are_drawn_from_their_training_questions():
    source = skill_source(SKILLS["add"])
    rng = random.Random(0)
    questions = [source(rng).messages[0].content for _ in range(300)]
    assert not any(is_held_out(q) for q in questions)
