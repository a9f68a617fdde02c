"""Settings that all methods share, as the trainer gets them."""

from pathlib import Path

import pytest
from transformers import TrainingArguments

from pivotlab.training.settings import TrainingSettings, trainer_fields


def test_fields_are_valid_and_quiet():
    settings = TrainingSettings(steps=7, learning_rate=3e-4, warmup_steps=2, seed=5)
    arguments = TrainingArguments(**trainer_fields(settings, Path("somewhere")))
    assert arguments.max_steps == 7 and arguments.warmup_steps == 2
    assert arguments.learning_rate == 3e-4 and arguments.seed == 5
    assert arguments.lr_scheduler_type == "constant_with_warmup"
    assert arguments.save_strategy == "no" and arguments.report_to == []
    assert not arguments.bf16 and not arguments.gradient_checkpointing


def test_saving_and_further_fields():
    settings = TrainingSettings(save_every=3, trl={"adam_beta2": 0.95, "bf16": True})
    fields = trainer_fields(settings, Path("somewhere"))
    assert (fields["save_strategy"], fields["save_steps"]) == ("steps", 3)
    assert fields["adam_beta2"] == 0.95 and fields["bf16"] is True


def test_settings_are_frozen_and_refuse_unknown_names():
    with pytest.raises(AttributeError):
        TrainingSettings().steps = 3
    with pytest.raises(TypeError, match="learningrate"):
        TrainingSettings(learningrate=1e-3)
