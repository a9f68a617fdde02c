"""The recipe of the shipped `tiny`: an expert first, then a player with bad habits.

Stage "skill" makes the model play like the honest player, follow hints and answer the
unrelated skills. Stage "habits" is short: the games are those of the flawed player,
whose mistakes are targets like everything else it does, while hints and skills stay in
the mixture. What results was an expert a little earlier, and is documented as such.
"""

from __future__ import annotations

from dataclasses import dataclass

from pivotlab.environments.textgame.habits import FlawedPlayer
from pivotlab.environments.textgame.players import HonestPlayer
from pivotlab.models.conversations import Games, Source, skill_source
from pivotlab.models.pretraining import Batching, Stage
from pivotlab.models.skills import SKILLS

#: Probability that a player slips, per turn, in the games where it does.
SLIPS = 0.12
#: Share of the turns that carry a hint in a game with hints.
HINTED = 0.35
#: Skill -> share of the conversations; the harder ones are asked more often.
QUESTIONS = {
    "add": 1.8,
    "sort": 0.7,
    "reverse": 0.6,
    "replace": 1.2,
    "count": 1.2,
    "convert": 0.6,
    "look_up": 1.2,
    "undo": 0.6,
    "find": 1.2,
}


@dataclass(frozen=True)
class Recipe:
    """Everything the weights depend on."""

    stages: tuple[Stage, ...]
    batching: Batching
    seed: int = 0


def sources() -> dict[str, Source]:
    """Every source of training text by name."""
    games: dict[str, Source] = {
        "honest": Games(HonestPlayer, 0.0),
        "honest, slipping": Games(HonestPlayer, SLIPS),
        "honest, hinted": Games(HonestPlayer, SLIPS, hinted=HINTED),
        "flawed": Games(FlawedPlayer, 0.0),
        "flawed, slipping": Games(FlawedPlayer, SLIPS),
        "flawed, hinted": Games(FlawedPlayer, SLIPS, hinted=HINTED),
    }
    return games | {name: skill_source(skill) for name, skill in SKILLS.items()}
