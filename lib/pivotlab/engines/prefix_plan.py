"""Which tokens of a set of prompts have to be computed, and in which order.

Prompts form a tree of shared prefixes. The turns of one trajectory are a chain: each
prompt is a prefix of the next, so the deepest alone is computed and the others read
from it. Where prompts part (a shared system message, a template that rewrites its
history), the shared run becomes a node of its own, and each branch continues from a
copy of it. A run that would save fewer than `MIN_SHARE` tokens is computed again by
each branch: a pass of its own costs more than it saves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

#: Fewest prompt tokens that a shared run has to save to get a pass of its own.
MIN_SHARE = 32

Ids = tuple[int, ...]


@dataclass(frozen=True)
class Node:
    """A run of tokens to compute: `ids[start:]` on top of the parent's first `start`.

    `ids` is the whole path from the root; `level` is the number of ancestors.
    """

    ids: Ids
    start: int
    parent: int | None
    level: int


@dataclass
class PrefixPlan:
    """A forest of nodes, parents before children, and where each prompt reads.

    Attributes:
        nodes: the runs to compute.
        leaf: for each prompt, a node without children that holds the prompt's tokens.
        source: for each prompt, the node that computes its last token.
    """

    prompts: Sequence[Ids]
    nodes: list[Node] = field(default_factory=list)
    leaf: list[int] = field(default_factory=list)
    source: list[int] = field(default_factory=list)

    @property
    def computed(self) -> int:
        """Tokens that pass through the model."""
        return sum(len(node.ids) - node.start for node in self.nodes)

    def levels(self) -> Iterator[list[int]]:
        """Node indices of equal depth, from the roots down."""
        for level in range(max((n.level for n in self.nodes), default=-1) + 1):
            yield [i for i, node in enumerate(self.nodes) if node.level == level]


def plan_prefixes(prompts: Sequence[Ids]) -> PrefixPlan:
    """The plan for non-empty prompts in any order, repeats allowed.

    Example: `[(1, 2), (1, 2, 3)]` gives one node, three tokens, read at 2 and at 3.
    """
    plan = PrefixPlan(prompts)
    leaves = deepest(prompts)
    index_of: dict[Ids, int] = {}
    stack: list[tuple[int, int, int, int | None]] = [(0, len(leaves), 0, None)]
    while stack:
        lo, hi, start, parent = stack.pop()
        if hi - lo == 0:
            continue
        level = 0 if parent is None else plan.nodes[parent].level + 1
        if hi - lo == 1:
            index_of[leaves[lo]] = len(plan.nodes)
            plan.nodes.append(Node(leaves[lo], start, parent, level))
            continue
        common = common_prefix(leaves[lo], leaves[hi - 1])
        if (hi - lo - 1) * (common - start) >= MIN_SHARE:
            plan.nodes.append(Node(leaves[lo][:common], start, parent, level))
            start, parent = common, len(plan.nodes) - 1
        for a, b in reversed(_branches(leaves, lo, hi, common)):
            stack.append((a, b, start, parent))
    _assign(plan, index_of)
    return plan


def deepest(prompts: Sequence[Ids]) -> list[Ids]:
    """Distinct prompts that are no proper prefix of another one, sorted."""
    ordered = sorted(set(prompts))
    following = [*ordered[1:], ()]
    return [a for a, b in zip(ordered, following, strict=True) if b[: len(a)] != a]


def common_prefix(a: Sequence[int], b: Sequence[int]) -> int:
    """Number of leading tokens that two sequences share (bisection on slices)."""
    lo, hi = 0, min(len(a), len(b))
    while lo < hi:
        middle = (lo + hi + 1) // 2
        if a[lo:middle] == b[lo:middle]:
            lo = middle
        else:
            hi = middle - 1
    return lo


def _branches(leaves: list[Ids], lo: int, hi: int, at: int) -> list[tuple[int, int]]:
    """Ranges of leaves that agree on the token at index `at`."""
    edges = [i for i in range(lo + 1, hi) if leaves[i][at] != leaves[i - 1][at]]
    return list(zip([lo, *edges], [*edges, hi], strict=True))


def _assign(plan: PrefixPlan, index_of: dict[Ids, int]) -> None:
    """Point every prompt at a leaf below it and at the node of its last token."""
    home: dict[Ids, int] = {}
    leaf: Ids = ()
    for prompt in sorted(set(plan.prompts), reverse=True):
        if leaf[: len(prompt)] != prompt:
            leaf = prompt
        home[prompt] = index_of[leaf]
    for prompt in plan.prompts:
        node = home[prompt]
        plan.leaf.append(node)
        while plan.nodes[node].start >= len(prompt):
            node = plan.nodes[node].parent
        plan.source.append(node)
