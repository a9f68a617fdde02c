"""The household game behind the environment protocol: fast, exact, with an oracle."""

from __future__ import annotations

from pivotlab.environments.protocol import Step
from pivotlab.environments.snapshots import StateSnapshots
from pivotlab.environments.textgame import oracle, rules, wording
from pivotlab.environments.textgame.games import Game, make_game


class TextGame(StateSnapshots):
    """One player in one game; see `games` for task ids, `rules` for what may be
    done."""

    kind = "a text game"
    state_type = rules.State

    world: rules.World
    state: rules.State

    def reset(self, task: str) -> str:
        """Start the game `task`; the answer shows the room and states the task.

        Raises:
            ValueError: the id names no game.
        """
        return self.play(make_game(task))

    def play(self, game: Game) -> str:
        """Start a game given as a record, such as one made by hand."""
        self.world = rules.World(game)
        self._enter(self.world.start())
        return wording.opening(self.world.names, game.sentence)

    def _enter(self, state: rules.State) -> None:
        self.state = state
        self._won = rules.won(self.world, state)
        self._commands = rules.admissible(self.world, state)

    def step(self, action: str) -> Step:
        """Take one action; anything inadmissible is answered "Nothing happens."."""
        meaning = self._commands.get(action.strip())
        if meaning is None:
            return Step(wording.NOTHING, 0.0, self._won)
        before = self._won
        state = rules.apply(self.state, meaning)
        if state != self.state:
            self._enter(state)
        text = rules.observation(self.world, state, meaning)
        return Step(text, float(self._won and not before), self._won)

    def admissible(self) -> list[str]:
        """Commands the game would carry out now, sorted."""
        return sorted(self._commands)

    def remaining_turns(self) -> float:
        """L(s): fewest turns to the goal; always finite in this game."""
        return oracle.remaining_turns(self.world, self.state)

    def optimal_actions(self) -> list[str]:
        """Commands after which L is one less, sorted; empty once the game is won."""
        return oracle.optimal_actions(self.world, self.state)
