"""What a teacher's report adds to one step of rollouts (PivotOPD, Algorithm 1).

Teacher reports give pivotal turns; the hinted self-teacher gives A_distill on their
tokens (prevention) and writes recovery turns after them. The other methods compared are
settings of the same signals: on every turn instead of pivotal ones (OPSD), from a
second model (OPD), on turns drawn by chance, at the last turn of one failed episode.

Departures from the paper: (1) `max_recoveries` bounds the pivotal turns followed in a
step, each with up to `recovery_turns` sequences; the paper's "64 recoveries" does not
say which of the two it counts; (2) OPSD's privileged text is the hint that names the
teacher's action at every turn, since a skill bank needs a model that reads advice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from transformers import PreTrainedModel

from pivotlab.distillation import hints
from pivotlab.distillation.losses import Support, Weights
from pivotlab.distillation.methods import Method
from pivotlab.distillation.recovery import (
    Recovery,
    Repairer,
    Tally,
    at_once,
    enter,
    fair_choice,
)
from pivotlab.distillation.resolution import resolve, same
from pivotlab.distillation.self_teacher import Request, SelfTeacher
from pivotlab.distillation.teachers import Report, Teacher, pivotal
from pivotlab.engines.noise import derive_seed
from pivotlab.engines.protocol import Sampling
from pivotlab.environments.protocol import Environment
from pivotlab.records import PivotalTurn, Rollout
from pivotlab.rendering import Renderer
from pivotlab.rollouts import resume
from pivotlab.rollouts.branching import RememberingPlayer
from pivotlab.rollouts.prompts import PromptGrower
from pivotlab.training.marks import Mark, hinted_marks, scattered, scored, whole

#: A list of this process's -> the lists of all processes, joined in their order.
Exchange = Callable[[list], list]


@dataclass(frozen=True)
class Distillation:
    """Which signals, and how much of each; names in brackets are the paper's.

    Attributes:
        weights: [w_prev, w_rec, w_traj, delta].
        w_rl: weight of the group advantage; 0 leaves reinforcement out.
        w_every: weight of A_distill on every turn: the second model's where there is
            one (OPD), else the self-teacher's with the teacher's action (OPSD).
        candidates: turns a report may name [m].
        recovery_turns: per pivotal turn [K].
        max_recoveries: pivotal turns followed in one step, over all processes.
        turns: which turns count as pivotal: those the teacher names; as many drawn by
            chance, with the same hints (ablation); or the last turn of one episode of
            each group that failed altogether (the SWE variant).
        hint: names the action, or reminds without naming any (ablation).
        recovery: responses drawn from the hinted student, or from the plain student and
            only scored with the hint (ablation "reverse-KL recovery").
        support: "sampled" is the paper's form, an advantage on the sampled token;
            "topk" and "full" add the divergence over the vocabulary to the loss.
        top_k: tokens kept by "topk", beside one bucket for all others.
        concurrency: questions put to the teacher at once; above 1 only for a teacher
            that bears it.
        method: a published method whose rule takes the place of all the weights; see
            `method_signals`.
    """

    weights: Weights = field(default_factory=Weights)
    w_rl: float = 1.0
    w_every: float = 0.0
    candidates: int = 5
    recovery_turns: int = 2
    max_recoveries: int = 64
    turns: Literal["teacher", "random", "final"] = "teacher"
    hint: Literal["action", "reflection"] = "action"
    recovery: Literal["hinted", "student"] = "hinted"
    support: Support = "sampled"
    top_k: int = 20
    concurrency: int = 1
    method: Method | None = None

    @property
    def recovers(self) -> bool:
        """Whether recovery sequences are made."""
        return self.recovery_turns > 0 and self.max_recoveries > 0

    @property
    def asks(self) -> bool:
        """Whether a teacher has to be there to name actions."""
        return self.method is None or self.method.reads in ("teacher", "report")


@dataclass
class Signals:
    """What one step's distillation adds to its rollouts."""

    prevention: list[Mark] = field(default_factory=list)
    lesson: list[Mark] = field(default_factory=list)
    every: list[Mark] = field(default_factory=list)
    recoveries: list[Recovery] = field(default_factory=list)
    #: Per rollout and turn 1 or 0 for a right or wrong action, None where unknown.
    verdicts: list[list[float | None]] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)


