"""The only file that touches names TRL keeps private, behind hooks with names of ours.

`PivotTrainer` is TRL's `GRPOTrainer`; its loss, advantages, buffering, logging and
distributed handling are TRL's own and are called, never copied. A subclass overrides
hooks: which token ids the prompts are, who generates, who computes log-probs, what else
the batch carries, what else the loss adds. `check_contract` compares TRL's private
signatures with the ones this file was written against and names what moved.

Departures from stock TRL:
1. The frozen reference is a copy of the policy as it is handed over, not a second
   load of the path in its config, which may hold other weights.
2. Rows keep their order: TRL shuffles a generation batch before it splits it, which
   would tear groups apart across micro-batches. With one optimizer step a batch the
   gradient is the same.
"""

from __future__ import annotations

import copy
import inspect
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from unittest.mock import patch

import torch
from accelerate.utils import extract_model_from_parallel
from jaxtyping import Float, Int
from peft import PeftModel
from torch import Tensor, nn
from transformers import PreTrainedModel
from trl import GRPOTrainer, SFTTrainer
from trl.models.utils import unwrap_model_for_generation
from trl.trainer import grpo_trainer

from pivotlab.training.packing import PackedBatch, attention_mask

#: The TRL series this file was written against.
TRL_SERIES = "1.16"

# Names that transformers has renamed and TRL still uses: nothing a reader can act on.
warnings.filterwarnings(
    "ignore", r"`(is_)?gradient_checkpointing` is deprecated", FutureWarning
)

#: Private methods that are overridden or called, with their parameters after `self`.
SIGNATURES: dict[str, tuple[str, ...]] = {
    "_tokenize_prompts": ("prompts",),
    "_generate": ("prompts",),
    "_generate_single_turn": (
        "prompt_ids",
        "images",
        "multimodal_fields",
        "num_generations",
        "has_tool_images",
    ),
    "_generate_and_score_completions": ("inputs",),
    "_get_per_token_logps_and_entropies": (
        "model",
        "input_ids",
        "attention_mask",
        "logits_to_keep",
        "batch_size",
        "compute_entropy",
        "compute_aux_loss",
        "pixel_values",
        "image_grid_thw",
        "num_images",
        "pixel_attention_mask",
        "spatial_shapes",
        "num_tiles",
        "image_sizes",
        "token_type_ids",
        "mm_token_type_ids",
        "image_position_ids",
    ),
    "_compute_loss": ("model", "inputs"),
    "_prepare_inputs": ("generation_batch",),
}

#: Names of the module that are replaced while TRL runs.
MODULE_NAMES = ("create_model_from_path", "shuffle_sequence_dict")

#: Keys of every text batch, and those that appear when their feature is on.
BATCH_KEYS = frozenset(
    {
        "prompt_ids",
        "prompt_mask",
        "completion_ids",
        "completion_mask",
        "advantages",
        "num_items_in_batch",
    }
)
OPTIONAL_BATCH_KEYS = frozenset(
    {
        "old_per_token_logps",
        "ref_per_token_logps",
        "sampling_per_token_logps",
        "importance_sampling_ratio",
        "tool_mask",
    }
)


def check_contract() -> None:
    """Compare TRL's private names with the ones this file relies on.

    Raises:
        RuntimeError: a name is gone or its parameters moved; the message lists them.
    """
    moved = [name for name in MODULE_NAMES if not hasattr(grpo_trainer, name)]
    for name, wanted in SIGNATURES.items():
        method = getattr(GRPOTrainer, name, None)
        found = tuple(inspect.signature(method).parameters)[1:] if method else None
        if found != wanted:
            moved.append(f"{name}{found}, expected {wanted}")
    if moved:
        raise RuntimeError(
            f"trl {version('trl')} is not the trl {TRL_SERIES} that pivotlab.training "
            f"is written for: {'; '.join(moved)}. Install trl>={TRL_SERIES},"
            "<1.17 or adapt pivotlab/training/trl_compat.py"
        )


@dataclass(frozen=True)
class TokenBatch:
    """Prompts, left-padded, followed by completions, right-padded.

    Attributes:
        input_ids: "batch time".
        attention_mask: 1 on tokens, 0 on padding, "batch time".
        completion_width: the last so many columns hold the completions.
        micro_batch: rows to score at once, None = all.
    """

    input_ids: Int[Tensor, "batch time"]
    attention_mask: Int[Tensor, "batch time"]
    completion_width: int
    micro_batch: int | None = None


