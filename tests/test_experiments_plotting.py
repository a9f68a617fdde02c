"""Figures: the same bytes from two processes; style stays inside its block."""

import os
import subprocess
import sys
import textwrap

import matplotlib as mpl

mpl.use("Agg")

import numpy as np
import pandas as pd
import pytest

from pivotlab.experiments import plotting

SCRIPT = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    import matplotlib
    matplotlib.use("Agg")
    import numpy as np
    import pandas as pd
    from pivotlab.experiments import plotting

    def draw(folder):
        x = np.linspace(0, 1, 20)
        with plotting.style():
            fig, ax = plotting.figure("column", ratio=0.6)
            plotting.band(ax, x, x, x - 0.1, x + 0.1, r"mean $\\mu$", n=12)
            ax.set_xlabel("pass rate")
            ax.legend()
            data = pd.DataFrame({"x": x, "mean": x})
            return plotting.save_figure(fig, "demo", "A line.", data, Path(folder))

    draw(sys.argv[1])
    """
)


def contents(folder):
    return {p.name: p.read_bytes() for p in sorted(folder.iterdir())}


def test_two_saves_give_identical_bytes_across_processes(tmp_path):
    saved = []
    for seed in ("1", "2"):
        folder = tmp_path / seed
        subprocess.run(
            [sys.executable, "-c", SCRIPT, str(folder)],
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed},
        )
        saved.append(contents(folder))
    assert sorted(saved[0]) == ["demo.csv", "demo.md", "demo.pdf", "demo.png"]
    assert saved[0] == saved[1]
    assert b"matplotlib" not in saved[0]["demo.png"]


def test_default_folder_follows_the_home(tmp_path, monkeypatch):
    monkeypatch.setenv("PIVOTLAB_HOME", str(tmp_path))
    with plotting.style():
        fig, _ = plotting.figure()
        path = plotting.save_figure(fig, "x", "c", pd.DataFrame({"a": [1.0]}))
    assert path == tmp_path / "figures" / "x.png"
    assert (tmp_path / "figures/x.csv").read_text() == "a\n1\n"
    assert (tmp_path / "figures/x.md").read_text() == "c\n"


def test_style_ends_with_its_block():
    before = mpl.rcParams["font.size"]
    with plotting.style():
        assert mpl.rcParams["font.size"] == 8.0
        fig, _ = plotting.figure("column", ratio=0.5)
        assert tuple(fig.get_size_inches()) == (3.4, 1.7)
    assert mpl.rcParams["font.size"] == before


def test_display_that_a_backend_switches_on_survives_the_block():
    with plotting.style():
        mpl.interactive(True)  # what a notebook's backend does at its first figure
    try:
        assert mpl.is_interactive()
    finally:
        mpl.interactive(False)


def test_tidy_rows_come_back_series_by_series_in_order():
    table = pd.concat(
        [
            plotting.series("a", "second", [1, 2], [3.0, 4.0]),
            plotting.series("b", "first", [1], [2.0], lo=[1.0], hi=[3.0]),
            plotting.series("a", "first", range(2), np.zeros(2)),
        ]
    )
    assert table.columns.tolist() == ["panel", "series", "x", "y", "lo", "hi"]
    assert [name for name, _ in plotting.pick(table, "a")] == ["second", "first"]
    ((_, rows),) = plotting.pick(table, "b")
    assert rows[["lo", "hi"]].to_numpy().tolist() == [[1.0, 3.0]]
    assert table["lo"].dtype == float and table["lo"].isna().sum() == 4


def test_series_differ_by_marker_and_dash_as_well_as_colour():
    with plotting.style():
        _, ax = plotting.figure("column")
        lines = [ax.plot([0, 1], [i, i])[0] for i in range(7)]
    for read in ("get_color", "get_marker", "get_linestyle"):
        looks = {str(getattr(line, read)()) for line in lines[:4]}
        assert len(looks) == 4
    looks = {(line.get_color(), line.get_marker()) for line in lines}
    assert len(looks) == 7


def test_intervals_carry_n_and_their_limits():
    with plotting.style():
        _, ax = plotting.figure("column")
        x = np.arange(3)
        plotting.band(ax, x, x, x - 1, x + 2, "band", n=1234)
        plotting.interval_points(ax, x, [1, 2, 3], [0, 1, 2], [3, 4, 5], "dots", n=7)
        labels = ax.get_legend_handles_labels()[1]
    assert labels == ["band (n = 1,234)", "dots (n = 7)"]
    filled = ax.collections[0].get_paths()[0].vertices
    assert filled[:, 1].min() == -1 and filled[:, 1].max() == 4
    segments = ax.collections[1].get_segments()
    assert [tuple(s[:, 1]) for s in segments] == [(0, 3), (1, 4), (2, 5)]


@pytest.mark.parametrize(
    "name, caption, rows, message",
    [
        ("a/b", "c", [1], "must be letters"),
        ("a", " ", [1], "needs a caption"),
        ("a", "c", [], "the data behind it"),
    ],
)
def test_incomplete_figures_are_refused(tmp_path, name, caption, rows, message):
    with plotting.style():
        fig, _ = plotting.figure()
    with pytest.raises(ValueError, match=message):
        plotting.save_figure(fig, name, caption, pd.DataFrame({"x": rows}), tmp_path)
    assert not list(tmp_path.iterdir())


def test_unknown_width_is_named():
    with pytest.raises(ValueError, match="unknown width 'half'; choose one of column"):
        plotting.figure("half")
