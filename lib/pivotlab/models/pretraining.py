"""How `tiny` is made: a stream of fresh conversations, packed, one schedule by steps.

Every row holds whole conversations, each with positions of its own and blind to its
neighbours. The loss covers the whole sequence, what the model does not say itself at
a lower weight: copying is learnt from the observations long before decisions are.
Matrices are trained by Muon in float32, embeddings and norms by AdamW.

A stage is a mixture of conversation sources, a number of steps, and a learning rate
that warms up, stays, and falls linearly over the last part (WSD). The same recipe and
seed give the same data on every machine; a run stopped anywhere resumes from its
checkpoint and sees the data it would have seen.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy
from tqdm.auto import tqdm
from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

from pivotlab.models.conversations import Example, Source
from pivotlab.models.muon import Muon
from pivotlab.models.tokenizer import END
from pivotlab.whole_files import replacing

#: Conversations waiting to be packed; long ones always find a row.
WAITING = 64


@dataclass(frozen=True)
class Stage:
    """One stage of a recipe.

    Attributes:
        name: also the key of its random streams and checkpoints.
        mixture: source name -> share of the conversations (normalised).
        steps: optimiser steps.
        matrix_lr: peak learning rate of Muon.
        other_lr: peak learning rate of AdamW (embeddings and norms).
        warmup: steps of linear warm-up.
        decay: share of the steps, at the end, over which the rate falls to zero.
    """

    name: str
    mixture: Mapping[str, float]
    steps: int
    matrix_lr: float
    other_lr: float
    warmup: int = 50
    decay: float = 0.4


@dataclass(frozen=True)
class Batching:
    """`rows` rows of `length` tokens a step; `given_weight` is the loss weight of
    tokens that the model does not say itself."""

    rows: int
    length: int
    given_weight: float


@dataclass(frozen=True)
class Encoded:
    """A conversation as token ids with the loss weight of each."""

    ids: list[int]
    weights: list[float]


class Encoder:
    """Messages to token ids and weights, in the chat form of the tokenizer."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast, given_weight: float):
        self.tokenizer = tokenizer
        self.given_weight = given_weight

    def __call__(self, example: Example) -> Encoded:
        """One conversation; its first token has no prediction, so weight 0."""
        ids: list[int] = []
        weights: list[float] = []
        for index, message in enumerate(example.messages):
            part = self.tokenizer.encode(
                f"<|im_start|>{message.role}\n{message.content}{END}",
                add_special_tokens=False,
            )
            weight = self.given_weight
            if message.role == "assistant":
                weight = 0.0 if index in example.muted else 1.0
            ids += part
            weights += [self.given_weight] + [weight] * (len(part) - 1)
        weights[0] = 0.0
        return Encoded(ids, weights)


