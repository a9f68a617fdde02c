"""The same rollout under all methods: the numbers say what the picture claims."""

import pytest

from pivotlab.distillation.methods import METHODS
from pivotlab.experiments import plotting
from pivotlab.experiments.figures.methods import zoo_figure
from pivotlab.experiments.methods.comparison import Stage
from pivotlab.experiments.methods.zoo import play_group, view_for, zoo_table
from pivotlab.experiments.presets import from_params


@pytest.fixture(scope="module")
def zoo(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIVOTLAB_HOME", str(tmp_path_factory.mktemp("home")))
        stage = Stage("textgame", from_params("smoke"))
        group = play_group(stage)
        views = {name: view_for(name, stage, group) for name in METHODS}
        yield group, views, zoo_table(stage, group, views)


def test_all_methods_see_the_same_tokens(zoo):
    group, views, table = zoo
    rollout = group.rollouts[group.shown]
    assert set(table["method"]) == set(METHODS)
    assert (table.groupby("method").size() == sum(rollout.mask)).all()
    turns = next(iter(views.values())).turn
    assert all((view.turn == turns).all() for view in views.values())


def test_the_shown_rollout_was_lost_in_a_group_that_was_not(zoo):
    group, views, table = zoo
    rewards = [r.reward for r in group.rollouts]
    assert rewards[group.shown] < 1 and max(rewards) >= 1
    assert table[table["method"] == "grpo"]["weight"].nunique() == 1
    assert (table[table["method"] == "grpo"]["weight"] < 0).all()


def test_multiplying_methods_keep_the_sign_of_the_outcome(zoo):
    _, _, table = zoo
    for name in ("rlsd", "step_opsd", "agent_opsd"):
        assert (table[table["method"] == name]["weight"] < 0).all()
        assert table[table["method"] == name]["weight"].nunique() > 1
    sdar = table[table["method"] == "sdar"]
    assert (sdar["added"] > -1e-6).all(), "it raises every token it is asked about"
    asked = sdar[(sdar["gap"] != 0) & (sdar["gap"] > -1)]
    assert len(asked) and (asked["added"] > 0).all()


def test_the_figure_has_a_panel_a_method(zoo):
    with plotting.style():
        fig = zoo_figure(zoo[2])
    titles = [ax.get_title(loc="left") for ax in fig.axes]
    for name, method in METHODS.items():
        own = [t for t in titles if t.startswith(f"{method.title}\n")]
        assert len(own) == 1, name
    assert any(t.startswith("RLSD\nA + ") for t in titles)
    assert any(t.startswith("GRPO\n±") for t in titles)
