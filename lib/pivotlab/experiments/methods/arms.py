"""The rows of the comparison: the base, sixteen published methods, PivotOPD.

Order and titles are those of PivotOPD's Table 1, with the three methods that are not in
it before the last row. Every row is a setting of the one multi-turn trainer. The second
model that teaches OPD, TCOD, TurnOPD and SOD stands beside them as it is: what they
read cannot be judged without its own score.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pivotlab.distillation.methods import METHODS, VARIANTS, Method
from pivotlab.experiments.cells import BASE, UNTRAINED
from pivotlab.experiments.methods.worlds import World
from pivotlab.experiments.opd.arms import episode_settings, get_episode_arm
from pivotlab.experiments.presets import Preset
from pivotlab.training.distilled import Distillation
from pivotlab.training.method_signals import as_distillation
from pivotlab.training.multiturn import MultiTurnSettings

PIVOT_OPD, SECOND = "pivot_opd", "second"


@dataclass(frozen=True)
class MethodArm:
    """One row.

    Attributes:
        name: in records and parameters.
        title: as the paper prints it.
        method: None for the base, the second model and PivotOPD.
    """

    name: str
    title: str
    method: Method | None = None

    @property
    def trains(self) -> bool:
        """False for the base and the second model as they are."""
        return self.name not in UNTRAINED

    @property
    def reads(self) -> str:
        """Whose opinion it reads; see `methods.Reads`."""
        if self.method is not None:
            return self.method.reads
        return "report" if self.name == PIVOT_OPD else "none"

    @property
    def needs_skills(self) -> bool:
        """Whether it reads or shows a skill bank."""
        method = self.method
        return bool(method and (method.reads == "skills" or method.hints_prompts))

    def distillation(self, preset: Preset) -> Distillation | None:
        """The arm's signals at a preset."""
        if self.method is not None:
            return as_distillation(self.method, preset.candidates)
        if self.name == PIVOT_OPD:
            return get_episode_arm("full").distillation(preset)
        return None


METHOD_ARMS: dict[str, MethodArm] = {
    arm.name: arm
    for arm in (
        MethodArm(BASE, "Base"),
        *(MethodArm(m.name, m.title, m) for m in METHODS.values()),
        MethodArm(PIVOT_OPD, "PivotOPD"),
        MethodArm(SECOND, "Second model"),
        *(MethodArm(m.name, m.title, m) for m in VARIANTS.values()),
    )
}
#: All rows of the main table, and those that every environment gets.
TABLE = (BASE, *METHODS, PIVOT_OPD, SECOND)
CORE = (BASE, "grpo", "opsd", "rlsd", "sdar", "opid", "pivotrl", PIVOT_OPD)


def get_method_arm(name: str) -> MethodArm:
    """The arm of that name.

    Raises:
        ValueError: it is not in the table; the message lists the names.
    """
    if name not in METHOD_ARMS:
        raise ValueError(
            f"unknown method {name!r}; known methods: {', '.join(METHOD_ARMS)}"
        )
    return METHOD_ARMS[name]


def method_settings(
    arm: MethodArm,
    world: World,
    preset: Preset,
    seed: int,
    steps: int,
    save_every: int = 0,
) -> MultiTurnSettings:
    """The trainer's settings of an arm: the same for all arms but the distillation."""
    shared = episode_settings(get_episode_arm("grpo"), preset, seed, steps, save_every)
    rules = world.rules(preset)
    return replace(
        shared,
        max_turns=rules.max_turns,
        max_new_tokens=rules.sampling.max_new_tokens,
        system=world.system,
        distillation=arm.distillation(preset),
    )
