"""Profiling against stock `generate`: speed, equality, growth, and the roofline.

Stock profiling of a turn is one `generate` of its whole prompt with K returned
sequences: the tool at hand, and what prefix reuse is measured against. It samples from
the same distribution (top-k and top-p off). Ours profiles whole trajectories at once,
because that is where the reuse is; the peer's rate comes from turns spread evenly over
all depths, other ones in every repeat, since all of them would take hours.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from scipy.stats import chisquare
from transformers import PreTrainedModel

from pivotlab.engines.decoder import Decoder
from pivotlab.engines.local import LocalSampler
from pivotlab.engines.prefix_plan import plan_prefixes
from pivotlab.engines.prefix_store import PrefixStore
from pivotlab.engines.protocol import Sampling
from pivotlab.engines.shared_decode import SharedDecode, decode_order
from pivotlab.experiments.benchmarks.measure import (
    Rows,
    Usage,
    interleaved,
    random_ids,
    row,
    setting,
    work,
)

STOCK = "transformers generate, num_return_sequences=K"


def stock_profile(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], k: int, sampling: Sampling
) -> None:
    """K samples of every prompt by `generate`, one call a prompt."""
    for prompt in prompts:
        ids = torch.tensor([list(prompt)], device=model.device)
        model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            do_sample=True,
            temperature=sampling.temperature,
            top_k=0,
            top_p=1.0,
            num_return_sequences=k,
            max_new_tokens=sampling.max_new_tokens,
            eos_token_id=list(sampling.stop_ids) or None,
            pad_token_id=0,
        )


def profiling_speed(
    model: PreTrainedModel,
    name: str,
    prompts: Sequence[Sequence[int]],
    trajectories: int,
    sampling: Sampling,
    *,
    k: int = 8,
    repeats: int = 5,
    peer_turns: int = 8,
) -> Rows:
    """Turns per second of ours on all prompts and of stock on some of them.

    Args:
        model: on its device.
        name: of the model, for the record.
        prompts: of every turn of some trajectories.
        trajectories: how many these are.
        sampling: lengths and stops of real turns.
        k: samples per turn.
        repeats: of both.
        peer_turns: turns of one repeat of the peer.
    """
    by_depth = sorted(prompts, key=len)
    step = max(1, len(by_depth) // peer_turns)
    offsets = iter(np.resize(np.arange(step), repeats + 1).tolist())
    sampler = LocalSampler(model)

    def ours() -> None:
        sampler.sample(prompts, k, sampling, range(len(prompts)))

    def peer() -> Usage:
        chosen = by_depth[next(offsets) :: step]
        used = work(lambda: stock_profile(model, chosen, k, sampling))()
        # Repeats may differ in how many turns they have.
        return Usage(used.seconds / len(chosen), used.peak_mb)

    pair = interleaved(work(ours), peer, repeats, "profiling")
    mean = sum(map(len, prompts)) / len(prompts)
    facts = setting(
        model=name,
        trajectories=trajectories,
        turns=len(prompts),
        prompt=round(mean),
        K=k,
        new=sampling.max_new_tokens,
    )
    amounts = (len(prompts), 1)
    return [row("profiling", facts, pair, STOCK, "turns/s", amounts)]


def logits_difference(
    model: PreTrainedModel, prompts: Sequence[Sequence[int]], steps: int = 4
) -> float:
    """Largest difference between the reuse path's logits and a plain forward's.

    Two samples of every prompt are decoded over `steps` random tokens; every position
    is compared with a forward pass over the whole sequence.
    """
    decoder = Decoder(model)
    given = [tuple(p) for p in dict.fromkeys(map(tuple, prompts))]
    draw = torch.Generator().manual_seed(1)
    worst = 0.0
    with torch.inference_mode():
        store = PrefixStore(decoder, plan_prefixes(given))
        order = decode_order(store, range(len(given)))
        part = SharedDecode(store, order, 2)
        whole = [list(given[p]) for p in order for _ in range(2)]
        logits = part.first_logits()
        for step in range(steps + 1):
            for found, ids in zip(logits, whole, strict=True):
                worst = max(worst, _difference(model, found, ids))
            if step < steps:
                ids = torch.randint(logits.shape[-1], (len(whole),), generator=draw)
                whole = [w + [int(t)] for w, t in zip(whole, ids, strict=True)]
                logits = part.step(ids.to(model.device))
    return worst


def _difference(model: PreTrainedModel, found: torch.Tensor, ids: list[int]) -> float:
    plain = model(input_ids=torch.tensor([ids], device=model.device))
    return float((found - plain.logits[0, -1].float()).abs().max())


def frequency_p_value(
    model: PreTrainedModel, prompt: Sequence[int], n: int = 4000
) -> float:
    """p value of a chi-square test: n first tokens against the model's probabilities.

    Rare tokens are counted together, so that every count is expected five times.
    """
    with torch.inference_mode():
        ids = torch.tensor([list(prompt)], device=model.device)
        logits = model(input_ids=ids).logits[0, -1].double()
    expected = n * logits.softmax(-1).cpu().numpy()
    (drawn,) = LocalSampler(model).sample([prompt], n, Sampling(1), [0])
    found = np.bincount([s.token_ids[0] for s in drawn], minlength=len(expected))
    group = grouped(expected, 5.0)
    counts, wanted = np.bincount(group, found), np.bincount(group, expected)
    return float(chisquare(counts, wanted * n / wanted.sum()).pvalue)


def grouped(expected: Float[np.ndarray, "tokens"], least: float) -> np.ndarray:
    """A group number per token, every group expected `least` times or more.

    Tokens join from the likeliest on; what is left over joins the last group.
    """
    group, number, held = np.zeros(len(expected), dtype=np.int64), 0, 0.0
    for token in np.argsort(-expected, kind="stable"):
        group[token] = number
        held += expected[token]
        if held >= least:
            number, held = number + 1, 0.0
    return np.minimum(group, max(number - 1, 0))


def growth_in_turns(
    model: PreTrainedModel,
    name: str,
    depths: Sequence[int],
    *,
    turn_tokens: int = 40,
    k: int = 8,
    new_tokens: int = 16,
    repeats: int = 5,
) -> Rows:
    """Cost of one more turn at growing depth, rows of `profiling_growth.csv`.

    One trajectory of random tokens, `turn_tokens` a turn. Ours: the difference between
    profiling it to this depth and to the one before, per turn between them. Stock: the
    turn of this depth alone.
    """
    vocabulary = Decoder(model).config.vocab_size
    ids = random_ids(vocabulary, turn_tokens * max(depths))
    sampling, sampler = Sampling(new_tokens), LocalSampler(model)
    prompts = [ids[: turn_tokens * (t + 1)] for t in range(max(depths))]
    rows, totals = [], {0: 0.0}
    for before, depth in pairwise([0, *depths]):

        def ours(depth: int = depth) -> None:
            sampler.sample(prompts[:depth], k, sampling, range(depth))

        def peer(depth: int = depth) -> None:
            stock_profile(model, [prompts[depth - 1]], k, sampling)

        pair = interleaved(work(ours), work(peer), repeats, f"depth {depth}")
        totals[depth], alone = pair.seconds()
        added = (totals[depth] - totals[before]) / (depth - before)
        rows.append(
            _growth_row(name, "turns", depth, totals[depth], alone, added, repeats)
        )
    return rows


def growth_in_size(
    model: PreTrainedModel,
    name: str,
    factor: str,
    values: Sequence[int],
    *,
    prefix: int = 256,
    k: int = 8,
    new_tokens: int = 16,
    repeats: int = 5,
) -> Rows:
    """Seconds of one turn of ours and of stock as its prefix or K grows.

    Args:
        factor: "prefix" (tokens of the prompt) or "k" (samples).
        values: of that factor; the other one keeps its argument.

    Raises:
        ValueError: another factor.
    """
    if factor not in ("prefix", "k"):
        raise ValueError(f"factor={factor!r} must be 'prefix' or 'k'")
    vocabulary, sampling = Decoder(model).config.vocab_size, Sampling(new_tokens)
    sampler, rows = LocalSampler(model), []
    for value in values:
        n = value if factor == "k" else k
        ids = random_ids(vocabulary, value if factor == "prefix" else prefix)

        def ours(ids: list[int] = ids, n: int = n) -> None:
            sampler.sample([ids], n, sampling, [0])

        def peer(ids: list[int] = ids, n: int = n) -> None:
            stock_profile(model, [ids], n, sampling)

        pair = interleaved(work(ours), work(peer), repeats, f"{factor} {value}")
        rows.append(_growth_row(name, factor, value, *pair.seconds(), "", repeats))
    return rows


def _growth_row(
    model: str,
    factor: str,
    value: int,
    ours: float,
    peer: float,
    added: float | str,
    repeats: int,
) -> dict[str, Any]:
    return {
        "model": model,
        "factor": factor,
        "value": value,
        "ours_seconds": ours,
        "ours_seconds_per_added_turn": added,
        "peer_seconds": peer,
        "peer_name": STOCK,
        "repeats": repeats,
    }


def matrix_flops(model: PreTrainedModel, tokens: int) -> int:
    """Floating-point operations of prefilling one prompt, products only.

    Two per weight of the layers' linear maps and token, two products of causal
    attention, and the vocabulary once, for the last token.
    """
    decoder = Decoder(model)
    config, body = decoder.config, model.get_decoder()
    linear = sum(
        m.weight.numel() for m in body.modules() if isinstance(m, torch.nn.Linear)
    )
    width = config.num_attention_heads * decoder.head_dim
    attention = config.num_hidden_layers * 2 * width * tokens**2
    return 2 * linear * tokens + attention + 2 * config.vocab_size * config.hidden_size


def roofline(
    model: PreTrainedModel,
    name: str,
    tokens: int = 1024,
    size: int = 1024,
    repeats: int = 5,
) -> Rows:
    """FLOP/s of prefilling a prompt against a square matrix product of the same type.

    The peer's figure is the ceiling that this machine shows in this run, so the ratio
    is the share of it that is reached, at most about 1.
    """
    decoder = Decoder(model)
    ids = random_ids(decoder.config.vocab_size, tokens)
    like = {"dtype": model.dtype, "device": model.device}
    left, right = torch.rand(size, size, **like), torch.rand(size, size, **like)
    flops = matrix_flops(model, tokens)
    products = max(1, round(flops / (2 * size**3)))

    def peer() -> None:
        for _ in range(products):
            left @ right

    pair = interleaved(
        work(lambda: decoder.prefill([ids])), work(peer), repeats, "roofline"
    )
    amounts = (flops / 1e9, products * 2 * size**3 / 1e9)
    facts = setting(model=name, prompt=tokens, matrix=size, dtype=str(model.dtype)[6:])
    name = f"matrix product {size} x {size}"
    return [row("prefill FLOP/s", facts, pair, name, "GFLOP/s", amounts)]
