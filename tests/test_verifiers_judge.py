"""A language model as judge, against a server on this machine."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from verdict_rows import call, candidate, say

from pivotlab.records import Message
from pivotlab.verifiers.judge import Judge, JudgedVerifier, shipped_rubric, shown
from pivotlab.verifiers.protocol import Verifier
from pivotlab.verifiers.shell import ShellVerifier


class Server(ThreadingHTTPServer):
    """Answers every request with `answer(prompt)`; a number is a status code."""

    def __init__(self, answer):
        self.answer, self.prompts = answer, []
        super().__init__(("127.0.0.1", 0), Handler)


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][0]["content"]
        self.server.prompts.append(prompt)
        answer = self.server.answer(prompt)
        self.send_response(answer if isinstance(answer, int) else 200)
        self.end_headers()
        message = {"choices": [{"message": {"content": answer}}]}
        self.wfile.write(json.dumps(message).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def served(tmp_path):
    """Makes judges whose server answers as told."""
    servers = []

    def make(answer, **settings):
        server = Server(answer)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        settings = {"first_wait": 0.01, "folder": tmp_path / "judge", **settings}
        return Judge(url, "judge-1", **settings), server

    yield make
    for server in servers:
        server.shutdown()
        server.server_close()


def prefers_first(prompt: str) -> str:
    first = prompt.split("<action_a>")[1].split("</action_a>")[0]
    return "VERDICT: SAME" if "sort" in first else "VERDICT: DIFFERENT"


ROW = candidate(say("sort -u a"), domain="terminal")


@pytest.mark.parametrize(
    ("answer", "opinion"),
    [
        (lambda p: "They agree.\nVERDICT: SAME", "same"),
        (lambda p: "VERDICT: DIFFERENT", "different"),
        (lambda p: "verdict: same", "same"),
        (lambda p: "VERDICT: SAME? no.\nVERDICT: DIFFERENT", "different"),
        (prefers_first, "split"),
        (lambda p: "I cannot say.", "unreadable"),
        (lambda p: 503, "unavailable"),
        (lambda p: None, "unavailable"),
    ],
)
def test_opinions(served, answer, opinion):
    judge, _ = served(answer)
    assert judge.opinion("here", "sort -u a", "uniq a") == opinion


def test_both_orders_are_asked(served):
    judge, server = served(lambda p: "VERDICT: SAME")
    judge.opinion("here", "first", "second")
    assert len(server.prompts) == 2
    for prompt, (a, b) in zip(
        server.prompts, [("first", "second"), ("second", "first")], strict=True
    ):
        assert f"<action_a>\n{a}\n" in prompt and f"<action_b>\n{b}\n" in prompt


def test_answers_are_kept_on_disk(served, tmp_path):
    judge, server = served(lambda p: "VERDICT: SAME")
    assert judge.opinion("s", "a", "b") == "same"
    again = Judge(judge.base_url, "judge-1", folder=tmp_path / "judge", requests=0)
    assert again.opinion("s", "a", "b") == "same"
    assert again.report["from_disk"] == 2 and len(server.prompts) == 2
    other = Judge(judge.base_url, "judge-2", folder=tmp_path / "judge", requests=0)
    assert other.opinion("s", "a", "b") == "budget_spent"


def test_failures_are_not_kept(served):
    codes = iter([500, 500, "VERDICT: SAME", "VERDICT: SAME"])
    judge, _ = served(lambda p: next(codes), attempts=2)
    assert judge.opinion("s", "a", "b") == "unavailable"
    assert judge.opinion("s", "a", "b") == "same"


def test_the_budget_bounds_the_requests(served):
    judge, server = served(lambda p: "VERDICT: SAME", requests=3)
    assert judge.opinion("s", "a", "b") == "same"
    assert judge.opinion("s", "a", "c") == "budget_spent"
    assert len(server.prompts) == 3


def test_a_judge_is_not_the_only_reason_for_a_success_unless_asked_for(served):
    judge, server = served(lambda p: "VERDICT: SAME")
    advised = JudgedVerifier(ShellVerifier(), judge)
    verdict = advised.verify(ROW, say("sort a | uniq"))
    assert (verdict.reward, verdict.category) == (0.0, "judge_same_not_counted")
    decided = JudgedVerifier(ShellVerifier(), judge, may_decide=True)
    verdict = decided.verify(ROW, say("sort a | uniq"))
    assert (verdict.reward, verdict.category) == (1.0, "judge_same")
    assert advised.version != decided.version and isinstance(decided, Verifier)
    assert len(server.prompts) == 2


def test_what_the_rules_decide_is_not_asked(served):
    judge, server = served(lambda p: "VERDICT: SAME")
    judged = JudgedVerifier(ShellVerifier(), judge, may_decide=True)
    assert judged.verify(ROW, say("sort  -u a")).category == "same"
    assert judged.verify(ROW, say("")).category == "no_command"
    assert server.prompts == []


def test_every_other_opinion_is_a_category_without_reward(served):
    for answer, category in (
        (lambda p: "VERDICT: DIFFERENT", "judge_different"),
        (prefers_first, "judge_split"),
        (lambda p: "hm", "judge_unreadable"),
        (lambda p: 500, "judge_unavailable"),
    ):
        judge, _ = served(answer, attempts=1)
        row = candidate(say("sort -u a"), domain="terminal", prefix=(say(category),))
        judged = JudgedVerifier(ShellVerifier(), judge, may_decide=True)
        verdict = judged.verify(row, say("cat a"))
        assert (verdict.reward, verdict.category) == (0.0, category)


def test_braces_in_an_action_are_no_fields(served):
    judge, server = served(lambda p: "VERDICT: SAME")
    assert judge.opinion("{a} {b}", "awk '{print}' {b}", "{a}") == "same"
    assert "<action_a>\nawk '{print}' {b}\n</action_a>" in server.prompts[0]


def test_a_rubric_needs_its_fields(tmp_path):
    with pytest.raises(ValueError, match="lacks {b}"):
        Judge("http://x/v1", "m", rubric="{situation} {a}", folder=tmp_path)
    assert all(f in shipped_rubric() for f in ("{situation}", "{a}", "{b}"))


def test_no_server_is_an_answer_too(tmp_path):
    judge = Judge("http://127.0.0.1:9/v1", "m", attempts=1, folder=tmp_path)
    assert judge.opinion("s", "a", "b") == "unavailable"


def test_messages_are_shown_with_calls_and_without_thinking():
    message = Message("assistant", "hi", call("f", a=1).tool_calls, "secret")
    assert shown(message) == 'hi\nf({"a": 1})'
