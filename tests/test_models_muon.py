"""Muon: orthogonal updates, the size promised, and descent on a small problem."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pivotlab.models.muon import Muon, orthogonalise


@settings(max_examples=30, deadline=None)
@given(rows=st.integers(2, 24), columns=st.integers(2, 24), seed=st.integers(0, 10_000))
def test_singular_values_come_close_to_one_and_the_singular_vectors_stay(
    rows, columns, seed
):
    generator = torch.Generator().manual_seed(seed)
    k = min(rows, columns)
    left = torch.linalg.qr(torch.randn(rows, k, generator=generator)).Q
    right = torch.linalg.qr(torch.randn(columns, k, generator=generator)).Q
    values = torch.linspace(0.3, 1.0, k)
    found = left.T @ orthogonalise(left * values @ right.T) @ right
    assert found.diagonal().min() > 0.6 and found.diagonal().max() < 1.3
    assert (found - found.diagonal().diag()).abs().max() < 1e-4


def test_the_first_update_has_the_size_the_docstring_promises():
    weight = torch.nn.Parameter(torch.zeros(4, 16))
    weight.grad = torch.eye(4, 16)
    Muon([weight], lr=0.1).step()
    # Four equal singular values of about 1 (0.7 to 1.2), scaled by 0.2 sqrt(16) lr.
    sizes = -weight.detach().diagonal() / (0.1 * 0.2 * 4)
    assert torch.allclose(sizes, sizes[0].expand(4), atol=1e-5)
    assert 0.7 < sizes[0] < 1.2
    assert weight.detach()[:, 4:].abs().max() < 1e-6


def test_momentum_is_an_average_of_past_gradients():
    weight = torch.nn.Parameter(torch.zeros(3, 3))
    optimiser = Muon([weight], lr=0.0, momentum=0.75)
    for value in (1.0, 2.0):
        weight.grad = torch.full((3, 3), value)
        optimiser.step()
    # 0.25 * 1, then 0.75 * 0.25 + 0.25 * 2.
    assert optimiser.state[weight]["velocity"][0, 0] == pytest.approx(0.6875)


def test_it_solves_a_linear_problem():
    torch.manual_seed(0)
    target = torch.randn(8, 8)
    weight = torch.nn.Parameter(torch.zeros(8, 8))
    optimiser = Muon([weight], lr=0.05)
    first = (weight - target).square().sum().item()
    for _ in range(300):
        optimiser.zero_grad()
        (weight - target).square().sum().backward()
        optimiser.step()
    assert (weight - target).square().sum().item() < 0.01 * first
