"""Commands judged by their effect, and by rule where an effect cannot decide."""

import os

import pytest
from verdict_rows import call, candidate, say

from pivotlab.records import Message
from pivotlab.verifiers import sandbox
from pivotlab.verifiers.executed import ExecutedVerifier
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.sandbox import Limits


@pytest.fixture(scope="module")
def judge(tmp_path_factory):
    if reason := sandbox.reason_unavailable():
        pytest.skip(reason)
    root = tmp_path_factory.mktemp("start")
    (root / "w").mkdir()
    (root / "w" / "a.txt").write_text("b\na\nb\n")
    (root / "other" / "w").mkdir(parents=True)
    (root / "other" / "w" / "a.txt").write_text("a\n")
    for path in root.rglob("*"):
        os.utime(path, (10**9, 10**9))
    return ExecutedVerifier(root, cwd="/w", limits=Limits(seconds=3.0))


def judged(judge, gold, said, prefix=(), **context):
    row = candidate(say(gold), domain="terminal", prefix=prefix, **context)
    verdict = judge.verify(row, say(said))
    return verdict.reward, verdict.category


@pytest.mark.parametrize(
    ("gold", "said", "reward", "category"),
    [
        ("ls -la", "ls -l -a", 1.0, "same"),
        ("sort -u a.txt", "sort a.txt | uniq", 1.0, "same_effect"),
        ("wc -l < a.txt", "grep -c '' a.txt", 1.0, "same_effect"),
        ("sort -u a.txt", "sort a.txt", 0.0, "other_effect"),
        ("rm a.txt", "true", 0.0, "other_effect"),
        ("cat a.txt", "yes", 0.0, "hits_limit"),
        ("grep -q b a.txt", "true", 0.0, "no_trace:different"),
        ("date +%N", "date +%s", 0.0, "unstable:different"),
        ("no-such-program a", "true", 0.0, "missing_program:different"),
        ("yes", "yes a", 0.0, "gold_hits_limit:different"),
        ("cat a.txt", "", 0.0, "no_command"),
    ],
)
def test_categories(judge, gold, said, reward, category):
    assert judged(judge, gold, said) == (reward, category)


def test_the_turns_before_are_part_of_the_start(judge):
    prefix = (say("rm a.txt"), Message("user", ""), say("echo new > b.txt"))
    assert judged(judge, "ls", "echo b.txt", prefix) == (1.0, "same_effect")
    assert judged(judge, "ls", "echo b.txt") == (0.0, "other_effect")


def test_a_row_may_name_its_own_start(judge):
    assert judged(judge, "cat a.txt", "echo a", start="other") == (1.0, "same_effect")
    assert judged(judge, "cat a.txt", "echo a") == (0.0, "other_effect")


def test_commands_inside_calls(judge):
    row = candidate(call("bash", command="cat a.txt"), domain="swe")
    assert judge.verify(row, call("bash", command="cat < a.txt")).reward == 1.0
    assert judge.verify(row, call("edit")).category == "called_other_tool"


def test_without_a_sandbox_the_fallback_is_visible_and_runs_nothing(monkeypatch):
    monkeypatch.setattr(sandbox, "reason_unavailable", lambda: "no namespaces here")
    monkeypatch.setattr(sandbox.Sandbox, "run", lambda *a: pytest.fail("it ran"))
    with pytest.warns(UserWarning, match="not executed: no namespaces here"):
        fallback = ExecutedVerifier()
    assert fallback.version.endswith("-unexecuted")
    assert judged(fallback, "ls -la", "ls -l -a") == (1.0, "same")
    assert judged(fallback, "sort -u a", "sort a | uniq") == (
        0.0,
        "unexecuted:different",
    )
    assert isinstance(fallback, Verifier)
