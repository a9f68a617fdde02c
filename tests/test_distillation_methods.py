"""The table: sixteen methods, each with its source and an honest word on exactness."""

import inspect
import re

import pytest

from pivotlab.distillation import methods_advantages, methods_losses
from pivotlab.distillation.methods import METHODS, VARIANTS, get_method

THIRTEEN = {
    "grpo", "opsd", "rlsd", "sdar", "turn_opd", "tcod", "sod", "step_opsd",
    "agent_opsd", "skill_grpo", "skill_sd", "opid", "pivotrl",
}  # fmt: skip


def test_the_thirteen_and_the_three_beside_them():
    assert set(METHODS) == THIRTEEN | {"gigpo", "sdpo", "opd"}
    assert all(name == method.name for name, method in METHODS.items())
    assert len({m.title for m in METHODS.values()}) == 16
    assert not set(METHODS) & set(VARIANTS)


@pytest.mark.parametrize("method", [*METHODS.values(), *VARIANTS.values()])
def test_every_row_says_what_it_is(method):
    assert re.fullmatch(r"\d{4}\.\d{5}", method.arxiv) and method.equation
    functions = [method.rule, *([method.auxiliary] if method.auxiliary else [])]
    main = functions[-1] if method.auxiliary else method.rule
    text = " ".join(inspect.getdoc(main).split())
    if method.exactness == "description":
        assert re.search(r"re-implementation|variant of ours", text, re.IGNORECASE)
        assert method.departure
    assert set(method.coefficients) <= set(inspect.signature(method.rule).parameters)
    if method.auxiliary:
        known = inspect.signature(method.auxiliary).parameters
        assert set(method.auxiliary_coefficients) <= set(known)


def test_every_public_function_names_its_source():
    known = {m.rule for m in METHODS.values()} | {methods_losses.sdpo}
    known |= {m.auxiliary for m in METHODS.values() if m.auxiliary}
    for module in (methods_advantages, methods_losses):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function in known and name != "nothing":
                assert re.search(r"\d{4}\.\d{5}", function.__doc__), name


def test_an_unknown_name_is_told_the_known_ones():
    assert get_method("sdar_reverse_kl").auxiliary is methods_losses.sdar_reverse_kl
    with pytest.raises(ValueError, match="unknown method 'sdra'; known.*sdar"):
        get_method("sdra")
