"""One GRPO step (generation, log-probs, backward, update) against stock TRL.

Both trainers get the same prompts, settings and reward, and both sample exactly
`new_tokens` tokens, so that neither is lucky with early ends. A repeat is one
`train()` of one step; the time is that between the step's begin and end, so loading
data and building the optimizer are left out on both sides.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    TrainerCallback,
)
from trl import GRPOTrainer

from pivotlab.experiments.benchmarks.measure import (
    Rows,
    Usage,
    Work,
    interleaved,
    metered,
    row,
    setting,
)
from pivotlab.records import Candidate, Message
from pivotlab.rendering import Renderer
from pivotlab.training.pivotrl import PivotRLSettings, PivotRLTrainer, grpo_config
from pivotlab.training.trl_compat import release

STOCK = "TRL GRPOTrainer"


class Clock(TrainerCallback):
    """Seconds and peak memory of the last step."""

    def __init__(self) -> None:
        self.last = Usage()
        self._meter: AbstractContextManager[Usage] | None = None

    def on_step_begin(self, args, state, control, **_):
        self._meter = metered()
        self.last = self._meter.__enter__()

    def on_step_end(self, args, state, control, **_):
        self._meter.__exit__(None, None, None)


class Gradients(TrainerCallback):
    """The gradient of the last step, as one vector."""

    def __init__(self) -> None:
        self.last: torch.Tensor | None = None

    def on_pre_optimizer_step(self, args, state, control, model=None, **_):
        parts = [p.grad.flatten() for p in model.parameters() if p.grad is not None]
        self.last = torch.cat(parts).double().cpu()


def every_other(completion_ids: Sequence[Sequence[int]], **_: Any) -> list[float]:
    """A reward that costs nothing and always differs within a group."""
    return [float(place % 2) for place in range(len(completion_ids))]


def without_thoughts(candidate: Candidate) -> Candidate:
    """The same turn without the thoughts of earlier ones, which templates treat each in
    their own way: both trainers must see the same prompt."""
    return replace(
        candidate, prefix=tuple(replace(m, reasoning=None) for m in candidate.prefix)
    )


def long_prompts(
    candidates: Sequence[Candidate], renderer: Renderer, least: int, count: int
) -> list[Candidate]:
    """The `count` candidates with the shortest prompts of at least `least` tokens, the
    thoughts of earlier turns left out.

    Where fewer are that long, conversations are joined, one after another, until they
    are.

    Raises:
        ValueError: all of them together give fewer.
    """
    candidates = [without_thoughts(c) for c in candidates]
    lengths = [(renderer.length(c.prefix, c.tools), c.uid, c) for c in candidates]
    found = [c for n, _, c in sorted(lengths, key=lambda x: x[:2]) if n >= least]
    if len(found) < count:
        found = list(_joined(candidates, renderer, least))
    if len(found) < count:
        raise ValueError(
            f"{len(candidates)} conversations make {len(found)} prompts of {least} "
            f"tokens or more, {count} are wanted; play more games"
        )
    return found[:count]


def _joined(
    candidates: Sequence[Candidate], renderer: Renderer, least: int
) -> Iterator[Candidate]:
    prefix: tuple[Message, ...] = ()
    for candidate in candidates:
        prefix = (*prefix, *candidate.prefix)
        if renderer.length(prefix, candidate.tools) >= least:
            yield replace(candidate, prefix=prefix)
            prefix = ()
        else:
            prefix = (*prefix, candidate.expert)


class Duel:
    """Our trainer and TRL's on copies of one model, ready to take steps."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        pivots: Sequence[Candidate],
        settings: PivotRLSettings,
        folder: Path,
    ):
        """
        Args:
            model: copied twice; a saved copy in `folder` is stock TRL's reference.
            tokenizer: with a chat template.
            pivots: prompts of every step.
            settings: `max_new_tokens` is sampled exactly; `steps` must be 1.
            folder: for the saved copy.

        Raises:
            ValueError: the chat template makes other tokens of a prompt than ours.
        """
        self.model, self.tokenizer, self.pivots = model, tokenizer, list(pivots)
        self.settings, self.folder = settings, Path(folder)
        renderer = Renderer(tokenizer)
        self.prompts = [renderer.prompt_ids(p.prefix, p.tools) for p in self.pivots]
        self.messages = [
            [{"role": m.role, "content": m.content} for m in p.prefix]
            for p in self.pivots
        ]
        for messages, prompt in zip(self.messages, self.prompts, strict=True):
            stock = tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, return_dict=False
            )
            if list(stock) != prompt:
                raise ValueError(
                    "the tokenizer's chat template gives other tokens than the "
                    "renderer, so the trainers would not do the same work; use "
                    "candidates of plain messages"
                )
        self.model.save_pretrained(self.folder / "reference")

    def ours(self, **more: Any) -> PivotRLTrainer:
        """Our trainer on a fresh copy."""
        rows = {"prompt": [p.uid for p in self.pivots], "pivot": self._order()}
        trainer = PivotRLTrainer(
            self._copy(),
            more.pop("reward", every_other),
            grpo_config(self.settings, self.folder),
            train_dataset=Dataset.from_dict(rows),
            processing_class=self.tokenizer,
            prompts=self.prompts,
        )
        trainer.eos_token_ids = []
        return _quiet(trainer, more.get("callbacks", ()))

    def stock(self, **more: Any) -> GRPOTrainer:
        """TRL's trainer on a fresh copy; its reference is the saved one."""
        model = self._copy()
        model.config._name_or_path = str(self.folder / "reference")
        exact = {"min_new_tokens": self.settings.max_new_tokens}
        trl = {**self.settings.trl, "generation_kwargs": exact}
        trainer = GRPOTrainer(
            model,
            every_other,
            grpo_config(replace(self.settings, trl=trl), self.folder),
            train_dataset=Dataset.from_dict(
                {"prompt": self.messages, "pivot": self._order()}
            ),
            processing_class=self.tokenizer,
            rollout_func=more.get("rollout_func"),
        )
        return _quiet(trainer, more.get("callbacks", ()))

    def _order(self) -> list[int]:
        return list(range(len(self.pivots)))

    def _copy(self) -> PreTrainedModel:
        return copy.deepcopy(release(self.model))


