"""The state of a purchase is one value: hashable, and never changed in place."""

from pivotlab.environments.shop.state import State


def test_a_purchase_starts_on_the_search_page():
    assert State() == ("", 1, "", (), "", None)


def test_states_are_values():
    shown = State(query="lamp", asin="b1", chosen=(("color", "red"),))
    again = State("lamp", 1, "b1", (("color", "red"),))
    assert shown == again and hash(shown) == hash(again)
    assert shown._replace(score=0.5) != shown and shown.score is None