class Stream:
    """Encoded conversations of a mixture; its state can be saved and restored.

    `too_long` counts conversations that fit no row and were drawn again.
    """

    def __init__(
        self,
        sources: Mapping[str, Source],
        mixture: Mapping[str, float],
        encode: Encoder,
        length: int,
        key: str,
    ):
        """
        Raises:
            ValueError: the mixture names a source that does not exist.
        """
        unknown = sorted(set(mixture) - set(sources))
        if unknown:
            raise ValueError(f"mixture names {unknown}; sources are {sorted(sources)}")
        self.sources, self.encode, self.length = sources, encode, length
        self.names = sorted(mixture)
        self.shares = [mixture[name] for name in self.names]
        self.rng = random.Random(key)
        self.waiting: list[Encoded] = []
        self.too_long = 0

    def draw(self) -> Encoded:
        """The next conversation."""
        while True:
            name = self.rng.choices(self.names, self.shares)[0]
            found = self.encode(self.sources[name](self.rng))
            if len(found.ids) <= self.length:
                return found
            self.too_long += 1

    def row(self) -> list[Encoded]:
        """Conversations for one row: the longest waiting, then whatever still fits."""
        while len(self.waiting) < WAITING:
            self.waiting.append(self.draw())
        chosen, room = [self.waiting.pop(0)], self.length
        room -= len(chosen[0].ids)
        for conversation in list(self.waiting):
            if len(conversation.ids) <= room:
                self.waiting.remove(conversation)
                chosen.append(conversation)
                room -= len(conversation.ids)
        return chosen

    def state(self) -> dict[str, Any]:
        """Everything needed to go on from here."""
        waiting = [(c.ids, c.weights) for c in self.waiting]
        rng = self.rng.getstate()
        return {"rng": rng, "waiting": waiting, "too_long": self.too_long}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go back to a saved state."""
        self.rng.setstate(state["rng"])
        self.waiting = [Encoded(ids, weights) for ids, weights in state["waiting"]]
        self.too_long = state["too_long"]


@dataclass(frozen=True)
class Batch:
    """Packed rows; positions restart with every conversation, padding has weight 0."""

    ids: Int[Tensor, "rows length"]
    positions: Int[Tensor, "rows length"]
    weights: Float[Tensor, "rows length"]


def pack(rows: Sequence[Sequence[Encoded]], length: int, pad: int) -> Batch:
    """Rows of whole conversations as tensors."""
    ids, positions, weights = [], [], []
    for row in rows:
        used = sum(len(c.ids) for c in row)
        rest = length - used
        ids.append([i for c in row for i in c.ids] + [pad] * rest)
        spans = [len(c.ids) for c in row] + [rest]
        positions.append([p for span in spans for p in range(span)])
        weights.append([w for c in row for w in c.weights] + [0.0] * rest)
    return Batch(torch.tensor(ids), torch.tensor(positions), torch.tensor(weights))


def loss(model: Qwen3ForCausalLM, batch: Batch) -> Float[Tensor, ""]:
    """Weighted sum of the negative log-likelihood, in nats."""
    logits = model(
        input_ids=batch.ids, position_ids=batch.positions, use_cache=False
    ).logits
    nll = cross_entropy(
        logits[:, :-1].flatten(0, 1), batch.ids[:, 1:].flatten(), reduction="none"
    )
    return nll @ batch.weights[:, 1:].flatten()


def rate(stage: Stage, step: int) -> float:
    """Learning rate at a step (from 0) as a share of the peak: warm-up, flat, fall."""
    fall = max(1, round(stage.decay * stage.steps))
    return min(1.0, (step + 1) / stage.warmup, (stage.steps - step) / fall)


def optimisers(model: Qwen3ForCausalLM, stage: Stage) -> list[torch.optim.Optimizer]:
    """Muon for the matrices of the layers, AdamW for embeddings and norms."""
    layers = [p for p in model.model.layers.parameters() if p.ndim == 2]
    matrices = {id(p) for p in layers}
    others = [p for p in model.parameters() if id(p) not in matrices]
    adamw = torch.optim.AdamW(
        others, lr=stage.other_lr, betas=(0.9, 0.95), weight_decay=0.0
    )
    found = [Muon(layers, lr=stage.matrix_lr), adamw]
    for optimiser in found:
        for group in optimiser.param_groups:
            group["peak"] = group["lr"]
    return found


class Run:
    """One stage under way: model, optimisers, stream and history, saved together."""

    def __init__(
        self,
        model: Qwen3ForCausalLM,
        tokenizer: PreTrainedTokenizerFast,
        sources: Mapping[str, Source],
        stage: Stage,
        batching: Batching,
        seed: int,
        workers: int = 1,
    ):
        self.model, self.stage, self.batching = model, stage, batching
        self.settings = f"{stage}, {batching}, seed {seed}"
        self.pad = tokenizer.pad_token_id
        self.stream = Stream(
            sources,
            stage.mixture,
            Encoder(tokenizer, batching.given_weight),
            batching.length,
            f"{seed}/{stage.name}",
        )
        self.optimisers = optimisers(model, stage)
        self.parameters = list(model.parameters())
        self.workers = ThreadPoolExecutor(workers)
        self.done = 0
        self.history: list[dict[str, float | int]] = []

    def step(self) -> float:
        """One optimiser step; returns its loss in nats per weighted token."""
        value = self._backward()
        for optimiser in self.optimisers:
            for group in optimiser.param_groups:
                group["lr"] = group["peak"] * rate(self.stage, self.done)
            optimiser.step()
            optimiser.zero_grad()
        self.done += 1
        return value

    def _backward(self) -> float:
        """Gradients of the weighted mean loss; each row is one worker's.

        Matrices this small leave a second core idle, so rows run in threads of their
        own; gradients are added in the order of the rows, whatever finishes first.
        """
        rows = [self.stream.row() for _ in range(self.batching.rows)]
        batches = [pack([row], self.batching.length, self.pad) for row in rows]
        weight = sum(batch.weights.sum() for batch in batches)
        found = list(self.workers.map(self._gradients, batches))
        for parameter, *parts in zip(
            self.parameters, *(gradients for _, gradients in found), strict=True
        ):
            parameter.grad = sum(parts[1:], parts[0]) / weight
        return (sum(value for value, _ in found) / weight).item()

    def _gradients(self, batch: Batch) -> tuple[Tensor, tuple[Tensor, ...]]:
        value = loss(self.model, batch)
        return value.detach(), torch.autograd.grad(value, self.parameters)

    def save(self, path: Path) -> None:
        """Write the checkpoint, whole or not at all."""
        state = {
            "settings": self.settings,
            "done": self.done,
            "model": self.model.state_dict(),
            "optimisers": [o.state_dict() for o in self.optimisers],
            "stream": self.stream.state(),
            "history": self.history,
        }
        with replacing(path) as part:
            torch.save(state, part)

    def resume(self, path: Path) -> None:
        """Go on from a checkpoint of this stage with these settings.

        Raises:
            ValueError: the file belongs to another stage, seed or batch shape.
        """
        state = torch.load(path, weights_only=True)
        if state["settings"] != self.settings:
            raise ValueError(
                f"{path} was made with other settings ({state['settings']}); delete it "
                "or name another folder"
            )
        self.model.load_state_dict(state["model"])
        for optimiser, saved in zip(self.optimisers, state["optimisers"], strict=True):
            optimiser.load_state_dict(saved)
        self.stream.restore(state["stream"])
        self.done, self.history = state["done"], state["history"]


def train(run: Run, checkpoint: Path, every: int = 100) -> list[dict[str, float | int]]:
    """Bring a stage to its end, saving every `every` steps; resumes by itself.

    Returns:
        One row every tenth of `every` steps: stage, step, mean loss since the last row.
    """
    if checkpoint.is_file():
        run.resume(checkpoint)
    run.model.train()
    note, losses = max(1, every // 10), []
    bar = tqdm(total=run.stage.steps, initial=run.done, desc=run.stage.name)
    while run.done < run.stage.steps:
        losses.append(run.step())
        bar.update()
        if run.done % note == 0 or run.done == run.stage.steps:
            mean = sum(losses) / len(losses)
            run.history.append({"step": run.done, "loss": mean})
            bar.set_postfix(loss=f"{mean:.3f}")
            losses = []
        if run.done % every == 0 or run.done == run.stage.steps:
            run.save(checkpoint)
    bar.close()
    run.model.eval()
    return run.history
