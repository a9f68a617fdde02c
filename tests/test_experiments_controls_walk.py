"""A walk marks one line at a time and never leaves its steps."""

import pytest

from pivotlab.experiments.controls.walk import Step, page, steps_table, walk

LINES = ("take a <turn>", "  look at it", "go on")
STEPS = [Step(0, "turn 3"), Step(1, "a\nb"), Step(1, "c"), Step(2, "done & over")]


def test_the_table_has_every_step_in_order():
    table = steps_table(LINES, STEPS).data
    assert list(table.index) == [1, 2, 3, 4]
    assert list(table["line"]) == ["take a <turn>", "look at it", "look at it", "go on"]
    assert table["here"][2] == "a\nb"


def test_buttons_and_slider_move_within_the_walk():
    bar, screen = walk(LINES, STEPS).children
    place, back, forth = bar.children
    back.click()
    assert place.value == 1 and "turn 3" in screen.value
    for _ in range(10):
        forth.click()
    assert place.value == 4 and "done &amp; over" in screen.value
    back.click()
    assert place.value == 3 and screen.value == page(LINES, STEPS[2])


def test_one_line_is_marked_and_text_is_escaped():
    html = page(LINES, STEPS[0])
    assert html.count("▶") == 1 and "&lt;turn&gt;" in html and "<turn>" not in html
    assert html.index("▶") < html.index("&lt;turn&gt;") < html.index("look at it")


@pytest.mark.parametrize("steps", [[], [Step(3, "beyond")], [Step(-1, "before")]])
def test_a_walk_off_the_lines_is_refused(steps):
    with pytest.raises(ValueError, match=r"lines 0\.\.2"):
        walk(LINES, steps)
