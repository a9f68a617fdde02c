"""L(s): the fewest turns from a state to the goal, by enumerating plans, not searching.

A plan visits receptacles in order and does one thing at each: put down what is in the
hand, take the target, transform it, put it at its destination, use the lamp. Its cost
is one turn a deed, one a change of place, and one for every closed receptacle that must
be open, paid once. What is worth enumerating is target x destination x station x place
to put down a wrong object; receptacles that no cost tells apart count once. Nothing can
get lost in this game (an object can always be put back where it was), so L is finite.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pivotlab.environments.textgame import rules
from pivotlab.environments.textgame.rules import State, World

#: Receptacle to be at, whether it must be open, turns the deed itself takes.
Deed = tuple[int, bool, int]
#: Verbs that can never be part of a shortest plan.
_IDLE = frozenset(
    ("close", "slice", "examine", "examine object", "inventory", "look", "help")
)


def remaining_turns(world: World, state: State) -> float:
    """Fewest turns to the goal; 0 when it holds."""
    if rules.won(world, state):
        return 0.0
    closed = _closed(world, state)
    plans = _lamp_plans if world.goal_lamps else _place_plans
    return float(min(_cost(state.at, closed, p) for p in plans(world, state, closed)))


def optimal_actions(world: World, state: State) -> list[str]:
    """Commands after which `remaining_turns` is one less, sorted."""
    best = remaining_turns(world, state)
    if best == 0:
        return []
    return sorted(
        command
        for command, action in rules.admissible(world, state).items()
        if action[0] not in _IDLE
        and remaining_turns(world, rules.apply(state, action)) == best - 1
    )


def _closed(world: World, state: State) -> int:
    """Mask of the receptacles that must be opened before use."""
    mask = sum(1 << i for i, openable in enumerate(world.openable) if openable)
    return mask & ~state.open


def _cost(at: int, closed: int, deeds: Iterable[Deed]) -> int:
    """Turns a plan takes from receptacle `at`."""
    turns = 0
    for place, must_open, deed in deeds:
        if place != at:
            turns += 1
            at = place
        if must_open and closed >> place & 1:
            turns += 1
            closed &= ~(1 << place)
        turns += deed
    return turns


def _fetches(
    world: World, state: State, item: int, closed: int, special: tuple[int, ...]
) -> Iterator[tuple[Deed, ...]]:
    """Ways to get `item` into the hand; `special` are places later deeds go to."""
    if state.held == item:
        yield ()
        return
    home = state.places[item]
    if state.held < 0:
        yield ((home, True, 1),)
        return
    for spot in _spots(world, state, closed, (state.at, home, *special)):
        yield ((spot, True, 1), (home, True, 1))


def _spots(
    world: World, state: State, closed: int, special: tuple[int, ...]
) -> list[int]:
    """Places to put down what is held: the special ones, one open and one closed."""
    fits = world.fits[state.held]
    kept = {place for place in special if place >= 0 and fits[place]}
    seen = set()
    for place, fit in enumerate(fits):
        shut = closed >> place & 1
        if fit and place not in kept and shut not in seen:
            seen.add(shut)
            kept.add(place)
    return sorted(kept)


def _ends(world: World, state: State, closed: int) -> list[int]:
    """Destinations that a cost can tell apart; of equal ones the first."""
    chosen: dict[tuple[bool, int, frozenset[int]], int] = {}
    for end in world.ends:
        inside = frozenset(o for o in world.targets if state.places[o] == end)
        chosen.setdefault((end == state.at, closed >> end & 1, inside), end)
    return list(chosen.values())


def _place_plans(world: World, state: State, closed: int) -> Iterator[tuple[Deed, ...]]:
    """Plans that bring the missing objects to one destination."""
    count = world.game.goal.count
    for end in _ends(world, state, closed):
        drop = (end, True, 1)
        inside = [o for o in world.targets if state.places[o] == end]
        outside = [o for o in world.targets if state.places[o] != end]
        missing = count - len(inside) if count > 1 else 1
        for first in outside if count > 1 else world.targets:
            changes = _changes(world, state, first)
            for fetch in _fetches(world, state, first, closed, (end,)):
                for change in changes:
                    plan = (*fetch, *change, drop)
                    if missing == 1:
                        yield plan
                        continue
                    for second in outside:
                        if second != first and state.held != second:
                            yield (*plan, (state.places[second], True, 1), drop)


def _changes(world: World, state: State, item: int) -> list[tuple[Deed, ...]]:
    """Ways to transform the held object as the goal wants it."""
    if rules.done_transform(world, state, item):
        return [()]
    return [((station, False, 1),) for station in world.stations]


def _lamp_plans(world: World, state: State, closed: int) -> Iterator[tuple[Deed, ...]]:
    """Plans that end at a used lamp with a target in hand, the lamp first or last."""
    for lamp in world.goal_lamps:
        spot = state.places[lamp]
        use, stand = (spot, False, 1), (spot, False, 0)
        for item in world.targets:
            for fetch in _fetches(world, state, item, closed, (spot,)):
                if state.used >> lamp & 1:
                    yield (*fetch, stand)
                else:
                    yield (*fetch, use)
                    yield (use, *fetch, stand)
