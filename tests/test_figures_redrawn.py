"""Figures drawn twice, the second time in a fresh process, have the same bytes; and
they show nothing that is not in the records."""

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from redrawn import COMMITTED, NEEDS_MODEL, draw_all, drawings

from pivotlab import paths
from pivotlab.experiments import plotting

#: First characters of a figure's name -> the record table that holds its arms.
ARMS = {"05": "pivotrl_arms", "07": "pivotopd_arms"}


@pytest.mark.parametrize(
    "step", [14, pytest.param(1, marks=pytest.mark.slow)], ids=["some PDF", "all PDF"]
)
def test_every_figure_is_the_same_bytes_in_a_fresh_process(tmp_path, monkeypatch, step):
    monkeypatch.setitem(plotting._STYLE, "savefig.dpi", 40)
    names = draw_all(tmp_path / "one", step)
    script = Path(__file__).with_name("redrawn.py")
    command = [sys.executable, str(script), str(tmp_path / "two"), str(step)]
    # Another order of sets, if any figure depends on one.
    fresh = os.environ | {"PYTHONHASHSEED": "7"}
    done = subprocess.run(command, env=fresh, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == names
    drawn = sorted((tmp_path / "one").glob("*.p*"))
    assert len(drawn) == len(names) + -(-len(names) // step)
    for first in drawn:
        second = tmp_path / "two" / first.name
        assert first.read_bytes() == second.read_bytes(), first.name


def test_every_committed_figure_is_redrawn_or_needs_a_model():
    index = pd.read_csv(COMMITTED / "index.csv")
    names = {Path(figure).stem for figure in index["figure"]}
    left = {n for n in names - set(drawings()) if not NEEDS_MODEL.fullmatch(n)}
    assert not left, f"nobody redraws {', '.join(sorted(left))}"


@pytest.mark.parametrize("start", ARMS)
def test_every_arm_of_a_figure_is_in_the_records(start):
    known = set(pd.read_csv(paths.RESULTS / f"{ARMS[start]}.csv")["arm"])
    seen = 0
    for path in sorted(COMMITTED.glob(f"{start}_*.csv")):
        table = pd.read_csv(path)
        if "arm" in table:
            gone = set(table["arm"]) - known
            assert not gone, f"{path.name} shows arms without a record: {sorted(gone)}"
            seen += 1
    assert seen >= 2
