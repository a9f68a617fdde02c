"""Every rule: worked numbers, an independent reference, and what it must reduce to."""

import math
from dataclasses import replace

import method_reference
import pytest
import torch
from method_reference import random_rows, view_of

from pivotlab.distillation import methods_advantages as rules
from pivotlab.distillation.methods import METHODS
from pivotlab.distillation.step_view import StepView


def view(group, gaps, **more):
    """One rollout per row of `gaps`, one token a turn."""
    gap = torch.tensor(gaps, dtype=torch.float64)
    turn = torch.arange(gap.shape[1]).expand_as(gap)
    return StepView(torch.tensor(group, dtype=torch.float64), turn, gap, **more)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("seed, step, steps", [(0, 0, 4), (1, 1, 4), (2, 3, 5)])
def test_rule_equals_the_reference_in_plain_python(name, seed, step, steps):
    rows = random_rows(seed)
    made = view_of(rows, step, steps)
    found = METHODS[name].advantages(made)
    wanted = method_reference.advantages(name, rows, step, steps)
    flat = [x for row in wanted for turn in row for x in turn]
    assert torch.allclose(found[made.mask], torch.tensor(flat).double(), atol=1e-9)
    assert (found[~made.mask] == 0).all(), "tokens of the environment get nothing"


def test_rlsd_by_hand():
    double = math.log(2)
    found = rules.rlsd(view([1.0, -1.0], [[double], [double]]))
    assert found.flatten().tolist() == pytest.approx([1.1, -0.9])


def test_rlsd_fades_over_its_warm_down():
    far = view([1.0], [[3.0]])
    steps = [rules.rlsd(replace(far, step=s)).item() for s in (0, 50, 100, 200)]
    assert steps == pytest.approx([1.1, 1.05, 1.0, 1.0])


def test_sod_by_hand():
    turns = view([0.0], [[0.4, -0.2, 0.3]])
    assert rules.sod_weights(turns).tolist()[0] == pytest.approx([1, 1.2, 1.2])
    free = rules.sod_weights(turns, delta=math.inf).tolist()[0]
    assert free == pytest.approx([1, 2, 4 / 3], abs=1e-4)


def test_agent_opsd_by_hand():
    found = rules.agent_opsd(view([1.0], [[1.0, -2.0]]), prior=0.5)
    assert found.tolist()[0] == pytest.approx([1.1, 0.9])


def test_agent_opsd_saturates_on_long_episodes():
    """Trap: the gap is negative on average, so late turns all look the same."""
    long = view([1.0], [[-1.0] * 30])
    belief = torch.sigmoid(torch.cumsum(long.gap, 1))
    assert belief[0, -1] < 1e-12
    late = rules.agent_opsd(long, prior=0.5)[0, 10:]
    assert late.max() - late.min() < 1e-4


def test_gigpo_by_hand():
    same = view(
        [0.0, 0.0, 0.0],
        [[0.0], [0.0], [0.0]],
        rewards=torch.tensor([1.0, 0.0, 0.0]).double(),
        group_size=3,
        anchors=(("o",), ("o",), ("o",)),
    )
    found = rules.gigpo(same).flatten().tolist()
    assert found == pytest.approx([0.6667, -0.3333, -0.3333], abs=1e-4)
    scaled = rules.gigpo(same, scaled=True).flatten().tolist()
    assert scaled == pytest.approx([1.1547, -0.5774, -0.5774], abs=1e-4)
    other = replace(same, anchors=(("o",), ("p",), ("p",)))
    assert rules.gigpo(other).flatten().tolist() == [0.0, 0.0, 0.0]


def test_pivotrl_is_silent_where_all_agree_or_it_is_too_easy():
    four = view([1.0] * 4, [[0.0]] * 4, group_size=4, states=(("s",),) * 4)
    for verdicts, silent in (
        ([1, 1, 1, 1], True),
        ([1, 1, 1, 0], True),
        ([1, 0, 0, 0], False),
        ([0, 0, 0, 0], True),
    ):
        judged = replace(four, verdicts=tuple((float(v),) for v in verdicts))
        found = rules.pivotrl(judged).flatten()
        assert (found == 0).all() == silent
        assert found.sum().abs() < 1e-9


