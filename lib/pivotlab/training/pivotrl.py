"""PivotRL: single-turn GRPO from pivot turns (Eq. 7, Algorithm 1 line 4).

Compared with GRPO only the states and the reward change: prompts are the recorded
prefixes of pivots, G actions are sampled at each from the current policy, a verifier
rewards every action on its own, and the KL goes to the frozen policy the turns were
profiled with. Nothing is played on after the action.

Departures from the paper:
1. The group's standard deviation is TRL's, with Bessel's correction and 1e-4 added; the
   sources do not say which one the paper uses (a factor sqrt((G-1)/G)).
2. Learning rate, beta and the clip are not printed; the defaults are ours.
3. A truncated action gets reward 0 without asking the verifier, as in profiling.
4. TRL multiplies the KL term by the importance ratio, which is 1 in value while one
   update follows each generation and makes the gradient that of the reverse KL.

A turn that is constant under the frozen policy is dropped whole before training, by
`pivots.selection`. A group that turns out constant while training keeps its KL term,
as Eq. 7 has it, and nothing else of it reaches the gradient.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from datasets import Dataset
from peft import PeftConfig
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from trl import GRPOConfig

from pivotlab.records import Candidate, Verdict
from pivotlab.rendering import Renderer
from pivotlab.training.history import (
    Evaluations,
    Recorder,
    TrainingRun,
    checkpoint_folder,
    run,
)
from pivotlab.training.prefix_sharing import PrefixSharingTrainer
from pivotlab.training.schedule import turn_schedule
from pivotlab.training.settings import (
    TrainingSettings,
    rows_per_part,
    trainer_fields,
)
from pivotlab.verifiers.protocol import Verifier, judged


@dataclass(frozen=True)
class PivotRLSettings(TrainingSettings):
    """Settings of one run; the names in brackets are the paper's symbols.

    Attributes:
        prompts_per_step: pivots of a step.
        group_size: actions sampled per pivot [G].
        beta: weight of the KL to the frozen reference [beta]; 0 leaves it out.
        epsilon: clip of the importance ratio [epsilon].
        temperature: of sampling and of the log-probs; keep the profiling's.
        max_new_tokens: an action cut off here is truncated and gets reward 0.
        loss_type: TRL's name of the token average; "grpo" is the paper's.
    """

    prompts_per_step: int = 8
    group_size: int = 8
    beta: float = 0.02
    epsilon: float = 0.2
    temperature: float = 1.0
    max_new_tokens: int = 24
    loss_type: Literal["grpo", "dapo", "dr_grpo", "bnpo"] = "grpo"


def train_pivotrl(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    pivots: Sequence[Candidate],
    verifier: Verifier,
    settings: PivotRLSettings,
    *,
    strict: Verifier | None = None,
    evaluations: Evaluations | None = None,
    peft_config: PeftConfig | None = None,
    folder: Path | None = None,
    resume: bool = False,
) -> TrainingRun:
    """Train `model` in place on `pivots`.

    Args:
        model: the policy that profiled the pivots; the reference is a copy of it.
        tokenizer: with a chat template.
        pivots: the static set D_pivot; every candidate turn is a legal one.
        verifier: its reward trains.
        settings: see `PivotRLSettings`.
        strict: scored and logged beside the verifier, never trained on; gives
            `miss_rate`, the share of accepted actions that it rejects.
        evaluations: what to measure at which steps.
        peft_config: trains an adapter; the reference is the model without it.
        folder: keeps checkpoints; needed if `settings.save_every` or `resume` is set.
        resume: continue from the last whole checkpoint in `folder`, if there is one.
            `model` must be what the run began with.

    Raises:
        ValueError: no pivots, a prompt that leaves no room for an action, or settings
            that do not divide the batch evenly.
    """
    renderer = Renderer(tokenizer)
    prompts = _prompts(model, pivots, renderer, settings.max_new_tokens)
    stop_ids = stop_tokens(tokenizer, renderer)
    with checkpoint_folder(folder, settings, resume) as place:
        trainer = PivotRLTrainer(
            model,
            VerifierReward(pivots, verifier, renderer, stop_ids, strict),
            grpo_config(settings, place),
            train_dataset=pivot_dataset(pivots, settings),
            processing_class=tokenizer,
            peft_config=peft_config,
            prompts=prompts,
            stop_ids=stop_ids,
        )
        turns_until = _turn_count(settings, trainer.num_iterations)
        recorder = Recorder(turns_until, evaluations, "PivotRL")
        return run(trainer, recorder, folder, resume)


class PivotRLTrainer(PrefixSharingTrainer):
    """Prefix-shared GRPO over prompts that are token ids already.

    A dataset row names its pivot by index; its prompt is `prompts[row["pivot"]]`.
    """

    def __init__(self, *args: Any, prompts: Sequence[list[int]], **kwargs: Any):
        self.prompts = prompts
        super().__init__(*args, **kwargs)

    def encode_prompts(self, rows: Sequence[dict[str, Any]]) -> list[list[int]]:
        return [self.prompts[row["pivot"]] for row in rows]


class VerifierReward:
    """A reward function in TRL's form around any verifier.

    Total: whatever tokens were sampled, every row gets a float. Beside the reward it
    logs the share of every category, and with a strict verifier `reward_strict` and
    `miss_rate` (absent where nothing was accepted).
    """

    __name__ = "verifier"

    def __init__(
        self,
        pivots: Sequence[Candidate],
        verifier: Verifier,
        renderer: Renderer,
        stop_ids: Sequence[int],
        strict: Verifier | None = None,
    ):
        self.pivots = pivots
        self.verifier = verifier
        self.renderer = renderer
        self.stop_ids = frozenset(stop_ids)
        self.strict = strict
        self.categories: set[str] = set()

    def __call__(
        self,
        *,
        completion_ids: Sequence[Sequence[int]],
        pivot: Sequence[int],
        log_metric: Callable[[str, float], None],
        **_: Any,
    ) -> list[float]:
        """Rewards of one generation batch, one per completion."""
        rows = list(zip(pivot, completion_ids, strict=True))
        verdicts = [self.judge(self.verifier, index, ids) for index, ids in rows]
        self._log_categories(verdicts, log_metric)
        if self.strict is not None:
            strict = [self.judge(self.strict, index, ids) for index, ids in rows]
            _log_strict(verdicts, strict, log_metric)
        return [verdict.reward for verdict in verdicts]

    def judge(self, verifier: Verifier, index: int, ids: Sequence[int]) -> Verdict:
        """The verdict on sampled tokens at a pivot; cut-off actions fail unread."""
        if not ids or ids[-1] not in self.stop_ids:
            return Verdict(0.0, "truncated")
        pivot = self.pivots[index]
        return judged(verifier, pivot, self.renderer.action(ids, pivot.tools))

    def _log_categories(self, verdicts: list[Verdict], log_metric) -> None:
        counts = Counter(verdict.category for verdict in verdicts)
        self.categories |= counts.keys()
        for category in sorted(self.categories):
            log_metric(f"category/{category}", counts[category] / len(verdicts))


def _log_strict(verdicts: list[Verdict], strict: list[Verdict], log_metric) -> None:
    rewards = [verdict.reward for verdict in strict]
    log_metric("reward_strict", sum(rewards) / len(rewards))
    pairs = zip(verdicts, rewards, strict=True)
    accepted = [reward for verdict, reward in pairs if verdict.reward >= 1.0]
    if accepted:
        missed = sum(reward < 1.0 for reward in accepted)
        log_metric("miss_rate", missed / len(accepted))


def stop_tokens(
    tokenizer: PreTrainedTokenizerBase, renderer: Renderer
) -> tuple[int, ...]:
    """Tokens that end an action: the template's end of turn and the end of text."""
    found = {renderer.end_of_turn, tokenizer.eos_token_id} - {None}
    return tuple(sorted(found))


