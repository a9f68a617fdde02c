"""Every assistant turn of a log is a candidate or a counted skip, whatever is asked."""

import json

import pytest
from trajectory_files import FOLDER

from pivotlab.experiments.logs import files as log_files
from pivotlab.experiments.logs import profiles, verifier_choice
from pivotlab.experiments.logs import turns as log_turns
from pivotlab.models.registry import load_tokenizer
from pivotlab.rendering import Renderer

BY_DOMAIN = verifier_choice.choose("by domain")


def account_is_complete(turns):
    return len(turns.candidates) + turns.skips.total() == turns.turns


def rows(path, *conversations, **columns):
    """A chat file; every conversation is a list of assistant texts."""
    lines = []
    for i, texts in enumerate(conversations):
        messages = [{"role": "user", "content": "Hello, what is the plan for today?"}]
        for text in texts:
            messages += [{"role": "assistant", "content": text}]
            messages += [{"role": "user", "content": "Go on."}]
        extra = {name: values[i] for name, values in columns.items()}
        lines.append(json.dumps({"id": f"row{i}", "messages": messages, **extra}))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_example_logs_are_accounted_for():
    turns = log_turns.read_turns(log_files.find("embedded"), BY_DOMAIN)
    assert account_is_complete(turns)
    assert (turns.turns, len(turns.candidates)) == (75, 71)
    assert turns.skips == {"canned": 3, "empty_turn": 1}
    formats = set(turns.files()["format"])
    assert formats == {"chat", "role_list_column", "intercode", "sharegpt"}
    assert {c.domain for c in turns.candidates} == {
        "tool",
        "swe",
        "search",
        "terminal",
        "shop",
    }


def test_a_limit_stops_reading_and_is_told(tmp_path):
    path = rows(tmp_path / "a.jsonl", ["one plan", "two plans"], ["three"], ["four"])
    turns = log_turns.read_turns([path], BY_DOMAIN, limit=1)
    assert [c.expert.content for c in turns.candidates] == ["one plan"]
    assert turns.skips == {"over_limit": 1} and account_is_complete(turns)
    assert turns.unread == [str(path)] and len(turns.trajectories) == 1
    everything = log_turns.read_turns([path], BY_DOMAIN)
    assert len(everything.candidates) == 4 and everything.unread == []


def test_episodes_that_earned_too_little_demonstrate_nothing(tmp_path):
    path = rows(tmp_path / "a.jsonl", ["one"], ["two"], ["three"], reward=[1, 0, None])
    turns = log_turns.read_turns([path], BY_DOMAIN, min_reward=1.0)
    assert [c.expert.content for c in turns.candidates] == ["one"]
    assert turns.skips == {"reward_too_low": 1, "reward_unknown": 1}


def test_turns_whose_demonstration_is_rejected_are_named():
    files = [f for f in log_files.find("embedded") if f.name == "shop.jsonl"]
    turns = log_turns.read_turns(files, verifier_choice.choose("tool name"))
    assert account_is_complete(turns)
    game = verifier_choice.CHOICES["by domain"]().by_domain["textgame"]
    rejected = log_turns.read_turns(files, game)
    assert rejected.candidates == []
    assert rejected.skips["demonstration_rejected: no_context"] == 12


def test_prompts_are_measured_as_the_model_sees_them(tmp_path):
    path = rows(tmp_path / "a.jsonl", ["x", "y"])
    renderer = Renderer(load_tokenizer("tiny"))
    (first, second) = log_turns.read_turns([path], BY_DOMAIN).candidates
    short = renderer.length(first.prefix)
    assert short < renderer.length(second.prefix)
    turns = log_turns.read_turns([path], BY_DOMAIN, renderer, max_prompt_tokens=short)
    assert [c.uid for c in turns.candidates] == [first.uid]
    assert turns.skips == {"prompt_too_long": 1}


def test_files_of_one_name_keep_their_turns_apart(tmp_path):
    for folder in "ab":
        (tmp_path / folder).mkdir()
        rows(tmp_path / folder / "log.jsonl", ["hello there"])
    files = sorted(tmp_path.rglob("*.jsonl"))
    turns = log_turns.read_turns(files, BY_DOMAIN)
    assert [c.uid for c in turns.candidates] == ["log:row0#0", "log:row0@2#0"]


def test_rules_go_before_conversations_without_any():
    turns = log_turns.read_turns(
        log_files.find("embedded"), BY_DOMAIN, system="Be brief."
    )
    plain = log_turns.read_turns(log_files.find("embedded"), BY_DOMAIN)
    assert turns.skips == plain.skips
    pairs = zip(turns.candidates, plain.candidates, strict=True)
    for ours, bare in pairs:
        assert (ours.expert, ours.context) == (bare.expert, bare.context)
        has_rules = any(m.role == "system" for m in bare.prefix)
        assert ours.prefix[0].content == (
            bare.prefix[0].content if has_rules else "Be brief."
        )


def test_an_unreadable_row_costs_only_itself(tmp_path):
    path = rows(tmp_path / "a.jsonl", ["one"], ["two"])
    path.write_text(path.read_text().replace("\n", "\nno json\n", 1))
    turns = log_turns.read_turns([path], BY_DOMAIN)
    assert len(turns.candidates) == 2 and turns.reports[0].failed == 1


def test_real_airline_log_is_accounted_for(mirror):
    turns = log_turns.read_turns(log_files.find("airline"), BY_DOMAIN)
    assert account_is_complete(turns) and turns.turns == 2454


@pytest.mark.case(id="V40")
def test_named_trajectories_and_turns_are_left_out(tmp_path):
    path = rows(tmp_path / "a.jsonl", ["one", "two"], ["three", "four"])
    turns = log_turns.read_turns([path], BY_DOMAIN, exclude=["a:row0", "a:row1#0"])
    assert [c.expert.content for c in turns.candidates] == ["four"]
    assert turns.skips == {"excluded": 3} and account_is_complete(turns)
    with pytest.raises(ValueError, match="nothing read is called a:row7#1"):
        log_turns.read_turns([path], BY_DOMAIN, exclude=["a:row7#1"])


@pytest.mark.case(id="V35")
def test_a_reward_of_one_is_not_enough_where_actions_were_checked(tmp_path):
    """The fixture's first run earned 1.0 although a required call is missing."""
    path = FOLDER / "tau2.json"
    everything = log_turns.read_turns([path], BY_DOMAIN, min_reward=1.0)
    assert len(everything.candidates) > 0
    checked = log_turns.read_turns([path], BY_DOMAIN, min_reward=1.0, checked=True)
    assert checked.candidates == [] and account_is_complete(checked)
    assert checked.skips["action_check_failed"] == len(everything.candidates)
    assert checked.skips["no_action_checks"] > 0


@pytest.mark.case(id="V57")
def test_terminal_text_can_be_cleaned_and_both_lengths_are_told(tmp_path):
    drawn = "\x1b[?2004h 10%\r 50%\r100%\ndone"
    messages = [
        {"role": "user", "content": "install it"},
        {"role": "assistant", "content": "pip install ."},
        {"role": "user", "content": drawn},
        {"role": "assistant", "content": "echo ready"},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"messages": messages}))
    plain = log_turns.read_turns([path], BY_DOMAIN)
    assert plain.candidates[1].prefix[2].content == drawn and plain.observed == (0, 0)
    clean = log_turns.read_turns([path], BY_DOMAIN, clean=True)
    assert clean.candidates[1].prefix[2].content == "100%\ndone"
    assert clean.observed == (10 + len(drawn), 10 + 9)
    assert "observations: 37 characters, 19 after" in profiles.account(clean)