@dataclass(frozen=True)
class Distiller:
    """Turns rollouts into signals.

    Attributes:
        settings: see `Distillation`.
        teacher: names actions; None only for a method that asks nobody.
        renderer: of the student's tokenizer.
        environment: makes a fresh environment.
        sampling: of recovery responses; the temperature is also that of every score.
        group_size: rollouts per task.
        big: a second model of the same tokenizer that scores in the student's place.
    """

    settings: Distillation
    teacher: Teacher | None
    renderer: Renderer
    environment: Callable[[], Environment]
    sampling: Sampling
    group_size: int
    big: PreTrainedModel | None = None

    def signals(
        self,
        rollouts: Sequence[Rollout],
        player: RememberingPlayer,
        seeds: Sequence[int],
        step_seed: int,
        first: int,
        exchange: Exchange,
    ) -> Signals:
        """All signals of a step.

        Args:
            rollouts: this process's, whole groups, just played by `player`.
            player: remembers them.
            seeds: one per rollout.
            step_seed: the same on every process.
            first: rollouts that earlier processes hold.
            exchange: see `Exchange`; called equally often on every process.
        """
        scorer = self._scorer(player)
        grower = PromptGrower(self.renderer)
        out = Signals()
        reports = self._reports(rollouts, out.tally)
        pivots = self._pivots(rollouts, reports, seeds, out.tally)
        if self.settings.weights.w_prev:
            out.prevention = self._prevention(rollouts, pivots, grower, scorer, out)
        if self.settings.weights.w_traj:
            out.lesson = self._lessons(rollouts, reports, grower, scorer, out.tally)
        if self.settings.w_every:
            out.every = self._every(rollouts, grower, scorer, out.tally)
        if self.settings.recovers:
            writer = SelfTeacher(player, self.sampling.temperature)
            where = (step_seed, first, exchange)
            chosen = self._chosen(rollouts, pivots, *where, out.tally)
            out.recoveries = self._repairer(writer, grower).follow(
                rollouts, chosen, seeds, out.tally
            )
        if self.settings.support != "sampled":
            with out.tally.timed("seconds/self_teacher"):
                self._with_distributions(out, scorer, player)
        return out

    def _with_distributions(self, out: Signals, scorer, player) -> None:
        """Add the teacher's whole distributions to marks and recoveries."""
        for marks in (out.prevention, out.every):
            found = scorer.distributions([mark.request for mark in marks])
            pairs = zip(marks, found, strict=True)
            marks[:] = [replace(m, distribution=d) for m, d in pairs]
        asked = [Request(r.rollout, r.hinted, r.response) for r in out.recoveries]
        writer = SelfTeacher(player, self.sampling.temperature)
        pairs = zip(out.recoveries, writer.distributions(asked), strict=True)
        out.recoveries = [replace(r, distribution=d) for r, d in pairs]

    def _scorer(self, player: RememberingPlayer) -> SelfTeacher:
        model = player if self.big is None else RememberingPlayer(self.big)
        return SelfTeacher(model, self.sampling.temperature)

    def _repairer(self, writer: SelfTeacher, grower: PromptGrower) -> Repairer:
        return Repairer(
            self.teacher,
            writer,
            grower,
            self.environment,
            self.sampling,
            self.settings.recovery_turns,
            self.settings.recovery == "student",
            self.settings.hint == "reflection",
            self.settings.concurrency,
        )

    def _reports(self, rollouts: Sequence[Rollout], tally: Tally) -> list[Report]:
        """One report per rollout; empty ones where no signal needs them."""
        wanted = self.settings
        weights = wanted.weights
        if wanted.turns == "final" or not (
            weights.w_prev or weights.w_traj or wanted.recovers
        ):
            return [Report()] * len(rollouts)
        with tally.timed("seconds/teacher"):
            limits = [wanted.candidates] * len(rollouts)
            report, number = self.teacher.report, wanted.concurrency
            reports = at_once(report, number, rollouts, limits)
        tally["teacher/reports"] += len(reports)
        return reports

    def _pivots(
        self,
        rollouts: Sequence[Rollout],
        reports: Sequence[Report],
        seeds: Sequence[int],
        tally: Tally,
    ) -> list[list[PivotalTurn]]:
        """Pivotal turns of every rollout, by the rule of the settings."""
        if self.settings.turns == "final":
            found = self._audited(rollouts, seeds, tally)
        else:
            pairs = zip(rollouts, reports, strict=True)
            found = [list(pivotal(rollout, report)) for rollout, report in pairs]
        if self.settings.turns == "random":
            triples = zip(rollouts, found, seeds, strict=True)
            found = [scattered(r, p, derive_seed(s, 2)) for r, p, s in triples]
        tally["pivots"] += sum(map(len, found))
        return found

    def _audited(
        self, rollouts: Sequence[Rollout], seeds: Sequence[int], tally: Tally
    ) -> list[list[PivotalTurn]]:
        """The last turn of one rollout of each group in which all failed."""
        found: list[list[PivotalTurn]] = [[] for _ in rollouts]
        for first in range(0, len(rollouts), self.group_size):
            group = rollouts[first : first + self.group_size]
            if any(r.reward > 0 for r in group):
                continue
            index = first + derive_seed(seeds[first], 3) % len(group)
            last = len(rollouts[index].turns) - 1
            action = self._best(rollouts[index], last, tally)
            if action and not same(rollouts[index].turns[last].action, action):
                found[index] = [PivotalTurn(last, action)]
        return found

    def _best(self, rollout: Rollout, turn: int, tally: Tally) -> str | None:
        """The teacher's action at the state before a recorded turn, resolved."""
        world = self.environment()
        if not enter(world, rollout, turn):
            tally["teacher/replay differs"] += 1
            return None
        with tally.timed("seconds/teacher"):
            messages = resume(rollout, turn).messages
            named = self.teacher.recover(rollout, messages, world.snapshot())
        tally["teacher/action_queries"] += 1
        admissible = world.admissible()
        action = resolve(named, admissible) if named and admissible else named
        tally["teacher/no action"] += action is None
        return action

    def _shown(self, action: str) -> str | None:
        return None if self.settings.hint == "reflection" else action

    def _prevention(self, rollouts, pivots, grower, scorer, out) -> list[Mark]:
        wanted = [(i, p) for i, found in enumerate(pivots) for p in found]
        named = [(i, p.turn, self._shown(p.gold_action)) for i, p in wanted]
        return hinted_marks(rollouts, named, grower, scorer, out.tally)

    def _every(self, rollouts, grower, scorer, tally) -> list[Mark]:
        if self.big is not None:
            with tally.timed("seconds/self_teacher"):
                asked = [whole(i, r) for i, r in enumerate(rollouts)]
                return scored(rollouts, asked, scorer)
        turns = [(i, t) for i, r in enumerate(rollouts) for t in range(len(r.turns))]
        named = [(i, t, self._best(rollouts[i], t, tally)) for i, t in turns]
        known = [(i, t, self._shown(action)) for i, t, action in named if action]
        return hinted_marks(rollouts, known, grower, scorer, tally)

    def _lessons(self, rollouts, reports, grower, scorer, tally) -> list[Mark]:
        """A_distill of whole rollouts with the lesson in the first observation."""
        asked = []
        for index, (rollout, report) in enumerate(zip(rollouts, reports, strict=True)):
            if not report.lesson:
                tally["lesson/none given"] += 1
                continue
            messages = hints.taught(resume(rollout, 0).messages, report.lesson)
            start, request = whole(index, rollout)
            prompt = tuple(grower.first(messages))
            asked.append((start, Request(index, prompt, request.response)))
        with tally.timed("seconds/self_teacher"):
            return scored(rollouts, asked, scorer)

    def _chosen(
        self, rollouts, pivots, step_seed: int, first: int, exchange, tally: Tally
    ) -> list[tuple[int, PivotalTurn]]:
        """The pivots that are followed, shared fairly over all processes."""
        open_ = [
            [p for p in found if p.turn + 1 < len(rollout.turns)]
            for rollout, found in zip(rollouts, pivots, strict=True)
        ]
        total = sum(map(len, pivots))
        tally["recovery/last turn"] += total - sum(map(len, open_))
        counts = exchange([len(found) for found in open_])
        limit = self.settings.max_recoveries
        chosen = [
            (t - first, place)
            for t, place in fair_choice(counts, limit, derive_seed(step_seed, 4))
            if first <= t < first + len(rollouts)
        ]
        tally["recovery/followed"] += len(chosen)
        tally["recovery/over the limit"] += sum(map(len, open_)) - len(chosen)
        return [(i, open_[i][place]) for i, place in chosen]
