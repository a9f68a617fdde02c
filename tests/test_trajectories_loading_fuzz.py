"""Readers are total: whatever comes in, a report comes out."""

import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trajectory_fuzz import check, run_garbled, run_mutations

from pivotlab import paths


def test_mutated_records_never_raise():
    run_mutations(1500, seed=0)


def test_garbled_files_never_raise(tmp_path):
    run_garbled(250, 0, tmp_path)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(json_values)
@settings(max_examples=150)
def test_any_json_value_is_reported(record):
    check(record)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_hundred_thousand_inputs(seed, tmp_path):
    """10 x (9,500 mutated records + 600 garbled files), without the type checks."""
    code = (
        "import sys; from pathlib import Path; sys.path.insert(0, sys.argv[1]);"
        "from trajectory_fuzz import run_garbled, run_mutations;"
        "run_mutations(9_500, int(sys.argv[3]));"
        "run_garbled(600, int(sys.argv[3]), Path(sys.argv[2]))"
    )
    arguments = (str(paths.ROOT / "tests"), str(tmp_path), str(100 + seed))
    subprocess.run([sys.executable, "-c", code, *arguments], check=True)
