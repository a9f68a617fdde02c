"""Which pairs of two lists go together: maximum matching on a table of yes and no.

Order and greed both fail when one item fits several: pairing the first that fits can
leave the next item without its only partner.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_bipartite_matching


def pairs(fits: Sequence[Sequence[bool]]) -> list[tuple[int, int]]:
    """A largest set of pairs (row, column) with `fits[row][column]`, no index twice."""
    table = np.asarray(fits, dtype=np.int8)
    if table.size == 0:
        return []
    columns = maximum_bipartite_matching(csr_matrix(table), perm_type="column")
    return [(row, int(column)) for row, column in enumerate(columns) if column >= 0]


def perfect(fits: Sequence[Sequence[bool]]) -> bool:
    """Does every row find a partner of its own?"""
    return len(pairs(fits)) == len(fits)