def pivot_dataset(pivots: Sequence[Candidate], settings: PivotRLSettings) -> Dataset:
    """One row per pivot of every step, in order: `prompt` (its uid) and `pivot`."""
    order = turn_schedule(
        len(pivots), settings.steps, settings.prompts_per_step, settings.seed
    )
    return Dataset.from_dict({"prompt": [pivots[i].uid for i in order], "pivot": order})


def grpo_config(settings: PivotRLSettings, folder: Path) -> GRPOConfig:
    """TRL's configuration of a run: float32 on a CPU, no checkpoints of activations.

    Raises:
        ValueError: the step's pivots don't divide by processes x micro-batches.
    """
    rows = rows_per_part(settings, "prompts_per_step") * settings.group_size
    fields: dict[str, Any] = {
        "per_device_train_batch_size": rows,
        "num_generations": settings.group_size,
        "max_completion_length": settings.max_new_tokens,
        "temperature": settings.temperature,
        "beta": settings.beta,
        "epsilon": settings.epsilon,
        "loss_type": settings.loss_type,
        "shuffle_dataset": False,
        "disable_dropout": True,
        "router_aux_loss_coef": 0.0,
    }
    return GRPOConfig(**{**fields, **trainer_fields(settings, folder)})


def _turn_count(settings: PivotRLSettings, updates: int) -> Callable[[int], int]:
    """Step -> turns sampled up to its end, at so many updates per generation."""
    turns = settings.prompts_per_step * settings.group_size
    return lambda step: turns * -(-step // updates)


def _prompts(
    model: PreTrainedModel,
    pivots: Sequence[Candidate],
    renderer: Renderer,
    max_new_tokens: int,
) -> list[list[int]]:
    """Token ids of every prompt, each with room for an action."""
    prompts = [renderer.prompt_ids(pivot.prefix, pivot.tools) for pivot in pivots]
    config = model.config.get_text_config(decoder=True)
    window = getattr(config, "max_position_embeddings", None)
    for pivot, prompt in zip(pivots, prompts, strict=True):
        if window and len(prompt) + max_new_tokens > window:
            raise ValueError(
                f"pivot {pivot.uid}: its prompt of {len(prompt)} tokens and "
                f"max_new_tokens={max_new_tokens} exceed the model's window of "
                f"{window}; leave such turns out when you build candidates"
            )
    return prompts
