"""Maximum matching against brute force."""

from itertools import permutations

from hypothesis import given, settings
from hypothesis import strategies as st

from pivotlab.verifiers import matching

TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(
        st.lists(st.booleans(), min_size=width, max_size=width), min_size=1, max_size=4
    )
)


def brute(table):
    rows, columns = len(table), len(table[0])
    order = range(max(rows, columns))
    return max(
        sum(j < columns and table[i][j] for i, j in enumerate(choice[:rows]))
        for choice in permutations(order)
    )


@settings(max_examples=100)
@given(TABLES)
def test_as_many_pairs_as_brute_force_finds(table):
    found = matching.pairs(table)
    assert len(found) == brute(table)
    assert all(table[i][j] for i, j in found)
    for side in zip(*found, strict=True) if found else ():
        assert len(set(side)) == len(side)


def test_greed_would_strand_the_second_row():
    assert matching.pairs([[True, True], [True, False]]) == [(0, 1), (1, 0)]
    assert matching.perfect([[True, True], [True, False]])
    assert not matching.perfect([[True, False], [True, False]])


def test_nothing_to_match():
    assert matching.pairs([]) == [] and matching.perfect([])
    assert matching.pairs([[]]) == [] and not matching.perfect([[]])
