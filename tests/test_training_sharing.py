"""Trees are shared where that is cheaper, and a recovery costs its own tokens only."""

from hypothesis import given
from hypothesis import strategies as st
from training_toys import make_model, make_tokenizer

from pivotlab.training.packing import pack
from pivotlab.training.sharing import layout_price, sharing_groups, token_cost

PROMPT = tuple(range(10, 20))


def episode(start, length):
    return tuple(range(start, start + length))


def test_a_recovery_row_costs_its_response_only():
    rollouts = [episode(100, 60), episode(300, 60)]
    response = (7, 8, 9)
    recovery = (*rollouts[1][:40], *response)
    rows = [(PROMPT, rollouts[0]), (PROMPT, rollouts[1]), (PROMPT, recovery)]
    numbers = sharing_groups(rows, cost=192.0)
    assert numbers[1] == numbers[2]
    without = pack(rows[:2], apart=numbers[:2])
    with_it = pack(rows, apart=numbers)
    assert len(with_it.targets) - len(without.targets) == len(response)


def test_long_episodes_that_share_little_stand_apart_and_equal_ones_together():
    apart = [(PROMPT, episode(100, 400)), (PROMPT, episode(600, 400))]
    assert len(set(sharing_groups(apart, 192.0))) == 2
    short = [(PROMPT, (i,)) for i in range(8)]
    assert len(set(sharing_groups(short, 192.0))) == 1
    equal = [(PROMPT, episode(100, 400))] * 3
    assert len(set(sharing_groups(equal, 192.0))) == 1


def test_one_large_tree_does_not_make_every_row_long():
    """Rows are as long as the longest tree, so two halves never join at its price."""
    twins = [(PROMPT, (*episode(100, 200), *episode(s, 200))) for s in (400, 700)]
    others = [(PROMPT, episode(1000 * i, 400)) for i in range(2, 12)]
    numbers = sharing_groups([*twins, *others], 192.0)
    assert len(set(numbers)) == 12


def test_other_prompts_never_share():
    assert len(set(sharing_groups([(PROMPT, (1,)), ((1,), (1,))], 1e9))) == 2


def test_a_wider_model_shares_more():
    narrow, wide = (make_model(make_tokenizer(), hidden_size=h) for h in (32, 64))
    assert token_cost(wide) == 2 * token_cost(narrow) == 384


SEQUENCES = st.lists(
    st.tuples(
        st.sampled_from([(1, 2), (3,)]),
        st.lists(st.integers(4, 6), min_size=1, max_size=12).map(tuple),
    ),
    min_size=1,
    max_size=8,
)


@given(SEQUENCES, st.sampled_from([0.0, 10.0, 1000.0]))
def test_the_chosen_layout_is_never_dearer_than_all_apart(rows, cost):
    def price(numbers):
        sizes = []
        for number in sorted(set(numbers)):
            own = [r for r, n in zip(rows, numbers, strict=True) if n == number]
            sizes.append(pack(own).input_ids.numel())
        return layout_price(sizes, cost)

    chosen = sharing_groups(rows, cost)
    assert price(chosen) <= price(list(range(len(rows)))) + 1e-6
    packed = pack(rows, apart=chosen)
    for (_, completion), nodes, mask in zip(
        rows, packed.nodes, packed.mask, strict=True
    ):
        assert packed.targets[nodes[mask]].tolist() == list(completion)
