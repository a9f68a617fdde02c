"""Customer service: actions, snapshots and reward, on a stand-in and on tau2 itself."""

import pickle
import sys

import pytest
from fake_tau2 import fake_tau2  # noqa: F401

from pivotlab.environments import tau2
from pivotlab.environments.protocol import ANY_TEXT, Environment
from pivotlab.records import ToolCall
from pivotlab.tool_call_text import write_call

LOOK = write_call(ToolCall("look", {"seat": "a1"}))
BOOK = '{"name": "book", "arguments": {"seat": "a1"}}'
END = f"Done {tau2.STOP}"


@pytest.fixture
def env(fake_tau2):  # noqa: F811
    made = tau2.CustomerService()
    made.reset("airline/0")
    return made


def play(env, *actions):
    return [env.step(action) for action in actions]


def test_it_is_an_environment_that_states_the_task(env):
    assert isinstance(env, Environment)
    assert env.reset("retail/1").endswith("You want seat a2.")


def test_calls_are_read_in_both_forms_and_answered_by_the_tools(env):
    answers = play(env, LOOK, BOOK, LOOK)
    assert [a.observation for a in answers] == ["a1 free", "a1 taken", "a1 taken"]
    assert not any(a.done or a.reward for a in answers)


@pytest.mark.parametrize(
    ("action", "answer"),
    [
        ("One moment.", tau2.CONFIRMS),
        ("", "Error: an empty message"),
        ("<tool_call>book a1</tool_call>", "Error: not a readable tool call: book a1"),
        ('{"name": "book", "arguments": {"seat": "z"}}', "Error: no seat z"),
        (LOOK + BOOK.join(["<tool_call>", "</tool_call>"]), "a1 free\na1 taken"),
    ],
)
def test_everything_is_answered(env, action, answer):
    assert env.step(action) == (answer, 0.0, False)


def test_the_end_pays_what_the_database_and_the_words_earned(env):
    assert play(env, *env.gold())[-1] == ("The conversation is over.", 1.0, True)
    assert env.step(LOOK) == ("The conversation is over.", 0.0, True)
    assert env.admissible() == []
    for actions in ([LOOK, END], [BOOK, tau2.STOP], [tau2.STOP]):
        env.reset("airline/0")
        assert play(env, *actions)[-1][1:] == (0.0, True)


def test_a_snapshot_is_hashable_and_brings_back_the_state(env):
    play(env, "Hello.", BOOK)
    snapshot = pickle.loads(pickle.dumps(env.snapshot()))
    assert hash(snapshot) == hash(env.snapshot())
    expected = play(env, LOOK, END)
    other = tau2.CustomerService()
    other.reset("airline/0")
    for again in (env, other):
        again.restore(snapshot)
        assert again.snapshot() == snapshot
        assert play(again, LOOK, END) == expected
    assert expected[-1].reward == 1.0
    env.restore(())
    assert env.step(LOOK).observation == "a1 free"


def test_the_database_is_copied_at_the_first_write_only(env, fake_tau2):  # noqa: F811
    play(env, LOOK, "Hello.")
    assert fake_tau2.copies == 0
    play(env, BOOK, BOOK)
    assert fake_tau2.copies == 1


def test_what_is_no_snapshot_here_is_refused(env):
    with pytest.raises(TypeError, match="not a snapshot"):
        env.restore((LOOK,))
    with pytest.raises(ValueError, match="exchange 0 .*another task"):
        env.restore((tau2.Exchange(LOOK, "a1 taken"),))


def test_admissible_lists_a_form_per_tool_and_any_text(env):
    assert env.admissible() == sorted(
        [ANY_TEXT, tau2.call_form("book"), tau2.call_form("look")]
    )


def test_the_rules_name_tools_policy_and_the_way_to_end(fake_tau2):  # noqa: F811
    text = tau2.system("retail")
    assert "book(seat: string): Book a seat.\n" in text
    assert text.endswith("# Policy\nBe kind.") and tau2.STOP in text


@pytest.mark.parametrize("task", ["airline/7", "chess/0", "0"])
def test_an_unknown_task_is_refused(env, task):
    with pytest.raises(ValueError, match=f"no task '{task}'.*airline, retail"):
        env.reset(task)


def test_ids_can_be_counted_off(fake_tau2):  # noqa: F811
    assert tau2.task_ids("retail", 1, 1) == ["retail/1"]
    assert tau2.task_ids("airline") == ["airline/0", "airline/1"]
    with pytest.raises(ValueError, match="airline has 2 tasks, not 3"):
        tau2.task_ids("airline", 3)
    with pytest.raises(ValueError, match="'chess': use one of airline, retail"):
        tau2.task_ids("chess")


def test_a_missing_package_is_named_with_its_extra(monkeypatch):
    tau2._tasks.cache_clear()
    for name in [n for n in sys.modules if n.split(".")[0] == "tau2"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tau2", None)
    with pytest.raises(ImportError, match=r"pip install -e '\.\[tau2\]'"):
        tau2.CustomerService().reset("airline/0")


@pytest.mark.tau2
@pytest.mark.parametrize("task", ["airline/1", "airline/8", "retail/0", "retail/1"])
def test_gold_actions_earn_the_reward_of_the_real_package(task):
    env = tau2.CustomerService()
    env.reset(task)
    answers = play(env, *env.gold())
    assert answers[-1].reward == 1.0 and not any(a.done for a in answers[:-1])
    assert tau2.version()


@pytest.mark.tau2
def test_the_real_database_comes_back_by_replay():
    env = tau2.CustomerService()
    env.reset("retail/1")
    gold = env.gold()
    play(env, gold[0], gold[1])
    snapshot, read = env.snapshot(), gold[1]
    before = env.step(read).observation
    play(env, *gold[2:-1])
    assert env.step(read).observation != before
    env.restore(snapshot)
    assert env.step(read).observation == before
    assert play(env, *gold[2:])[-1].reward == 1.0


@pytest.mark.tau2
def test_the_real_package_refuses_what_it_cannot_do():
    env = tau2.CustomerService()
    env.reset("airline/0")
    bad = [ToolCall("fly", {}), ToolCall("get_user_details", {"user_id": "x"})]
    for answer in play(env, *map(write_call, bad)):
        assert answer.observation.startswith("Error") and not answer.done
    assert env.step(tau2.STOP).done
