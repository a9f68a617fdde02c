"""Endpoints that are well, malformed, slow or refusing; the student as a teacher."""

import json
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from episode_toys import RENDERER, TASKS, Stairs, talker
from test_distillation_teachers import TASK, rollout

from pivotlab.distillation.asking import EndpointAsk, StudentAsk
from pivotlab.distillation.recovery import at_once
from pivotlab.distillation.teachers import PromptedTeacher, Report
from pivotlab.engines.endpoint_client import EndpointError
from pivotlab.engines.local import LocalSampler
from pivotlab.engines.protocol import Sampling
from pivotlab.environments.textgame.twin import TextGame
from pivotlab.models.registry import load_model
from pivotlab.records import Message
from pivotlab.rendering import Renderer
from pivotlab.rollouts import SamplerPlayer, Settings, Start, play

GOOD = (
    '```json\n{"episode_summary": "s", "episode_lesson": "Look first.", '
    '"step_lessons": {"0": "open it"}}\n```\n'
    '<correct_action step="0">go to desk 1</correct_action>'
)


def completion(text):
    return 200, json.dumps({"choices": [{"message": {"content": text}}]})


@contextmanager
def serving(*answers, delay=0.0):
    """A loopback server that gives its answers in turn, the last one for ever."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            asked.append((self.path, self.headers["Authorization"], json.loads(body)))
            time.sleep(delay)
            status, text = answers[min(len(asked), len(answers)) - 1]
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        server.server_close()


def asker(url, **changes):
    quick = {"attempts": 2, "first_wait": 0.01, "timeout": 5.0}
    return EndpointAsk(url, "judge", api_key="k", **{**quick, **changes})


def test_a_well_server_is_asked_in_chat_form():
    with serving(completion("yes")) as (url, asked):
        assert asker(url, request={"temperature": 0.6})("why?") == "yes"
    ((path, key, body),) = asked
    assert path == "/v1/chat/completions" and key == "Bearer k"
    assert body["messages"] == [{"role": "user", "content": "why?"}]
    assert (body["model"], body["temperature"]) == ("judge", 0.6)


def test_a_busy_server_is_asked_again():
    with serving((503, "busy"), completion("yes")) as (url, asked):
        assert asker(url)("why?") == "yes"
    assert len(asked) == 2


@pytest.mark.parametrize(
    "answer",
    [
        (200, "<html>not JSON"),
        (200, "[]"),
        (200, '{"choices": []}'),
        (200, '{"choices": [{"message": {"content": null}}]}'),
        (500, "broken"),
        (400, "too long"),
    ],
)
def test_malformed_and_failing_servers_are_counted_and_skipped(answer):
    with serving(answer) as (url, _):
        teacher = PromptedTeacher(asker(url), TextGame())
        assert teacher.report(rollout(["look"]), 5) == Report()
        assert teacher.recover(rollout(["look"]), (), _state()) is None
    assert teacher.counts["failed_reports"] == teacher.counts["reports"] == 1
    assert teacher.counts["failed_recovery_queries"] == 1


def _state():
    env = TextGame()
    env.reset(TASK)
    return env.snapshot()


def test_a_slow_server_is_a_failed_call():
    with serving(completion("late"), delay=0.6) as (url, _):
        teacher = PromptedTeacher(asker(url, timeout=0.1, attempts=1))
        assert teacher.report(rollout(["look"]), 5) == Report()
    assert teacher.counts["failed_reports"] == 1


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusing_server_stops_the_run(status):
    refusal = pytest.raises(EndpointError, match="no such model.*served model name")
    with serving((status, "no such model")) as (url, _), refusal:
        PromptedTeacher(asker(url)).report(rollout(["look"]), 5)


def test_no_server_at_first_is_an_error_and_later_a_failed_call():
    with serving(completion("yes")) as (url, _):
        ask = asker(url)
        assert ask("a") == "yes"
    with pytest.raises(ConnectionError):
        ask("b")
    with pytest.raises(EndpointError, match="vllm serve judge"):
        asker(url)("a")


def test_reports_of_many_threads_are_all_counted():
    episode = rollout(["look"])
    with serving(completion(GOOD), delay=0.02) as (url, asked):
        teacher = PromptedTeacher(asker(url))
        found = at_once(teacher.report, 8, [episode] * 24, [5] * 24)
    assert len(asked) == teacher.counts["reports"] == 24
    assert {r.candidates[0].gold_action for r in found} == {"go to desk 1"}
    assert {r.lesson for r in found} == {"Look first."}


def test_the_student_answers_with_noise_of_its_own():
    ask = StudentAsk(talker(), RENDERER, Sampling(6), seed=3)
    again = StudentAsk(talker(), RENDERER, Sampling(6), seed=3)
    first = [ask(f"you see a mug {i + 1}") for i in range(3) for _ in range(3)]
    assert first == [
        again(f"you see a mug {i + 1}") for i in range(3) for _ in range(3)
    ]
    assert len(set(first)) > 1


def test_a_student_that_cannot_report_teaches_nothing_and_is_counted():
    model = talker()
    starts = [Start(TASKS[0], 1)]
    rules = Settings(max_turns=3, sampling=Sampling(6))
    (played,) = play(
        SamplerPlayer(LocalSampler(model)), RENDERER, Stairs, starts, rules
    )
    teacher = PromptedTeacher(StudentAsk(model, RENDERER, Sampling(6)), Stairs())
    assert teacher.report(played, 5) == Report()
    assert teacher.counts["malformed_reports"] == 1


@contextmanager
def transformers_serve(folder, log):
    """The server of transformers itself, on a free port of this machine."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    entry = "from transformers.cli.transformers import main; main()"
    words = ["serve", "--host", "127.0.0.1", "--port", str(port), str(folder)]
    with open(log, "wb") as out:
        server = subprocess.Popen(
            [sys.executable, "-c", entry, *words], stdout=out, stderr=out
        )
    try:
        for _ in range(600):
            time.sleep(0.5)
            assert server.poll() is None, log.read_text()[-2000:]
            try:
                httpx.get(f"http://127.0.0.1:{port}/health").raise_for_status()
                break
            except httpx.HTTPError:
                continue
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.terminate()
        server.wait()


@pytest.mark.slow
def test_a_real_server_answers_as_the_model_does_here(tmp_path):
    pytest.importorskip("fastapi", reason="needs the extra `server`")
    model, tokenizer = load_model("tiny")
    model.save_pretrained(tmp_path / "model")
    tokenizer.save_pretrained(tmp_path / "model")
    renderer, question = Renderer(tokenizer), "What is 3 + 4?"
    sampling = Sampling(12, 0.0, (renderer.end_of_turn,))
    prompt = renderer.prompt_ids((Message("user", question),))
    ((here,),) = LocalSampler(model).sample([prompt], 1, sampling, [0])
    with transformers_serve(tmp_path / "model", tmp_path / "log") as url:
        served = str(tmp_path / "model")
        ask = EndpointAsk(url, served, {"max_tokens": 12, "temperature": 0.0})
        assert ask(question) == renderer.action(here.token_ids).content
        teacher = PromptedTeacher(ask, TextGame())
        # So small a model writes no report: the answer is counted as malformed.
        assert teacher.report(rollout(["look"]), 5) == Report()
        assert teacher.counts["reports"] == 1 and not teacher.counts["failed_reports"]
