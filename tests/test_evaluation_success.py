import pandas as pd
import pytest
from test_rollouts_episodes import Corridor, Scripted
from test_rollouts_prompts import make_tokenizer

from pivotlab.engines.noise import derive_seed
from pivotlab.evaluation.success import compare, play_games, success_table
from pivotlab.intervals import paired_difference, wilson
from pivotlab.rendering import Renderer
from pivotlab.rollouts import Settings


class Watching(Scripted):
    """A scripted player that notes what it was asked."""

    def __init__(self, renderer, lines):
        super().__init__(renderer, lines)
        self.asked = []

    def take_turns(self, episodes, prompts, seeds, turn, sampling):
        self.asked.append((sampling.temperature, tuple(seeds)))
        return super().take_turns(episodes, prompts, seeds, turn, sampling)


LINES = [["go right"] * 4, ["dance", "go right", "dance", "dance"]]


@pytest.fixture(scope="module")
def played():
    renderer = Renderer(make_tokenizer())
    player = Watching(renderer, LINES)
    games = play_games(
        player,
        renderer,
        Corridor,
        {"seen": ["1", "3"], "unseen": ["4", "1"]},
        Settings(max_turns=4),
        seed=5,
    )
    return games, player


def test_one_row_per_game_with_its_outcome(played):
    games, player = played
    assert len(games) == 8
    first = games.set_index(["split", "decoding", "task"])
    assert first.loc[("seen", "t1", "1"), ["won", "turns", "refused"]].tolist() == [
        True,
        1,
        0,
    ]
    assert first.loc[("seen", "t1", "3"), ["won", "turns", "refused"]].tolist() == [
        False,
        4,
        3,
    ]
    assert {t for t, _ in player.asked} == {0.0, 1.0}
    assert player.asked[0][1] == (derive_seed(5, 0), derive_seed(5, 1))
    assert (games["tokens"] > 0).all() and (games["seconds"] > 0).all()


def test_table_by_hand(played):
    table = success_table(played[0]).set_index(["split", "decoding"])
    row = table.loc[("unseen", "greedy")]
    assert (row["n"], row["success"], row["rollout_turns"]) == (2, 1.0, 6)
    assert (row["lo"], row["hi"]) == wilson(2, 2)[1:]
    # The second player refuses its first of two turns; the first player none of four.
    assert row["refused"] == pytest.approx(1 / 6)
    row = table.loc[("seen", "t1")]
    assert (row["success"], row["turns"], row["refused"]) == (0.5, 2.5, 0.6)
    assert row["refused_lo"] <= 0.6 <= row["refused_hi"]


def test_table_by_task_type():
    games = pd.DataFrame(
        {
            "split": "s",
            "decoding": "greedy",
            "task_type": ["heat", "cool", "heat"],
            "won": [True, False, False],
            "turns": [3, 30, 30],
            "refused": [0, 30, 15],
            "tokens": [9, 90, 90],
            "seconds": 0.5,
        }
    )
    table = success_table(games, ["task_type"]).set_index("task_type")
    assert table["n"].to_dict() == {"cool": 1, "heat": 2}
    assert table.loc["heat", "success"] == 0.5
    assert table.loc["heat", "refused"] == pytest.approx(15 / 33)
    assert table.loc["heat", "seconds"] == 1.0


def outcomes(won, tasks=None):
    return pd.DataFrame(
        {
            "split": "s",
            "decoding": "greedy",
            "seed": 0,
            "task": tasks or [str(i) for i in range(len(won))],
            "won": won,
        }
    )


def test_compare_pairs_games_whatever_their_order():
    a, b = [True, True, False, True], [False, True, False, True]
    table = compare(outcomes(a), outcomes(b).iloc[::-1])
    gap = paired_difference(a, b)
    assert table.loc[0, ["n", "gained", "lost"]].tolist() == [4, 1, 0]
    assert table.loc[0, ["difference", "lo", "hi"]].tolist() == list(gap)


def test_compare_refuses_other_games():
    with pytest.raises(ValueError, match="unmatched.*'x'"):
        compare(outcomes([True]), outcomes([True], ["x"]))
    with pytest.raises(ValueError, match="each game once"):
        compare(outcomes([True, True], ["0", "0"]), outcomes([True, True], ["0", "0"]))


def test_empty_split_is_named():
    renderer = Renderer(make_tokenizer())
    with pytest.raises(ValueError, match="'seen'"):
        play_games(
            Scripted(renderer, LINES), renderer, Corridor, {"seen": []}, Settings()
        )
