import pandas as pd
import pytest
from test_rollouts_episodes import Corridor, run
from test_rollouts_prompts import make_tokenizer

from pivotlab.engines.protocol import Sample
from pivotlab.evaluation.recovery import (
    INTERVENTIONS,
    counterfactual_replay,
    counterfactual_table,
    first_mistakes,
    recovery_curve,
    recovery_replay,
    recovery_table,
)
from pivotlab.rendering import Renderer
from pivotlab.rollouts import Settings, Start

#: Goal 2; the first mistake is turn 1, turns 3 and 4 are later and not pivotal.
FAILED = ["go right", "go left", "go left", "dance", "go right", "dance"]
#: Goal 2; the mistake comes last.
LATE = ["go right", "dance", "dance", "dance", "dance", "go left"]


class Says:
    """A player whose action is a function of (seed, turn)."""

    def __init__(self, renderer, rule):
        self.renderer, self.rule, self.turns = renderer, rule, []

    def take_turns(self, episodes, prompts, seeds, turn, sampling):
        self.turns += turn
        said = [self.rule(s, t) for s, t in zip(seeds, turn, strict=True)]
        end = (self.renderer.end_of_turn,)
        ids = [tuple(self.renderer.encode(a)) + end for a in said]
        return [Sample(i, False, (-0.1,) * len(i)) for i in ids]

    def forget(self, episodes):
        pass


@pytest.fixture(scope="module")
def renderer():
    return Renderer(make_tokenizer())


@pytest.fixture(scope="module")
def mistakes(renderer):
    lines = [FAILED, ["go right"] * 2, ["dance"] * 6, LATE]
    starts = [Start("2"), Start("2"), Start("2"), Start("2")]
    rollouts, _ = run(renderer, lines, starts, max_turns=6)
    return first_mistakes(rollouts, Corridor)


def test_only_failed_episodes_with_a_pivot_count(mistakes):
    assert [m.turn for m in mistakes] == [1, 5]
    assert [m.remaining for m in mistakes] == [2, 2]
    assert mistakes[0].path.remaining == (2, 1, 2, 3, 3, 2, 2)


def replay(renderer, mistakes, rule, **options):
    return counterfactual_replay(
        Says(renderer, rule),
        renderer,
        Corridor,
        mistakes,
        Settings(max_turns=6),
        **{"repeats": 3, **options},
    )


def test_interventions_change_what_they_say(renderer, mistakes):
    plays = replay(renderer, mistakes[:1], lambda seed, turn: "dance")
    won = plays.groupby("intervention", sort=False)["won"].mean()
    assert list(won.index) == list(INTERVENTIONS)
    # From the pivot one right step is missing, after it two; the player never walks.
    assert won.to_dict() == {
        "none": 0.0,
        "resampled at the pivot": 0.0,
        "oracle at a later turn": 0.0,
        "oracle at the pivot": 1.0,
        "mistake kept, 2 turns forced": 1.0,
        "mistake kept, 3 turns forced": 1.0,
    }
    turns = plays.groupby("intervention")["turns"].unique().map(list)
    assert turns["none"] == [4] and turns["resampled at the pivot"] == [5]
    assert turns["oracle at the pivot"] == [1]
    assert turns["mistake kept, 3 turns forced"] == [2]
    assert set(turns["oracle at a later turn"]) <= {3, 2, 1}


def test_a_player_that_walks_recovers_from_everywhere(renderer, mistakes):
    plays = replay(renderer, mistakes[:1], lambda seed, turn: "go right")
    won = plays.groupby("intervention")["won"].mean()
    assert won.drop("oracle at a later turn").eq(1.0).all()


def test_a_mistake_on_the_last_turn_leaves_nothing_to_play(renderer, mistakes):
    plays = replay(renderer, mistakes, lambda seed, turn: "go right")
    late = plays[plays["trajectory"] == 1].set_index("intervention")
    assert "oracle at a later turn" not in late.index
    assert not late.loc["none", "won"].any() and (late.loc["none", "turns"] == 0).all()
    assert late.loc["oracle at the pivot", "won"].all()
    table = counterfactual_table(plays).set_index("intervention")
    assert table.loc["none", ["trajectories", "n", "success"]].tolist() == [2, 6, 0.5]
    assert table.loc["oracle at a later turn", "trajectories"] == 1
    assert (table.loc["none", "lo"], table.loc["none", "hi"]) == (0.0, 1.0)


def test_plays_are_independent_and_repeatable(renderer, mistakes):
    def coin(seed, turn):
        return "go right" if (seed >> turn) % 3 else "dance"

    options = {"interventions": ["none"], "repeats": 40}
    first = replay(renderer, mistakes[:1], coin, **options)
    assert 0 < first["won"].mean() < 1
    pd.testing.assert_frame_equal(
        first, replay(renderer, mistakes[:1], coin, **options)
    )
    other = replay(renderer, mistakes[:1], coin, seed=1, **options)
    assert (first["won"] != other["won"]).any()


def test_unknown_intervention_is_named(renderer, mistakes):
    with pytest.raises(ValueError, match="unknown intervention 'pray'"):
        replay(renderer, mistakes, lambda s, t: "dance", interventions=["pray"])


def recover(renderer, mistakes, rule):
    player = Says(renderer, rule)
    return recovery_replay(
        player, renderer, Corridor, mistakes, Settings(max_turns=6), repeats=2
    )


def test_recovery_replay_plays_on_after_the_mistake(renderer, mistakes):
    def late_start(seed, turn):
        return "go right" if turn >= 3 else "dance"

    replays = recover(renderer, mistakes, late_start)
    assert replays["won"].tolist() == [True, True, False, False]
    assert replays["turns"].tolist() == [3, 3, 0, 0]
    assert replays["remaining"].tolist() == [2] * 4
    curve = recovery_curve(replays, most=4)
    assert curve["recovered"].tolist() == [0.0, 0.0, 0.0, 0.5, 0.5]
    assert curve["lo"].iloc[-1] == 0.0 and curve["hi"].iloc[-1] == 1.0


def test_recovery_table_by_hand(renderer, mistakes):
    base = recover(renderer, mistakes, lambda s, t: "dance")
    better = recover(renderer, mistakes, lambda s, t: "go right")
    row = recovery_table(better, base).iloc[0]
    assert row[["mistakes", "repeats", "recovered", "rate"]].tolist() == [2, 2, 2, 0.5]
    assert row[["better", "worse", "same"]].tolist() == [1, 0, 1]
    assert row[["turns", "optimal"]].tolist() == [2.0, 2.0]
    assert recovery_table(base, better).iloc[0]["worse"] == 1
    with pytest.raises(ValueError, match="can't be compared"):
        recovery_table(better, base[base["trajectory"] == 0])
