"""The rules of the household game as pure functions on an immutable state.

`World` is what never changes during a game; `State` is a tuple of small integers, so
that copying, hashing and going back are free. Sets of receptacles or objects are bit
masks (bit i = element i).
"""

from __future__ import annotations

from typing import NamedTuple

from pivotlab.environments.textgame import wording
from pivotlab.environments.textgame.games import TRANSFORMS, Game, facts

#: Verb and up to two indices (receptacle or object), -1 where the verb takes none.
Action = tuple[str, int, int]


#: Verb -> the mask in which it sets the object's bit.
_MASKS = {
    "clean": "clean",
    "heat": "hot",
    "cool": "cool",
    "use": "used",
    "slice": "sliced",
}


class State(NamedTuple):
    """`at` is the receptacle the player stands at, `held` the object in hand (-1:
    none).

    `places[o]` is the receptacle of object o, -1 while it is held; the masks say which
    receptacles are open, and which objects are clean, hot, cool, sliced or were used.
    """

    at: int
    held: int
    places: tuple[int, ...]
    open: int
    clean: int = 0
    hot: int = 0
    cool: int = 0
    sliced: int = 0
    used: int = 0


class World:
    """A game compiled to indices, with the texts of all names at hand."""

    def __init__(self, game: Game) -> None:
        table = facts()
        self.game = game
        self.names = [r.name for r in game.receptacles]
        self.types = [r.type for r in game.receptacles]
        self.openable = [r.openable for r in game.receptacles]
        self.items = [o.name for o in game.objects]
        self.kinds = [o.type for o in game.objects]
        kinds = self.kinds
        self.fits = [[k in table["fits"][t] for t in self.types] for k in kinds]
        self.lamps = [k in table["toggleable"] for k in kinds]
        self.container = [k in table["containers"] for k in kinds]
        self.sliceable = [k in table["sliceable"] for k in kinds]
        self.knife = [k in ("knife", "butterknife") for k in kinds]
        #: For each receptacle the transform it offers, and who can undergo it.
        verbs = {station: verb for verb, (_, station) in TRANSFORMS.items()}
        self.verb = [verbs.get(t) for t in self.types]
        self.can = {
            verb: [k in table[prop] for k in kinds]
            for verb, (prop, _) in TRANSFORMS.items()
        }
        self._compile_goal()
        self.go = [
            (f"go to {name}", ("go", i, -1)) for i, name in enumerate(self.names)
        ]

    def _compile_goal(self) -> None:
        goal = self.game.goal
        self.targets = [i for i, k in enumerate(self.kinds) if k == goal.object]
        self.ends = [i for i, t in enumerate(self.types) if t == goal.destination]
        self.goal_lamps = [i for i, k in enumerate(self.kinds) if k == goal.lamp]
        station = TRANSFORMS[goal.transform][1] if goal.transform else None
        self.stations = [i for i, t in enumerate(self.types) if t == station]

    def start(self) -> State:
        """State before the first move: nowhere, hands empty."""
        index = {name: i for i, name in enumerate(self.names)}
        return State(
            at=-1,
            held=-1,
            places=tuple(index[o.receptacle] for o in self.game.objects),
            open=sum(1 << i for i, r in enumerate(self.game.receptacles) if r.open),
        )


def accessible(world: World, state: State, receptacle: int) -> bool:
    """Whether things can be put into and taken out of the receptacle."""
    return not world.openable[receptacle] or bool(state.open >> receptacle & 1)


def done_transform(world: World, state: State, item: int) -> bool:
    """Whether the object is as the goal wants it (clean, hot, cool or anything)."""
    verb = world.game.goal.transform
    if verb is None:
        return True
    mask = {"clean": state.clean, "heat": state.hot, "cool": state.cool}[verb]
    return bool(mask >> item & 1)


def won(world: World, state: State) -> bool:
    """Whether the goal holds in this state."""
    goal = world.game.goal
    if goal.lamp is not None:
        return state.held in world.targets and any(
            state.used >> lamp & 1 and state.places[lamp] == state.at
            for lamp in world.goal_lamps
        )
    ready = [state.places[o] for o in world.targets if done_transform(world, state, o)]
    return any(ready.count(end) >= goal.count for end in world.ends)


