"""End-to-end RL on whole episodes, and everything that distils into it: one trainer.

Episodes are played with the live policy, G per task, and rewarded by their outcome.
Every episode is one append-only row: its prompt is the first observation, its
completion everything after, with the environment's tokens masked out of the loss. The
loss is TRL's clipped surrogate with one token mean over all rows of the step and a KL
to the frozen reference (PivotOPD Eq. 7). With a `Distillation` the rows carry one
advantage per token (Eqs. 5 and 6) and recovery turns are rows of their own.

Departures from the papers:
1. PivotOPD trains every turn as its own sequence with a window of history; here the
   whole history is the context, so that an episode is one row and costs its tokens
   once. Templates or windows that rewrite earlier turns are refused.
2. The group's standard deviation is TRL's (Bessel's correction, 1e-4 added).
3. With `support` "topk" or "full" the divergences of Eqs. 1 and 2 are added to the loss
   over the vocabulary, under the same token mean and weights, without the clip delta.
4. The KL to the reference acts on recovery tokens as well; every other signal is zero
   there.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from jaxtyping import Float
from peft import PeftConfig
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainerCallback

from pivotlab.distillation.hints import hinted
from pivotlab.distillation.recovery import Tally
from pivotlab.distillation.skill_bank import SkillBank, goal, last_seen
from pivotlab.distillation.teachers import Teacher
from pivotlab.distillation.verdicts import Judge
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampling
from pivotlab.environments.protocol import Environment
from pivotlab.records import Message, Rollout
from pivotlab.rendering import Renderer
from pivotlab.rollouts import Settings, Start, play
from pivotlab.rollouts.branching import RememberingPlayer
from pivotlab.training.distilled import Distillation, Distiller, Signals
from pivotlab.training.episode_batch import (
    Target,
    add_signals,
    component_figures,
    divergence_loss,
    extra_rows,
)
from pivotlab.training.extra_rows import widened
from pivotlab.training.history import Evaluations, Recorder, TrainingRun, run
from pivotlab.training.method_batch import add_method, auxiliary_loss
from pivotlab.training.method_signals import MethodDistiller
from pivotlab.training.pivotrl import PivotRLSettings, grpo_config, stop_tokens
from pivotlab.training.prefix_sharing import PrefixSharingTrainer, split
from pivotlab.training.schedule import turn_schedule
from pivotlab.training.settings import TrainingSettings
from pivotlab.training.sharing import sharing_groups, token_cost
from pivotlab.training.trl_compat import TokenBatch, causal_model


@dataclass(frozen=True)
class MultiTurnSettings(TrainingSettings):
    """Settings of one run; the names in brackets are the papers' symbols.

    Attributes:
        tasks_per_step: tasks of a step.
        group_size: episodes per task [G].
        beta: weight of the KL to the frozen reference; 0 leaves it out.
        epsilon: clip of the importance ratio [epsilon].
        temperature: of sampling and of all log-probs.
        max_new_tokens: of one turn.
        max_turns: of one episode.
        system: rules put before the first observation, or None.
        distillation: what is added to the outcome reward; None is end-to-end GRPO.
    """

    tasks_per_step: int = 8
    group_size: int = 8
    beta: float = 0.01
    epsilon: float = 0.2
    temperature: float = 1.0
    max_new_tokens: int = 24
    max_turns: int = 30
    system: str | None = None
    distillation: Distillation | None = None


def train_multiturn(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    environment: Callable[[], Environment],
    tasks: Sequence[str],
    settings: MultiTurnSettings,
    *,
    teacher: Teacher | None = None,
    big: PreTrainedModel | None = None,
    bank: SkillBank | None = None,
    judge: Judge | None = None,
    evaluations: Evaluations | None = None,
    peft_config: PeftConfig | None = None,
    folder: Path | None = None,
    resume: bool = False,
) -> TrainingRun:
    """Train `model` in place on episodes of `tasks`.

    Args:
        model: the policy; the KL reference is a copy of it as it is now.
        tokenizer: with an append-only chat template.
        environment: makes a fresh environment.
        tasks: task ids; every step takes the next ones of a seeded order.
        settings: see `MultiTurnSettings`.
        teacher: names actions; needed by `settings.distillation`.
        big: a second model, same tokenizer, that scores in the hinted student's place.
        bank: skills, for methods that read them or show them in training prompts.
        judge: of actions, for methods that read verdicts; default `NearerGoal`.
        evaluations: what to measure at which steps.
        peft_config: trains an adapter; the reference is the model without it.
        folder: keeps checkpoints; needed if `settings.save_every` or `resume` is set.
        resume: continue from the last checkpoint in `folder`; `model` as at first.

    Returns:
        The run; its `samples` are rollout turns, recoveries apart in `recovery/rows`.

    Raises:
        ValueError: no tasks, teacher or bank where needed; settings that do not divide
            the batch; a model, template or episode length that cannot be used.
    """
    if folder is None and (settings.save_every or resume):
        raise ValueError("checkpoints need a place: pass folder=...")
    stops = stop_tokens(tokenizer, renderer := Renderer(tokenizer))
    sampling = Sampling(settings.max_new_tokens, settings.temperature, stops)
    episodes = Episodes(environment, renderer, settings, sampling, bank)
    distiller = _distiller(episodes, teacher, big, judge)
    with ExitStack() as stack:
        place = Path(folder or stack.enter_context(tempfile.TemporaryDirectory()))
        trainer = _trainer(
            model, tokenizer, tasks, episodes, distiller, place, peft_config
        )
        counted = Recorder(lambda _: trainer.turns, evaluations, "end-to-end")
        return run(trainer, counted, folder, resume)


def _trainer(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    tasks: Sequence[str],
    episodes: Episodes,
    distiller: Distiller | None,
    place: Path,
    peft_config: PeftConfig | None,
) -> MultiTurnTrainer:
    settings = episodes.settings
    trainer = MultiTurnTrainer(
        model,
        outcome,
        grpo_config(_as_turns(settings), place),
        train_dataset=task_dataset(tasks, settings),
        processing_class=tokenizer,
        peft_config=peft_config,
        stop_ids=episodes.sampling.stop_ids,
        episodes=episodes,
        distiller=distiller,
    )
    trainer.add_callback(TurnCounter(trainer))
    return trainer


def _check_sources(
    distillation: Distillation, teacher: Teacher | None, bank: SkillBank | None
) -> None:
    """Whether everything a distillation reads is there."""
    if distillation.asks and teacher is None:
        raise ValueError("a distillation needs a teacher: pass teacher=...")
    method = distillation.method
    needs = method and (method.reads == "skills" or method.hints_prompts)
    if needs and (bank is None or not bank.skills):
        raise ValueError(
            f"method {method.name!r} needs skills: pass bank=..., built from rollouts "
            "of which some were won"
        )


def _distiller(
    episodes: Episodes,
    teacher: Teacher | None,
    big: PreTrainedModel | None,
    judge: Judge | None,
) -> Distiller | None:
    """The distillation of the settings, None where there is none."""
    settings = episodes.settings
    if settings.distillation is None:
        return None
    _check_sources(settings.distillation, teacher, episodes.bank)
    method = settings.distillation.method
    scores = method is None or method.reads == "teacher"
    parts = (
        settings.distillation,
        teacher,
        episodes.renderer,
        episodes.environment,
        episodes.sampling,
        settings.group_size,
        big.requires_grad_(False).eval() if big and scores else None,
    )
    if method is None:
        return Distiller(*parts)
    return MethodDistiller(*parts, episodes.bank, judge)


@dataclass(frozen=True)
class Episodes:
    """How a trainer plays."""

    environment: Callable[[], Environment]
    renderer: Renderer
    settings: MultiTurnSettings
    sampling: Sampling
    bank: SkillBank | None = None

    def play(
        self, player: RememberingPlayer, tasks: Sequence[str], seeds: Sequence[int]
    ) -> list[Rollout]:
        """One episode per task, all in one batch.

        Raises:
            ValueError: the template rewrote earlier turns, or an episode is longer than
                the model's window.
        """
        starts = [self._start(t, s) for t, s in zip(tasks, seeds, strict=True)]
        rules = Settings(
            max_turns=self.settings.max_turns,
            system=self.settings.system,
            sampling=self.sampling,
            batch=len(starts),
        )
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
        """At a reset; hinted by a skill where a method shows skills in its prompts."""
        distillation = self.settings.distillation
        method = distillation and distillation.method
        if not (method and method.hints_prompts):
            return Start(task, seed)
        world = self.environment()
        first = Message("user", world.reset(task))
        task_text, seen = goal([first]), last_seen([first])
        action = self.bank.hint(task_text, seen, world.admissible())
        if action is None:
            return Start(task, seed)
        rules = (
            [Message("system", self.settings.system)] if self.settings.system else []
        )
        return Start(task, seed, hinted([*rules, first], action), world.snapshot())


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


def task_dataset(tasks: Sequence[str], settings: MultiTurnSettings) -> Dataset:
    """One row per task of every step, in order: `prompt`, the task id."""
    order = turn_schedule(
        len(tasks), settings.steps, settings.tasks_per_step, settings.seed
    )
    return Dataset.from_dict({"prompt": [tasks[i] for i in order]})


def _as_turns(settings: MultiTurnSettings) -> PivotRLSettings:
    """The settings TRL's configuration needs, with the token mean of Eq. 7."""
    names = TrainingSettings.__annotations__
    shared = {name: getattr(settings, name) for name in names}
    return PivotRLSettings(
        **shared,
        prompts_per_step=settings.tasks_per_step,
        group_size=settings.group_size,
        beta=settings.beta,
        epsilon=settings.epsilon,
        temperature=settings.temperature,
        max_new_tokens=settings.max_new_tokens,
        loss_type="dapo",
    )
