"""Actions in a model's text."""

import pytest

from pivotlab.environments.shop.actions import click, plain, read, search


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("search[red mat]", ("search", "red mat")),
        ("click[Buy Now]", ("click", "Buy Now")),
        ("I think so.\nAction: click[ b1 ]", ("click", "b1")),
        ("Action 2: search[a]\nAction 3: click[b]", ("search", "a")),
        ("CLICK[6.76 fl oz (pack of 1)]", ("click", "6.76 fl oz (pack of 1)")),
        ("search[]", ("search", "")),
        ("I would click[red] now", None),
        ("buy[red]", None),
        ("", None),
    ],
)
def test_read(text, action):
    assert read(text) == action


def test_what_is_written_is_read():
    assert read(search("red mat")) == ("search", "red mat")
    assert read(click("< prev")) == ("click", "< prev")
    assert plain("  Buy  NOW ") == "buy now"
