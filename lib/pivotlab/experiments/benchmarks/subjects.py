"""What is measured on what: models, turns and sizes by preset.

`smollm2-135m` profiles recorded ALFWorld episodes of another agent; models that know
the game's own tokens, or nothing at all, profile games of the noisy player. Weights do
not change the cost of a token, so a shape with random weights stands in for a model
that cannot be had here.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from pivotlab.engines.noise import derive_seed
from pivotlab.environments.textgame import task_ids
from pivotlab.environments.textgame.players import NoisyPlayer
from pivotlab.experiments.pool import NOISE
from pivotlab.models import smollm2, tiny
from pivotlab.models.registry import load_model, load_tokenizer
from pivotlab.models.tokenizer import build_tokenizer
from pivotlab.pivots.candidates import collect
from pivotlab.records import Candidate, Trajectory
from pivotlab.rendering import Renderer
from pivotlab.trajectories.game_play import play
from pivotlab.trajectories.loading import load
from pivotlab.trajectories.registry import fetch

#: Recorded ALFWorld episodes, 218 of 4 to 27 turns.
RECORDED = "ALFWorld_processed_knowagent.jsonl"


@dataclass(frozen=True)
class Sizes:
    """How large every measure is.

    Attributes:
        models: names for `subject`.
        growing: those of them whose growth curves are measured.
        repeats: of ours and of the peer.
        trajectories: profiled at once.
        max_turns: of a played game.
        longest: prompt that is kept, tokens.
        k: samples per turn [K].
        new_tokens: sampled at most.
        peer_turns: turns of one repeat of the stock profiler.
        depths, prefixes, ks, groups, step_prefixes: points of the growth curves.
        step_prompts: prompts of a GRPO step by model, 1 where none is given.
        step_length: shortest prompt of a GRPO step, tokens.
        step_tokens: sampled in a GRPO step, exactly.
        group: G.
        roofline: tokens of the prefill and side of the matrices.
        adaptive_games: games whose turns are profiled adaptively.
        reference: K that the adaptive rules are judged by.
    """

    models: tuple[str, ...]
    growing: tuple[str, ...]
    repeats: int
    trajectories: int
    max_turns: int
    longest: int
    k: int
    new_tokens: int
    peer_turns: int
    depths: tuple[int, ...]
    prefixes: tuple[int, ...]
    ks: tuple[int, ...]
    groups: tuple[int, ...]
    step_prefixes: tuple[int, ...]
    step_prompts: dict[str, int]
    step_length: int
    step_tokens: int
    group: int
    roofline: tuple[int, int]
    adaptive_games: int
    reference: int


_CPU = Sizes(
    models=("tiny", "smollm2-135m"),
    growing=("tiny",),
    repeats=5,
    trajectories=20,
    max_turns=30,
    longest=1400,
    k=8,
    new_tokens=16,
    peer_turns=4,
    depths=(4, 8, 16, 24, 32),
    prefixes=(64, 128, 256, 512, 1024),
    ks=(2, 4, 8, 16, 32),
    groups=(2, 4, 8, 16),
    step_prefixes=(128, 256, 384),
    step_prompts={"tiny": 8},
    step_length=350,
    step_tokens=16,
    group=8,
    roofline=(1024, 1024),
    adaptive_games=60,
    reference=64,
)
_SMOKE = Sizes(
    models=("random",),
    growing=("random",),
    repeats=1,
    trajectories=2,
    max_turns=6,
    longest=400,
    k=4,
    new_tokens=4,
    peer_turns=2,
    depths=(2, 4),
    prefixes=(16, 32),
    ks=(2, 4),
    groups=(2, 4),
    step_prefixes=(32, 64),
    step_prompts={},
    step_length=40,
    step_tokens=4,
    group=4,
    roofline=(128, 256),
    adaptive_games=3,
    reference=16,
)
_GPU = Sizes(
    **{
        **vars(_CPU),
        "models": ("qwen3-1.7b-shape",),
        "growing": ("qwen3-1.7b-shape",),
        "step_prompts": {"qwen3-1.7b-shape": 8},
        "new_tokens": 64,
        "step_tokens": 64,
        "roofline": (1024, 8192),
    }
)
#: By preset; `paper` measures what `gpu` does.
SIZES = {"smoke": _SMOKE, "quick": _SMOKE, "cpu": _CPU, "gpu": _GPU, "paper": _GPU}


@dataclass(frozen=True)
class Subject:
    """A model with turns to measure it on."""

    name: str
    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    candidates: list[Candidate]
    trajectories: int

    @property
    def prompts(self) -> list[list[int]]:
        """Token ids of every candidate's prompt."""
        renderer = Renderer(self.tokenizer)
        return [renderer.prompt_ids(c.prefix, c.tools) for c in self.candidates]


def subject(name: str, sizes: Sizes, seed: int = 0) -> Subject:
    """The model of that name and the turns of `sizes.trajectories` trajectories.

    Args:
        name: "random" (the shape of `tiny`), "qwen3-1.7b-shape", or a name for
            `models.registry.load_model`.
        sizes: see `Sizes`.
        seed: of random weights and of the player.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    dtype = torch.bfloat16 if device == "cuda" else torch.float32
    if name == "random":
        tokenizer = build_tokenizer(tiny.vocabulary())
        model = tiny.build_model(tokenizer, seed).to(device)
    elif name == "qwen3-1.7b-shape":
        tokenizer = load_tokenizer(tiny.NAME)
        model = qwen3_shape(tokenizer, seed, device, dtype)
    else:
        model, tokenizer = load_model(name, device, dtype)
    if name == smollm2.NAME:
        episodes = evenly(load(fetch(RECORDED)).trajectories, sizes.trajectories)
    else:
        episodes = games(sizes.trajectories, sizes.max_turns, seed)
    found = collect(episodes, Renderer(tokenizer), sizes.longest)
    return Subject(name, model.eval(), tokenizer, found.candidates, len(episodes))


def games(count: int, max_turns: int, seed: int) -> list[Trajectory]:
    """Games of the noisy player on training tasks."""
    return [
        play(
            task,
            NoisyPlayer(NOISE),
            random.Random(derive_seed(seed, index)),
            max_turns,
            None,
            f"{task}/{index}",
        )
        for index, task in enumerate(task_ids("train", count))
    ]


def evenly(items: Sequence[Trajectory], count: int) -> list[Trajectory]:
    """`count` items at equal distances.

    Raises:
        ValueError: there are fewer.
    """
    if len(items) < count:
        raise ValueError(f"{count} trajectories are wanted, there are {len(items)}")
    return [items[index * len(items) // count] for index in range(count)]


def qwen3_shape(
    tokenizer: PreTrainedTokenizerBase, seed: int, device: str, dtype: torch.dtype
) -> Qwen3ForCausalLM:
    """A model of the shape of Qwen3-1.7B with random weights."""
    config = Qwen3Config(
        vocab_size=151_936,
        hidden_size=2048,
        intermediate_size=6144,
        num_hidden_layers=28,
        num_attention_heads=16,
        num_key_value_heads=8,
        head_dim=128,
        max_position_embeddings=40_960,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng(), torch.device(device):
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config).to(dtype)
