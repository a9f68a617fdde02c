"""Packed sequences: every token once, every token seeing exactly its own past."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from training_toys import (
    Deaf,
    make_gpt2,
    make_model,
    make_sliding_model,
    make_tokenizer,
    random_groups,
)
from transformers import GPT2LMHeadModel

from pivotlab.training.packing import (
    attention_mask,
    completion_tree,
    pack,
    refusal,
    visible,
)

completions = st.lists(
    st.lists(st.integers(1, 3), min_size=1, max_size=5).map(tuple),
    min_size=1,
    max_size=8,
)


def pairs(groups):
    return [(tuple(p), tuple(c)) for p, group in groups for c in group]


def ancestors(tree, node):
    """The nodes on the way to `node`, itself included."""
    found = []
    while node >= 0:
        found.append(node)
        node = tree.parents[node]
    return found[::-1]


def test_tree_of_a_hand_worked_group():
    tree = completion_tree([(7, 8), (7, 9, 5), (4,), (7, 8)])
    assert tree.tokens == [4, 7, 8, 9, 5]
    assert tree.parents == [-1, -1, 1, 1, 3]
    assert tree.depths == [0, 0, 1, 1, 2]
    assert tree.ends == [1, 5, 3, 5, 5]
    assert tree.paths == {(4,): [0], (7, 8): [1, 2], (7, 9, 5): [1, 3, 4]}


@given(completions)
def test_tree_spells_its_completions_with_no_token_twice(group):
    tree = completion_tree(group)
    prefixes = {c[: k + 1] for c in group for k in range(len(c))}
    assert len(tree.tokens) == len(prefixes)
    for completion in group:
        path = tree.paths[completion]
        assert tuple(tree.tokens[node] for node in path) == completion
        assert ancestors(tree, path[-1]) == path
        assert [tree.depths[node] for node in path] == list(range(len(path)))
    for node, end in enumerate(tree.ends):
        below = [k for k in range(len(tree.ends)) if node in ancestors(tree, k)]
        assert below == list(range(node, end))


@given(completions, completions)
def test_packed_tokens_see_their_own_sequence_and_stand_in_its_order(first, second):
    sequences = pairs([((11, 12, 13), first), ((14,), second)])
    packed = pack(sequences, width=6)
    sees = visible(packed.ends)
    flat = packed.input_ids.flatten()
    time = packed.input_ids.shape[1]
    for row, (prompt, completion) in enumerate(sequences):
        assert packed.mask[row].tolist() == [k < len(completion) for k in range(6)]
        for k, node in enumerate(packed.nodes[row, : len(completion)].tolist()):
            assert packed.targets[node] == completion[k]
            line, column = divmod(int(packed.sources[node]), time)
            seen = sees[line, column].nonzero()[:, 0]
            expected = [*prompt, *completion[:k]]
            assert flat[line * time + seen].tolist() == expected
            positions = packed.position_ids[line, seen].tolist()
            assert positions == list(range(len(expected)))


def test_groups_fill_rows_without_growing_them():
    groups = [(range(5, 5 + n), [(9,)] * 2) for n in (10, 4, 3, 7)]
    packed = pack(pairs(groups))
    assert packed.input_ids.shape == (3, 11)  # 11; 8; 5 + 4: the widest sets the width


def test_rows_are_rounded_up_to_whole_blocks():
    packed = pack([((5, 6), (7,))], multiple=128)
    assert packed.input_ids.shape == (1, 128)
    assert visible(packed.ends)[0, 100].nonzero().tolist() == [[100]]


def test_prompt_without_tokens_is_refused():
    with pytest.raises(ValueError, match="at least one"):
        pack([((), (7,))])


def test_masks_say_the_same_in_both_forms():
    model = make_model(make_tokenizer())
    packed = pack(pairs(random_groups()), multiple=128)
    dense = attention_mask(packed.ends, model)
    model.config._attn_implementation = "flex_attention"
    block = attention_mask(packed.ends, model)
    rows, _, time, _ = dense.shape
    grid = torch.meshgrid(*(torch.arange(n) for n in (rows, time, time)), indexing="ij")
    row, query, key = (axis.flatten() for axis in grid)
    rule = block.mask_mod(row, torch.zeros_like(row), query, key).view(rows, time, time)
    assert torch.equal(rule, dense[:, 0] == 0)
    assert torch.equal(rule, visible(packed.ends))


@pytest.mark.parametrize("kind", ["qwen3", "llama", "gpt2"])
def test_models_that_obey_the_mask_are_accepted(kind):
    tokenizer = make_tokenizer()
    if kind == "gpt2":
        assert refusal(make_gpt2(GPT2LMHeadModel, tokenizer)) is None
    else:
        assert refusal(make_model(tokenizer, kind=kind)) is None


def test_models_that_do_not_are_refused_with_a_reason():
    tokenizer = make_tokenizer()
    assert "sliding_attention" in refusal(make_sliding_model(tokenizer))
    assert "differ by" in refusal(make_gpt2(Deaf, tokenizer))
    flash = make_model(tokenizer)
    flash.config._attn_implementation = "flash_attention_2"
    assert "takes no mask" in refusal(flash)


def test_model_that_fails_on_packed_rows_is_refused():
    def fail(*_):
        raise TypeError("no such argument")

    model = make_model(make_tokenizer())
    model.model.register_forward_pre_hook(fail)
    assert "fails on packed rows: no such argument" in refusal(model)


def test_refusal_leaves_the_mode_and_the_generator_alone():
    model = make_model(make_tokenizer()).train()
    state = torch.get_rng_state()
    refusal(model)
    assert model.training and torch.equal(torch.get_rng_state(), state)
