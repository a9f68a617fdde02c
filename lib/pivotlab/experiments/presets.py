"""Settings as data: one table of presets, one way to override them.

`smoke` runs in seconds (tests), `quick` is what a first run shows, `cpu` are the
reference runs on two cores, `gpu` is one device, `paper` the papers' own settings.
`PAPER_SOURCES` says for every value of `paper` where it comes from, or that nobody
printed it; embedded presets are this repository's own choices.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, fields, replace
from typing import Any


@dataclass(frozen=True)
class Preset:
    """Every number a notebook needs, so that none of them invents its own.

    PivotRL trains on single turns, PivotOPD and the end-to-end arms on whole episodes;
    the fields of the latter start with `episode_` where both need one.
    """

    name: str
    about: str
    #: Exact cases of the theory notebooks and Monte Carlo draws beside them.
    random_cases: int
    draws: int
    #: Student, and the seeds a result is averaged over.
    model: str
    seeds: tuple[int, ...]
    #: Expert trajectories, samples per turn (K), and the filter of PivotRL Eq. (5).
    trajectories: int
    k: int
    lambda_diff: float
    #: Sampling: temperature in training, of evaluation, tokens per action, and the last
    #: turns kept in a prompt (0 = the whole history).
    temperature: float
    eval_temperature: float
    max_new_tokens: int
    history: int
    #: Single-turn training: G, prompts per step, steps, rates, KL weight, PPO clip.
    group: int
    prompts_per_step: int
    steps: int
    learning_rate: float
    sft_learning_rate: float
    beta: float
    clip: float
    #: Games per evaluation and turns per episode.
    eval_games: int
    max_turns: int
    #: Training on episodes: student, tasks per step, G, steps, rate, KL weight.
    episode_model: str
    episode_tasks: int
    episode_group: int
    episode_steps: int
    episode_learning_rate: float
    episode_beta: float
    #: PivotOPD: m, K, weights, clip of the recovery signal, recoveries per step.
    candidates: int
    recovery_turns: int
    w_rec: float
    w_prev: float
    w_traj: float
    delta: float
    max_recoveries: int

    def __post_init__(self) -> None:
        """Refuses values outside their range.

        Raises:
            ValueError: names the field, the value and the allowed range.
        """
        for name, (low, high) in RANGES.items():
            value = getattr(self, name)
            if not low <= value <= high:
                raise ValueError(f"{name}={value!r} must lie in [{low}, {high}]")
        if not self.seeds or min(self.seeds) < 0:
            raise ValueError(f"seeds={self.seeds!r} must name one or more seeds >= 0")


_INF = float("inf")
#: Smallest and largest allowed value, both included.
RANGES: dict[str, tuple[float, float]] = {
    "random_cases": (1, _INF),
    "draws": (1, _INF),
    "trajectories": (1, _INF),
    "k": (2, _INF),
    "lambda_diff": (0.0, 1.0),
    "temperature": (0.0, _INF),
    "eval_temperature": (0.0, _INF),
    "max_new_tokens": (1, _INF),
    "history": (0, _INF),
    "group": (2, _INF),
    "prompts_per_step": (1, _INF),
    "steps": (0, _INF),
    "learning_rate": (0.0, 1.0),
    "sft_learning_rate": (0.0, 1.0),
    "beta": (0.0, _INF),
    "clip": (0.0, 1.0),
    "eval_games": (1, _INF),
    "max_turns": (1, _INF),
    "episode_tasks": (1, _INF),
    "episode_group": (2, _INF),
    "episode_steps": (0, _INF),
    "episode_learning_rate": (0.0, 1.0),
    "episode_beta": (0.0, _INF),
    "candidates": (0, _INF),
    "recovery_turns": (0, _INF),
    "w_rec": (0.0, _INF),
    "w_prev": (0.0, _INF),
    "w_traj": (0.0, _INF),
    "delta": (0.0, _INF),
    "max_recoveries": (0, _INF),
}

_CPU = Preset(
    name="cpu",
    about="reference runs over seeds; hours on two cores, resumable",
    random_cases=1000,
    draws=100_000,
    model="tiny",
    seeds=(0, 1, 2, 3, 4),
    trajectories=400,
    k=16,
    lambda_diff=0.6,
    temperature=1.0,
    eval_temperature=1.0,
    max_new_tokens=24,
    history=0,
    group=8,
    prompts_per_step=8,
    steps=960,
    learning_rate=1e-4,
    sft_learning_rate=1e-4,
    beta=0.1,
    clip=0.2,
    eval_games=300,
    max_turns=30,
    episode_model="tiny",
    episode_tasks=8,
    episode_group=8,
    episode_steps=20,
    episode_learning_rate=2e-4,
    episode_beta=0.01,
    candidates=5,
    recovery_turns=2,
    w_rec=0.125,
    w_prev=0.001,
    w_traj=0.001,
    delta=5.0,
    max_recoveries=32,
)

#: What the two presets for real models share.
_LARGE = replace(
    _CPU,
    seeds=(0, 1, 2),
    group=16,
    learning_rate=1e-6,
    sft_learning_rate=1e-5,
    beta=0.01,
    eval_games=274,
    eval_temperature=0.4,
    episode_model="Qwen/Qwen3-1.7B",
    episode_tasks=16,
    episode_steps=160,
    episode_learning_rate=1e-6,
    history=5,
    w_rec=1.0,
    max_recoveries=64,
)

PRESETS: dict[str, Preset] = {
    "smoke": replace(
        _CPU,
        name="smoke",
        about="every line once; seconds on one core, no result to read",
        random_cases=50,
        draws=2_000,
        seeds=(0,),
        trajectories=6,
        k=4,
        group=4,
        prompts_per_step=2,
        steps=2,
        eval_games=4,
        episode_tasks=2,
        episode_group=2,
        episode_steps=1,
        max_turns=8,
        max_recoveries=4,
    ),
    "quick": replace(
        _CPU,
        name="quick",
        about="a first look; minutes on two cores",
        draws=20_000,
        seeds=(0,),
        trajectories=80,
        k=8,
        steps=60,
        eval_games=100,
        episode_tasks=4,
        episode_steps=6,
        max_recoveries=16,
    ),
    "cpu": _CPU,
    "gpu": replace(
        _LARGE,
        name="gpu",
        about="a small real model on one device; hours",
        model="Qwen/Qwen3-1.7B",
        max_new_tokens=512,
        prompts_per_step=16,
        steps=160,
    ),
    "paper": replace(
        _LARGE,
        name="paper",
        about="the papers' settings; a node of large devices, days",
        model="Qwen/Qwen3-30B-A3B-Thinking-2507",
        trajectories=281_774,
        max_new_tokens=32_768,
        prompts_per_step=64,
        steps=130,
    ),
}

_PIVOTOPD = "PivotOPD hyperparameter table, ALFWorld column"
#: Where each value of `paper` comes from.
PAPER_SOURCES: dict[str, str] = {
    "random_cases": "ours: no experiment of a paper",
    "draws": "ours: no experiment of a paper",
    "model": "PivotRL, single-domain runs (summaries of the paper)",
    "seeds": "PivotOPD: three seeds, their values unknown; PivotRL prints none",
    "trajectories": "PivotRL, tau2-Bench data (summaries of the paper)",
    "k": "not printed; public tau2 pivot rows carry 16 rewards",
    "lambda_diff": "not printed ('per domain'); a public tau2 recipe keeps mean <= 0.6",
    "temperature": "PivotOPD: 1.0 in training; PivotRL: public recipes use 1.0",
    "eval_temperature": "PivotOPD: 0.4 in validation and test",
    "max_new_tokens": "not printed; public tau2 recipe. PivotOPD uses 512",
    "history": _PIVOTOPD + "; PivotRL conditions on the full history (0)",
    "group": "PivotRL (summaries of the paper)",
    "prompts_per_step": "PivotRL: batch 1,024 = 64 prompts x 16",
    "steps": "PivotRL Fig. 1 (SWE-Bench): matched accuracy at step 130",
    "learning_rate": "not printed; every public recipe uses 1e-6",
    "sft_learning_rate": "not printed; ours",
    "beta": "Eq. (7) has beta > 0 but no value; public recipes use 0. 0.01 is ours",
    "clip": "not printed; public tau2 recipe 0.2. PivotOPD: 0.2",
    "eval_games": "PivotOPD: 274 = 140 seen + 134 unseen ALFWorld games",
    "max_turns": _PIVOTOPD,
    "episode_model": "PivotOPD: Qwen3-1.7B (the other student is Qwen3-8B)",
    "episode_tasks": _PIVOTOPD,
    "episode_group": _PIVOTOPD,
    "episode_steps": _PIVOTOPD,
    "episode_learning_rate": _PIVOTOPD,
    "episode_beta": _PIVOTOPD,
    "candidates": _PIVOTOPD,
    "recovery_turns": _PIVOTOPD,
    "w_rec": _PIVOTOPD,
    "w_prev": _PIVOTOPD,
    "w_traj": _PIVOTOPD,
    "delta": _PIVOTOPD,
    "max_recoveries": _PIVOTOPD,
}


def get_preset(name: str) -> Preset:
    """The preset of that name.

    Raises:
        ValueError: there is none; the message lists the names.
    """
    if name not in PRESETS:
        raise ValueError(f"unknown preset {name!r}; choose one of {', '.join(PRESETS)}")
    return PRESETS[name]


def from_params(preset: str, **overrides: Any) -> Preset:
    """A preset with some fields replaced; None keeps the preset's own value.

    Example: `from_params("smoke", steps=5, seeds=[0, 1])`.

    Raises:
        ValueError: unknown preset or field, wrong type, or value out of range.
    """
    base = get_preset(preset)
    given = {k: v for k, v in overrides.items() if v is not None}
    known = [f.name for f in fields(Preset) if f.name not in ("name", "about")]
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=3) or known
            raise ValueError(
                f"unknown setting {key!r}; did you mean {', '.join(near)}?"
            )
    typed = {k: _like(k, getattr(base, k), v) for k, v in given.items()}
    return replace(base, **typed)


def _like(name: str, old: Any, new: Any) -> Any:
    """`new` in the type of `old`: int to float and list to tuple, nothing else."""
    if isinstance(old, tuple) and isinstance(new, (list, tuple)):
        return tuple(_like(name, old[0], item) for item in new)
    if isinstance(old, float) and type(new) is int:
        return float(new)
    if type(new) is not type(old):
        raise ValueError(f"{name}={new!r} must be of type {type(old).__name__}")
    return new
