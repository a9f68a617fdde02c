"""SFT puts loss on the demonstrated actions alone, on the same turns as PivotRL."""

from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from peft import LoraConfig
from training_toys import (
    gradient,
    make_candidates,
    make_model,
    make_sliding_model,
    make_tokenizer,
    make_trajectory,
    relative,
    weights,
)

from pivotlab.records import Message, Trajectory
from pivotlab.rendering import Renderer
from pivotlab.training.history import Evaluations
from pivotlab.training.pivotrl import PivotRLSettings, pivot_dataset
from pivotlab.training.schedule import turn_schedule
from pivotlab.training.sft import (
    IGNORED,
    SFTSettings,
    SupervisedRow,
    conversation_rows,
    packed_batch,
    sft_config,
    train_sft,
    turn_rows,
)

TOKENIZER = make_tokenizer()
SETTINGS = SFTSettings(
    steps=3, rows_per_step=4, learning_rate=0.2, warmup_steps=0, trl={"optim": "sgd"}
)


def text(ids):
    return TOKENIZER.decode(list(ids))


def trained_text(row):
    return text(t for t in row.labels if t != IGNORED)


def test_turn_row_trains_the_action_and_its_end_alone():
    for candidate, row in zip(
        make_candidates(), turn_rows(TOKENIZER, make_candidates()), strict=True
    ):
        assert trained_text(row) == candidate.expert.content + "<|im_end|>"
        prompt = Renderer(TOKENIZER).prompt_ids(candidate.prefix)
        assert list(row.ids[: len(prompt)]) == prompt
        assert row.labels[: len(prompt)] == (IGNORED,) * len(prompt)


def test_conversation_row_trains_every_decision_once():
    trajectory = make_trajectory(turns=3)
    (row,) = conversation_rows(TOKENIZER, [trajectory])
    said = [trajectory.messages[i].content for i in trajectory.assistant_turns()]
    assert trained_text(row) == "".join(f"{action}<|im_end|>" for action in said)
    assert row.turns == 3
    messages = [{"role": m.role, "content": m.content} for m in trajectory.messages]
    assert text(row.ids) == TOKENIZER.apply_chat_template(messages, tokenize=False)


def test_turns_that_are_no_decision_carry_no_loss():
    trajectory = replace(make_trajectory(turns=3), skips={3: "canned"})
    (row,) = conversation_rows(TOKENIZER, [trajectory])
    assert row.turns == 2
    assert trajectory.messages[3].content not in trained_text(row)
    nothing = replace(trajectory, skips={1: "a", 3: "b", 5: "c"})
    assert conversation_rows(TOKENIZER, [nothing]) == []


def test_template_that_rewrites_history_is_refused_for_conversations():
    rewriting = make_tokenizer()
    rewriting.chat_template = (
        "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' }}"
        "{% if not loop.last or m.role == 'assistant' %}{{ m.content }}"
        "{% else %}{{ 'now ' + m.content }}{% endif %}{{ '<|im_end|>' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
    )
    messages = tuple(Message(role, "see a mug 1") for role in ("user", "assistant") * 2)
    with pytest.raises(ValueError, match="rewrites earlier"):
        conversation_rows(rewriting, [Trajectory("t", messages)])


def plain_gradient(model, rows):
    """Gradient of the token mean of the loss, one row at a time, no padding at all."""
    model.zero_grad()
    total = sum(sum(label != IGNORED for label in row.labels) for row in rows)
    loss = 0.0
    for row in rows:
        logits = model(torch.tensor([row.ids])).logits[0, :-1]
        labels = torch.tensor(row.labels[1:])
        part = F.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")
        loss = loss + part / total
    loss.backward()
    return loss.item(), gradient(model)


ROWS = {
    "turns": turn_rows(TOKENIZER, make_candidates(4)),
    "conversations": conversation_rows(
        TOKENIZER, [make_trajectory(turns) for turns in (1, 4, 2, 2)]
    ),
}


@pytest.mark.parametrize("form", ROWS)
@pytest.mark.parametrize("parts", [1, 2])
def test_step_is_the_gradient_of_the_plain_loss(form, parts):
    rows, model = ROWS[form], make_model(TOKENIZER)
    before = weights(model)
    loss, wanted = plain_gradient(make_model(TOKENIZER), rows)
    settings = replace(SETTINGS, steps=1, gradient_accumulation=parts)
    run = train_sft(model, TOKENIZER, rows, replace(settings, max_grad_norm=1e9))
    moved = (before - weights(model)) / settings.learning_rate
    assert run.history["loss"].iloc[0] == pytest.approx(loss, rel=1e-5)
    assert relative(moved, wanted) < 1e-4
    assert run.history["samples"].iloc[0] == sum(row.turns for row in rows)


