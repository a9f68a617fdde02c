"""One examination for every policy: the same games, questions and states.

Everything random is fixed by one seed shared by all cells, so arms are compared game by
game and question by question. Beside the held-out games and the unrelated skills it
asks for two abilities that the base has and no arm trains: following a hint, and
playing in rooms larger than those of training (split `full_unseen`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import pandas as pd
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pivotlab.distillation.hints import hinted
from pivotlab.engines.local import LocalSampler
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampling
from pivotlab.environments.textgame import TextGame, task_ids
from pivotlab.evaluation.held_out import held_out_rewards, mu_table
from pivotlab.evaluation.retention import (
    DECODINGS,
    Scored,
    accuracy_table,
    answer_all,
    kl_table,
    kl_to_base,
    questions,
    scored_answers,
)
from pivotlab.evaluation.success import play_games, success_table
from pivotlab.experiments.pool import play_games as play_experts
from pivotlab.experiments.pool import play_own
from pivotlab.experiments.presets import Preset
from pivotlab.pivots.candidates import collect
from pivotlab.records import Candidate, Message
from pivotlab.rendering import Renderer
from pivotlab.rollouts import CachedPlayer, Settings
from pivotlab.verifiers.exact import ExactVerifier
from pivotlab.verifiers.text_game import TextGameVerifier

SPLITS = ("valid_seen", "valid_unseen")
#: Games in uncapped rooms of the unseen split.
FULL = "full_unseen"
HINTS = "following a hint"
#: Seed of all that is the same for every cell, far from the seeds of training.
SEED = 20_000


class Examination:
    """Games of both held-out splits, held-out turns, skills, and distance to the base.

    Example: `Examination(preset, base, tokenizer).examine(policy)`.
    """

    def __init__(
        self, preset: Preset, base: PreTrainedModel, tokenizer: PreTrainedTokenizerBase
    ):
        """
        Args:
            preset: `eval_games` in all, half of them in each split, and a sixth as many
                in full rooms, where games are long; a quarter as many questions a
                skill, and held-out turns from an eighth as many games.
            base: the frozen policy that distances are measured to.
            tokenizer: of base and policies.
        """
        self.preset, self.base = preset, base
        self.renderer = Renderer(tokenizer)
        half = max(2, preset.eval_games // 2)
        self.tasks = {split: task_ids(split, half) for split in SPLITS}
        self.tasks[FULL] = task_ids("valid_unseen", max(2, half // 3), full=True)
        self.questions = questions(max(2, preset.eval_games // 4), SEED)
        few = Preset(**{**vars(preset), "trajectories": max(3, preset.eval_games // 8)})
        experts = play_experts(few, base, self.renderer, "valid_unseen", SEED)
        self.held_out = collect(experts).candidates
        self.hints = hint_questions(self.held_out)
        own = play_own(few, base, self.renderer, self.tasks["valid_seen"][:40], SEED)
        self.states: dict[str, list[Scored]] = {
            "game": [(r.token_ids, r.mask) for r in own],
            "skills": scored_answers(self.renderer, self.questions),
        }

    def examine(self, policy: PreTrainedModel) -> dict[str, list[dict]]:
        """Rows of the tables pivotrl_arms, pivotrl_retention and pivotrl_distance."""
        return {
            "pivotrl_arms": self._success(policy),
            "pivotrl_retention": self._retention(policy),
            "pivotrl_distance": self._distance(policy),
        }

    @staticmethod
    def headline(rows: dict[str, list[dict]]) -> dict[str, float]:
        """A few numbers for a progress line."""
        return {
            f"{row['split']} {row['decoding']}": row["success"]
            for row in rows["pivotrl_arms"]
            if row["task_type"] == "all"
        }

    def _success(self, policy: PreTrainedModel) -> list[dict]:
        settings = Settings(
            max_turns=self.preset.max_turns,
            sampling=Sampling(self.preset.max_new_tokens),
        )
        games = play_games(
            CachedPlayer(policy),
            self.renderer,
            TextGame,
            self.tasks,
            settings,
            seed=SEED,
        )
        rows = []
        total = success_table(games).assign(task_type="all")
        parts = success_table(games, ("split", "decoding", "task_type"))
        for row in [*total.to_dict("records"), *parts.to_dict("records")]:
            same = (games["split"] == row["split"]) & (
                games["decoding"] == row["decoding"]
            )
            won = games[same] if row["task_type"] == "all" else games.iloc[:0]
            rows.append(_success_row(row, "".join(str(int(w)) for w in won["won"])))
        return rows

    def _retention(self, policy: PreTrainedModel) -> list[dict]:
        sampler = LocalSampler(policy)
        answers = answer_all(sampler, self.renderer, self.questions, seed=SEED)
        by = ("decoding", "skill", "shares_game_tokens")
        rows = accuracy_table(answers, by).to_dict("records")
        return [*rows, *self._hints(sampler), *self._held_out(sampler)]

    def _hints(self, sampler: LocalSampler) -> list[dict]:
        """Share of hints followed to the letter."""
        prompts = [self.renderer.prompt_ids(prefix) for prefix, _ in self.hints]
        seeds = [derive_seed(SEED, i) for i in range(len(prompts))]
        answers = []
        for decoding, temperature in DECODINGS.items():
            stops = (self.renderer.end_of_turn,)
            sampling = Sampling(self.preset.max_new_tokens, temperature, stops)
            drawn = sampler.sample(prompts, 1, sampling, seeds)
            for (_, action), (sample,) in zip(self.hints, drawn, strict=True):
                said = self.renderer.action(sample.token_ids).content
                answers.append({"decoding": decoding, "correct": said == action})
        table = accuracy_table(pd.DataFrame(answers), ("decoding",))
        fixed = {"skill": HINTS, "shares_game_tokens": True}
        return [{**fixed, **row} for row in table.to_dict("records")]

    def _held_out(self, sampler: LocalSampler) -> list[dict]:
        """mu on held-out turns, in the form of the retention rows."""
        rewards = held_out_rewards(
            sampler,
            self.renderer,
            self.held_out,
            (TextGameVerifier(), ExactVerifier()),
            max_new_tokens=self.preset.max_new_tokens,
            seed=SEED,
        )
        return [
            {
                "skill": f"held-out turns, {row['verifier']}",
                "decoding": "t1",
                "shares_game_tokens": True,
                "n": row["turns"],
                "accuracy": row["mu"],
                "lo": row["lo"],
                "hi": row["hi"],
            }
            for row in mu_table(rewards).to_dict("records")
        ]

    def _distance(self, policy: PreTrainedModel) -> list[dict]:
        return [
            {"states": states, **row}
            for states, sequences in self.states.items()
            for row in kl_table(kl_to_base(policy, self.base, sequences)).to_dict(
                "records"
            )
        ]


def hint_questions(
    turns: Sequence[Candidate],
) -> list[tuple[tuple[Message, ...], str]]:
    """(hinted prefix, named command) at every turn that admits a command which is not
    acceptable: following the hint is then not what the honest player would do."""
    rng, asked = random.Random(SEED), []
    for turn in turns:
        acceptable = set(turn.context["acceptable"])
        others = [a for a in turn.context["admissible"] if a not in acceptable]
        if others:
            action = rng.choice(others)
            asked.append((hinted(turn.prefix, action), action))
    return asked


def _success_row(row: dict, won: str) -> dict:
    """A row of the record; `won` has one digit a game, in the order of the task ids."""
    kept = ("split", "decoding", "task_type", "n", "success", "lo", "hi", "turns")
    plain = {key: row[key] for key in kept}
    return {
        **plain,
        "refused": row["refused"],
        "refused_lo": row["refused_lo"],
        "refused_hi": row["refused_hi"],
        "eval_seconds": row["seconds"],
        "won": won,
    }
