"""The table and the points, from a record table alone."""

import pandas as pd
import pytest

from pivotlab.experiments.figures import methods as figures

ROWS = [
    {"environment": "textgame", "method": m, "seed": s, "steps": 10, "n": 100}
    | {"success": v, "lo": v - 0.1, "hi": v + 0.1, "score": v, "turns": 12}
    | {"retention": 0.98, "seconds": 10, "reads": "none", "exactness": e}
    for m, s, v, e in (
        ("tcod", 0, 0.5, "description"),
        ("base", 0, 0.4, ""),
        ("grpo", 0, 0.5, "published formula"),
        ("grpo", 1, 0.7, "published formula"),
    )
]
OTHER = {**ROWS[0], "environment": "shop", "success": 0.9}
RECORDS = pd.DataFrame([*ROWS, OTHER]).astype(str)


def test_the_table_has_means_intervals_and_one_environment():
    table = figures.methods_table(RECORDS, "textgame")
    assert list(table.index) == ["Base", "GRPO", "TCOD"]
    assert table.loc["GRPO", "success"].startswith("0.600 [")
    assert table.loc["GRPO", "seeds"] == 2 and table.loc["GRPO", "n"] == 200
    assert table.loc["TCOD", "success"].startswith("0.500 [0.404")
    assert table.loc["TCOD", "loss as"] == "description"
    assert "schedule" in table.loc["TCOD", "departure"]


def test_runs_of_two_lengths_are_not_compared():
    longer = {**ROWS[0], "seed": 1, "steps": 20}
    for draw in (figures.methods_table, figures.success_points):
        with pytest.raises(ValueError, match="mix runs of 10 and 20 steps"):
            draw(pd.DataFrame([*ROWS, longer]).astype(str), "textgame")
    base = {**ROWS[1], "steps": 20}
    figures.methods_table(pd.DataFrame([ROWS[0], base]).astype(str), "textgame")


def test_points_of_descriptions_are_open():
    fig, cells = figures.success_points(RECORDS, "textgame")
    assert list(cells["method"]) == ["base", "grpo", "tcod"]
    (ax,) = fig.axes
    names = [label.get_text() for label in ax.get_yticklabels()]
    assert names == ["Base (1 × 100)", "GRPO (2 × 100)", "TCOD (1 × 100)"]
    faces = [line.get_markerfacecolor() for line in ax.lines if len(line.get_xdata())]
    assert "white" in faces and len([f for f in faces if f == "white"]) == 1


def test_the_papers_rows_come_in_our_order():
    printed = pd.DataFrame({"ALF avg": [1.0, 2.0]}, index=["SDAR", "GRPO"])
    found = figures.reported_beside(printed, ("base", "grpo", "sdar", "gigpo"))
    assert list(found.index) == ["GRPO", "SDAR"]


def test_an_environment_without_records_has_an_empty_table():
    with pytest.raises(KeyError):
        figures.methods_table(RECORDS, "search_qa")
