"""Every method in the one trainer: loss and gradient against a dense float64 reference
and, where TRL has a trainer of the kind, against that one's loss on the same batch.

The reference scores every rollout again, plain and privileged, by forward passes of its
own, and takes the equations from `method_reference`, token by token.
"""

import copy
from dataclasses import replace
from itertools import pairwise

import method_reference
import pytest
import torch
from episode_toys import BACK, FORWARD, Stairs, follower, log_prob, talker, teacher
from multiturn_toys import Advising, Dense, built, shifted_reference, trainer
from training_toys import gradient, relative
from trl import DistillationTrainer
from trl.experimental.sdft import loss_utils as sdft
from trl.experimental.sdpo import loss_utils as sdpo

from pivotlab.distillation import methods_advantages as rules
from pivotlab.distillation.methods import METHODS
from pivotlab.distillation.skill_bank import Skill, SkillBank, situation
from pivotlab.training.method_batch import step_view
from pivotlab.training.method_signals import MethodDistiller, as_distillation

#: Largest relative difference of gradients, float32 against float64.
LIMIT = 1e-6


def bank_of(action):
    """Skills for every box the stairs can show, all naming one action."""
    seen = ["", *(f"you see a box {i}" for i in (1, 2, 3))]
    seen += [f"you see a mug {i}" for i in (1, 2, 3)]
    return SkillBank(tuple(Skill(m, s, action) for m in seen[-3:] for s in seen))


BANK = bank_of(FORWARD)


def method_trainer(folder, name, bank=BANK, **given):
    one = trainer(folder, as_distillation(METHODS[name]), **given)
    one.distiller = MethodDistiller(**vars(one.distiller), bank=bank)
    shown = bank if METHODS[name].hints_prompts else None
    one.episodes = replace(one.episodes, shown=shown)
    return one


class DenseMethod(Dense):
    """`Dense` with the advantages and the token loss of a published method."""

    def __init__(self, one, scorer=None):
        super().__init__(one, scorer)
        self.method, self.size = self.settings.method, one.num_generations
        rows = [self.table(i) for i in range(len(self.rollouts))]
        self.tables = method_reference.advantages(self.method.name, rows)

    def table(self, index):
        rollout = self.rollouts[index]
        spans = [turn.span for turn in rollout.turns]
        gaps = [
            self.spread(marks, index, rollout)
            for marks in (self.signals.every, self.signals.lesson)
        ]
        on = [[x for x, m in zip(g, rollout.mask, strict=True) if m] for g in gaps]
        lengths = [stop - start for start, stop in spans]
        ends = [sum(lengths[:i]) for i in range(len(lengths) + 1)]
        cut = [[g[a:b] for a, b in pairwise(ends)] for g in on]
        anchors = [situation(rollout, t) for t in range(len(spans))]
        verdicts = self.signals.verdicts[index] if self.signals.verdicts else []
        return method_reference.Row(
            self.group[index].item(), rollout.reward, index // self.size,
            *cut, anchors, verdicts, [turn.snapshot for turn in rollout.turns],
        )  # fmt: skip

    def spread(self, marks, index, rollout):
        found = [0.0] * len(rollout.token_ids)
        for mark in marks:
            if mark.rollout == index:
                asked = mark.request.prompt, mark.request.response
                plain = rollout.token_ids[: mark.start]
                gap = self.gaps(asked, plain, self.scorer).tolist()
                found[mark.start : mark.start + len(gap)] = gap
        return found

    def rollout_advantages(self, index, rollout):
        cut = rollout.turns[0].span[0]
        values = torch.zeros(len(rollout.token_ids) - cut).double()
        for turn, table in zip(rollout.turns, self.tables[index], strict=True):
            values[turn.span[0] - cut : turn.span[1] - cut] = torch.tensor(table)
        return values

    def loss(self):
        total, count = super().loss(), sum(sum(r.mask) for r in self.rollouts)
        if self.method.auxiliary is None:
            return total
        for mark in self.signals.every:
            rollout = self.rollouts[mark.rollout]
            plain = rollout.token_ids[: mark.start]
            s = log_prob(self.policy, plain, mark.request.response)
            with torch.no_grad():
                t = log_prob(self.scorer, mark.request.prompt, mark.request.response)
            losses = [
                method_reference.token_loss(self.method.name, a, b)
                for a, b in zip(s, t, strict=True)
            ]
            total = total + sum(losses) / count
        return total


@pytest.mark.parametrize("name", METHODS)
def test_loss_and_gradient_equal_the_dense_reference(tmp_path, name):
    one = method_trainer(tmp_path, name, named=Advising(Stairs()))
    shifted_reference(one)
    batch = built(one)
    dense = DenseMethod(one)
    loss = one.compute_loss(one.model, batch)
    loss.backward()
    wanted = dense.loss()
    wanted.backward()
    assert loss.item() == pytest.approx(wanted.item(), abs=1e-6, rel=1e-5)
    own, theirs = gradient(one.model).double(), gradient(dense.policy)
    assert theirs.norm() > 1e-4
    assert relative(own, theirs) < 10 * LIMIT, (name, relative(own, theirs))


