"""Sums per turn, values put back on tokens, states that rollouts share."""

import torch
from method_reference import random_rows, view_of

from pivotlab.distillation.step_view import StepView

VIEW = StepView(
    torch.tensor([2.0, -1.0]),
    torch.tensor([[0, 0, -1, 1], [0, -1, -1, -1]]),
    torch.tensor([[1.0, 2.0, 9.0, 4.0], [5.0, 9.0, 9.0, 9.0]]),
    group_size=2,
    anchors=(("a", "b"), ("a",)),
    step=1,
    steps=4,
)


def test_turns_by_hand():
    assert VIEW.turn_sum(VIEW.gap).tolist() == [[3.0, 4.0], [5.0, 0.0]]
    assert VIEW.turn_mean(VIEW.gap).tolist() == [[1.5, 4.0], [5.0, 0.0]]
    assert VIEW.turn_lengths().tolist() == [[2.0, 1.0], [1.0, 0.0]]
    assert VIEW.outcome.tolist() == [[2.0, 2.0, 0.0, 2.0], [-1.0, 0.0, 0.0, 0.0]]
    put = VIEW.on_tokens(torch.tensor([[7.0, 8.0], [9.0, 1.0]]))
    assert put.tolist() == [[7.0, 7.0, 0.0, 8.0], [9.0, 0.0, 0.0, 0.0]]
    assert VIEW.progress == 0.25


def test_states_are_shared_within_a_task_only():
    assert VIEW.meeting(VIEW.anchors) == [[(0, 0), (1, 0)], [(0, 1)]]
    view = view_of(random_rows(0, tasks=2, size=3))
    for places in view.meeting(view.anchors):
        assert len({row // 3 for row, _ in places}) == 1


def test_no_turn_at_all_is_not_an_error():
    empty = StepView(torch.zeros(1), torch.full((1, 2), -1), torch.zeros(1, 2))
    assert empty.turn_sum(empty.gap).tolist() == [[0.0]]
