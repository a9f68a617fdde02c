"""Every text of the household game, word for word as ALFWorld writes it, and its
commands.

Departure: the order of objects in a list is fixed (the engine's is not guaranteed).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

WELCOME = "-= Welcome to TextWorld, ALFRED! =-\n\n"
NOTHING = "Nothing happens."
EMPTY_HANDED = "You are not carrying anything."
HELP = """\
Available commands:
  look:                             look around your current location
  inventory:                        check your current inventory
  go to (receptacle):               move to a receptacle
  open (receptacle):                open a receptacle
  close (receptacle):               close a receptacle
  take (object) from (receptacle):  take an object from a receptacle
  move (object) to (receptacle):  place an object in or on a receptacle
  examine (something):              examine a receptacle or an object
  use (object):                     use an object
  heat (object) with (receptacle):  heat an object using a receptacle
  clean (object) with (receptacle): clean an object using a receptacle
  cool (object) with (receptacle):  cool an object using a receptacle
  slice (object) with (object):     slice an object using a sharp object
"""

_NAME = r"([a-z]+ \d+)"
_FORMS = tuple(
    (verb, re.compile(pattern.replace("N", _NAME)))
    for verb, pattern in (
        ("go", "go to N"),
        ("open", "open N"),
        ("close", "close N"),
        ("take", "take N from N"),
        ("move", "move N to N"),
        ("clean", "clean N with N"),
        ("heat", "heat N with N"),
        ("cool", "cool N with N"),
        ("slice", "slice N with N"),
        ("use", "use N"),
        ("examine", "examine N"),
        ("inventory", "inventory"),
        ("look", "look"),
        ("help", "help"),
    )
)
_PUT = re.compile(rf"put {_NAME} in/on {_NAME}")
_LOOSE_PUT = re.compile(rf"put {_NAME} (?:in/on|in|on) {_NAME}")


def parse(command: str) -> tuple[str, ...]:
    """Verb and names, as `("take", "mug 1", "desk 2")`; empty if of no known form."""
    for verb, form in _FORMS:
        match = form.fullmatch(command)
        if match:
            return (verb, *match.groups())
    return ()


def normalise(command: str, loose_put: bool = False) -> str:
    """The command as the verdict compares it: outer and repeated blanks removed, and
    the older `put X in/on Y` written `move X to Y`; with `loose_put` also `in` and `on`
    alone, which no version of ALFWorld understands.

    The game itself knows no alias: it answers `put` with "Nothing happens.", as
    ALFWorld of this version does.
    """
    command = " ".join(command.split())
    match = (_LOOSE_PUT if loose_put else _PUT).fullmatch(command)
    return f"move {match[1]} to {match[2]}" if match else command


def listing(names: Sequence[str]) -> str:
    """`a mug 1, a pen 1, and a pen 2`, or `nothing`; the article is always `a`."""
    if not names:
        return "nothing"
    if len(names) == 1:
        return f"a {names[0]}"
    return f"a {', a '.join(names[:-1])}, and a {names[-1]}"


def middle(receptacles: Sequence[str]) -> str:
    """First lines of a game. To `look` before the first move the game answers the same
    with "nothing" in place of the list.
    """
    return (
        "You are in the middle of a room. Looking quickly around you, you see "
        f"{listing(receptacles)}."
    )


def opening(receptacles: Sequence[str], sentence: str) -> str:
    """First observation of a game, without the engine's banner `WELCOME`."""
    return f"{middle(receptacles)}\n\nYour task is to: {sentence}."


def facing(receptacle: str) -> str:
    """Answer to `look` at a receptacle."""
    return f"You are facing the {receptacle}. Next to it, you see nothing."


def contents(
    receptacle: str, openable: bool, is_open: bool, objects: Sequence[str]
) -> str:
    """What can be seen of a receptacle; `objects` is unused while it is closed."""
    if openable and not is_open:
        return f"The {receptacle} is closed."
    if openable:
        return f"The {receptacle} is open. In it, you see {listing(objects)}."
    return f"On the {receptacle}, you see {listing(objects)}."


def inventory(held: str | None) -> str:
    """Answer to `inventory`."""
    return EMPTY_HANDED if held is None else f"You are carrying: a {held}."


def examine_object(
    name: str, container: bool, clean: bool, hot: bool, cool: bool, sliced: bool
) -> str:
    """Answer to `examine` of a held object; a container never shows its state."""
    if container:
        return f"This is a normal {name}. In it, you see nothing."
    heat = "hot" if hot else "cool" if cool else ""
    if clean or heat:
        if heat == "cool" and not clean and not sliced:
            heat = "cold"
        state = " and ".join(word for word in (heat, "clean" if clean else "") if word)
        return f"This is a {state} {'sliced ' if sliced else ''}{name}."
    if sliced:
        return f"This is a sliced {name}."
    return f"There's nothing special about {name}."
