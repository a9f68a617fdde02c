"""The hooks change nothing by themselves, and TRL is what they were written for."""

import pytest
import torch
from datasets import Dataset
from training_toys import (
    GROUP,
    arguments,
    gradient,
    make_model,
    make_tokenizer,
    relative,
    weights,
)
from trl import GRPOTrainer

from pivotlab.training import trl_compat
from pivotlab.training.trl_compat import (
    BATCH_KEYS,
    OPTIONAL_BATCH_KEYS,
    PivotTrainer,
    check_contract,
    release,
)

PROMPTS = [[9, 10, 11], [12, 13, 14, 15, 16], [17], [18, 19]]


def completion(row):
    """Ids that depend on the row alone, of length 1 to 5."""
    return [20 + (7 * row + k) % 50 for k in range(row % 5 + 1)]


def reward(completion_ids, **_):
    return [float(sum(ids) % 3) for ids in completion_ids]


class Fixed:
    """Prompts and completions that are given, so that two trainers can be compared."""

    generated = 0

    def _tokenize_prompts(self, prompts):
        return [PROMPTS[int(p)] for p in prompts], None, {}

    def _generate_single_turn(self, prompt_ids, *_, **__):
        self.generated += 1
        places = {tuple(ids): i for i, ids in enumerate(PROMPTS)}
        seen = dict.fromkeys(places.values(), 0)
        rows = []
        for ids in prompt_ids:
            group = places[tuple(ids)]
            rows.append(completion(GROUP * group + seen[group]))
            seen[group] += 1
        return rows, None


class Stock(Fixed, GRPOTrainer):
    pass


class Ours(Fixed, PivotTrainer):
    pass


def trainer(kind, folder, model=None, **changes):
    tokenizer = make_tokenizer()
    data = Dataset.from_dict({"prompt": [str(i) for i in range(len(PROMPTS))]})
    model = make_model(tokenizer) if model is None else model
    return kind(
        model,
        reward,
        arguments(folder, **changes),
        train_dataset=data,
        processing_class=tokenizer,
    )


def saved_model(folder, seed=0):
    """A model whose config names the path it was saved to, as stock TRL needs it."""
    model = make_model(make_tokenizer(), seed)
    model.save_pretrained(folder)
    return type(model).from_pretrained(folder)


def test_installed_trl_meets_the_contract():
    check_contract()


def test_moved_signature_is_named(monkeypatch):
    def _compute_loss(self, model, inputs, extra):
        pass

    monkeypatch.setattr(GRPOTrainer, "_compute_loss", _compute_loss)
    with pytest.raises(RuntimeError, match=r"_compute_loss.*extra.*trl>=1\.16"):
        check_contract()


def test_missing_name_is_named(monkeypatch):
    monkeypatch.delattr(trl_compat.grpo_trainer, "shuffle_sequence_dict")
    with pytest.raises(RuntimeError, match="shuffle_sequence_dict"):
        check_contract()


def test_one_step_equals_stock_trl(tmp_path):
    found = []
    for kind in (Stock, Ours):
        model = saved_model(tmp_path / "model")
        with torch.no_grad():  # both references are what lies on disk
            for parameter in model.parameters():
                parameter.mul_(1.02)
        one = trainer(kind, tmp_path, model)
        if kind is Ours:
            one.ref_model.load_state_dict(saved_model(tmp_path / "model").state_dict())
        one.train()
        log = one.state.log_history[0]
        found.append((weights(model), log["loss"], log["kl"], log["grad_norm"]))
    (stock, *stock_log), (ours, *our_log) = found
    assert our_log == pytest.approx(stock_log, rel=1e-5, abs=1e-6)
    assert stock_log[1] > 1e-3
    assert torch.allclose(ours, stock, atol=1e-6)


