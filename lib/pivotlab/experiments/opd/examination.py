"""What every arm of PivotOPD is asked: the same games and the same mistakes.

An examination plays held-out games and lets the policy go on after the first mistakes
that the untrained base made, so that every arm stands before the same situations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pivotlab.distillation.teachers import Teacher, pivotal
from pivotlab.engines.local import LocalSampler
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampling
from pivotlab.environments.textgame import TextGame, task_ids
from pivotlab.evaluation.diagnosis import Detection, pivot_probabilities
from pivotlab.evaluation.recovery import (
    Mistake,
    first_mistakes,
    recovery_replay,
    recovery_table,
)
from pivotlab.evaluation.retention import accuracy_table, answer_all, questions
from pivotlab.evaluation.success import play_games, success_table
from pivotlab.experiments.presets import Preset
from pivotlab.records import Rollout
from pivotlab.rendering import Renderer
from pivotlab.rollouts import CachedPlayer, Settings, Start, play, resume

SPLITS = ("valid_seen", "valid_unseen")
#: Seed of all that is the same for every cell.
SEED = 30_000
#: Plays on after each mistake, as in the paper.
REPEATS = 8
#: Record table -> its rows.
Tables = dict[str, list[dict]]


def game_rules(preset: Preset, temperature: float | None = None) -> Settings:
    """How episodes are played; at the training temperature unless one is given."""
    own = preset.temperature if temperature is None else temperature
    return Settings(preset.max_turns, sampling=Sampling(preset.max_new_tokens, own))


def base_episodes(
    preset: Preset, base: PreTrainedModel, renderer: Renderer, games: int
) -> list[Rollout]:
    """Episodes of the base on held-out games of known rooms, one a game."""
    tasks = task_ids("valid_seen", games, start=5_000)
    starts = [Start(task, derive_seed(SEED, i)) for i, task in enumerate(tasks)]
    return play(CachedPlayer(base), renderer, TextGame, starts, game_rules(preset))


def base_mistakes(
    preset: Preset, base: PreTrainedModel, renderer: Renderer, games: int = 0
) -> tuple[list[Rollout], list[Mistake]]:
    """Episodes of the base and the first mistakes of those it lost.

    Args:
        games: episodes; 0 for half of `eval_games`, at least 12.
    """
    count = games or max(12, preset.eval_games // 2)
    episodes = base_episodes(preset, base, renderer, count)
    return episodes, first_mistakes(episodes, TextGame)


class EpisodeExamination:
    """The same games and the same mistakes for every policy."""

    def __init__(
        self, preset: Preset, base: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ):
        """
        Args:
            preset: `eval_games` in all, half in each split; half as many of the base's
                own episodes are searched for first mistakes, and a quarter as many
                questions are asked of each unrelated skill.
            base: the untrained policy, whose mistakes are replayed.
            tokenizer: of base and policies.
        """
        self.preset, self.renderer = preset, Renderer(tokenizer)
        half = max(2, preset.eval_games // 2)
        self.tasks = {split: task_ids(split, half) for split in SPLITS}
        self.questions = questions(max(2, preset.eval_games // 4), SEED)
        _, self.mistakes = base_mistakes(preset, base, self.renderer, half)
        self.base_replay = self.replay(base)

    def success(self, policy: PreTrainedModel) -> pd.DataFrame:
        """One row a game; see `evaluation.success.play_games`."""
        return play_games(
            CachedPlayer(policy),
            self.renderer,
            TextGame,
            self.tasks,
            game_rules(self.preset),
            seed=SEED,
        )

    def replay(self, policy: PreTrainedModel) -> pd.DataFrame:
        """One row a play after a mistake of the base."""
        return recovery_replay(
            CachedPlayer(policy),
            self.renderer,
            TextGame,
            self.mistakes,
            game_rules(self.preset),
            repeats=REPEATS,
            seed=SEED,
        )

    def continued(
        self, mistake: Mistake, policy: PreTrainedModel, seed: int
    ) -> Rollout:
        """The episode as the policy plays on after the mistake, at one noise seed."""
        start = resume(mistake.rollout, mistake.turn + 1, seed=seed)
        rules = game_rules(self.preset)
        player = CachedPlayer(policy)
        return play(player, self.renderer, TextGame, [start], rules)[0]

    def examine(self, policy: PreTrainedModel) -> Tables:
        """Rows of pivotopd_arms, _retention, recovery_replay and recovery_curve."""
        games = self.success(policy)
        total = success_table(games).assign(task_type="all")
        parts = success_table(games, ("split", "decoding", "task_type"))
        rows = [*total.to_dict("records"), *parts.to_dict("records")]
        kept = ("split", "decoding", "task_type", "n", "success", "lo", "hi", "turns")
        replays = self.replay(policy)
        return {
            "pivotopd_arms": [{k: row[k] for k in kept} for row in rows],
            "recovery_replay": [self._recovery(policy, replays)],
            "recovery_curve": curve_rows(replays, self.preset.max_turns),
            "pivotopd_retention": self._retention(policy),
        }

    def _retention(self, policy: PreTrainedModel) -> list[dict]:
        sampler = LocalSampler(policy)
        answers = answer_all(sampler, self.renderer, self.questions, seed=SEED)
        by = ("decoding", "skill", "shares_game_tokens")
        return accuracy_table(answers, by).to_dict("records")

    def _recovery(self, policy: PreTrainedModel, replays: pd.DataFrame) -> dict:
        (row,) = recovery_table(replays, self.base_replay).to_dict("records")
        pairs = [(m.rollout, m.turn) for m in self.mistakes]
        odds = pivot_probabilities(policy, self.renderer, TextGame, pairs)
        row["p_gold"] = float(np.exp(odds["log_p_gold"]).mean())
        row["p_mistake"] = float(np.exp(odds["log_p_mistake"]).mean())
        row["log_p_gold"] = float(odds["log_p_gold"].median())
        return row


def curve_rows(replays: pd.DataFrame, most: int) -> list[dict]:
    """Share recovered within n turns: the mean over mistakes of per-mistake rates."""
    rows = []
    for turns in range(most + 1):
        within = replays["won"] & (replays["turns"] <= turns)
        share = within.groupby(replays["trajectory"]).mean().mean()
        rows.append({"turns": turns, "recovered": float(share)})
    return rows


def detections(
    mistakes: Sequence[Mistake], teacher: Teacher, limit: int, readings: int = 1
) -> list[Detection]:
    """What a teacher names in episodes with a known first mistake (Table S.1).

    Args:
        mistakes: failed episodes with their first oracle pivot.
        teacher: reads each of them.
        limit: turns it may name [m].
        readings: of every episode.
    """
    found = []
    for index, mistake in enumerate(mistakes):
        for _ in range(readings):
            report = teacher.report(mistake.rollout, limit)
            picked = tuple(p.turn for p in pivotal(mistake.rollout, report))
            turns = len(mistake.rollout.turns)
            found.append(Detection(index, mistake.turn, turns, picked))
    return found
