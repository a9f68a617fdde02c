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

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from datasets import Dataset
from peft import PeftConfig
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from pivotlab.distillation.skill_bank import SkillBank
from pivotlab.distillation.teachers import Teacher
from pivotlab.distillation.verdicts import Judge
from pivotlab.engines.protocol import Sampling
from pivotlab.environments.protocol import Environment
from pivotlab.rendering import Renderer
from pivotlab.rollouts import Settings
from pivotlab.training.distilled import Distillation, Distiller
from pivotlab.training.history import (
    Evaluations,
    Recorder,
    TrainingRun,
    checkpoint_folder,
    run,
)
from pivotlab.training.method_signals import MethodDistiller
from pivotlab.training.multiturn_trainer import (
    Episodes,
    MultiTurnTrainer,
    TurnCounter,
    outcome,
)
from pivotlab.training.pivotrl import PivotRLSettings, grpo_config, stop_tokens
from pivotlab.training.schedule import turn_schedule
from pivotlab.training.settings import TrainingSettings


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
    episodes = _episodes(environment, tokenizer, settings, bank)
    distiller = _distiller(episodes, settings, teacher, big, bank, judge)
    with checkpoint_folder(folder, settings, resume) as place:
        trainer = _trainer(
            model, settings, episodes, distiller, tasks, place, peft_config
        )
        counted = Recorder(lambda _: trainer.turns, evaluations, "end-to-end")
        return run(trainer, counted, folder, resume)


def episode_rules(settings: MultiTurnSettings, stop_ids: tuple[int, ...]) -> Settings:
    """How long episodes and turns are, and how their tokens are drawn."""
    sampling = Sampling(settings.max_new_tokens, settings.temperature, stop_ids)
    return Settings(settings.max_turns, system=settings.system, sampling=sampling)


def _episodes(
    environment: Callable[[], Environment],
    tokenizer: PreTrainedTokenizerBase,
    settings: MultiTurnSettings,
    bank: SkillBank | None,
) -> Episodes:
    """How the trainer plays; skills are shown where the method hints by them."""
    renderer = Renderer(tokenizer)
    rules = episode_rules(settings, stop_tokens(tokenizer, renderer))
    method = settings.distillation and settings.distillation.method
    shown = bank if method and method.hints_prompts else None
    return Episodes(environment, renderer, rules, shown)


def _trainer(
    model: PreTrainedModel,
    settings: MultiTurnSettings,
    episodes: Episodes,
    distiller: Distiller | None,
    tasks: Sequence[str],
    place: Path,
    peft_config: PeftConfig | None,
) -> MultiTurnTrainer:
    trainer = MultiTurnTrainer(
        model,
        outcome,
        grpo_config(as_turns(settings), place),
        train_dataset=task_dataset(tasks, settings),
        processing_class=episodes.renderer.tokenizer,
        peft_config=peft_config,
        stop_ids=episodes.rules.sampling.stop_ids,
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
    settings: MultiTurnSettings,
    teacher: Teacher | None,
    big: PreTrainedModel | None,
    bank: SkillBank | None,
    judge: Judge | None,
) -> Distiller | None:
    """The distillation of the settings, None where there is none."""
    if settings.distillation is None:
        return None
    _check_sources(settings.distillation, teacher, bank)
    method = settings.distillation.method
    scores = method is None or method.reads == "teacher"
    parts = (
        settings.distillation,
        teacher,
        episodes.renderer,
        episodes.environment,
        episodes.rules.sampling,
        settings.group_size,
        big.requires_grad_(False).eval() if big and scores else None,
    )
    if method is None:
        return Distiller(*parts)
    return MethodDistiller(*parts, bank, judge)


def task_dataset(tasks: Sequence[str], settings: MultiTurnSettings) -> Dataset:
    """One row per task of every step, in order: `prompt`, the task id."""
    order = turn_schedule(
        len(tasks), settings.steps, settings.tasks_per_step, settings.seed
    )
    return Dataset.from_dict({"prompt": [tasks[i] for i in order]})


def as_turns(settings: MultiTurnSettings) -> PivotRLSettings:
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