def test_batch_holds_the_known_keys_and_no_other(tmp_path):
    one = trainer(Ours, tmp_path)
    one.model.train()
    batch = one.build_batch([{"prompt": str(i // GROUP)} for i in range(16)])
    assert batch.keys() >= BATCH_KEYS
    assert batch.keys() - BATCH_KEYS <= OPTIONAL_BATCH_KEYS
    assert "ref_per_token_logps" in batch


def test_reference_is_a_frozen_copy_of_the_policy(tmp_path):
    model = saved_model(tmp_path / "model")
    with torch.no_grad():
        model.model.norm.weight.add_(1.0)
    before = weights(model)
    one = trainer(Ours, tmp_path, model)
    one.train()
    assert torch.equal(weights(one.ref_model), before)
    assert not torch.equal(weights(model), before)
    assert not any(p.requires_grad for p in one.ref_model.parameters())


def test_no_reference_without_kl(tmp_path):
    assert trainer(Ours, tmp_path, beta=0.0).ref_model is None


def paid(one, rewards):
    """Make a trainer pay the given rewards, row by row."""
    prices = {tuple(completion(i)): r for i, r in enumerate(rewards)}
    one.reward_funcs = [
        lambda completion_ids, **_: [prices[tuple(ids)] for ids in completion_ids]
    ]
    return one


@pytest.mark.case(id="V44")
@pytest.mark.case(id="V45")
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_advantages_are_those_of_the_own_group_whatever_the_order(tmp_path, order):
    """By hand: means 1/4 and 3/4, and both standard deviations (Bessel) are 1/2."""
    one = paid(trainer(Ours, tmp_path), [1, 0, 0, 0, 1, 1, 1, 0])
    one.model.train()
    batch = one.build_batch([{"prompt": str(g)} for g in order for _ in range(GROUP)])
    hand = {0: [1.5, -0.5, -0.5, -0.5], 1: [0.5, 0.5, 0.5, -1.5]}
    for group, found in zip(order, batch["advantages"].view(2, GROUP), strict=True):
        assert found.tolist() == pytest.approx(hand[group], rel=1e-3)
        assert found.sum().item() == pytest.approx(0.0, abs=1e-6)


@pytest.mark.case(id="V41")
@pytest.mark.parametrize("beta, moves", [(0.0, False), (0.1, True)])
def test_constant_groups_feel_the_kl_and_nothing_else(tmp_path, beta, moves):
    one = paid(trainer(Ours, tmp_path, beta=beta), [1.0] * 4 * GROUP)
    if one.ref_model is not None:
        with torch.no_grad():
            for parameter in one.ref_model.parameters():
                parameter.mul_(1.1)
    before = weights(one.model)
    one.train()
    assert torch.equal(weights(one.model), before) is not moves


class WithHooks(Ours):
    """Token-wise advantages, an extra tensor and an extra list, an extra loss term."""

    weight = 0.0
    seen = ()

    def build_batch(self, rows):
        batch = super().build_batch(rows)
        width = batch["completion_ids"].shape[1]
        batch["advantages"] = batch["advantages"][:, None].expand(-1, width).clone()
        batch["row"] = torch.arange(len(rows))
        batch["names"] = [row["prompt"] for row in rows]
        return batch

    def extend_loss(self, loss, inputs, log_probs):
        self.seen = (*self.seen, (inputs["row"].tolist(), inputs["names"]))
        mean = (log_probs * inputs["completion_mask"]).mean()
        return loss - self.weight * mean / self.current_gradient_accumulation_steps


def test_constant_token_advantages_equal_scalar_ones(tmp_path):
    plain = trainer(Ours, tmp_path, make_model(make_tokenizer()))
    plain.train()
    hooked = trainer(WithHooks, tmp_path, make_model(make_tokenizer()))
    hooked.train()
    assert torch.allclose(weights(plain.model), weights(hooked.model), atol=1e-7)


def test_extra_keys_are_split_in_order_over_micro_batches(tmp_path):
    one = trainer(
        WithHooks,
        tmp_path,
        per_device_train_batch_size=8,
        gradient_accumulation_steps=2,
        shuffle_dataset=False,
    )
    one.train()
    assert one.generated == 1
    assert one.seen == (
        (list(range(8)), ["0"] * 4 + ["1"] * 4),
        (list(range(8, 16)), ["2"] * 4 + ["3"] * 4),
    )


def test_extra_loss_term_reaches_the_gradient(tmp_path):
    gradients = {}
    for weight in (0.0, 3.0):
        one = trainer(WithHooks, tmp_path, make_model(make_tokenizer()))
        one.weight = weight
        one.model.train()
        batch = one.build_batch([{"prompt": str(i // GROUP)} for i in range(16)])
        one.current_gradient_accumulation_steps = 1
        one.compute_loss(one.model, batch).backward()
        gradients[weight] = gradient(one.model)
    model = make_model(make_tokenizer())
    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
    logits = model(ids, attention_mask=mask).logits.log_softmax(-1)
    chosen = logits[:, :-1].gather(-1, ids[:, 1:, None])[..., 0]
    width = batch["completion_ids"].shape[1]
    (-3.0 * (chosen[:, -width:] * batch["completion_mask"]).mean()).backward()
    assert relative(gradients[3.0] - gradients[0.0], gradient(model)) < 1e-4


def test_released_model_has_its_own_forward_again(tmp_path):
    model = make_model(make_tokenizer())
    trainer(Ours, tmp_path, model)
    assert "forward" in vars(model)
    release(model)
    assert "forward" not in vars(model)


def test_fallback_warns_once_and_counts(tmp_path):
    one = trainer(Ours, tmp_path)
    with pytest.warns(UserWarning, match="prefix sharing is off: the moon"):
        one.note_fallback("the moon")
    one.note_fallback("the moon")
    assert one.fallbacks == {"the moon": 2}
