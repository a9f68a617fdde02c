"""The command from a log file to profile, pivots and training files, on `tiny`."""

import re
import signal
import sys

import pandas as pd
import pytest
from fresh_process import loads_none_of

from pivotlab.engines.local import LocalSampler
from pivotlab.experiments.logs import profiles, profiling
from pivotlab.experiments.logs.files import EXAMPLES
from pivotlab.pivots import profiling as pivot_profiling

BOOKINGS = EXAMPLES / "bookings.jsonl"


@pytest.mark.parametrize(
    "arguments", [["--help"], ["nowhere.jsonl"], ["x", "--k=1"], [__file__]]
)
def test_help_and_bad_requests_wait_for_no_model_library(arguments):
    module = "pivotlab.experiments.logs.profiling"
    assert loads_none_of({"torch", "transformers"}, module, arguments)


def test_command_line_from_file_to_page(tmp_path, capsys):
    arguments = [str(BOOKINGS), "--k", "2", "--limit", "3", "--max-new-tokens", "8"]
    arguments += ["--verifier", "paper", "--out", str(tmp_path / "out")]
    assert profiling.main(arguments) == 0
    said = capsys.readouterr().out
    assert "bookings.jsonl: chat, 1 trajectories, 4 assistant turns" in said
    assert "skipped 1: over_limit" in said and "--limit is reached" in said
    assert "3 candidates" in said and "pivots of 3 turns" in said
    page = (tmp_path / "out" / "explorer.html").read_text()
    assert page.count('class="panel"') == 4
    assert list((tmp_path / "out" / "samples").rglob("*.parquet"))


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["nowhere.jsonl"], "no such file"),
        (["embedded", "--verifier", "exakt"], "unknown verifier"),
        (["embedded", "--model", "./nowhere"], "no such folder"),
        (["embedded", "--max-prompt-tokens", "1"], "no turn to profile"),
    ],
)
def test_bad_requests_end_in_one_line(arguments, said, tmp_path, capsys):
    assert profiling.main([*arguments, "--out", str(tmp_path)]) == 2
    (line,) = [x for x in capsys.readouterr().err.splitlines() if "error:" in x]
    assert said in line


@pytest.mark.parametrize(
    "body, said",
    [
        (
            "action.tool_calls[5]",
            "verifier 'broken' raised at turn .*bookings.*: IndexError: .*my_broken.py"
            ", line 6.*must return a Verdict",
        ),
        ("1.0", "verifier 'broken' returned float at turn .*not a Verdict"),
    ],
)
def test_a_verifier_that_breaks_its_promise_is_named(
    body, said, tmp_path, capsys, monkeypatch
):
    source = f"""class Broken:
    name, version = "broken", "1"

    def verify(self, candidate, action):
        \"\"\"Break the promise.\"\"\"
        return {body}
"""
    (tmp_path / "my_broken.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    sys.modules.pop("my_broken", None)
    arguments = [str(BOOKINGS), "--verifier", "my_broken:Broken"]
    assert profiling.main([*arguments, "--out", str(tmp_path / "out")]) == 2
    (line,) = [x for x in capsys.readouterr().err.splitlines() if "error:" in x]
    assert re.search(said, line), line


def test_logs_without_a_turn_are_told_before_the_model_is_loaded(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(profiles, "load_model", None)
    arguments = [str(BOOKINGS), "--min-reward", "2", "--out", str(tmp_path)]
    assert profiling.main(arguments) == 2
    said = capsys.readouterr()
    assert "reward_too_low" in said.out or "reward_unknown" in said.out
    assert said.err == ("error: there is no turn to profile; the skips above say why\n")


@pytest.mark.parametrize("k", ["0", "-3", "1", "many"])
def test_k_below_two_is_refused_before_anything_is_loaded(k, capsys):
    with pytest.raises(SystemExit):
        profiling.main(["embedded", f"--k={k}"])
    assert f"'{k}' is not a whole number of 2 or more" in capsys.readouterr().err


@pytest.fixture
def ctrl_c():
    """Interrupts reach Python; what a shell starts in its background ignores them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("ctrl_c")
def test_after_ctrl_c_the_same_command_goes_on(tmp_path, capsys, monkeypatch):
    """Five turns in batches of one; the interrupt comes at the third."""
    monkeypatch.setattr(pivot_profiling, "BATCH", 1)
    sample, asked = LocalSampler.sample, []

    def interrupted_at_the_third(self, prompts, *rest):
        asked.extend(prompts)
        if len(asked) == 3:
            signal.raise_signal(signal.SIGINT)
        return sample(self, prompts, *rest)

    monkeypatch.setattr(LocalSampler, "sample", interrupted_at_the_third)
    arguments = ["embedded", "--limit", "1", "--k", "2", "--max-new-tokens", "2"]
    arguments += ["--out", str(tmp_path)]
    assert profiling.main(arguments) == 130
    (line,) = [x for x in capsys.readouterr().err.splitlines() if "interrupted" in x]
    assert f"interrupted: 4 samples are kept in {tmp_path / 'samples'}" in line
    assert "Traceback" not in line and not (tmp_path / "turns.csv").exists()
    assert profiling.main(arguments) == 0
    # The interrupted third turn is asked again, the two before it are not.
    assert len(asked) == 6 and asked[3] == asked[2]
    assert len({tuple(prompt) for prompt in asked}) == 5


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupt_before_the_first_sample_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(profiling, "find", lambda name: signal.raise_signal(2))
    assert profiling.main(["embedded", "--out", str(tmp_path)]) == 130
    said = capsys.readouterr().err
    assert said.startswith("interrupted before samples") and said.count("\n") == 1


def test_a_misspelt_option_is_one_line_with_the_nearest(capsys):
    with pytest.raises(SystemExit):
        profiling.main(["embedded", "--kk", "4"])
    text = capsys.readouterr().err
    assert "unknown argument --kk; did you mean --k?" in text and text.count("\n") == 1


@pytest.mark.case(id="V40")
def test_turns_nobody_passes_are_listed_and_wrong_ones_left_out(tmp_path, capsys):
    arguments = [str(BOOKINGS), "--k", "2", "--max-new-tokens", "2"]
    assert profiling.main([*arguments, "--out", str(tmp_path)]) == 0
    table = pd.read_csv(tmp_path / "turns.csv")
    failed = list(table["uid"][table["kind"] == "all_fail"])
    assert len(failed) == len(table) > 3
    left_out = ["--exclude", *failed[:2], "--out", str(tmp_path / "again")]
    assert profiling.main([*arguments, *left_out]) == 0
    assert "skipped 2: excluded" in capsys.readouterr().out
    again = pd.read_csv(tmp_path / "again" / "turns.csv")
    assert list(again["uid"]) == list(table["uid"])[2:]
