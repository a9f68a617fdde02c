"""Further rows stand beside their rollouts, equally many in every micro-batch."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.training.extra_rows import (
    ExtraRow,
    most_extra,
    placement,
    widened,
    with_extra_rows,
)
from pivotlab.training.trl_compat import TokenBatch

PAD = 0


def batch():
    """Two rollouts: prompts (5) and (6, 7), completions (1, 2) and (3,)."""
    return {
        "prompt_ids": torch.tensor([[0, 5], [6, 7]]),
        "prompt_mask": torch.tensor([[0, 1], [1, 1]]),
        "completion_ids": torch.tensor([[1, 2], [3, 0]]),
        "completion_mask": torch.tensor([[1, 1], [1, 0]]),
        "tool_mask": torch.tensor([[1, 0], [1, 1]]),
        "advantages": torch.tensor([0.5, -0.5]),
        "ref_per_token_logps": torch.tensor([[-1.0, -2.0], [-3.0, 0.0]]),
        "num_items_in_batch": torch.tensor(2),
    }


def test_rows_by_hand():
    extra = [ExtraRow(1, (3, 9, 8), (0, 1, 1))]
    scores = {"ref_per_token_logps": torch.tensor([[-3.0, -4.0, -5.0]])}
    order = placement([1], 2, 2, 1)
    assert order == [0, -1, 1, 2]
    out = with_extra_rows(batch(), extra, scores, order, PAD)
    assert out["prompt_ids"].tolist() == [[0, 5], [0, 5], [6, 7], [6, 7]]
    assert out["completion_ids"].tolist() == [
        [1, 2, 0],
        [1, 0, 0],
        [3, 0, 0],
        [3, 9, 8],
    ]
    trained = out["completion_mask"] * out["tool_mask"]
    assert trained.tolist() == [[1, 0, 0], [0, 0, 0], [1, 0, 0], [0, 1, 1]]
    assert out["completion_mask"].sum(1).tolist() == [2, 1, 1, 3]
    assert out["ref_per_token_logps"].tolist() == [
        [-1, -2, 0],
        [0, 0, 0],
        [-3, 0, 0],
        [-3, -4, -5],
    ]
    assert out["advantages"][:, 0].tolist() == [0.5, 0.0, -0.5, 0.0]
    assert list(out)[0] == "prompt_ids"  # TRL reads the batch size off the first key


def test_tokens_are_widened_for_scoring():
    tokens = TokenBatch(
        torch.tensor([[0, 5, 1, 2], [6, 7, 3, 0]]),
        torch.tensor([[0, 1, 1, 1], [1, 1, 1, 0]]),
        2,
    )
    wide = widened(tokens, [ExtraRow(0, (1, 9, 8), (0, 1, 1))], PAD)
    assert wide.completion_width == 3
    wanted = [[0, 5, 1, 2, 0], [6, 7, 3, 0, 0], [0, 5, 1, 9, 8]]
    assert wide.input_ids.tolist() == wanted
    assert wide.attention_mask[2].tolist() == [0, 1, 1, 1, 1]


@given(
    st.sampled_from([(8, 1), (8, 2), (8, 4), (6, 3)]),
    st.lists(st.integers(0, 5), max_size=9),
    st.integers(0, 3),
)
def test_placement_keeps_every_row_and_every_part_equal(shape, owners, spare):
    rollouts, parts = shape
    room = most_extra(owners, rollouts, parts) + spare
    order = placement(owners, rollouts, parts, room)
    size, step = rollouts // parts, len(order) // parts
    assert len(order) == rollouts + parts * room
    real = [row for row in order if row >= 0]
    assert sorted(real) == list(range(rollouts + len(owners)))
    for part in range(parts):
        for row in order[part * step : (part + 1) * step]:
            owner = -1 - row if row < 0 else row
            owner = owners[row - rollouts] if row >= rollouts else owner
            assert part * size <= owner < (part + 1) * size


def test_no_extra_rows_leave_the_order_alone():
    assert placement([], 4, 2, 0) == [0, 1, 2, 3]
    assert most_extra([], 4, 2) == 0
