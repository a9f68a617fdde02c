"""A control redraws when a slider moves, and reads well where widgets are not shown."""

import ipywidgets
import matplotlib.pyplot as plt
import pytest

from pivotlab.experiments.controls.sliders import STATIC_NOTE, figure_control

SIZES = []


def draw(k, beta):
    SIZES.append((k, beta))
    fig, ax = plt.subplots(figsize=(1, 1))
    ax.plot([0, k], [0, beta])
    return fig


@pytest.fixture
def control():
    SIZES.clear()
    plt.close("all")
    sliders = {
        "k": ipywidgets.IntSlider(2, 1, 9),
        "beta": ipywidgets.FloatSlider(0.5, description="KL weight"),
    }
    return figure_control(draw, **sliders)


def test_moving_a_slider_draws_the_figure_again(control):
    k, beta, screen = control.children
    before = bytes(screen.value)
    assert before.startswith(b"\x89PNG") and SIZES == [(2, 0.5)]
    k.value = 7
    assert SIZES[-1] == (7, 0.5) and bytes(screen.value) != before
    k.value = 2
    assert bytes(screen.value) == before
    assert (k.description, beta.description) == ("k", "KL weight")


def test_no_figure_stays_open_to_be_shown_twice(control):
    assert plt.get_fignums() == []


def test_without_widgets_a_reader_sees_a_sentence(control):
    bundle = control._repr_mimebundle_()
    assert bundle["text/plain"] == STATIC_NOTE
    assert "application/vnd.jupyter.widget-view+json" in bundle
