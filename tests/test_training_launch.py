"""What is launched: command, environment, parameters; the runs themselves are slow."""

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from accelerate.commands.config.config_args import ClusterConfig
from accelerate.commands.launch import launch_command_parser
from training_toys import make_candidates

from pivotlab.pivots.exchange import from_trl
from pivotlab.training import launch
from pivotlab.training.launch import (
    CONFIGS,
    FOR_PRESET,
    Launch,
    VerifierSpec,
    command,
    environment,
    launch_pivotrl,
    prepare,
    server_command,
    trainer_changes,
)
from pivotlab.training.pivotrl import PivotRLSettings, grpo_config
from pivotlab.verifiers.placebo import PlaceboVerifier

FOLDER = Path(launch.__file__).parent / "configs"
SETTINGS = PivotRLSettings(steps=1, save_every=1)
EXACT = VerifierSpec("pivotlab.verifiers.exact:ExactVerifier")


@pytest.mark.parametrize("name", sorted(CONFIGS))
def test_configurations_are_accelerates_own_form(name):
    config = ClusterConfig.from_yaml_file(FOLDER / CONFIGS[name])
    kinds = {"fsdp2": "FSDP", "zero3": "DEEPSPEED"}
    assert config.distributed_type.value == kinds[name]
    assert config.mixed_precision == "bf16" and config.num_processes == 8


def test_sharding_is_fsdp_version_2_and_zero_stage_3():
    fsdp = yaml.safe_load((FOLDER / CONFIGS["fsdp2"]).read_text())["fsdp_config"]
    assert fsdp["fsdp_version"] == 2
    known = {action.dest for action in launch_command_parser()._actions}
    assert set(fsdp) <= known, "a field that accelerate would pass over in silence"
    zero = yaml.safe_load((FOLDER / CONFIGS["zero3"]).read_text())["deepspeed_config"]
    assert zero["zero_stage"] == 3 and set(zero) <= known


def test_command_of_one_and_of_several_processes(tmp_path):
    one = command("pivotrl_job", tmp_path, Launch())
    assert one[:3] == [sys.executable, "-m", "accelerate.commands.launch"]
    assert one[-3:] == ["-m", "pivotlab.training.pivotrl_job", str(tmp_path)]
    assert "--multi_gpu" not in one and "--config_file" not in one
    two = command("pivotrl_job", tmp_path, Launch(processes=2))
    assert two[two.index("--num_processes") + 1] == "2" and "--multi_gpu" in two
    many = command("pivotrl_job", tmp_path, FOR_PRESET["paper"])
    assert many[many.index("--config_file") + 1].endswith("accelerate_fsdp2.yaml")
    more = Launch(options=("--machine_rank", "1"))
    assert command("pivotrl_job", tmp_path, more)[-5:-3] == ["--machine_rank", "1"]
    for words in (one, two, many):
        launch_command_parser().parse_args(words[3:])


def test_zero3_without_deepspeed_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match="pip install deepspeed"):
        command("pivotrl_job", tmp_path, Launch(sharding="zero3"))


def test_a_jobs_environment_is_not_that_of_a_running_job(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "MASTER_PORT"):
        monkeypatch.setenv(name, "7")
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(launch.torch.cuda, "is_available", lambda: False)
    found = environment()
    assert not {"RANK", "WORLD_SIZE", "MASTER_PORT"} & set(found)
    assert found["ACCELERATE_USE_CPU"] == "true" and found["OMP_NUM_THREADS"] == "2"


def test_vllm_modes_reach_trl(tmp_path):
    assert trainer_changes(Launch()) == {"bf16": False}
    colocate = trainer_changes(Launch(vllm="colocate", memory_share=0.4))
    assert colocate["vllm_gpu_memory_utilization"] == 0.4
    server = trainer_changes(Launch(vllm="server", server_url="http://n1:8000"))
    assert server["vllm_server_base_url"] == "http://n1:8000"
    for fields in (colocate, server):
        config = grpo_config(replace(SETTINGS, trl=fields), tmp_path)
        assert config.use_vllm
        assert config.vllm_importance_sampling_mode == "token_truncate"
    line = server_command("org/model", 8001)
    assert line.startswith("VLLM_SERVER_DEV_MODE=1 vllm serve org/model --port 8001")
    assert "processed_logprobs" in line and '{"backend": "nccl"}' in line


def test_server_that_does_not_answer_is_told_before_anything_starts(tmp_path):
    prepare(tmp_path, {"model": "tiny"}, make_candidates(1))
    absent = Launch(vllm="server", server_url="http://127.0.0.1:9")
    with pytest.raises(RuntimeError, match="no vLLM server .* vllm serve tiny"):
        launch.run("pivotrl_job", tmp_path, absent)


def test_prepared_folder_holds_the_pivots_and_refuses_other_parameters(tmp_path):
    from datasets import Dataset

    pivots = make_candidates(3)
    prepare(tmp_path, {"steps": 1}, pivots)
    prepare(tmp_path, {"steps": 1}, pivots)
    back, _ = from_trl(Dataset.from_parquet(str(tmp_path / "pivots.parquet")))
    assert [p.uid for p in back] == [p.uid for p in pivots]
    assert back[0].context == pivots[0].context
    with pytest.raises(ValueError, match="launch of other parameters"):
        prepare(tmp_path, {"steps": 2}, pivots)


def test_verifiers_are_built_by_name():
    spec = VerifierSpec("pivotlab.verifiers.placebo:PlaceboVerifier", {"seed": 3})
    assert isinstance(spec.build(), PlaceboVerifier)
    for wrong in ("pivotlab.verifiers.exact:Exact", "nowhere:Class", "nothing"):
        with pytest.raises(ValueError, match="write 'package.module:Class'"):
            VerifierSpec(wrong).build()


def test_a_launch_without_checkpoints_is_refused(tmp_path):
    without = replace(SETTINGS, save_every=0)
    with pytest.raises(ValueError, match="save_every=0 would leave nothing"):
        launch_pivotrl("tiny", [], EXACT, without, Launch(), tmp_path)
