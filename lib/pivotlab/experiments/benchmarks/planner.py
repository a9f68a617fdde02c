"""What the papers' sizes cost at a given throughput: tokens and device-hours.

A plan is arithmetic on a throughput, measured here or typed in, and on assumptions;
every assumption has a name, a value, a unit and a source, and can be replaced. Sources
say whether a number was reported, checked by arithmetic, estimated, or is ours. Nothing
here was run at those sizes.

    decode    every sampled token once
    prefill   every prompt token once where prefixes are shared, else once per turn
    update    tokens of the log-prob passes times `passes` (forward 1, backward 2, and
              the frozen reference 1), at the speed of prefill

The device-hours leave out loading, idle devices, environments and verifiers.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd
import torch
from transformers import PreTrainedModel

from pivotlab.engines.local import LocalSampler
from pivotlab.engines.protocol import Sampling

Number = int | float


@dataclass(frozen=True)
class Throughput:
    """Tokens per second of one device, and where they come from."""

    prefill: Number
    decode: Number
    source: str

    def __post_init__(self) -> None:
        """Refuses speeds that are not positive.

        Raises:
            ValueError: names both values.
        """
        if not (self.prefill > 0 and self.decode > 0):
            raise ValueError(
                f"tokens per second must be positive: prefill={self.prefill}, "
                f"decode={self.decode}"
            )


@dataclass(frozen=True)
class Assumption:
    """One number a plan rests on."""

    value: Number
    unit: str
    source: str


ASSUMPTIONS: dict[str, Assumption] = {
    "trajectories": Assumption(
        281_774,
        "trajectories",
        "PivotRL, tau2-Bench data (third-party, article); another reading takes the "
        "number for candidate turns",
    ),
    "turns_per_trajectory": Assumption(
        14.7,
        "turns",
        "542 K / 72 / 512 of the end-to-end SWE-Bench run (checked), inside the "
        "reported 12-25; tau2-Bench: not printed",
    ),
    "k": Assumption(
        16,
        "samples/turn",
        "not printed; public tau2 pivot rows carry 16 rewards (data)",
    ),
    "action_tokens": Assumption(300, "tokens", "per sampled action (estimate)"),
    "prompt_tokens": Assumption(
        6_000, "tokens", "mean prompt: 1.7 B tokens / 282 K turns (estimate)"
    ),
    "context_growth": Assumption(
        2.0,
        "ratio",
        "longest over mean prompt of a trajectory; 2 if it grows evenly (ours)",
    ),
    "pivotrl_steps": Assumption(
        130, "steps", "PivotRL Fig. 1, SWE-Bench at 32.67 (third-party)"
    ),
    "prompts_per_step": Assumption(
        64, "prompts", "batch 1,024 = 64 x 16 (third-party, article)"
    ),
    "group": Assumption(16, "samples/prompt", "group size G (third-party)"),
    "e2e_steps": Assumption(
        72, "steps", "PivotRL Fig. 1, SWE-Bench at 32.67 (third-party)"
    ),
    "e2e_trajectories": Assumption(
        512, "trajectories/step", "batch 512 = 16 x 32 (third-party, article)"
    ),
    "passes": Assumption(
        4.0,
        "forward passes",
        "policy forward 1 + backward 2, reference forward 1 (ours)",
    ),
}
#: Reported beside the plan, for comparison with it.
REPORTED = {
    "turns, PivotRL": "133 K (third-party, article)",
    "turns, end to end": "542 K (third-party, article)",
    "wall-clock ratio": "5.5 on equal nodes (third-party)",
}


@dataclass(frozen=True)
class Cost:
    """One line of a plan; tokens of all devices together."""

    work: str
    turns: Number
    prefill_tokens: Number
    decode_tokens: Number
    update_tokens: Number
    hours: float


def assumptions(**changes: Number) -> dict[str, Assumption]:
    """`ASSUMPTIONS` with some values typed in.

    Raises:
        ValueError: no such assumption, or a value that is not positive.
    """
    found = dict(ASSUMPTIONS)
    for name, value in changes.items():
        if name not in found:
            raise ValueError(
                f"no assumption {name!r}; there are: {', '.join(ASSUMPTIONS)}"
            )
        if value <= 0:
            raise ValueError(f"{name}={value} must be positive")
        found[name] = Assumption(value, found[name].unit, "typed in")
    return found


def plan(speed: Throughput, given: Mapping[str, Assumption]) -> list[Cost]:
    """The lines of the plan: profiling, then both ways of training.

    Profiling appears under both readings of the 281,774 and with prefixes shared or
    not; training appears with prefixes shared or not, and end to end.
    """
    a = {name: assumption.value for name, assumption in given.items()}
    longest = a["prompt_tokens"] * a["context_growth"]
    lines = []
    for reading, turns in (
        ("turns", a["trajectories"]),
        ("trajectories", a["trajectories"] * a["turns_per_trajectory"]),
    ):
        decode = turns * a["k"] * a["action_tokens"]
        once = turns / a["turns_per_trajectory"] * longest
        again = turns * a["prompt_tokens"]
        name = f"profiling, {a['trajectories']:,.0f} {reading}"
        lines.append(_cost(f"{name}, prefixes shared", speed, turns, once, decode))
        lines.append(_cost(f"{name}, prefix per turn", speed, turns, again, decode))
    return lines + _training(speed, a, longest)


def _training(
    speed: Throughput, a: Mapping[str, Number], longest: Number
) -> list[Cost]:
    prompts = a["pivotrl_steps"] * a["prompts_per_step"]
    turns = prompts * a["group"]
    actions = turns * a["action_tokens"]
    prefill = prompts * a["prompt_tokens"]
    repeated = turns * a["prompt_tokens"] + actions
    episodes = a["e2e_steps"] * a["e2e_trajectories"]
    e2e = episodes * a["turns_per_trajectory"]
    name = f"PivotRL, {a['pivotrl_steps']:.0f} steps"
    return [
        _cost(
            f"{name}, prompt shared by its group",
            speed,
            turns,
            prefill,
            actions,
            prefill + actions,
            a["passes"],
        ),
        _cost(
            f"{name}, prompt per sample in the update",
            speed,
            turns,
            prefill,
            actions,
            repeated,
            a["passes"],
        ),
        _cost(
            f"end to end, {a['e2e_steps']:.0f} steps",
            speed,
            e2e,
            episodes * longest,
            e2e * a["action_tokens"],
            episodes * longest,
            a["passes"],
        ),
    ]


def _cost(
    work: str,
    speed: Throughput,
    turns: Number,
    prefill: Number,
    decode: Number,
    update: Number = 0,
    passes: Number = 0,
) -> Cost:
    seconds = (prefill + passes * update) / speed.prefill + decode / speed.decode
    return Cost(work, turns, prefill, decode, update, seconds / 3600)


def plan_table(speed: Throughput, **changes: Number) -> pd.DataFrame:
    """The plan as a table: one line of work a row; raises like `assumptions`."""
    lines = plan(speed, assumptions(**changes))
    return pd.DataFrame([vars(line) for line in lines]).set_index("work")


def assumption_table(**changes: Number) -> pd.DataFrame:
    """Name, value, unit and source of everything the plan rests on."""
    rows = {name: vars(a) for name, a in assumptions(**changes).items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("assumption")


def measure(
    model: PreTrainedModel,
    name: str,
    prompt_tokens: int = 512,
    samples: int = 64,
    new_tokens: int = 16,
) -> Throughput:
    """Throughput of the local sampler on one random prompt of this machine.

    The prompt's own time is a call that draws one token; decoding is what `new_tokens`
    more tokens of all samples take beyond it. A first short call warms up.
    """
    draw = torch.Generator().manual_seed(0)
    vocabulary = model.config.get_text_config(decoder=True).vocab_size
    ids = torch.randint(vocabulary, (prompt_tokens,), generator=draw).tolist()
    sampler = LocalSampler(model)
    sampler.sample([ids[:8]], samples, Sampling(2), [0])

    def seconds(new: int, n: int) -> float:
        start = time.perf_counter()
        sampler.sample([ids], n, Sampling(new), [0])
        return time.perf_counter() - start

    prompt, first = seconds(1, 1), seconds(1, samples)
    rest = max(seconds(1 + new_tokens, samples) - first, 1e-9)
    return Throughput(
        prompt_tokens / prompt,
        samples * new_tokens / rest,
        f"measured here: {name}, prompt of {prompt_tokens}, {samples} samples of "
        f"{new_tokens} tokens, {model.device.type}, {model.dtype}",
    )
