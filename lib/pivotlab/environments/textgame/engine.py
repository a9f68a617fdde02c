"""The real ALFWorld engine behind the environment protocol (extra `engine`).

It plays the twin's games under the twin's task ids, and `game.tw-pddl` files (those of
`pddl.write_game` or the official ones) under their path. A second or more to start a
game and 0.05-0.3 s a step; the twin takes 0.1 ms.

A snapshot is the tuple of commands carried out so far: hashable, picklable, and good in
any process. The engine cannot be copied, so `restore` goes back by the planner
library's state number where this object took the snapshot itself since the last start,
and by replaying the commands otherwise; both end in the same state, because the engine
is deterministic. Two different ways to one state have different snapshots.

Departures from the engine's own interface: (1) the banner `wording.WELCOME` is cut off
the first observation; (2) the reward is 1 at the step that wins, not ever after.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from pivotlab.environments.protocol import Step
from pivotlab.environments.textgame import pddl, wording
from pivotlab.environments.textgame.games import Game, make_game

try:
    import textworld
    from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
    from textworld.envs import PddlEnv
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(pddl.MISSING) from missing


@contextmanager
def _arguments_kept() -> Iterator[None]:
    """Undo what the planner's translator does to `sys.argv`."""
    kept = sys.argv
    try:
        yield
    finally:
        sys.argv = kept


class _Saved(NamedTuple):
    """What the engine changes as it plays, for one snapshot."""

    state_id: int
    facts: dict[Any, frozenset[Any]]
    operators: dict[int, Any]
    state: textworld.GameState


class RealTextGame:
    """One player in one game of the real engine."""

    def __init__(self) -> None:
        self._env = AlfredDemangler(PddlEnv(textworld.EnvInfos()))

    @property
    def _core(self) -> PddlEnv:
        return self._env.unwrapped

    def reset(self, task: str) -> str:
        """Start the game with this id, or the game file with this path.

        Raises:
            ValueError: the id names no game.
            FileNotFoundError: the path names no file.
        """
        if not task.endswith(pddl.GAME_FILE):
            return self.play(make_game(task))
        return self._load(task)

    def play(self, game: Game) -> str:
        """Start a game given as a record, such as one made by hand."""
        return self._load(pddl.game_data(game))

    def _load(self, game: str | dict[str, Any]) -> str:
        with _arguments_kept():
            self._env.load(game)
        return self._start()

    def _start(self) -> str:
        with _arguments_kept():
            state = self._env.reset()
        self._done: tuple[str, ...] = ()
        self._saved: dict[tuple[str, ...], _Saved] = {}
        return state.feedback.removeprefix(wording.WELCOME)

    def step(self, action: str) -> Step:
        """Take one action; anything inadmissible is answered "Nothing happens."."""
        before = self._core.state
        state, _, _ = self._env.step(action)
        command = state.last_command
        if command in before["admissible_commands"]:
            self._done = (*self._done, command)
        return Step(
            state.feedback, float(state["won"] and not before["won"]), state["won"]
        )

    def admissible(self) -> list[str]:
        """Commands the engine would carry out now, sorted."""
        return list(self._core.state["admissible_commands"])

    def snapshot(self) -> Hashable:
        """The commands carried out so far."""
        if self._done not in self._saved:
            state, core = self._core._pddl_state, self._core
            self._saved[self._done] = _Saved(
                core.downward_lib.get_state_id(),
                {kind: frozenset(facts) for kind, facts in state._facts.items()},
                state._operators,
                core.state,
            )
        return self._done

    def restore(self, snapshot: Hashable) -> None:
        """Go back to a snapshot of the current game.

        Raises:
            TypeError: the value is no snapshot of this environment.
            ValueError: the current game refuses a command of the snapshot.
        """
        if not isinstance(snapshot, tuple):
            raise TypeError(f"not a snapshot of the real engine: {snapshot!r}")
        saved = self._saved.get(snapshot)
        if saved is None:
            self._replay(snapshot)
            return
        core = self._core
        core.downward_lib.set_state_id(saved.state_id)
        facts = {kind: set(held) for kind, held in saved.facts.items()}
        core._pddl_state._facts = defaultdict(set, facts)
        core._pddl_state._operators = saved.operators
        core.state = saved.state
        self._done = snapshot

    def _replay(self, commands: tuple[str, ...]) -> None:
        self._start()
        for number, command in enumerate(commands):
            if command not in self._core.state["admissible_commands"]:
                raise ValueError(
                    f"command {number} of the snapshot, {command!r}, is refused: "
                    "the snapshot belongs to another game"
                )
            self.step(command)

    def plan(self) -> list[str]:
        """The planner's shortest way to the goal; empty once won.

        Takes 0.01 s in small rooms and up to half a minute in large ones.
        """
        return self._core._pddl_state.replan(self._core._entity_infos)
