"""The trainer of whole episodes: GRPO on their outcomes, and what is distilled in.

It plays G episodes per task with the live policy, lets a distiller read them, and adds
what the distiller says to TRL's batch and loss; `multiturn` says what is trained.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from accelerate.utils import gather_object
from jaxtyping import Float
from torch import Tensor, nn
from transformers import TrainerCallback

from pivotlab.distillation.hints import hinted
from pivotlab.distillation.recovery import Tally
from pivotlab.distillation.skill_bank import SkillBank, goal, last_seen
from pivotlab.engines.noise import derive_seed
from pivotlab.environments.protocol import Environment
from pivotlab.records import Message, Rollout
from pivotlab.rendering import Renderer
from pivotlab.rollouts import Settings, Start, play
from pivotlab.rollouts.branching import RememberingPlayer
from pivotlab.training.distilled import Distiller, Signals
from pivotlab.training.episode_batch import (
    Target,
    add_signals,
    component_figures,
    divergence_loss,
    extra_rows,
)
from pivotlab.training.extra_rows import widened
from pivotlab.training.method_batch import add_method, auxiliary_loss
from pivotlab.training.prefix_sharing import PrefixSharingTrainer, split
from pivotlab.training.sharing import sharing_groups, token_cost
from pivotlab.training.trl_compat import TokenBatch, causal_model


@dataclass(frozen=True)
class Episodes:
    """How a trainer plays.

    Attributes:
        environment: makes a fresh environment.
        renderer: of the policy's tokenizer.
        rules: of every episode.
        shown: skills that hint every first prompt, or None.
    """

    environment: Callable[[], Environment]
    renderer: Renderer
    rules: Settings
    shown: SkillBank | None = None

    def play(
        self, player: RememberingPlayer, tasks: Sequence[str], seeds: Sequence[int]
    ) -> list[Rollout]:
        """One episode per task, all in one batch.

        Raises:
            ValueError: the template rewrote earlier turns, or an episode is longer than
                the model's window.
        """
        starts = [self._start(t, s) for t, s in zip(tasks, seeds, strict=True)]
        rules = replace(self.rules, batch=len(starts))
        rollouts = play(player, self.renderer, self.environment, starts, rules)
        window = getattr(player.decoder.config, "max_position_embeddings", None)
        for rollout in rollouts:
            if any(turn.prompt_start for turn in rollout.turns):
                raise ValueError(
                    "the chat template rewrites earlier turns, so an episode is not "
                    "one sequence; use an append-only template (for Qwen3: "
                    "enable_thinking=False)"
                )
            if window and len(rollout.token_ids) > window:
                raise ValueError(
                    f"an episode of {rollout.task!r} has {len(rollout.token_ids)} "
                    f"tokens, the model's window {window}; lower max_turns or "
                    "max_new_tokens"
                )
        return rollouts

    def _start(self, task: str, seed: int) -> Start:
        """At a reset; hinted by a skill where skills are shown."""
        if self.shown is None:
            return Start(task, seed)
        world = self.environment()
        first = Message("user", world.reset(task))
        task_text, seen = goal([first]), last_seen([first])
        action = self.shown.hint(task_text, seen, world.admissible())
        if action is None:
            return Start(task, seed)
        system = self.rules.system
        before = [Message("system", system)] if system else []
        return Start(task, seed, hinted([*before, first], action), world.snapshot())


class MultiTurnTrainer(PrefixSharingTrainer):
    """GRPO over episodes; with a distiller, PivotOPD and its relatives.

    Attributes:
        turns: rollout turns played so far, over all processes.
        tally: counts and seconds of the last step, over all processes.
    """

    def __init__(
        self,
        *args: Any,
        episodes: Episodes,
        distiller: Distiller | None = None,
        **kwargs: Any,
    ):
        super().__init__(*args, **kwargs)
        if self.is_fsdp_enabled or self.is_deepspeed_enabled:
            raise ValueError(
                "episodes are played with whole weights on every process; train "
                "sharded models with an inference server instead"
            )
        self.episodes, self.distiller = episodes, distiller
        self.turns, self.tally = 0, Tally()
        self._counted: set[str] = set()
        self._rollouts: list[Rollout] = []
        self._signals = Signals()
        self._beside: list[Tensor] | None = None
        self._cost = token_cost(causal_model(self.model))
        if distiller and distiller.settings.support != "sampled" and self.refusal:
            raise ValueError(f"support beyond 'sampled' needs packing: {self.refusal}")

    def roll_out(self, rows: Sequence[dict[str, Any]]) -> dict[str, list]:
        """Play one episode per row, and let the distiller read them."""
        first = self.accelerator.process_index * len(rows)
        step_seed = derive_seed(self.args.seed, self.state.global_step)
        seeds = [derive_seed(step_seed, first + i) for i in range(len(rows))]
        own = Signals()
        with self.generating() as model:
            player = RememberingPlayer(causal_model(model))
            with own.tally.timed("seconds/rollout"):
                tasks = [row["prompt"] for row in rows]
                rollouts = self.episodes.play(player, tasks, seeds)
            if self.distiller is not None:
                self._signals = self.distiller.signals(
                    rollouts, player, seeds, step_seed, first, self._everyone
                )
        self._rollouts = rollouts
        own.tally["rollout/turns"] += sum(len(r.turns) for r in rollouts)
        own.tally.update(self._signals.tally)
        self._count(own.tally)
        cut = [(r, r.turns[0].span[0]) for r in rollouts]
        return {
            "prompt_ids": [list(r.token_ids[:first]) for r, first in cut],
            "completion_ids": [list(r.token_ids[first:]) for r, first in cut],
            "env_mask": [list(r.mask[first:]) for r, first in cut],
            "logprobs": None,
            "outcome": [r.reward for r in rollouts],
        }

    def build_batch(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """TRL's batch of the rollouts; recovery rows are scored along with them."""
        self._signals, self._beside = Signals(), []
        batch = super().build_batch(rows)
        beside, self._beside = self._beside, None
        if self.distiller is None:
            return batch
        if self.distiller.settings.method is not None:
            return self._with_method(batch)
        keys = [k for k in ("old_per_token_logps", "ref_per_token_logps") if k in batch]
        batch = add_signals(
            batch,
            self._rollouts,
            self._signals,
            self.distiller.settings,
            dict(zip(keys, beside, strict=bool(beside))),
            parts=self.args.steps_per_generation,
            pad=self.processing_class.pad_token_id,
            everyone=self._everyone,
        )
        self._record_components()
        return batch

    def _with_method(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The batch with the token advantages of a published method."""
        batch = add_method(
            batch,
            self._rollouts,
            self._signals,
            self.distiller.settings,
            group_size=self.num_generations,
            step=self.state.global_step,
            steps=self.args.max_steps,
        )
        size = batch["advantages"].abs()
        self.record(
            "method/advantage", size.sum().item() / max(1, size.ne(0).sum().item())
        )
        self._record_components()
        return batch

    def _record_components(self) -> None:
        for name, value in component_figures(
            self._rollouts, self._signals, self.distiller.settings, self._everyone
        ).items():
            self.record(name, value)

    def token_scores(
        self, model: nn.Module, tokens: TokenBatch, with_entropy: bool
    ) -> tuple[Float[Tensor, "batch completion"], Tensor | None]:
        """Log-probs and entropies; while a batch is built, of recovery rows as well."""
        building = self._beside is not None
        extra = extra_rows(self._rollouts, self._signals) if building else []
        if not extra:
            return super().token_scores(model, tokens, with_entropy)
        wide = widened(tokens, extra, self.processing_class.pad_token_id)
        log_probs, entropies = super().token_scores(model, wide, with_entropy)
        rows, width = len(tokens.input_ids), tokens.completion_width
        self._beside.append(log_probs[rows:])
        if entropies is not None:
            entropies = entropies[:rows, :width]
        return log_probs[:rows, :width], entropies

    def keep_apart(self, tokens: TokenBatch) -> Sequence[int]:
        """Episodes share a tree only where that is cheaper."""
        return sharing_groups(split(tokens), self._cost)

    def extend_loss(
        self,
        loss: Float[Tensor, ""],
        inputs: dict[str, Any],
        log_probs: Float[Tensor, "batch completion"],
    ) -> Float[Tensor, ""]:
        """Adds a method's token loss, and the divergences over the vocabulary."""
        if "teacher_gap" in inputs:
            added = auxiliary_loss(self.distiller.settings, inputs, log_probs)
            loss = loss + added / self._tokens(inputs)
        targets: list[list[Target]] = inputs.get("targets", [])
        if not any(targets):
            return loss
        tokens = TokenBatch(
            torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1),
            torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1),
            inputs["completion_ids"].shape[1],
        )
        chosen = self.distiller.settings
        top_k = chosen.top_k if chosen.support == "topk" else None
        total = divergence_loss(
            self.model, split(tokens), targets, self.temperature, top_k
        )
        return loss + total / self._tokens(inputs)

    def _tokens(self, inputs: dict[str, Any]) -> Tensor:
        """What a sum of this micro-batch is divided by for the step's token mean."""
        shares = self.current_gradient_accumulation_steps / (
            self.args.steps_per_generation * self.accelerator.num_processes
        )
        return inputs["num_items_in_batch"] * shares

    def _everyone(self, items: list) -> list:
        """The lists of all processes, joined in their order."""
        return gather_object(items) if self.accelerator.num_processes > 1 else items

    def _count(self, tally: Tally) -> None:
        """Log the step's counts and seconds, summed over processes."""
        self.tally = Tally()
        for part in self._everyone([dict(tally)]):
            self.tally.update(part)
        self.turns += int(self.tally["rollout/turns"])
        self._counted |= self.tally.keys()
        for name in sorted(self._counted):
            self.record(name, float(self.tally[name]))


class TurnCounter(TrainerCallback):
    """Keeps the trainer's turns in its state, so that a resumed run counts on."""

    def __init__(self, trainer: MultiTurnTrainer):
        self.trainer = trainer

    def on_train_begin(self, args, state, control, **_):
        counted = [row["turns"] for row in state.log_history if "turns" in row]
        self.trainer.turns = counted[-1] if counted else 0

    def on_step_end(self, args, state, control, **_):
        row = {"step": state.global_step, "turns": self.trainer.turns}
        state.log_history.append(row)


def outcome(*, outcome: Sequence[float], **_: Any) -> list[float]:
    """The reward function: what the environment paid."""
    return list(outcome)