class PivotTrainer(GRPOTrainer):
    """TRL's GRPO trainer with named hooks; with none overridden it is stock TRL.

    Hooks, in the order of a step: `roll_out` or (`encode_prompts`, `generate_ids`),
    `build_batch`, `token_scores`, `extend_loss`.
    """

    def __init__(
        self,
        model: PreTrainedModel | nn.Module,
        *args: Any,
        reference: PreTrainedModel | None = None,
        **kwargs: Any,
    ):
        """
        Args:
            model: the policy; its instance is trained in place.
            reference: frozen KL anchor, default a copy of `model` as it is now. It is
                neither copied nor built when beta is 0 or an adapter is trained.

        Raises:
            RuntimeError: this TRL is not the one the hooks are written for.
        """
        check_contract()
        release(model)
        self.fallbacks: Counter[str] = Counter()
        self._rows: Sequence[dict[str, Any]] = ()
        self._scored: Tensor | None = None

        def build_reference(*_: Any, **__: Any) -> PreTrainedModel:
            frozen = reference if reference is not None else copy.deepcopy(model)
            return frozen.requires_grad_(False).eval()

        with patch.object(grpo_trainer, "create_model_from_path", build_reference):
            super().__init__(model, *args, **kwargs)
        if type(self).roll_out is not PivotTrainer.roll_out:
            self.rollout_func = lambda prompts, trainer: self.roll_out(self._rows)

    # Hooks

    def roll_out(self, rows: Sequence[dict[str, Any]]) -> dict[str, list]:
        """Whole episodes in the place of single completions; only called if overridden.

        Returns, per row in order: `prompt_ids`, `completion_ids`, `logprobs` (of the
        sampling, or None for the whole list) and `env_mask` (1 on the policy's tokens);
        any other key reaches the reward functions under its name.
        """
        raise NotImplementedError

    def encode_prompts(self, rows: Sequence[dict[str, Any]]) -> list[list[int]] | None:
        """Token ids of the rows' prompts; None lets TRL tokenize `row["prompt"]`."""
        return None

    def generate_ids(self, prompt_ids: list[list[int]]) -> list[list[int]] | None:
        """Completion ids, one per prompt in order; None lets TRL generate."""
        return None

    def build_batch(self, rows: list[dict[str, Any]]) -> dict[str, Any]:
        """The generation batch; default: TRL generates, rewards and scores.

        An override may add keys (tensors with first dimension batch, 0-dim tensors, or
        lists of length batch: anything else is mis-sliced), replace `advantages` by a
        "batch completion" tensor, or build the whole batch.
        """
        return super()._generate_and_score_completions(rows)

    def token_scores(
        self, model: nn.Module, tokens: TokenBatch, with_entropy: bool
    ) -> tuple[Float[Tensor, "batch completion"], Tensor | None]:
        """Log-probs (natural log, at the trainer's temperature) and entropies.

        Both are "batch completion" and 0 on padding; entropies may be None unless
        `with_entropy`. Called with gradients for the policy and without for the
        reference and the behaviour policy.
        """
        log_probs, entropies, _ = super()._get_per_token_logps_and_entropies(
            model,
            tokens.input_ids,
            tokens.attention_mask,
            tokens.completion_width,
            batch_size=tokens.micro_batch,
            compute_entropy=with_entropy,
        )
        return log_probs, entropies

    def extend_loss(
        self,
        loss: Float[Tensor, ""],
        inputs: dict[str, Any],
        log_probs: Float[Tensor, "batch completion"],
    ) -> Float[Tensor, ""]:
        """Terms to add to TRL's loss; `log_probs` carry the graph of the same forward.

        An added term divides by `current_gradient_accumulation_steps` itself.
        """
        return loss

    # What hooks may use

    def record(self, name: str, value: float) -> None:
        """Add one value to a metric; values of one logging interval are averaged."""
        self._metrics["train" if self.model.training else "eval"][name].append(value)

    def note_fallback(self, reason: str) -> None:
        """Count a fallback; the first one of every reason also warns."""
        if not self.fallbacks[reason]:
            warnings.warn(f"prefix sharing is off: {reason}", stacklevel=2)
        self.fallbacks[reason] += 1

    @property
    def rows(self) -> Sequence[dict[str, Any]]:
        """Dataset rows of the generation batch in the making, one per completion."""
        return self._rows

    @contextmanager
    def generating(self) -> Iterator[PreTrainedModel]:
        """The live policy, unwrapped and in evaluation mode, without gradients."""
        arguments = self.args
        with (
            unwrap_model_for_generation(
                self.model_wrapped,
                self.accelerator,
                gather_deepspeed3_params=arguments.ds3_gather_for_generation,
                gradient_checkpointing_kwargs=arguments.gradient_checkpointing_kwargs,
            ) as model,
            torch.no_grad(),
            self._dist.summon_full_params(self.model_wrapped, recurse=False),
        ):
            training = model.training
            model.eval()
            try:
                yield model
            finally:
                model.train(training)

    # TRL's private methods, handed on to the hooks

    def _prepare_inputs(self, generation_batch):
        with patch.object(grpo_trainer, "shuffle_sequence_dict", lambda batch: batch):
            return super()._prepare_inputs(generation_batch)

    def _generate_and_score_completions(self, inputs):
        self._rows = inputs
        return self.build_batch(inputs)

    def _tokenize_prompts(self, prompts):
        ids = self.encode_prompts(self._rows)
        return super()._tokenize_prompts(prompts) if ids is None else (ids, None, {})

    def _generate_single_turn(
        self,
        prompt_ids,
        images,
        multimodal_fields,
        num_generations,
        has_tool_images=False,
    ):
        ids = None if self.use_vllm else self.generate_ids(prompt_ids)
        if ids is not None:
            return ids, None
        return super()._generate_single_turn(
            prompt_ids, images, multimodal_fields, num_generations, has_tool_images
        )

    def _get_per_token_logps_and_entropies(
        self,
        model,
        input_ids,
        attention_mask,
        logits_to_keep,
        batch_size=None,
        compute_entropy=False,
        compute_aux_loss=False,
        **multimodal,
    ):
        foreign = [name for name, value in multimodal.items() if value is not None]
        if compute_aux_loss or foreign:
            self.note_fallback(f"the batch needs {foreign or 'a router loss'}")
            scores = super()._get_per_token_logps_and_entropies(
                model,
                input_ids,
                attention_mask,
                logits_to_keep,
                batch_size,
                compute_entropy,
                compute_aux_loss,
                **multimodal,
            )
        else:
            tokens = TokenBatch(input_ids, attention_mask, logits_to_keep, batch_size)
            scores = (*self.token_scores(model, tokens, compute_entropy), None)
        self._scored = scores[0]
        return scores

    def _compute_loss(self, model, inputs):
        loss = super()._compute_loss(model, inputs)
        log_probs, self._scored = self._scored, None
        return self.extend_loss(loss, inputs, log_probs)