def test_only_tokens_with_loss_are_projected():
    rows = [vars(row) for row in ROWS["conversations"]]
    batch = packed_batch([{"input_ids": r["ids"], "labels": r["labels"]} for r in rows])
    trained = sum(label != IGNORED for row in rows for label in row["labels"])
    assert batch["labels"].shape == batch["shift_labels"].shape == (1, trained)
    assert batch["sources"].shape == (trained,)


def test_model_that_refuses_packing_trains_the_stock_way():
    model, rows = make_sliding_model(TOKENIZER), ROWS["turns"]
    before = weights(model)
    with pytest.warns(UserWarning, match="packing is off: layers of kind"):
        run = train_sft(model, TOKENIZER, rows, replace(SETTINGS, steps=1))
    loss, _ = plain_gradient(make_sliding_model(TOKENIZER), rows)
    assert run.history["loss"].iloc[0] > 0 and loss > 0
    assert not torch.equal(weights(model), before)


def test_it_learns_what_is_demonstrated():
    model, rows = make_model(TOKENIZER), ROWS["turns"]
    settings = SFTSettings(steps=40, rows_per_step=4, learning_rate=1e-2, log_every=10)
    run = train_sft(model, TOKENIZER, rows, settings)
    assert run.history["loss"].iloc[-1] < 0.1 * run.history["loss"].iloc[0]
    assert run.history["mean_token_accuracy"].iloc[-1] > 0.95
    assert list(run.history.index) == [10, 20, 30, 40]
    assert list(run.history["samples"]) == [40, 80, 120, 160]
    assert "forward" not in vars(model)


def test_same_turns_at_the_same_step_as_pivotrl():
    candidates = make_candidates(6)
    rl = PivotRLSettings(steps=5, prompts_per_step=4, seed=3)
    order = turn_schedule(len(candidates), 5, 4, seed=3)
    assert pivot_dataset(candidates, rl)["pivot"][:] == order


def test_evaluation_and_resume(tmp_path):
    rows, settings = ROWS["turns"], replace(SETTINGS, steps=4, save_every=2)
    marks = Evaluations(lambda model, step: {"mark": step}, (0, 2, 4))
    whole = train_sft(
        make_model(TOKENIZER),
        TOKENIZER,
        rows,
        settings,
        evaluations=marks,
        folder=tmp_path,
    )
    (tmp_path / "checkpoint-4" / "trainer_state.json").unlink()
    rest = train_sft(
        make_model(TOKENIZER),
        TOKENIZER,
        rows,
        settings,
        evaluations=marks,
        folder=tmp_path,
        resume=True,
    )
    assert torch.equal(weights(whole.model), weights(rest.model))
    assert whole.evaluations["mark"].to_dict() == {0: 0.0, 2: 2.0, 4: 4.0}
    assert rest.evaluations.equals(whole.evaluations)
    assert rest.history["loss"].tolist() == whole.history["loss"].tolist()


def test_adapter_leaves_the_base_alone():
    model = make_model(TOKENIZER)
    before = weights(model)
    peft = LoraConfig(target_modules=["q_proj", "v_proj"])
    run = train_sft(model, TOKENIZER, ROWS["turns"], SETTINGS, peft_config=peft)
    adapter = [p for n, p in run.model.named_parameters() if "lora_B" in n]
    assert any(p.any() for p in adapter)
    assert torch.equal(weights(run.model.unload()), before)


def test_mistakes_get_one_clear_line(tmp_path):
    model, rows = make_model(TOKENIZER), ROWS["turns"]
    with pytest.raises(ValueError, match="no turn to train on"):
        train_sft(model, TOKENIZER, [], SETTINGS)
    with pytest.raises(ValueError, match="rows_per_step=4 must be a multiple of"):
        sft_config(replace(SETTINGS, gradient_accumulation=3), tmp_path)
    with pytest.raises(ValueError, match="pass folder="):
        train_sft(model, TOKENIZER, rows, replace(SETTINGS, save_every=1))
    long = SupervisedRow((5,) * 300, (IGNORED,) * 299 + (5,))
    with pytest.raises(ValueError, match="row 0 of 300 tokens exceeds .* 256"):
        train_sft(model, TOKENIZER, [long], SETTINGS)
    for labels in ((IGNORED, IGNORED), (5, 6)):
        with pytest.raises(ValueError, match="needs a prompt and then a token"):
            train_sft(model, TOKENIZER, [SupervisedRow((5, 6), labels)], SETTINGS)
