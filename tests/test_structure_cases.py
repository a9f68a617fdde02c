"""Every public failure case of `cases.csv` has a test that proves what is expected.

The cases are defects that users of public agent and RL code reported (V1 to V57, with
the thread) or that its verifiers show when read (D1 to D5). A test says which it proves
by `@pytest.mark.case(id="V21")`; run one with `pytest -m "case(id='V21')"`.
"""

import ast
import csv
from collections import defaultdict

from conftest import TIERS

from pivotlab import paths

TESTS = paths.ROOT / "tests"


def marks(function):
    """(name of the mark, value of `id` or None) of every decorator `pytest.mark.x`."""
    for decorator in function.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = ast.unparse(call.func if call else decorator)
        ids = [k.value.value for k in call.keywords if k.arg == "id"] if call else []
        yield name.removeprefix("pytest.mark."), ids[0] if ids else None


def proofs():
    """Case -> the tests of the default run that carry its mark."""
    found = defaultdict(list)
    for path in sorted(TESTS.glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                given = list(marks(node))
                if not any(name in TIERS for name, _ in given):
                    for name, case in given:
                        if name == "case":
                            found[case].append(f"{path.name}::{node.name}")
    return found


def test_every_case_is_listed_once_and_has_a_test():
    with (TESTS / "cases.csv").open(encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    listed = [row["id"] for row in rows]
    assert listed == [f"V{i}" for i in range(1, 58)] + [f"D{i}" for i in range(1, 6)]
    assert all(row["case"] and row["expected"] for row in rows)
    found = proofs()
    assert set(found) <= set(listed), "a mark names a case that is not in the table"
    assert [case for case in listed if case not in found] == []
