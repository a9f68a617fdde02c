"""The twin answers every recorded game exactly as ALFWorld's engine did."""

import sys
from collections import Counter
from pathlib import Path

import pytest

from pivotlab.environments.textgame.games import TASK_TYPES, make_game

sys.path.insert(0, str(Path(__file__).parent / "golden" / "textgame"))
import replay  # noqa: E402

ROWS = replay.transcripts()


@pytest.fixture(scope="module")
def replayed() -> dict[str, tuple[Counter, list[str]]]:
    """Counts and disagreements by task type."""
    found = {kind: (Counter(), []) for kind in TASK_TYPES}
    for row in ROWS:
        counts, wrong = replay.replay(row)
        found[row["game"]["task_type"]][0].update(counts)
        found[row["game"]["task_type"]][1].extend(wrong)
    return found


@pytest.mark.parametrize("kind", TASK_TYPES)
def test_every_observation_admissible_set_and_won_flag_is_equal(replayed, kind):
    counts, wrong = replayed[kind]
    assert not wrong, "\n".join(wrong[:5])
    assert counts["games"] >= 10
    for what in ("observations_equal", "admissible_equal", "won_equal"):
        assert counts[what] == counts["steps"] >= 40 * counts["games"]


@pytest.mark.parametrize("kind", TASK_TYPES)
def test_the_oracle_takes_as_many_turns_as_the_planner(replayed, kind):
    counts, _ = replayed[kind]
    assert counts["plans_equal"] == counts["plans"] >= 20


def test_the_transcripts_show_everything_that_can_happen(replayed):
    counts = sum((c for c, _ in replayed.values()), Counter())
    assert counts["games"] >= 60 and counts["steps"] >= 2400
    assert counts["inadmissible"] >= 400 and counts["won"] >= 200
    least = {
        "look": 100,
        "look_at_receptacle": 100,
        "examine_receptacle": 100,
        "examine_object": 100,
        "inventory": 100,
        "help": 50,
        "use": 20,
        "clean": 20,
        "heat": 20,
        "cool": 20,
        "slice": 20,
    }
    assert {what: counts[what] for what in least if counts[what] < least[what]} == {}
    forms = {replay.form(text) for row in ROWS for _, text, _, _ in row["steps"]}
    states = ("hot", "cold", "clean", "hot and clean", "cool and clean", "sliced")
    states += ("hot sliced", "cool sliced", "clean sliced", "hot and clean sliced")
    states += ("cool and clean sliced",)
    wanted = {f"This is a {state} THING." for state in states} | {
        "This is a normal THING. In it, you see nothing.",
        "There's nothing special about THING.",
        "You are in the middle of a room. Looking quickly around you, you see nothing.",
        "You are facing the THING. Next to it, you see nothing.",
        "You are not carrying anything.",
        "Nothing happens.",
    }
    assert wanted - forms == set()


def test_ids_still_mean_the_recorded_games():
    for row in ROWS:
        assert make_game(row["task"]) == replay.game_of(row)


def test_a_disagreement_would_be_seen():
    row = {**ROWS[0], "steps": [list(step) for step in ROWS[0]["steps"][:3]]}
    row["steps"][0][1] += " And more."
    row["steps"][1][2] = row["steps"][1][2][1:]
    row["steps"][2][3] = not row["steps"][2][3]
    row["plans"] = {"0": row["plans"]["0"] + 1}
    counts, wrong = replay.replay(row)
    assert [counts[w] for w in ("observations_equal", "admissible_equal")] == [2, 2]
    assert counts["won_equal"] == 2 and counts["plans_equal"] == 0 and len(wrong) == 4
