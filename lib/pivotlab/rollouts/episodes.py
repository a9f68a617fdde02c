"""Multi-turn episodes in lock-step: one batch over all that are not finished.

Every turn, each unfinished episode hands its prompt to the player, the player samples
all turns in one batch, and the environments answer. Tokens go in and out as they are:
what was sampled is never tokenised again, and what the environment and the template add
is marked 0 in the mask. An episode depends on its own seed, never on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace

from tqdm.auto import tqdm

from pivotlab import tool_call_text
from pivotlab.engines.protocol import Sample, Sampling
from pivotlab.environments.protocol import Environment
from pivotlab.records import Message, Rollout, Turn
from pivotlab.rendering import Renderer
from pivotlab.rollouts.players import Player
from pivotlab.rollouts.prompts import PromptGrower

#: (environment before the turn, index of the turn) -> an action to give, or None
Force = Callable[[Environment, int], str | None]


@dataclass(frozen=True)
class Settings:
    """How episodes are played.

    Attributes:
        max_turns: turns of an episode, those played before its start included.
        history: (action, observation) pairs shown after the first observation; None
            shows all.
        system: rules put before the first observation, or None.
        sampling: length and temperature of a turn; the renderer's own end-of-turn
            tokens are added to its stop ids.
        batch: episodes played at once.
    """

    max_turns: int = 30
    history: int | None = None
    system: str | None = None
    sampling: Sampling = field(default_factory=Sampling)
    batch: int = 128


@dataclass(frozen=True)
class Start:
    """Where an episode starts: at a reset, or in the middle of a recorded one.

    Attributes:
        task: task id of the environment.
        seed: of this episode's noise.
        messages: the conversation so far, ending with an observation; empty: reset.
        snapshot: the environment's state after `messages`.
        prompt: token ids of `messages` as they were sampled; None: rendered.
        turn: turns already taken.
        force: may give an action instead of having one sampled.
    """

    task: str
    seed: int = 0
    messages: tuple[Message, ...] = ()
    snapshot: Hashable | None = None
    prompt: tuple[int, ...] | None = None
    turn: int = 0
    force: Force | None = None


def play(
    player: Player,
    renderer: Renderer,
    environment: Callable[[], Environment],
    starts: Sequence[Start],
    settings: Settings,
) -> list[Rollout]:
    """One rollout per start, in order.

    Args:
        player: takes the turns.
        renderer: of the player's tokenizer.
        environment: makes a fresh environment; called once per episode.
        starts: where each episode starts.
        settings: turn limit, history, rules, sampling, batch size.

    Raises:
        ValueError: a task id names no task, or a start has messages but no snapshot.
    """
    grower = PromptGrower(renderer, settings.history)
    rollouts: list[Rollout] = []
    with tqdm(total=len(starts), desc="episodes", leave=False) as bar:
        for first in range(0, len(starts), settings.batch):
            chunk = starts[first : first + settings.batch]
            episodes = [_Episode(s, environment(), grower, settings) for s in chunk]
            _play_together(player, episodes, settings, bar)
            rollouts += [e.rollout() for e in episodes]
    return rollouts


def resume(
    rollout: Rollout,
    turn: int,
    *,
    seed: int = 0,
    force: Force | None = None,
) -> Start:
    """Start again right before turn `turn` of a recorded rollout.

    Raises:
        ValueError: the rollout has no such turn.
    """
    if not 0 <= turn < len(rollout.turns):
        raise ValueError(
            f"rollout of {rollout.task!r} has turns 0..{len(rollout.turns) - 1}, "
            f"not {turn}"
        )
    taken = rollout.turns[turn]
    actions = [i for i, m in enumerate(rollout.messages) if m.role == "assistant"]
    return Start(
        task=rollout.task,
        seed=seed,
        messages=rollout.messages[: actions[-len(rollout.turns) + turn]],
        snapshot=taken.snapshot,
        prompt=rollout.token_ids[taken.prompt_start : taken.span[0]],
        turn=len(actions) - len(rollout.turns) + turn,
        force=force,
    )


def _play_together(
    player: Player, episodes: list[_Episode], settings: Settings, bar: tqdm
) -> None:
    running = dict(enumerate(episodes))
    while running:
        given = {i: a for i, e in running.items() if (a := e.forced()) is not None}
        asked = [i for i in running if i not in given]
        if asked:
            prompts = [episodes[i].prompt for i in asked]
            seeds = [episodes[i].start.seed for i in asked]
            turns = [episodes[i].turn for i in asked]
            stops = episodes[0].grower.stop_ids
            sampling = replace(
                settings.sampling,
                stop_ids=(*settings.sampling.stop_ids, *stops),
                log_probs=True,
            )
            samples = player.take_turns(asked, prompts, seeds, turns, sampling)
            for i, sample in zip(asked, samples, strict=True):
                episodes[i].take(sample)
        for i, action in given.items():
            episodes[i].take_forced(action)
        over = [i for i, e in running.items() if e.over]
        player.forget(over)
        bar.update(len(over))
        running = {i: e for i, e in running.items() if not e.over}


class _Episode:
    """One episode in progress."""

    def __init__(
        self,
        start: Start,
        environment: Environment,
        grower: PromptGrower,
        settings: Settings,
    ):
        self.start, self.environment, self.grower = start, environment, grower
        self.max_turns = settings.max_turns
        self.turn = start.turn
        self.reward, self.done = 0.0, False
        observation = environment.reset(start.task)
        if start.messages:
            if start.snapshot is None:
                raise ValueError(
                    f"start of {start.task!r} has messages but no snapshot of the "
                    "state they lead to"
                )
            environment.restore(start.snapshot)
            self.messages = list(start.messages)
        else:
            rules = [Message("system", settings.system)] if settings.system else []
            self.messages = [*rules, Message("user", observation)]
        self.prompt = list(start.prompt or grower.first(self.messages))
        self.ids, self.prompt_start = list(self.prompt), 0
        self.mask, self.log_probs = [0] * len(self.ids), [0.0] * len(self.ids)
        self.turns: list[Turn] = []

    @property
    def over(self) -> bool:
        return self.done or self.turn >= self.max_turns

    def forced(self) -> str | None:
        """The action given for this turn, if any."""
        if self.start.force is None:
            return None
        return self.start.force(self.environment, self.turn)

    def take(self, sample: Sample) -> None:
        """Carry out a sampled turn."""
        message = self.grower.renderer.action(sample.token_ids)
        self._advance(message, sample.token_ids, sample)

    def take_forced(self, action: str) -> None:
        """Carry out a given action."""
        message = Message("assistant", action)
        window = self.grower.window(self.messages)
        self._advance(message, self.grower.renderer.completion_ids(window, message))

    def _advance(
        self, message: Message, ids: Sequence[int], sample: Sample | None = None
    ) -> None:
        snapshot = self.environment.snapshot()
        action = tool_call_text.write(message)
        step = self.environment.step(action)
        span = len(self.ids), len(self.ids) + len(ids)
        self.turns.append(
            Turn(
                span=span,
                text=self.grower.renderer.tokenizer.decode(list(ids)),
                action=action,
                observation=step.observation,
                snapshot=snapshot,
                truncated=sample is not None and sample.truncated,
                prompt_start=self.prompt_start,
                forced=sample is None,
            )
        )
        self.ids += ids
        self.mask += [int(sample is not None)] * len(ids)
        self.log_probs += sample.log_probs if sample else [0.0] * len(ids)
        self.messages += [message, Message("user", step.observation)]
        self.reward, self.done = step.reward, step.done
        self.turn += 1
        if not self.over:
            self._grow(list(ids))

    def _grow(self, turn_ids: list[int]) -> None:
        """Append what stands between this turn and the next one's first token."""
        before = self.prompt + turn_ids
        self.prompt = self.grower.following(self.prompt, turn_ids, self.messages)
        if self.prompt[: len(before)] == before:
            added = self.prompt[len(before) :]
        else:
            self.prompt_start, added = len(self.ids), self.prompt
        self.ids += added
        self.mask += [0] * len(added)
        self.log_probs += [0.0] * len(added)

    def rollout(self) -> Rollout:
        return Rollout(
            task=self.start.task,
            token_ids=tuple(self.ids),
            mask=tuple(self.mask),
            log_probs=tuple(self.log_probs),
            turns=tuple(self.turns),
            reward=self.reward,
            done=self.done,
            messages=tuple(self.messages),
        )
