"""A verifier by name, for notebooks and command lines.

by domain       our functional verdicts, chosen per row by its domain
paper           the same domains by the paper's rules (PivotRL section 7.1)
gym             the same domains by NeMo Gym's rules and public thresholds
exact           the demonstrated action and no other
tool name       the name of the tool, nothing else
module:Name     your own class or object, importable from here
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

from pivotlab.verifiers.dispatch import DispatchVerifier, standard
from pivotlab.verifiers.exact import ExactVerifier
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.tool_name import ToolNameVerifier

CHOICES: dict[str, Callable[[], Verifier]] = {
    "by domain": lambda: DispatchVerifier(standard()),
    "paper": lambda: DispatchVerifier(standard("paper")),
    "gym": lambda: DispatchVerifier(standard("gym")),
    "exact": ExactVerifier,
    "tool name": ToolNameVerifier,
}


def choose(name: str) -> Verifier:
    """The verifier of that name; see the module.

    Raises:
        ValueError: no such name, or what `module:Name` names cannot be had or is no
            verifier.
    """
    if name in CHOICES:
        return CHOICES[name]()
    module, colon, attribute = name.partition(":")
    if not colon:
        known = ", ".join(CHOICES)
        raise ValueError(
            f"unknown verifier {name!r}; choose one of {known}, or module:Name"
        )
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"verifier {name!r} cannot be imported ({error}); start in the folder of "
            f"{module.partition('.')[0]}.py or install its package"
        ) from error
    made = found() if isinstance(found, type) else found
    if not isinstance(made, Verifier):
        raise ValueError(
            f"verifier {name!r} needs `name`, `version` and `verify(candidate, action)`"
        )
    return made
