"""Models by name, and one clear line when a name leads nowhere."""

import shutil

import pytest
import torch

from pivotlab import paths
from pivotlab.environments import search_qa, shop
from pivotlab.models import registry, tiny
from pivotlab.models.tokenizer import Vocabulary, build_tokenizer

VOCABULARY = Vocabulary({"mug": 2}, ["go to"], ["sort"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A freshly initialised model as `save_pretrained` writes it."""
    target = tmp_path_factory.mktemp("model")
    tokenizer = build_tokenizer(VOCABULARY)
    tiny.save(tiny.build_model(tokenizer, 0), tokenizer, target, {"seed": 0})
    return target


def test_tiny_loads_in_float32_for_evaluation_with_left_padding():
    model, tokenizer = registry.load_model("tiny")
    assert model.dtype == torch.float32 and not model.training
    assert model.config.model_type == "qwen3"
    assert tokenizer.padding_side == "left"
    assert tokenizer.pad_token_id != tokenizer.eos_token_id
    assert len(tokenizer) == model.config.vocab_size


def test_tiny_web_knows_the_words_of_both_worlds():
    model, tokenizer = registry.load_model("tiny-web")
    assert len(tokenizer) == model.config.vocab_size
    shown = [shop.Shop().reset(shop.task_ids("valid", 1)[0])]
    shown += [search_qa.SearchQA().reset(search_qa.task_ids("valid", 1)[0])]
    for text in shown:
        ids = tokenizer(text).input_ids
        assert tokenizer.decode(ids) == text and len(ids) < 0.4 * len(text)


def test_a_local_folder_loads(folder):
    model, tokenizer = registry.load_model(str(folder))
    assert len(tokenizer) == model.config.vocab_size == len(build_tokenizer(VOCABULARY))
    assert registry.load_tokenizer(str(folder)).get_vocab() == tokenizer.get_vocab()


def told(name: str) -> str:
    with pytest.raises((ValueError, FileNotFoundError)) as caught:
        registry.load_model(name)
    text = str(caught.value)
    assert "\n" not in text and name in text
    return text


@pytest.mark.parametrize("name", ["tinny", "./nowhere", "/nowhere/at/all"])
def test_an_unknown_name_is_told_with_the_way_out(name):
    assert "no such folder" in told(name) and "'owner/name'" in told(name)


def test_a_folder_without_a_model_is_told(tmp_path):
    assert "holds no config.json" in told(str(tmp_path))


def test_a_hub_id_without_a_hub_is_told_at_once(monkeypatch):
    def unreachable(url, timeout):
        raise registry.httpx.ConnectError("no route")

    monkeypatch.setattr(registry.httpx, "head", unreachable)
    text = told("nobody/no-such-model")
    assert "cannot be reached" in text and "tiny or tiny-web or smollm2-135m" in text


def test_damaged_weights_in_a_folder_are_told(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy" / tiny.WEIGHTS).write_bytes(b"not safetensors")
    assert "damaged" in told(str(tmp_path / "copy"))


def test_a_shipped_model_that_is_not_what_its_recipe_says_is_told(
    folder, tmp_path, monkeypatch
):
    shutil.copytree(folder, tmp_path / tiny.NAME)
    monkeypatch.setattr(paths, "MODELS", tmp_path)
    assert registry.load_model("tiny")
    weights = bytearray((tmp_path / tiny.NAME / tiny.WEIGHTS).read_bytes())
    weights[-1] ^= 1
    (tmp_path / tiny.NAME / tiny.WEIGHTS).write_bytes(weights)
    assert "corrupted" in told("tiny") and "git checkout" in told("tiny")
    (tmp_path / tiny.NAME / tiny.WEIGHTS).unlink()
    assert "is missing" in told("tiny")
