"""The turns all arms choose from: expert trajectories of the game, profiled once.

A third of the games is played by the honest player, a third by a noisy one, a third by
the base model itself; every turn is labelled by the honest player, so that the states
where the model fails are among the candidates. The base's samples are kept in the
cache, so the same pool is profiled once.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pivotlab import paths
from pivotlab.engines.local import LocalSampler
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampling
from pivotlab.environments.textgame import TextGame, task_ids
from pivotlab.environments.textgame.players import HonestPlayer, NoisyPlayer
from pivotlab.experiments.presets import Preset
from pivotlab.pivots.candidates import collect
from pivotlab.pivots.profiling import profile
from pivotlab.pivots.store import ProfileStore, weights_digest
from pivotlab.records import Candidate, Rollout, Trajectory, TurnProfile
from pivotlab.rendering import Renderer
from pivotlab.rollouts import CachedPlayer, Settings, Start
from pivotlab.rollouts import play as play_episodes
from pivotlab.trajectories.game_play import play, relabel
from pivotlab.verifiers.exact import ExactVerifier
from pivotlab.verifiers.text_game import TextGameVerifier

#: Share of the noisy player's turns that are not its own choice.
NOISE = 0.15
SOURCES = ("honest", "noisy", "own")


@dataclass(frozen=True)
class Pool:
    """Trajectories, their candidates, and one profile a candidate by uid.

    Profiles hold the functional rewards, with the strict ones beside them.
    """

    trajectories: list[Trajectory]
    candidates: list[Candidate]
    profiles: dict[str, TurnProfile]

    def profiles_under(self, reward: str) -> dict[str, TurnProfile]:
        """Profiles by the given reward: "functional", or "exact" for the strict one."""
        if reward != "exact":
            return self.profiles
        return {
            uid: replace(p, rewards=p.strict_rewards)
            for uid, p in self.profiles.items()
        }


def build_pool(
    preset: Preset,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    split: str = "train",
    seed: int = 0,
    system: str | None = None,
) -> Pool:
    """Play, label and profile `preset.trajectories` games of a split.

    Args:
        preset: number of trajectories, K, temperature, tokens per action.
        model: the frozen reference policy.
        tokenizer: its tokenizer.
        split: whose rooms the games lie in.
        seed: of players and sampling.
        system: rules put before every game, for models that never saw it.
    """
    renderer = Renderer(tokenizer)
    trajectories = play_games(preset, model, renderer, split, seed, system)
    candidates = collect(trajectories).candidates
    profiles = profile(
        candidates,
        LocalSampler(model),
        renderer,
        TextGameVerifier(),
        k=preset.k,
        sampling=Sampling(preset.max_new_tokens, preset.temperature),
        strict=ExactVerifier(),
        seed=seed,
        store=ProfileStore(paths.cache() / "profiles", weights_digest(model)),
        provenance={"model": preset.model},
    )
    return Pool(trajectories, candidates, {p.uid: p for p in profiles})


def play_games(
    preset: Preset,
    model: PreTrainedModel,
    renderer: Renderer,
    split: str,
    seed: int,
    system: str | None = None,
) -> list[Trajectory]:
    """Labelled games of the three sources in turn, one game each."""
    tasks = task_ids(split, preset.trajectories)
    own = tasks[2::3]
    rollouts = play_own(preset, model, renderer, own, seed, system)
    played = dict(zip(own, rollouts, strict=True))
    trajectories = []
    for index, task in enumerate(tasks):
        rng = random.Random(derive_seed(seed, index))
        source = SOURCES[index % 3]
        uid = f"{task}/{source}"
        if source == "own":
            actions = [turn.action for turn in played[task].turns]
            trajectory = relabel(task, actions, rng, system, uid)
            trajectories.append(replace(trajectory, source=source))
        else:
            player = HonestPlayer() if source == "honest" else NoisyPlayer(NOISE)
            limit = preset.max_turns
            trajectory = play(task, player, rng, limit, system, uid)
            trajectories.append(replace(trajectory, source=source))
    return trajectories


def play_own(
    preset: Preset,
    model: PreTrainedModel,
    renderer: Renderer,
    tasks: Sequence[str],
    seed: int,
    system: str | None = None,
) -> list[Rollout]:
    """The model's own episodes at the training temperature."""
    settings = Settings(
        max_turns=preset.max_turns,
        system=system,
        sampling=Sampling(preset.max_new_tokens, preset.temperature),
    )
    starts = [Start(task, derive_seed(seed, i)) for i, task in enumerate(tasks)]
    return play_episodes(CachedPlayer(model), renderer, TextGame, starts, settings)
