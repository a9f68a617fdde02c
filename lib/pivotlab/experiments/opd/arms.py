"""PivotOPD and what it is compared with, as settings of one trainer.

Names follow Table 2 and Section 8 of the PivotOPD reference: `opsd` is what the paper's
analyses call standard OPD. Weights that an arm does not name are the preset's.

Departures from the paper: (1) the oracle gives no lesson in words, so `w_traj` is 0
except where a model teaches; (2) `opsd` hints the teacher's action at every turn, in
the place of retrieved skills.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pivotlab.distillation.losses import Weights
from pivotlab.experiments.presets import Preset
from pivotlab.training.distilled import Distillation
from pivotlab.training.multiturn import MultiTurnSettings


@dataclass(frozen=True)
class EpisodeArm:
    """One compared setting.

    Attributes:
        name: in tables and figures.
        trains: False for the base as it is.
        distils: False for end-to-end GRPO alone.
        weights: `Weights` fields that differ from the preset's.
        changes: `Distillation` fields that differ from the preset's.
        teacher: who names actions: the symbolic oracle or the student itself.
        big: needs a second model that scores turns.
    """

    name: str
    trains: bool = True
    distils: bool = True
    weights: Mapping[str, float] = field(default_factory=dict)
    changes: Mapping[str, Any] = field(default_factory=dict)
    teacher: Literal["oracle", "student"] = "oracle"
    big: bool = False

    def distillation(self, preset: Preset) -> Distillation | None:
        """The arm's signals at a preset."""
        if not (self.trains and self.distils):
            return None
        lesson = preset.w_traj if self.teacher == "student" else 0.0
        usual = Weights(preset.w_prev, preset.w_rec, lesson, preset.delta)
        whole = Distillation(
            replace(usual, **self.weights),
            candidates=preset.candidates,
            recovery_turns=preset.recovery_turns,
            max_recoveries=preset.max_recoveries,
        )
        return replace(whole, **self.changes)


_NO_PREVENTION, _NO_RECOVERY = {"w_prev": 0.0}, {"recovery_turns": 0}
_NOTHING = {"w_prev": 0.0, "w_rec": 0.0, "w_traj": 0.0}
_EVERY_TURN = {"w_rl": 0.0, "w_every": 1.0, **_NO_RECOVERY}

EPISODE_ARMS: dict[str, EpisodeArm] = {
    arm.name: arm
    for arm in (
        EpisodeArm("base", trains=False),
        EpisodeArm("grpo", distils=False),
        EpisodeArm("opsd", weights=_NOTHING, changes=_EVERY_TURN),
        EpisodeArm("opd", weights=_NOTHING, changes=_EVERY_TURN, big=True),
        EpisodeArm("prevention", weights={"w_prev": 0.1}, changes=_NO_RECOVERY),
        EpisodeArm("recovery", weights=_NO_PREVENTION),
        EpisodeArm("full"),
        EpisodeArm("random turns", changes={"turns": "random"}),
        EpisodeArm("no action named", changes={"hint": "reflection"}),
        EpisodeArm("reverse-KL recovery", changes={"recovery": "student"}),
        *(EpisodeArm(f"K={k}", changes={"recovery_turns": k}) for k in range(4)),
        EpisodeArm("self-teacher", teacher="student"),
        EpisodeArm(
            "swe",
            weights={**_NOTHING, "w_prev": 0.1},
            changes={**_EVERY_TURN, "turns": "final"},
            big=True,
        ),
    )
}

#: The arms of the main comparison that need no second model, in reading order.
MAIN_EPISODE_ARMS = ("base", "grpo", "opsd", "prevention", "recovery", "full")
#: The ablations of Table 2.
ABLATIONS = ("random turns", "no action named", "reverse-KL recovery")

#: What a short preset compares instead.
_FEW = ("base", "grpo", "full")
_SHORTER = {"smoke": _FEW, "quick": (*_FEW, "prevention")}


def usual_arms(preset: str) -> tuple[str, ...]:
    """The arms a preset compares unless others are asked for."""
    return _SHORTER.get(preset, MAIN_EPISODE_ARMS)


def get_episode_arm(name: str) -> EpisodeArm:
    """The arm of that name.

    Raises:
        ValueError: it is not in the table; the message lists the names.
    """
    if name not in EPISODE_ARMS:
        raise ValueError(f"unknown arm {name!r}; known arms: {', '.join(EPISODE_ARMS)}")
    return EPISODE_ARMS[name]


def episode_settings(
    arm: EpisodeArm, preset: Preset, seed: int, steps: int, save_every: int = 0
) -> MultiTurnSettings:
    """The trainer's settings of an arm at a preset."""
    return MultiTurnSettings(
        steps=steps,
        learning_rate=preset.episode_learning_rate,
        seed=seed,
        save_every=save_every,
        tasks_per_step=preset.episode_tasks,
        group_size=preset.episode_group,
        beta=preset.episode_beta,
        epsilon=preset.clip,
        temperature=preset.temperature,
        max_new_tokens=preset.max_new_tokens,
        max_turns=preset.max_turns,
        distillation=arm.distillation(preset),
    )