def steps_of(make: Callable[..., Any]) -> Work:
    """Single steps of one trainer as measured work."""
    clock = Clock()
    trainer = make(callbacks=(clock,))

    def step() -> Usage:
        trainer.train()
        return clock.last

    return step


def step_speed(duel: Duel, name: str, repeats: int = 5) -> Rows:
    """Seconds of a step of ours and of TRL's."""
    pair = interleaved(
        steps_of(duel.ours), steps_of(duel.stock), repeats, f"GRPO {name}"
    )
    lengths = list(map(len, duel.prompts))
    facts = setting(
        model=name,
        prompts=len(lengths),
        prompt=round(sum(lengths) / len(lengths)),
        G=duel.settings.group_size,
        new=duel.settings.max_new_tokens,
        beta=duel.settings.beta,
    )
    return [row("GRPO step", facts, pair, STOCK)]


def gradient_error(duel: Duel) -> float:
    """Relative difference of the gradients of one step on equal samples.

    Our trainer samples; TRL's gets the same completions as its rollouts.
    """
    drawn: list[tuple[int, list[int]]] = []

    def remember(completion_ids, pivot, **_):
        drawn.extend(zip(pivot, map(list, completion_ids), strict=True))
        return every_other(completion_ids)

    def replay(prompts, trainer):
        return {
            "prompt_ids": [duel.prompts[index] for index, _ in drawn],
            "completion_ids": [ids for _, ids in drawn],
            "logprobs": None,
        }

    ours, stock = Gradients(), Gradients()
    duel.ours(reward=remember, callbacks=(ours,)).train()
    duel.stock(rollout_func=replay, callbacks=(stock,)).train()
    return float((ours.last - stock.last).norm() / stock.last.norm())


def growth_in_training(
    duel: Callable[[int, int], Duel],
    name: str,
    groups: Sequence[int],
    prefixes: Sequence[int],
    repeats: int = 5,
) -> Rows:
    """Seconds of a step as G and the prompt grow, rows of `profiling_growth.csv`.

    Args:
        duel: (G, least prompt length) -> both trainers.
        name: of the model.
        groups: values of G, at the first prefix.
        prefixes: prompt lengths, at the first G.
        repeats: of both.
    """
    cases = [("G", g, (g, prefixes[0])) for g in groups]
    cases += [("training prefix", p, (groups[0], p)) for p in prefixes]
    rows = []
    for factor, value, sizes in cases:
        both = duel(*sizes)
        pair = interleaved(
            steps_of(both.ours), steps_of(both.stock), repeats, f"{factor} {value}"
        )
        ours, peer = pair.seconds()
        rows.append(
            {
                "model": name,
                "factor": factor,
                "value": value,
                "ours_seconds": ours,
                "ours_seconds_per_added_turn": "",
                "peer_seconds": peer,
                "peer_name": STOCK,
                "repeats": repeats,
            }
        )
    return rows


def one_step(
    prompts: int, group: int, new_tokens: int, beta: float = 0.02
) -> PivotRLSettings:
    """Settings of a single measured step.

    Raises:
        ValueError: a group of one has no advantage.
    """
    if group < 2:
        raise ValueError(f"group={group} must be at least 2")
    return PivotRLSettings(
        steps=1,
        prompts_per_step=prompts,
        group_size=group,
        max_new_tokens=new_tokens,
        beta=beta,
        learning_rate=1e-6,
        warmup_steps=0,
        max_grad_norm=math.inf,
    )


def _quiet(trainer: Any, callbacks: Sequence[TrainerCallback]) -> Any:
    trainer.remove_callback(PrinterCallback)
    for callback in callbacks:
        trainer.add_callback(callback)
    return trainer