def release(model: nn.Module) -> nn.Module:
    """Remove the forward that TRL's trainers leave on a model's instance.

    The patched forward of a deep-copied model still calls the original's, so a model is
    released before it is copied and after it has been trained.
    """
    for module in (model, causal_model(model)):
        vars(module).pop("forward", None)
    return model


@contextmanager
def picked(
    model: nn.Module, ends: Int[Tensor, "rows time"], sources: Int[Tensor, "scored"]
) -> Iterator[None]:
    """Inside, the backbone runs on packed rows and hands on the states of `sources`.

    TRL's fused head projects every position on a CPU; picking the wanted ones before
    they reach it leaves the rest unprojected. The mask comes in here because TRL counts
    tokens in whatever mask a batch carries.

    Args:
        model: wrapped or not; called through its wrapper inside.
        ends: the attention rule of the rows, see `packing`.
        sources: flat index row * time + column of each position.
    """
    inner = causal_model(model)
    mask = attention_mask(ends, inner)

    def give(_module: nn.Module, args: Any, kwargs: dict[str, Any]) -> Any:
        return args, {**kwargs, "attention_mask": mask}

    def pick(_module: nn.Module, _args: Any, output: Any) -> Any:
        hidden = output.last_hidden_state.flatten(0, 1)
        output.last_hidden_state = hidden[sources][None]
        return output

    handles = (
        inner.base_model.register_forward_pre_hook(give, with_kwargs=True),
        inner.base_model.register_forward_hook(pick),
    )
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def score_nodes(
    model: nn.Module, packed: PackedBatch
) -> tuple[Float[Tensor, "nodes"], Tensor | None]:
    """Log-probs of the nodes of a packed batch, and entropies if the head has them.

    `model` is a policy or a reference that a trainer of this file has prepared.
    """
    with picked(model, packed.ends, packed.sources):
        scores = model(
            input_ids=packed.input_ids,
            position_ids=packed.position_ids,
            shift_labels=packed.targets[None],
            fused_lm_head=True,
        )
    entropy = None if scores.entropy is None else scores.entropy[0]
    return scores.log_probs[0], entropy


def node_logits(model: nn.Module, packed: PackedBatch) -> Float[Tensor, "nodes vocab"]:
    """Logits, unscaled, of what predicts the nodes of a packed batch."""
    with picked(model, packed.ends, packed.sources):
        output = model(input_ids=packed.input_ids, position_ids=packed.position_ids)
    return output.logits[0]


class PackedSFTTrainer(SFTTrainer):
    """TRL's SFT on packed rows; a batch holds, beside ids and positions, where loss is.

    Extra keys: `ends` and `sources` as `picked` takes them, and the trained tokens as
    `shift_labels` and as `labels`, both "1 trained".
    """

    def compute_loss(
        self, model, inputs, return_outputs=False, num_items_in_batch=None
    ):
        ends, sources = inputs.pop("ends"), inputs.pop("sources")
        with picked(model, ends, sources):
            loss = super().compute_loss(
                model, inputs, return_outputs, num_items_in_batch
            )
        # TRL counts one row of the batch only.
        self._metrics["train" if self.model.training else "eval"].pop("num_tokens")
        return loss


def causal_model(model: nn.Module) -> PreTrainedModel:
    """The transformers model under any distributed wrapper, compiler or adapter."""
    model = extract_model_from_parallel(model, keep_torch_compile=False)
    return model.get_base_model() if isinstance(model, PeftModel) else model
