"""Token losses and divergences: worked numbers, TRL's own code, and SDAR's sign."""

import math

import pytest
import torch
from trl.experimental.gkd import GKDTrainer
from trl.experimental.sdft import loss_utils as sdft
from trl.experimental.sdpo import loss_utils as sdpo_of_trl

from pivotlab.distillation.losses import divergence, sampled_divergence
from pivotlab.distillation.methods_losses import (
    generalised_jsd,
    sdar_public,
    sdar_reverse_kl,
    sdpo,
    skill_sd,
)


def scalar(x):
    return torch.tensor([[x]], dtype=torch.float64, requires_grad=True)


def slope(loss, student, teacher):
    """Value, and derivative with respect to the sampled token's log-prob."""
    s = scalar(student)
    value = loss(s, scalar(teacher), s.detach())
    value.sum().backward()
    return value.item(), s.grad.item()


def logits(seed, shape=(2, 3, 11)):
    draw = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=draw, dtype=torch.float64)


def test_sdar_by_hand():
    value, gradient = slope(sdar_public, -1.2, -1.0)
    gate = 1 / (1 + math.exp(-1))
    assert gate == pytest.approx(0.73106, abs=1e-5)
    assert value == pytest.approx(0.01 * gate * 0.2)
    assert gradient == pytest.approx(-0.01 * gate)
    # Nothing to learn from the teacher, and yet a likelihood gradient of strength 0.5.
    assert slope(sdar_public, -1.0, -1.0)[1] == pytest.approx(-0.005)


def test_sdars_public_form_raises_every_sampled_token():
    """The trap as a number: 100 % against the half that a reverse KL would raise."""
    draw = torch.Generator().manual_seed(0)
    student = torch.randn(10_000, 1, generator=draw).double() - 3
    teacher = student + torch.randn(10_000, 1, generator=draw).double()
    raised = {}
    for loss in (sdar_public, sdar_reverse_kl):
        s = student.clone().requires_grad_()
        loss(s, teacher, student).sum().backward()
        raised[loss] = (s.grad < 0).double().mean().item()
    assert raised[sdar_public] == 1.0
    agrees = (teacher > student).double().mean().item()
    assert raised[sdar_reverse_kl] == pytest.approx(agrees) and 0.4 < agrees < 0.6


def test_skill_sd_by_hand_and_its_gradient_is_a_reverse_kl():
    value, gradient = slope(skill_sd, -1.2, -1.0)
    assert value == pytest.approx(0.001 * (math.exp(0.2) - 1.2))
    assert value == pytest.approx(0.001 * 0.021403, abs=1e-9)
    assert gradient == pytest.approx(0.001 * -0.2)
    assert math.isfinite(slope(skill_sd, -500.0, -1.0)[0]), "exponents are cut"


@pytest.mark.parametrize("beta", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_jsd_is_trls_in_value_and_gradient(beta):
    student = logits(1).requires_grad_()
    teacher = logits(2)
    own = generalised_jsd(student.log_softmax(-1), teacher.log_softmax(-1), beta)
    (grad,) = torch.autograd.grad(own.sum(), student)
    for theirs in (
        GKDTrainer.generalized_jsd_loss(
            student, teacher, beta=beta, reduction="none"
        ).sum(-1),
        sdft.compute_full_logit_self_distillation_loss(
            student, teacher, distillation_alpha=beta
        ),
    ):
        assert torch.allclose(own, theirs, atol=1e-12)
        (wanted,) = torch.autograd.grad(theirs.sum(), student)
        assert torch.allclose(grad, wanted, atol=1e-10)


def test_sampled_form_is_trls_self_distillation_on_sampled_tokens():
    student, teacher = logits(3).requires_grad_(), logits(4)
    ids = torch.randint(0, 11, (2, 3), generator=torch.Generator().manual_seed(5))
    theirs = sdft.compute_sampled_token_self_distillation_loss(
        student, teacher, ids, distillation_alpha=1.0
    )
    picked = [
        x.log_softmax(-1).gather(-1, ids[..., None])[..., 0] for x in (student, teacher)
    ]
    own = sampled_divergence(*picked, "reverse")
    (grad,) = torch.autograd.grad(own.sum(), student, retain_graph=True)
    (wanted,) = torch.autograd.grad(theirs.sum(), student)
    assert torch.allclose(own, theirs) and torch.allclose(grad, wanted)
    # As an advantage: Delta on the sampled token, the loss of `opd` and `opsd`.
    gap = (picked[1] - picked[0]).detach()
    (again,) = torch.autograd.grad((-gap * picked[0]).sum(), student)
    assert torch.allclose(again, wanted)


def test_sdpo_is_trls_with_its_clipped_ratio():
    student, teacher = logits(6).requires_grad_(), logits(7)
    old = logits(8, (2, 3)) * 3
    now = logits(9, (2, 3)) * 3
    own = sdpo(student.log_softmax(-1), teacher.log_softmax(-1), now - old)
    theirs = sdpo_of_trl.apply_importance_sampling_clipping(
        sdpo_of_trl.compute_full_logit_self_distillation_loss(
            student, teacher, distillation_alpha=1.0
        ),
        now,
        old,
        2.0,
    )
    assert torch.allclose(own, theirs)
    (grad,) = torch.autograd.grad(own.sum(), student)
    (wanted,) = torch.autograd.grad(theirs.sum(), student)
    assert torch.allclose(grad, wanted)


def test_sdpo_at_ratio_one_is_the_divergence_the_trainer_adds():
    student, teacher = (logits(i).log_softmax(-1) for i in (1, 2))
    own = sdpo(student, teacher, torch.zeros(2, 3))
    assert torch.allclose(own, divergence(student, teacher, "reverse"))
