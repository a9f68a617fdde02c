"""A figure that is drawn again when a slider moves."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import ipywidgets
import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from pivotlab.experiments import plotting

#: Shown where a widget can't be: on a code host, in a printed notebook.
STATIC_NOTE = "(interactive in JupyterLab; what it shows stands beside it as it is)"


class Control(ipywidgets.VBox):
    """A box of widgets that leaves a readable line where widgets are not shown."""

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, Any]:
        bundle = super()._repr_mimebundle_(**kwargs)
        return bundle | {"text/plain": STATIC_NOTE}


def figure_control(draw: Callable[..., Figure], **sliders: Any) -> Control:
    """Sliders above the figure that `draw` makes of their values.

    Args:
        draw: called with one keyword per slider, inside the project's style.
        sliders: value widgets by argument name; a missing description becomes that
            name. They redraw when let go.
    """
    screen = ipywidgets.Image(format="png", layout={"max_width": "100%"})
    for name, slider in sliders.items():
        slider.description = slider.description or name
        slider.continuous_update = False
        slider.style.description_width = "7em"
        slider.layout.width = "30em"

    def redraw(_: Any = None) -> None:
        with plotting.style():
            fig = draw(**{name: slider.value for name, slider in sliders.items()})
            screen.value = _png(fig)

    for slider in sliders.values():
        slider.observe(redraw, "value")
    redraw()
    return Control([*sliders.values(), screen])


def _png(fig: Figure) -> bytes:
    """The figure as bytes; closed, or the notebook would show it a second time."""
    target = io.BytesIO()
    fig.savefig(target, format="png", dpi=fig.dpi)
    plt.close(fig)
    return target.getvalue()