def test_a_second_model_is_the_teacher_of_opd(tmp_path):
    big = talker()
    with torch.no_grad():
        for parameter in big.parameters():
            parameter.mul_(0.9)
    one = method_trainer(tmp_path, "sod", big=copy.deepcopy(big), named=teacher())
    batch = built(one)
    dense = DenseMethod(one, big)
    one.compute_loss(one.model, batch).backward()
    dense.loss().backward()
    assert relative(gradient(one.model).double(), gradient(dense.policy)) < 1e-5
    assert one._signals.tally["teacher/action_queries"] == 0


def test_grpo_as_a_method_is_the_trainer_without_one(tmp_path):
    found = []
    for one in (method_trainer(tmp_path, "grpo"), trainer(tmp_path)):
        one.compute_loss(one.model, built(one)).backward()
        found.append(gradient(one.model))
    assert torch.equal(*found)


def opsd_gradient(folder, bank):
    one = method_trainer(folder, "opsd", bank, model=follower())
    one.beta = 0.0
    batch = built(one)
    one.compute_loss(one.model, batch).backward()
    width = batch["completion_ids"].shape[1]
    view = step_view(torch.zeros(8), one._rollouts, one._signals, width, group_size=4)
    return view, gradient(one.model)


def test_two_banks_are_two_training_signals(tmp_path):
    """Trap "skill-bank dependence": same rollouts, same method, another bank."""
    (one, up), (two, down) = (
        opsd_gradient(tmp_path, bank_of(a)) for a in (FORWARD, BACK)
    )
    assert torch.equal(one.turn, two.turn), "the rollouts are the same"
    assert bank_of(FORWARD).digest() != bank_of(BACK).digest()
    differs = (one.gap != two.gap)[one.mask].double().mean()
    assert differs > 0.9
    # The student nearly always goes back: only one bank disagrees with it.
    means = [v.gap[v.mask].mean().item() for v in (one, two)]
    assert means[1] > means[0] + 0.5, means
    assert relative(down, up) > 0.2, relative(down, up)
    again = opsd_gradient(tmp_path, bank_of(FORWARD))[1]
    assert torch.equal(again, up), "and the same bank gives the same"


def divergence_trainer(folder, name, big=None):
    """A method as its divergence over the vocabulary, on single turns, without KL."""
    method = replace(METHODS[name], rule=rules.nothing, support="full")
    one = trainer(folder, as_distillation(method), big=big, max_turns=1, beta=0.0)
    one.distiller = MethodDistiller(**vars(one.distiller), bank=BANK)
    return one


def stepped(one):
    """A batch, the trainer's loss on it after backward, and the same policy plain."""
    batch = built(one)
    loss = one.compute_loss(one.model, batch)
    loss.backward()
    student = copy.deepcopy(one.model)
    vars(student).pop("forward", None)
    student.zero_grad()
    return batch, loss, student


def test_opd_on_single_turns_is_trls_distillation_trainer(tmp_path):
    big = talker()
    with torch.no_grad():
        for parameter in big.parameters():
            parameter.mul_(0.6)
    one = divergence_trainer(tmp_path, "opd", copy.deepcopy(big))
    batch, loss, student = stepped(one)
    peer = DistillationTrainer.__new__(DistillationTrainer)
    peer.teacher_model, peer.beta, peer.temperature = big, 1.0, 1.0
    peer.accelerator, peer._forward_redirection = one.accelerator, _call
    peer.model_kwarg_keys, peer._is_vlm = {"logits_to_keep"}, False
    theirs, _, tokens = peer._compute_loss(student, batch, None)
    theirs.backward()
    assert tokens.item() == sum(sum(r.mask) for r in one._rollouts)
    assert loss.item() == pytest.approx(theirs.item(), rel=1e-4) and loss.item() > 1e-3
    assert relative(gradient(one.model), gradient(student)) < 1e-4


def _call(wrapper, model, function, *args, **named):
    return function(*args, **named)


@pytest.mark.parametrize("peer", [sdft, sdpo], ids=["sdft", "sdpo"])
def test_self_distillation_on_single_turns_is_trls(tmp_path, peer):
    one = divergence_trainer(tmp_path, "opsd")
    _, loss, student = stepped(one)
    total = 0.0
    for mark in one._signals.every:
        said = mark.request.response
        plain = one._rollouts[mark.rollout].token_ids[: mark.start]
        own = logits_of(student, plain, said)
        with torch.no_grad():
            shown = logits_of(student, mark.request.prompt, said)
        total = (
            total
            + peer.compute_full_logit_self_distillation_loss(
                own[None], shown[None], distillation_alpha=1.0
            ).sum()
        )
    theirs = total / sum(sum(r.mask) for r in one._rollouts)
    theirs.backward()
    assert one._signals.every
    assert loss.item() == pytest.approx(theirs.item(), rel=1e-4) and loss.item() > 1e-3
    assert relative(gradient(one.model), gradient(student)) < 1e-4


def logits_of(model, prompt, response):
    ids = torch.tensor([[*prompt, *response]])
    return model(ids).logits[0, len(prompt) - 1 : -1]
