"""The endpoint sampler against a small loopback server that misbehaves on request."""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pivotlab.engines.endpoint import EndpointSampler
from pivotlab.engines.endpoint_client import EndpointError
from pivotlab.engines.protocol import Sampler, Sampling

STOP = 2


class WordTokenizer:
    """Stands in where a server hides token ids: one id per word, its length."""

    def encode(self, text, *, add_special_tokens):
        assert add_special_tokens is False
        return [len(word) for word in text.split()]


@pytest.fixture
def server():
    """A server that answers with `behave(body, nth request)` -> (status, object)."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with self.server.lock:
                self.server.seen[tuple(body["prompt"])] += 1
                self.server.bodies.append(body)
                nth = self.server.seen[tuple(body["prompt"])]
            status, answer = self.server.behave(body, nth)
            data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *arguments):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    httpd.lock, httpd.seen, httpd.bodies = threading.Lock(), Counter(), []
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield httpd
    httpd.shutdown()
    thread.join()


def echo(body, nth):
    """n choices: the prompt reversed, then the stop token."""
    ids = [*reversed(body["prompt"]), STOP]
    choice = {"token_ids": ids, "text": "x", "finish_reason": "stop"}
    return 200, {"choices": [choice] * body["n"]}


def sampler(server, **options):
    url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    options = {"first_wait": 0.01, "attempts": 3, **options}
    return EndpointSampler(url, "m", WordTokenizer(), **options)


def test_it_is_a_sampler_and_keeps_the_order_of_prompts(server):
    server.behave = echo
    ours = sampler(server)
    assert isinstance(ours, Sampler)
    prompts = [[i, i + 1] for i in range(40)]
    drawn = ours.sample(prompts, 3, Sampling(8, stop_ids=(STOP,)), list(range(40)))
    assert [d[0].token_ids for d in drawn] == [(i + 1, i, STOP) for i in range(40)]
    assert all(len(d) == 3 and not d[0].truncated for d in drawn)
    body = server.bodies[0]
    assert (body["top_p"], body["max_tokens"], body["temperature"]) == (1.0, 8, 1.0)


def test_a_throttled_request_is_tried_again(server):
    server.behave = lambda body, nth: (429, {}) if nth == 1 else echo(body, nth)
    ours = sampler(server)
    (drawn,) = ours.sample([[5]], 1, Sampling(8, stop_ids=(STOP,)), [0])
    assert drawn[0].token_ids == (5, STOP) and ours.report["requests"] == 2


@pytest.mark.parametrize(
    "answer, why",
    [
        ((500, {}), "HTTP 500"),
        ((400, {"error": "too long"}), "HTTP 400"),
        ((200, b"<html>"), "JSONDecodeError"),
        ((200, {"no": "choices"}), "KeyError"),
        ((200, {"choices": None}), "TypeError"),
    ],
)
def test_a_request_that_keeps_failing_stays_in_the_denominator(server, answer, why):
    server.behave = lambda body, nth: answer if body["prompt"] == [5] else echo(body, 1)
    ours = sampler(server)
    bad, good = ours.sample([[5], [6]], 4, Sampling(8, stop_ids=(STOP,)), [0, 0])
    assert len(bad) == 4 and all(s.failure.startswith(why) for s in bad)
    assert all(s.token_ids == () and s.truncated for s in bad)
    assert not good[0].failure and ours.report["samples_failed"] == 4


def test_missing_choices_are_failures(server):
    server.behave = lambda body, nth: echo({**body, "n": 1}, nth)
    (drawn,) = sampler(server).sample([[5]], 3, Sampling(8), [0])
    assert [bool(s.failure) for s in drawn] == [False, True, True]


def test_text_is_encoded_where_ids_are_hidden_and_counted(server):
    choice = {"text": "put in desk", "finish_reason": "stop"}
    server.behave = lambda body, nth: (200, {"choices": [choice]})
    ours = sampler(server)
    (drawn,) = ours.sample([[5]], 1, Sampling(8, stop_ids=(STOP,)), [0])
    assert drawn[0].token_ids == (3, 2, 4, STOP)
    assert ours.report["samples_re_encoded"] == 1


def test_truncation_is_reported(server):
    choice = {"token_ids": [7, 7], "finish_reason": "length"}
    server.behave = lambda body, nth: (200, {"choices": [choice]})
    (drawn,) = sampler(server).sample([[5]], 1, Sampling(2, stop_ids=(STOP,)), [0])
    assert drawn[0].truncated and drawn[0].token_ids == (7, 7)


@pytest.mark.parametrize("status", [401, 404])
def test_a_refused_model_names_it_and_the_way_out(server, status):
    server.behave = lambda body, nth: (status, {"error": "no such model"})
    with pytest.raises(EndpointError, match="model 'm'.*served model name"):
        sampler(server).sample([[5]], 1, Sampling(2), [0])


def test_no_server_names_the_address():
    ours = EndpointSampler("http://127.0.0.1:9/v1", "m", WordTokenizer(), attempts=1)
    with pytest.raises(EndpointError, match="127.0.0.1:9/v1.*vllm serve m"):
        ours.sample([[5]], 1, Sampling(2), [0])


def test_a_slow_server_is_given_up_on(server):
    release = threading.Event()
    server.behave = lambda body, nth: (release.wait(5), echo(body, nth))[1]
    ours = sampler(server, timeout=0.1, attempts=2)
    (drawn,) = ours.sample([[5]], 2, Sampling(2), [0])
    release.set()
    assert all("Timeout" in s.failure for s in drawn)
