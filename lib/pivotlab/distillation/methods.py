"""The table of compared methods: what each reads, its formula, and how exact it is.

A method is data: who is asked for a second opinion on the rollout's tokens (`reads`),
the function that turns it into token advantages (`rule`), and at most one loss beside
it (`auxiliary`). One trainer runs all of them. Sources, defaults and traps stand with
the functions; PivotOPD itself is not in the table, its signals have rows of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from pivotlab.distillation import methods_advantages as rules
from pivotlab.distillation import methods_losses as losses
from pivotlab.distillation.losses import Support
from pivotlab.distillation.step_view import StepView

#: Who says how likely a token should have been.
#: none: nobody. skills: the student itself, shown what worked in its own earlier
#: rollouts (`skill_bank`). sibling: the student itself, shown what a successful rollout
#: of the same group did. teacher: a second model; where there is none, the student
#: itself, shown the teacher's action. report: the student itself, shown the action (and
#: lesson) of a teacher's analysis, on the turns it names. verdicts: nobody; the
#: environment judges every action.
Reads = Literal["none", "skills", "sibling", "teacher", "report", "verdicts"]
#: Of the loss alone; what stands around it is told by `Method.departure`.
#: published code: the repository's own form. published formula: the paper's equation.
#: description: the exact loss is not public; implemented from what is described.
Exactness = Literal["published code", "published formula", "description"]


@dataclass(frozen=True)
class Method:
    """One compared method.

    Attributes:
        name: in tables, records and parameters.
        title: as papers print it.
        arxiv: id of its source.
        equation: the rule in one line.
        exactness: how close the loss is to its source; see `Exactness`.
        reads: see `Reads`.
        rule: token advantages of a step.
        auxiliary: a token loss of (student, teacher, old) added to the clipped one.
        coefficients: of `rule`; those not named are its defaults.
        auxiliary_coefficients: of `auxiliary`.
        has_outcome: whether A is a part of the rule.
        hints_prompts: whether *training* prompts begin with a skill.
        support: "full": the divergence over the vocabulary takes the rule's place.
        departure: what differs from the source, one line, "" where nothing does.
    """

    name: str
    title: str
    arxiv: str
    equation: str
    exactness: Exactness
    reads: Reads = "none"
    rule: Callable[..., Float[Tensor, "rows time"]] = rules.grpo
    auxiliary: Callable[..., Float[Tensor, "rows time"]] | None = None
    coefficients: Mapping[str, float] = field(default_factory=lambda: _NONE)
    auxiliary_coefficients: Mapping[str, float] = field(default_factory=lambda: _NONE)
    has_outcome: bool = True
    hints_prompts: bool = False
    support: Support = "sampled"
    departure: str = ""

    def advantages(self, view: StepView) -> Float[Tensor, "rows time"]:
        """Token advantages of a step, without gradient."""
        return self.rule(view, **self.coefficients).detach()

    def token_loss(
        self,
        student: Float[Tensor, "rows time"],
        teacher: Float[Tensor, "rows time"],
        old: Float[Tensor, "rows time"],
    ) -> Float[Tensor, "rows time"]:
        """The auxiliary loss of every token; only `student` carries gradient."""
        return self.auxiliary(student, teacher, old, **self.auxiliary_coefficients)

    def weights(self, view: StepView) -> Float[Tensor, "rows time"]:
        """What multiplies the gradient of every token's log-prob at ratio 1.

        Positive makes the token likelier. The token loss counts where a gap was
        measured; a divergence over the vocabulary counts by its estimate from the
        sampled token, the gap.
        """
        if self.support != "sampled":
            return view.gap * view.mask
        advantages = self.advantages(view)
        if self.auxiliary is None:
            return advantages
        student = torch.zeros_like(view.gap, requires_grad=True)
        losses = self.token_loss(student, view.gap, student.detach())
        (slope,) = torch.autograd.grad(losses.sum(), student)
        return advantages - slope * (view.gap != 0)


_NONE: Mapping[str, float] = MappingProxyType({})
_CODE, _FORMULA, _TOLD = "published code", "published formula", "description"
_HINTED = "skills are single steps, shown as a hint before the turn"
_SIBLING = "hindsight is the sibling's action in the most similar situation"

#: In the order of PivotOPD's Table 1, then the three that stand beside it.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("grpo", "GRPO", "2402.03300", "A", _FORMULA),
        Method(
            "opsd",
            "OPSD",
            "2601.18734",
            "Delta",
            _FORMULA,
            "skills",
            rules.opd,
            has_outcome=False,
            departure="sampled-token surrogate, as PivotOPD ran it; " + _HINTED,
        ),
        Method(
            "skill_grpo",
            "Skill-GRPO",
            "2606.26790",
            "A, skills in the training prompts",
            _CODE,
            hints_prompts=True,
            departure="one step as a hint in the first observation, a place where it "
            "harms this student (`skill_bank`); the source: the six nearest skills",
        ),
        Method(
            "agent_opsd",
            "AgentOPSD",
            "2608.05987",
            "A ((1-l) + l m_k), m_k from the revision of a belief",
            _FORMULA,
            "skills",
            rules.agent_opsd,
            departure=_HINTED,
        ),
        Method(
            "skill_sd",
            "Skill-SD",
            "2604.10674",
            "A; + l rho k3(S - T)",
            _CODE,
            "skills",
            auxiliary=losses.skill_sd,
            departure=_HINTED + "; the loss acts on turns that have one",
        ),
        Method(
            "pivotrl",
            "PivotRL",
            "2603.21383",
            "turn's own reward, normalised at pivots",
            _TOLD,
            "verdicts",
            rules.pivotrl,
            has_outcome=False,
            departure="functional verdicts on the student's own states, where rollouts "
            "meet; the port's settings are unprinted",
        ),
        Method(
            "turn_opd",
            "TurnOPD",
            "2607.05804",
            "Delta, depth adapted, turns normalised",
            _TOLD,
            "teacher",
            rules.turn_opd,
            has_outcome=False,
            departure="rollouts are played to their end",
        ),
        Method(
            "step_opsd",
            "StepOPSD",
            "2605.27140",
            "A ((1-l) + l clip exp(sign(A) mean_k Delta))",
            _TOLD,
            "sibling",
            rules.step_opsd,
            departure=_SIBLING,
        ),
        Method(
            "tcod",
            "TCOD",
            "2604.24005",
            "Delta on the first turns, more and more of them",
            _TOLD,
            "teacher",
            rules.tcod,
            has_outcome=False,
            departure="linear schedule of ours",
        ),
        Method(
            "sod",
            "SOD",
            "2605.07725",
            "A + c w_k Delta, w_k = min(d_1/d_k, 1+d)",
            _FORMULA,
            "teacher",
            rules.sod,
            departure="c is ours",
        ),
        Method(
            "rlsd",
            "RLSD",
            "2604.03128",
            "A ((1-l) + l clip exp(sign(A) Delta))",
            _CODE,
            "skills",
            rules.rlsd,
            departure=_HINTED,
        ),
        Method(
            "sdar",
            "SDAR",
            "2605.15155",
            "A; + c g (T - S), g = sigmoid(b (T - S))",
            _CODE,
            "skills",
            auxiliary=losses.sdar_public,
            departure=_HINTED + "; the loss acts on turns that have one",
        ),
        Method(
            "opid",
            "OPID",
            "2606.26790",
            "A + w Delta_episode + w Delta_step",
            _CODE,
            "report",
            rules.opid,
            departure="step skills name an action; the oracle gives no episode skill, "
            "half of the method; no penalty for refused actions",
        ),
        Method(
            "gigpo",
            "GiGPO",
            "2505.10978",
            "A + w A_step, A_step among equal observations",
            _FORMULA,
            rule=rules.gigpo,
            departure="A keeps its division by the std",
        ),
        Method(
            "sdpo",
            "SDPO",
            "2601.20802",
            "KL(S || S shown feedback), whole vocabulary",
            _FORMULA,
            "sibling",
            rules.nothing,
            has_outcome=False,
            support="full",
            departure="live teacher; " + _SIBLING,
        ),
        Method(
            "opd",
            "OPD",
            "2306.13649",
            "Delta",
            _FORMULA,
            "teacher",
            rules.opd,
            has_outcome=False,
        ),
    )
}

#: Not rows of the table: what a reader may want beside them.
VARIANTS: dict[str, Method] = {
    "sdar_reverse_kl": Method(
        "sdar_reverse_kl",
        "SDAR, reverse-KL gradient",
        "2605.15155",
        "A; - c g sg(T - S) S",
        _TOLD,
        "skills",
        auxiliary=losses.sdar_reverse_kl,
        departure="a variant of ours that shows what SDAR's sign does",
    ),
}


def get_method(name: str) -> Method:
    """The method of that name.

    Raises:
        ValueError: it is not in the table; the message lists the names.
    """
    known = {**METHODS, **VARIANTS}
    if name not in known:
        raise ValueError(f"unknown method {name!r}; known methods: {', '.join(known)}")
    return known[name]
