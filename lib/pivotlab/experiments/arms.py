"""The compared settings as data: which reward, which turns, which objective.

The names read reward/turns, as the ablation of the PivotRL paper does (Table 4).
`exact/pivots` is the cell that table leaves out; `placebo` pays by coin toss and shows
what the pipeline does without any information.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

Objective = Literal["none", "sft", "grpo"]
Reward = Literal["functional", "exact", "placebo"]
Turns = Literal["random", "pivots", "mixed", "conversations"]


@dataclass(frozen=True)
class Arm:
    """One compared setting.

    `beta` is the weight of the KL to the frozen base (grpo only), None = the preset's;
    `learning_rate` None = the preset's for that objective. `pivots` selects with the
    arm's own reward: an exact-reward arm profiles with the exact verifier.
    """

    name: str
    objective: Objective
    turns: Turns = "random"
    reward: Reward = "functional"
    beta: float | None = None
    learning_rate: float | None = None


ARMS: dict[str, Arm] = {
    arm.name: arm
    for arm in (
        Arm("base", "none"),
        Arm("sft", "sft", "random"),
        Arm("exact/random", "grpo", "random", "exact"),
        Arm("functional/random", "grpo", "random", "functional"),
        Arm("exact/pivots", "grpo", "pivots", "exact"),
        Arm("functional/pivots", "grpo", "pivots", "functional"),
        Arm("placebo", "grpo", "pivots", "placebo"),
        # What a careful reader would vary before concluding.
        Arm("sft/pivots", "sft", "pivots"),
        Arm("sft/conversations", "sft", "conversations"),
        Arm("sft/low-lr", "sft", "random", learning_rate=3e-5),
    )
}

#: The seven arms of the main table, in reading order.
MAIN_ARMS = (
    "base",
    "sft",
    "exact/random",
    "functional/random",
    "exact/pivots",
    "functional/pivots",
    "placebo",
)

#: KL weights of the sweep on functional/pivots.
BETAS = (0.0, 0.02, 0.1, 0.3, 1.0)


#: What an override may set, and on which objectives.
OVERRIDES = {"beta": ("beta", ("grpo",)), "lr": ("learning_rate", ("grpo", "sft"))}


def get_arm(name: str) -> Arm:
    """The arm of that name; `NAME@beta=0.3` and `NAME@lr=1e-3` override the KL weight
    and the learning rate.

    Raises:
        ValueError: the name is not in the table, or the override does not parse.
    """
    plain, _, override = name.partition("@")
    if plain not in ARMS:
        raise ValueError(f"unknown arm {plain!r}; known arms: {', '.join(ARMS)}")
    arm = ARMS[plain]
    if not override:
        return arm
    key, _, value = override.partition("=")
    field, objectives = OVERRIDES.get(key, ("", ()))
    if arm.objective not in objectives:
        raise ValueError(
            f"arm {name!r}: only 'beta=NUMBER' (grpo) and 'lr=NUMBER' (grpo, sft) "
            "are understood"
        )
    try:
        return replace(arm, name=name, **{field: float(value)})
    except ValueError:
        raise ValueError(f"arm {name!r}: {value!r} is not a number") from None
