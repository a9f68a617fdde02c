"""Lists are put in order, and nothing but lists."""

import re

import pytest

from pivotlab.environments.protocol import Environment, Step
from pivotlab.environments.textgame import TextGame, task_ids
from pivotlab.environments.textgame.list_order import ListsInOrder, in_order

LISTED = "On the desk 1, you see a pen 10, a mug 1, and a pen 2."


@pytest.mark.parametrize(
    ("text", "sorted_text"),
    [
        (LISTED, "On the desk 1, you see a mug 1, a pen 2, and a pen 10."),
        ("On the desk 1, you see a pen 2, and a mug 1. You smile.", None),
        ("On the desk 1, you see a pen 10.", "On the desk 1, you see a pen 10."),
        ("You pick up the pen 2 from the desk 1.", None),
    ],
)
def test_lists_are_sorted_and_nothing_else(text, sorted_text):
    found = in_order(text)
    if sorted_text is not None:
        assert found == sorted_text
    assert sorted(re.findall(r"\w+", found)) == sorted(re.findall(r"\w+", text))
    assert in_order(found) == found


class Shuffled(TextGame):
    """A twin that answers with its own list order turned round."""

    def step(self, action: str) -> Step:
        return Step(LISTED, 0.0, False) if action == "look" else super().step(action)


def test_the_wrapper_is_an_environment_with_sorted_answers():
    env, task = ListsInOrder(Shuffled()), task_ids("train", 1)[0]
    assert isinstance(env, Environment)
    assert env.reset(task) == TextGame().reset(task)
    start, there = env.snapshot(), env.admissible()
    assert env.step("look").observation == in_order(LISTED)
    env.step(next(c for c in there if c.startswith("go to")))
    env.restore(start)
    assert env.admissible() == there


def test_only_the_order_of_listed_things_is_forgiven():
    first = "On the desk 1, you see a pen 2, a mug 1, and a pen 1."
    assert in_order(first) == in_order(
        "On the desk 1, you see a mug 1, a pen 1, and a pen 2."
    )
    for other in (
        "On the desk 1, you see a mug 1, a pen 1, a pen 2.",
        "On the desk 1, you see a mug 1, a pen 1, and a pen 3.",
        "On the desk 2, you see a mug 1, a pen 1, and a pen 2.",
        "On the desk 1, you see a mug 1, and a pen 1.",
    ):
        assert in_order(first) != in_order(other)
