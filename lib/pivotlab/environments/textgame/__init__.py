"""ALFWorld's household game: our own rules, games and oracle, and the real engine."""

from pivotlab.environments.textgame.games import Game, make_game, task_ids
from pivotlab.environments.textgame.twin import TextGame

__all__ = ["Game", "TextGame", "make_game", "task_ids"]
