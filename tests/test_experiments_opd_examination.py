"""The same games and mistakes stand before every policy and every teacher."""

import pandas as pd
import pytest

from pivotlab.distillation.teachers import OracleTeacher
from pivotlab.environments.textgame import TextGame
from pivotlab.evaluation.diagnosis import agreement
from pivotlab.experiments.opd.examination import (
    EpisodeExamination,
    curve_rows,
    detections,
)
from pivotlab.experiments.opd.honest_teacher import HonestTeacher
from pivotlab.experiments.presets import from_params
from pivotlab.models.registry import load_model


@pytest.fixture(scope="module")
def examination():
    base, tokenizer = load_model("tiny")
    preset = from_params("smoke", eval_games=24, max_turns=10)
    return EpisodeExamination(preset, base, tokenizer)


def test_teachers_are_judged_on_the_first_mistake(examination):
    mistakes = examination.mistakes
    assert mistakes
    oracle = agreement(detections(mistakes, OracleTeacher(TextGame()), 5)).iloc[0]
    assert oracle["accuracy"] == 1.0 and oracle["random"] < 1.0
    honest = agreement(detections(mistakes, HonestTeacher(), 5, readings=2)).iloc[0]
    assert honest["readings"] == 2 * len(mistakes)
    assert honest["accuracy"] > 0


def test_the_share_recovered_within_n_turns_by_hand():
    """Two mistakes: one repaired in 1 and 2 turns, one in 2 turns and never."""
    replays = pd.DataFrame(
        {
            "trajectory": ["a", "a", "b", "b"],
            "won": [True, True, True, False],
            "turns": [1, 2, 2, 2],
        }
    )
    found = [row["recovered"] for row in curve_rows(replays, 2)]
    assert found == [0.0, 0.25, 0.75]