def test_pivotrl_compares_turns_of_one_state_and_not_of_one_observation():
    verdicts, same = ((1.0,), (0.0,)), (("Nothing happens.",),) * 2
    two = view([1.0] * 2, [[0.0]] * 2, group_size=2, anchors=same, verdicts=verdicts)
    apart = replace(two, states=(("s",), ("t",)))
    assert (rules.pivotrl(apart) == 0).all()
    met = replace(two, states=(("s",),) * 2)
    # (1 - 0.5) / (std 0.7071 + 1e-4)
    assert rules.pivotrl(met).flatten().tolist() == pytest.approx(
        [0.7070, -0.7070], abs=1e-4
    )


def test_tcod_deepens_and_turn_opd_evens_out():
    rows = view([0.0], [[1.0, 1.0, 1.0, 1.0]], steps=10)
    depths = [int((rules.tcod(replace(rows, step=s)) != 0).sum()) for s in (0, 2, 5, 9)]
    assert depths == [1, 2, 4, 4]
    two = StepView(
        torch.zeros(1), torch.tensor([[0, 0, 0, 1]]), torch.ones(1, 4), steps=2
    )
    assert rules.turn_opd(two, coverage=1.0).tolist() == [[1.0, 1.0, 1.0, 1.0]]
    late = rules.turn_opd(replace(two, step=2), coverage=1.0)[0]
    assert late[:3].sum().item() == pytest.approx(late[3].item()) == 2.0


#: Methods that do nothing but distil, and so vanish without a gap.
PURE = ("opsd", "opd", "tcod", "turn_opd", "sdpo")
#: Methods whose rule is not made of A and the gap.
OTHER = ("gigpo", "pivotrl")


@pytest.mark.parametrize("name", [n for n in METHODS if n not in OTHER])
def test_without_a_gap_a_rule_is_grpo_or_nothing(name):
    full = view_of(random_rows(3))
    zero = torch.zeros_like(full.gap)
    empty = replace(full, gap=zero, episode_gap=zero)
    found = METHODS[name].advantages(empty)
    assert torch.allclose(found, zero if name in PURE else empty.outcome)


#: What still acts in a group of equal rewards (by the gap, or by a loss beside it).
ACTS = ("opsd", "opd", "tcod", "turn_opd", "sod", "opid")


@pytest.mark.parametrize("name", METHODS)
def test_groups_of_equal_rewards(name):
    rows = [replace(r, a=0.0, reward=0.0) for r in random_rows(4)]
    acts = bool((METHODS[name].advantages(view_of(rows)) != 0).any())
    assert acts == (name in (*ACTS, "pivotrl")), "note 10 of the comparison"


def test_opids_turn_skill_has_priority():
    one = view([0.0], [[2.0, 0.0]], episode_gap=torch.tensor([[5.0, 5.0]]).double())
    routed, both = (rules.opid(one, routed=r)[0].tolist() for r in (True, False))
    assert routed == pytest.approx([0.002, 0.005])
    assert both == pytest.approx([0.007, 0.005])


def test_gradient_on_two_tokens_is_the_closed_form():
    """-A log p(y) on a softmax over two logits: -A (1[y = a] - p_a)."""
    logits = torch.tensor([0.3, -0.4], dtype=torch.float64, requires_grad=True)
    p = logits.detach().softmax(0)
    teacher = torch.tensor([0.2, 0.8], dtype=torch.float64).log()
    total = torch.zeros(2, dtype=torch.float64)
    for token in (0, 1):
        gap = (teacher[token] - p[token].log()).item()
        advantage = rules.opd(view([0.0], [[gap]])).item()
        (-advantage * logits.log_softmax(0)[token]).backward()
        hit = torch.eye(2, dtype=torch.float64)[token]
        assert torch.allclose(logits.grad, -advantage * (hit - p))
        total += p[token] * logits.grad
        logits.grad = None
    kl = (logits.softmax(0) * (logits.log_softmax(0) - teacher)).sum()
    kl.backward()
    assert torch.allclose(total, logits.grad), "in expectation it is KL(S || T)"