def admissible(world: World, state: State) -> dict[str, Action]:
    """Every command the game would carry out now, with its meaning."""
    at, held = state.at, state.held
    found: dict[str, Action] = dict(world.go)
    found["inventory"] = ("inventory", -1, -1)
    found["look"] = ("look", -1, -1)
    found["help"] = ("help", -1, -1)
    if held >= 0:
        found[f"examine {world.items[held]}"] = ("examine object", held, -1)
    if at < 0:
        return found
    here = world.names[at]
    del found[f"go to {here}"]
    found[f"examine {here}"] = ("examine", at, -1)
    if world.openable[at]:
        verb = "close" if state.open >> at & 1 else "open"
        found[f"{verb} {here}"] = (verb, at, -1)
    if held >= 0:
        _add_held(world, state, here, found)
    _add_here(world, state, here, found)
    return found


def _add_held(world: World, state: State, here: str, found: dict[str, Action]) -> None:
    """Commands with the held object at the current receptacle."""
    at, held = state.at, state.held
    name = world.items[held]
    if world.fits[held][at] and accessible(world, state, at):
        found[f"move {name} to {here}"] = ("move", held, at)
    verb = world.verb[at]
    if verb is not None and world.can[verb][held]:
        found[f"{verb} {name} with {here}"] = (verb, held, at)
    if world.knife[held]:
        for item, place in enumerate(state.places):
            if place == at and world.sliceable[item]:
                found[f"slice {world.items[item]} with {name}"] = ("slice", item, held)


def _add_here(world: World, state: State, here: str, found: dict[str, Action]) -> None:
    """Commands with the objects in or on the current receptacle."""
    free = state.held < 0 and accessible(world, state, state.at)
    for item, place in enumerate(state.places):
        if place != state.at:
            continue
        if world.lamps[item]:
            found[f"use {world.items[item]}"] = ("use", item, -1)
        elif free:
            found[f"take {world.items[item]} from {here}"] = ("take", item, state.at)


def apply(state: State, action: Action) -> State:
    """State after an admissible action."""
    verb, first, second = action
    if verb == "go":
        return state._replace(at=first)
    if verb == "open" or verb == "close":
        return state._replace(open=state.open ^ 1 << first)
    if verb == "take" or verb == "move":
        place = -1 if verb == "take" else second
        places = (*state.places[:first], place, *state.places[first + 1 :])
        return state._replace(held=first if verb == "take" else -1, places=places)
    mask = _MASKS.get(verb)
    if mask is None:
        return state
    bit = 1 << first
    if verb == "heat":
        state = state._replace(cool=state.cool & ~bit)
    elif verb == "cool":
        state = state._replace(hot=state.hot & ~bit)
    return state._replace(**{mask: getattr(state, mask) | bit})


def receptacle_text(world: World, state: State, receptacle: int) -> str:
    """What can be seen of one receptacle."""
    objects = [
        name
        for name, place in zip(world.items, state.places, strict=True)
        if place == receptacle
    ]
    return wording.contents(
        world.names[receptacle],
        world.openable[receptacle],
        bool(state.open >> receptacle & 1),
        objects,
    )


def observation(world: World, state: State, action: Action) -> str:
    """What the game answers to an admissible action; `state` is the one after it."""
    verb, first, second = action
    if verb == "go":
        name = world.names[first]
        return f"You arrive at {name}. {receptacle_text(world, state, first)}"
    if verb == "open":
        name = world.names[first]
        return f"You open the {name}. {receptacle_text(world, state, first)}"
    if verb == "close":
        return f"You close the {world.names[first]}."
    if verb == "take":
        return f"You pick up the {world.items[first]} from the {world.names[second]}."
    if verb == "move":
        return f"You move the {world.items[first]} to the {world.names[second]}."
    if verb in TRANSFORMS:
        return f"You {verb} the {world.items[first]} using the {world.names[second]}."
    if verb == "use":
        return f"You turn on the {world.items[first]}."
    if verb == "slice":
        return f"You sliced the {world.items[first]} with the {world.items[second]}."
    return _look(world, state, verb, first)


def _look(world: World, state: State, verb: str, first: int) -> str:
    """Answers to the commands that change nothing."""
    if verb == "examine":
        return receptacle_text(world, state, first)
    if verb == "inventory":
        return wording.inventory(world.items[state.held] if state.held >= 0 else None)
    if verb == "look":
        return (
            wording.middle(())
            if state.at < 0
            else wording.facing(world.names[state.at])
        )
    if verb == "help":
        return wording.HELP
    masks = (state.clean, state.hot, state.cool, state.sliced)
    flags = (bool(mask >> first & 1) for mask in masks)
    return wording.examine_object(world.items[first], world.container[first], *flags)
