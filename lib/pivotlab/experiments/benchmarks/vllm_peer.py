"""Profiling by prefix reuse against vLLM with prefix caching, where vLLM is installed.

    python -m pivotlab.experiments.benchmarks.vllm_peer smollm2-135m --preset cpu

Both sample K continuations of every turn of the same trajectories. vLLM's prefix cache
is emptied before each repeat, as ours holds nothing between calls. On a CPU both
compute in float32 with all threads, vLLM in a process of its own, whose memory is not
known here; neither runs while the other does. The row joins `benchmarks.csv`.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from pivotlab.engines.local import LocalSampler
from pivotlab.engines.protocol import Sampler, Sampling
from pivotlab.engines.vllm import VllmSampler
from pivotlab.experiments.benchmarks.measure import (
    KEYS,
    Rows,
    Usage,
    interleaved,
    row,
    setting,
    work,
)
from pivotlab.experiments.record_tables import merge_records
from pivotlab.rendering import Renderer

if TYPE_CHECKING:
    from pivotlab.experiments.benchmarks.subjects import Sizes


def engine_speed(
    ours: Sampler,
    peer: Sampler,
    forget: Callable[[], object],
    prompts: Sequence[Sequence[int]],
    sampling: Sampling,
    *,
    k: int,
    repeats: int,
    peer_name: str,
    **facts: object,
) -> Rows:
    """Turns per second of two samplers on the same prompts, one row of `benchmarks`.

    Args:
        ours: measured first in every other repeat.
        peer: what it is compared with.
        forget: empties the peer's prefix cache, called before each of its repeats.
        prompts: of every turn of some trajectories.
        sampling: lengths and stops of real turns.
        k: samples per turn.
        repeats: of both.
        peer_name: in the record.
        **facts: more of the setting.
    """

    def of_peer() -> None:
        peer.sample(prompts, k, sampling, range(len(prompts)))

    def fresh() -> Usage:
        forget()
        return Usage(work(of_peer)().seconds)

    def of_ours() -> None:
        ours.sample(prompts, k, sampling, range(len(prompts)))

    pair = interleaved(work(of_ours), fresh, repeats, "profiling")
    mean = round(sum(map(len, prompts)) / len(prompts))
    sizes = {"turns": len(prompts), "prompt": mean, "K": k}
    told = setting(**facts, **sizes, new=sampling.max_new_tokens)
    amounts = (len(prompts), len(prompts))
    return [row("profiling", told, pair, peer_name, "turns/s", amounts)]


def against_vllm(name: str, sizes: Sizes) -> Rows:
    """The row of one model; raises `ImportError` where vLLM is not installed."""
    # Not at the top: vLLM's workers import the command's module again, and their scan
    # of all modules fails at llvmlite, which the environments' search brings along.
    from pivotlab.experiments.benchmarks.subjects import subject
    from pivotlab.models.registry import locate

    measured = subject(name, sizes)
    stops = (Renderer(measured.tokenizer).end_of_turn,)
    sampling = Sampling(sizes.new_tokens, stop_ids=stops)
    longest = max(map(len, measured.prompts)) + sizes.new_tokens
    dtype = str(measured.model.dtype).removeprefix("torch.")
    engine = VllmSampler(
        locate(name),
        max_model_len=longest,
        dtype=dtype,
        # Whole prompts: its CPU build cannot resume a seeded request between chunks.
        enable_chunked_prefill=False,
        max_num_batched_tokens=max(8192, longest),
    )
    import vllm

    rows = engine_speed(
        LocalSampler(measured.model),
        engine,
        engine.forget,
        measured.prompts,
        sampling,
        k=sizes.k,
        repeats=sizes.repeats,
        peer_name=f"vLLM {vllm.__version__}, prefix caching",
        model=name,
        trajectories=measured.trajectories,
    )
    print(f"vLLM found {engine.report()['hit_rate']:.0%} of prompt tokens in its cache")
    return rows


def main() -> None:
    """Command line: model, preset, records."""
    from pivotlab.experiments.benchmarks.subjects import SIZES, Sizes

    # A forked worker would inherit the modules that its scan fails at.
    os.environ.setdefault("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
    parser = argparse.ArgumentParser(description="Profiling against vLLM.")
    parser.add_argument("model", help="a name for load_model, not random weights")
    parser.add_argument("--preset", default="cpu", choices=SIZES)
    parser.add_argument("--trajectories", type=int, help="default: the preset's")
    parser.add_argument("--records", type=Path, help="folder, default data/results")
    given = parser.parse_args()
    sizes = vars(SIZES[given.preset])
    if given.trajectories:
        sizes = {**sizes, "trajectories": given.trajectories}
    rows = against_vllm(given.model, Sizes(**sizes))
    merge_records("benchmarks", rows, KEYS["benchmarks"], given.records)
    print(rows[0], f"{torch.get_num_threads()} threads")


if __name__ == "__main__":
    main()
