"""Slips of any player: how often, where, and that the rest is the player's own."""

import random

import pytest

from pivotlab.environments.players import Player, Slipping
from pivotlab.environments.textgame.habits import FlawedPlayer, NoisyFlawedPlayer
from pivotlab.environments.textgame.players import HonestPlayer, NoisyPlayer


class Counting:
    name = "counting"

    def __init__(self, step: int = 1):
        self.step, self.seen = step, []

    def start(self, observation):
        self.number = 0

    def observe(self, observation):
        self.seen.append(observation)

    def act(self, admissible, rng):
        self.number += self.step
        return str(self.number)


class Stumbling(Slipping, Counting):
    def slip(self, admissible, rng):
        return "oops"


def test_slips_take_the_place_of_the_players_actions_and_are_listed():
    player, rng = Stumbling(0.3, step=2), random.Random(0)
    player.start("")
    said = [player.act([], rng) for _ in range(2000)]
    assert player.slips == [i for i, action in enumerate(said) if action == "oops"]
    assert abs(len(player.slips) / 2000 - 0.3) < 0.04
    own = [action for action in said if action != "oops"]
    assert own == [str(2 * (i + 1)) for i in range(len(own))]
    player.start("again")
    assert player.slips == [] and player.act([], random.Random(1)) == "oops"
    assert player.slips == [0] and player.name == "noisy-0.3"


def test_without_probability_nothing_is_changed():
    player = Stumbling(0.0)
    player.start("")
    assert [player.act([], random.Random(7)) for _ in range(3)] == ["1", "2", "3"]
    assert player.slips == []


def test_a_player_must_say_what_its_slips_are():
    class Silent(Slipping, Counting):
        pass

    player = Silent(1.0)
    player.start("")
    with pytest.raises(NotImplementedError):
        player.act([], random.Random(0))


def test_slips_come_before_habits_before_honesty():
    order = [c.__name__ for c in NoisyFlawedPlayer.__mro__[:5]]
    assert order == [
        "NoisyFlawedPlayer",
        "NoisyPlayer",
        "Slipping",
        "FlawedPlayer",
        "HonestPlayer",
    ]
    assert NoisyFlawedPlayer(0.2).habits == FlawedPlayer().habits
    for made in (HonestPlayer(), NoisyPlayer(0.1), NoisyFlawedPlayer(0.1)):
        assert isinstance(made, Player)
