"""What a published method reads beside the outcomes of a step's rollouts.

A second opinion is a gap on recorded tokens (`marks`): the same student with a hint
before the turn, or a second model. Where the hint's action comes from is what tells the
methods apart: a bank of skills, a successful rollout of the same group, a teacher's
analysis. `Signals.every` carries the gap, `Signals.lesson` the one of an episode-level
text, `Signals.verdicts` the judged actions.

Departures: see `methods` and `skill_bank`; turns without a skill that is near and can
be followed are left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pivotlab.distillation.losses import Weights
from pivotlab.distillation.methods import Method
from pivotlab.distillation.recovery import Tally, enter
from pivotlab.distillation.skill_bank import SkillBank, goal, situation
from pivotlab.distillation.verdicts import Judge, NearerGoal
from pivotlab.environments.protocol import Environment
from pivotlab.records import Rollout
from pivotlab.rollouts.branching import RememberingPlayer
from pivotlab.rollouts.prompts import PromptGrower
from pivotlab.training.distilled import Distillation, Distiller, Exchange, Signals
from pivotlab.training.marks import hinted_marks

#: (rollout, turn, action in the hint).
Named = tuple[int, int, str]


def as_distillation(method: Method, candidates: int = 5) -> Distillation:
    """A method as settings of the trainer: its rule instead of PivotOPD's weights.

    Args:
        candidates: turns a report may name.
    """
    return Distillation(
        Weights(0.0, 0.0, 0.0),
        w_rl=0.0,
        w_every=1.0,
        candidates=candidates,
        recovery_turns=0,
        support=method.support,
        method=method,
    )


@dataclass(frozen=True)
class MethodDistiller(Distiller):
    """A distiller that reads what a method asks for.

    `bank` holds the skills of methods that read them or show them in prompts; `judge`
    gives the verdicts of methods that read those, by default whether the goal came
    nearer.
    """

    bank: SkillBank | None = None
    judge: Judge | None = None

    def signals(
        self,
        rollouts: Sequence[Rollout],
        player: RememberingPlayer,
        seeds: Sequence[int],
        step_seed: int,
        first: int,
        exchange: Exchange,
    ) -> Signals:
        """See `Distiller.signals`; every process reads its own groups."""
        scorer, grower = self._scorer(player), PromptGrower(self.renderer)
        out, reads = Signals(), self.settings.method.reads
        if reads == "teacher":
            out.every = self._every(rollouts, grower, scorer, out.tally)
        elif reads == "report":
            reports = self._analysed(rollouts, out.tally)
            named = [
                (i, found.turn, found.gold_action)
                for i, report in enumerate(reports)
                for found in report.candidates
            ]
            out.every = hinted_marks(rollouts, named, grower, scorer, out.tally)
            out.lesson = self._lessons(rollouts, reports, grower, scorer, out.tally)
        elif reads in ("skills", "sibling"):
            banks = self._banks(rollouts, out.tally)
            named = self._named(rollouts, banks, out.tally)
            out.every = hinted_marks(rollouts, named, grower, scorer, out.tally)
        elif reads == "verdicts":
            judge = self.judge or NearerGoal(self.environment)
            out.verdicts = [judge(rollout) for rollout in rollouts]
        if self.settings.support != "sampled":
            with out.tally.timed("seconds/self_teacher"):
                self._with_distributions(out, scorer, player)
        return out

    def _analysed(self, rollouts: Sequence[Rollout], tally: Tally) -> list:
        with tally.timed("seconds/teacher"):
            limit = self.settings.candidates
            reports = [self.teacher.report(r, limit) for r in rollouts]
        tally["teacher/reports"] += len(reports)
        return reports

    def _banks(self, rollouts: Sequence[Rollout], tally: Tally) -> list[SkillBank]:
        """The skills each rollout is hinted from."""
        if self.settings.method.reads == "skills":
            return [self.bank] * len(rollouts)
        banks = []
        for index in range(len(rollouts)):
            first = index - index % self.group_size
            group = [i for i in range(first, first + self.group_size) if i != index]
            won = [rollouts[i] for i in group if rollouts[i].reward >= 1]
            tally["hint/no successful sibling"] += not won
            banks.append(SkillBank.build(won[:1]))
        return banks

    def _named(
        self, rollouts: Sequence[Rollout], banks: Sequence[SkillBank], tally: Tally
    ) -> list[Named]:
        """For every turn what the nearest skill does, where one is near and fits."""
        named: list[Named] = []
        for index, (rollout, bank) in enumerate(zip(rollouts, banks, strict=True)):
            if not bank.skills:
                continue
            task = goal(rollout.messages)
            for turn, world in self._states(rollout, tally):
                seen = situation(rollout, turn)
                action = bank.hint(task, seen, world.admissible())
                tally["hint/none fits"] += action is None
                named += [] if action is None else [(index, turn, action)]
        tally["hint/turns"] += len(named)
        return named

    def _states(
        self, rollout: Rollout, tally: Tally
    ) -> Iterator[tuple[int, Environment]]:
        """Turns of a rollout with the environment before each."""
        world = self.environment()
        for turn in range(len(rollout.turns)):
            if enter(world, rollout, turn):
                yield turn, world
            else:
                tally["hint/replay differs"] += 1
