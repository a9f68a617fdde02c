import pytest
from hypothesis import given
from hypothesis import strategies as st

from pivotlab.engines import prefix_plan
from pivotlab.engines.prefix_plan import common_prefix, deepest, plan_prefixes


def test_chain_is_one_node_read_at_every_depth():
    whole = tuple(range(100))
    prompts = [whole[:40], whole, whole[:70], whole[:40]]
    plan = plan_prefixes(prompts)
    assert len(plan.nodes) == 1 and plan.computed == 100
    assert plan.leaf == plan.source == [0, 0, 0, 0]


def test_shared_system_message_is_computed_once():
    system = tuple(range(50))
    prompts = [system + (100 + i, 7) for i in range(6)]
    plan = plan_prefixes(prompts)
    assert plan.computed == 50 + 6 * 2
    assert [node.level for node in plan.nodes] == [0] + [1] * 6


def test_short_shared_run_is_not_worth_a_pass():
    prompts = [(1, 2, 3, i) for i in range(5)]
    plan = plan_prefixes(prompts)
    assert plan.computed == 20 and len(plan.nodes) == 5


def test_rewritten_history_branches_off_a_trunk():
    # Thinking (90+) is dropped from a turn once the next one exists.
    said = [tuple(range(20 * t, 20 * t + 20)) for t in range(4)]
    prompts = [sum(said[: t + 1], ()) + (90 + t,) * 40 for t in range(4)]
    plan = plan_prefixes(prompts)
    # First branch: 3 leaves save 20 each. Below it 2 save 20, below that 1 saves 20.
    assert plan.computed == 80 + 4 * 40 + 20
    assert max(node.level for node in plan.nodes) == 2


def test_prompt_that_ends_inside_a_trunk_reads_there():
    system = tuple(range(64))
    prompts = [system + (1,) * 9, system + (2,) * 9, system[:50], system]
    plan = plan_prefixes(prompts)
    trunk = plan.source[2]
    assert plan.source[3] == trunk and plan.nodes[trunk].ids == system
    assert plan.leaf[2] != trunk and plan.computed == 64 + 18


tokens = st.lists(st.integers(0, 2), min_size=1, max_size=12).map(tuple)


@pytest.mark.parametrize("least", [1, 4, 32])
@given(prompts=st.lists(tokens, min_size=1, max_size=12))
def test_plan_invariants(least, prompts):
    original, prefix_plan.MIN_SHARE = prefix_plan.MIN_SHARE, least
    try:
        plan = plan_prefixes(prompts)
    finally:
        prefix_plan.MIN_SHARE = original
    for index, node in enumerate(plan.nodes):
        assert node.start < len(node.ids)
        if node.parent is not None:
            parent = plan.nodes[node.parent]
            assert node.parent < index and parent.level == node.level - 1
            assert (
                parent.ids == node.ids[: node.start] and len(parent.ids) == node.start
            )
        else:
            assert node.start == 0
    parents = {node.parent for node in plan.nodes}
    for prompt, leaf, source in zip(prompts, plan.leaf, plan.source, strict=True):
        assert leaf not in parents
        assert plan.nodes[leaf].ids[: len(prompt)] == prompt
        node = plan.nodes[source]
        assert node.start < len(prompt) <= len(node.ids)
        assert node.ids[: len(prompt)] == prompt
    if least == 1:
        # Nothing twice: the computed runs are the edges of the prefix tree.
        tree = {p[: i + 1] for p in prompts for i in range(len(p))}
        assert plan.computed == len(tree)
    assert sorted(i for level in plan.levels() for i in level) == list(
        range(len(plan.nodes))
    )


@given(a=tokens, b=tokens)
def test_common_prefix(a, b):
    n = common_prefix(a, b)
    assert a[:n] == b[:n]
    assert n in (len(a), len(b)) or a[n] != b[n]


def test_deepest_drops_prefixes_and_repeats():
    assert deepest([(1,), (1, 2), (2,), (1, 2), (1, 3)]) == [(1, 2), (1, 3), (2,)]
