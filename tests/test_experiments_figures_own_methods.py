"""The grid of methods: titles, intervals, n and seeds, and what was not run."""

import pytest

from pivotlab.experiments.figures import own_methods
from pivotlab.experiments.methods.arms import METHOD_ARMS, TABLE
from pivotlab.experiments.own_records import OwnRecords

HEAD = "environment,method,seed,steps,n,success\n"
ROWS = """shop,base,0,0,50,0.1
textgame,base,0,0,60,0.2
textgame,grpo,0,20,60,0.4
textgame,grpo,1,20,60,0.6
shop,grpo,0,20,50,0.3
textgame,sdar,0,20,60,0.5
textgame,sdar,1,20,60,0.5
"""


@pytest.fixture
def own(tmp_path):
    def write(rows=ROWS):
        (tmp_path / "methods.csv").write_text(HEAD + rows)
        return OwnRecords(tmp_path)

    return write


def test_rows_are_titles_in_the_order_of_the_table(own):
    rows = own_methods.method_grid(own())
    titles = list(dict.fromkeys(rows["row"]))
    assert titles == [arm.title for arm in METHOD_ARMS.values() if arm.name in TABLE]
    assert not set(rows["row"]) & set(METHOD_ARMS), "no code names"


def test_columns_say_tasks_and_seeds(own):
    rows = own_methods.method_grid(own())
    assert list(dict.fromkeys(rows["column"])) == [
        "household game\nn = 60 tasks, seeds: 2",
        "shop\nn = 50 tasks, seeds: 1",
    ]


def test_means_have_intervals_and_gaps_a_reason(own):
    rows = own_methods.method_grid(own())
    game = rows[rows["column"].str.startswith("household")].set_index("row")
    grpo = game.loc["GRPO"]
    assert grpo["value"] == pytest.approx(50) and grpo["seeds"] == 2
    assert grpo["lo"] < 40 and grpo["hi"] > 60
    shop = rows[rows["column"].str.startswith("shop")].set_index("row")
    assert shop.loc["SDAR", "note"] == "not run" and shop.loc["GRPO", "note"] == ""
    missing = rows["value"].isna()
    assert (rows.loc[missing, "note"] == "not run").all() and missing.sum() > 20


def test_the_title_says_how_long(own, tmp_path):
    assert own_methods.method_steps(own()) == " after 20 steps"
    assert own_methods.method_steps(OwnRecords(tmp_path / "none")) == ""


def test_doubled_rows_and_unknown_methods_are_refused(own):
    with pytest.raises(ValueError, match="several rows for one environment, method"):
        own_methods.method_grid(own(ROWS + "shop,grpo,0,20,50,0.4\n"))
    with pytest.raises(ValueError, match="unknown methods: grop"):
        own_methods.method_grid(own("shop,grop,0,20,50,0.4\n"))


def test_nothing_recorded_gives_nothing(tmp_path):
    assert own_methods.method_grid(OwnRecords(tmp_path)).empty
