"""Profiling through datatrove against a server on loopback; the rest needs no extra."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pivotlab.engines.protocol import Sampling
from pivotlab.models import tiny
from pivotlab.models.tokenizer import build_tokenizer
from pivotlab.pivots.distributed import DistributedProfiling, Executor, Server
from pivotlab.pivots.profiling import reverify
from pivotlab.pivots.store import ProfileStore
from pivotlab.records import Candidate, Message
from pivotlab.rendering import Renderer
from pivotlab.verifiers.exact import ExactVerifier

K = 4
SAMPLING = Sampling(max_new_tokens=16)
RIGHT = "go to fridge 1"


@pytest.fixture(scope="module")
def renderer():
    return Renderer(build_tokenizer(tiny.vocabulary()))


def make_candidates(trajectories=3, turns=3):
    found = []
    for t in range(trajectories):
        prefix = [Message("user", f"you see a mug {t + 1}")]
        for turn in range(turns):
            expert = Message("assistant", RIGHT)
            found.append(Candidate(f"{t}#{turn}", f"{t}", turn, tuple(prefix), expert))
            prefix += [expert, Message("user", "look")]
    return found


@pytest.fixture
def server(renderer):
    """Completions of one choice; `behave(body)` -> (status, text, finish_reason)."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self, status, value):
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def do_GET(self):
            self.answer(200, {"data": [{"id": "m"}]})

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with self.server.lock:
                self.server.bodies.append(body)
            status, text, reason = self.server.behave(body)
            choice = {"text": text, "finish_reason": reason}
            self.answer(status, {"choices": [choice], "usage": {}})

        def log_message(self, *arguments):
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = True
    httpd.lock, httpd.bodies = threading.Lock(), []
    httpd.behave = lambda body: (200, RIGHT, "stop")
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield httpd
    httpd.shutdown()
    thread.join()


def endpoint(server):
    return Server("endpoint", "m", f"http://127.0.0.1:{server.server_address[1]}/v1")


def make(renderer, tmp_path, k=K):
    store = ProfileStore(tmp_path / "store", "model")
    return store, DistributedProfiling(renderer, store, SAMPLING, k, tmp_path / "work")


def test_remote_endpoints_and_log_probs_are_refused(renderer, tmp_path):
    with pytest.raises(ValueError, match="must be on loopback"):
        Server("endpoint", "m", "http://node7:8000/v1")
    store = ProfileStore(tmp_path, "model")
    with pytest.raises(ValueError, match="no log-probs"):
        DistributedProfiling(
            renderer, store, Sampling(4, log_probs=True), K, tmp_path / "work"
        )


def test_a_missing_extra_is_named(renderer, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "datatrove", None)
    _, work = make(renderer, tmp_path)
    with pytest.raises(ImportError, match=r"pivotlab\[scale\]"):
        work.submit(make_candidates(1, 1), Server("vllm", "m"), Executor())


def answer_requests(work, answers):
    """Stands in for the tasks: one answer document per request."""
    for path in sorted(work.folder.glob("*/requests/*.jsonl")):
        lines = []
        for line in path.read_text().splitlines():
            request = json.loads(line)
            samples = [
                answers(request["text"], s) for s in request["metadata"]["seeds"]
            ]
            request["metadata"]["samples"] = [samples]
            lines.append(json.dumps(request))
        place = path.parents[1] / "answers" / path.name
        place.parent.mkdir(exist_ok=True)
        place.write_text("\n".join(lines))


@pytest.fixture
def by_hand(monkeypatch):
    """Requests are written, and nobody runs them."""
    from pivotlab.pivots import distributed

    class Nobody:
        def run(self):
            pass

    monkeypatch.setattr(distributed, "_executor", lambda *_: Nobody())


def test_trajectories_stay_whole_and_deepen_within_a_task(renderer, tmp_path, by_hand):
    _, work = make(renderer, tmp_path)
    assert work.submit(make_candidates(), Server("vllm", "m"), Executor(tasks=2)) == 9
    tasks = [
        [json.loads(line)["text"] for line in path.read_text().splitlines()]
        for path in sorted(work.folder.glob("*/requests/*.jsonl"))
    ]
    assert tasks == [["0#0", "0#1", "0#2", "2#0", "2#1", "2#2"], ["1#0", "1#1", "1#2"]]


def test_failures_and_cut_off_samples_stay_among_the_k(renderer, tmp_path, by_hand):
    store, work = make(renderer, tmp_path)
    candidates = make_candidates(1, 2)
    work.submit(candidates, Server("vllm", "m"), Executor())
    scripted = iter(
        [
            {"text": RIGHT, "finish_reason": "stop"},
            {"text": RIGHT, "finish_reason": "length"},
            {"failure": "HTTP 400"},
            {"text": "look", "finish_reason": "stop"},
        ]
        * 2
    )
    answer_requests(work, lambda *_: next(scripted))
    assert work.gather() == {"turns": 2, "samples": 8, "failed": 2}
    assert work.gather()["turns"] == 0, "an answer is taken once"
    found = reverify(
        candidates, renderer, ExactVerifier(), k=K, sampling=SAMPLING, store=store
    )
    assert [p.mu for p in found] == [0.25, 0.25] and found[0].k == K
    assert found[0].categories[1:3] == ("truncated", "no_sample")
    assert found[0].truncated == (False, True, True, False)


def test_only_missing_samples_are_requested(renderer, tmp_path, by_hand):
    _, first = make(renderer, tmp_path, k=2)
    candidates = make_candidates(1, 2)
    first.submit(candidates, Server("vllm", "m"), Executor())
    answer_requests(first, lambda *_: {"text": "look", "finish_reason": "stop"})
    first.gather()
    assert first.submit(candidates, Server("vllm", "m"), Executor()) == 0
    _, more = make(renderer, tmp_path, k=5)
    assert more.submit(candidates, Server("vllm", "m"), Executor()) == 2
    requests = {
        json.loads(line)["metadata"]["first"]: json.loads(line)["metadata"]["seeds"]
        for path in more.folder.glob("*/requests/*.jsonl")
        for line in path.read_text().splitlines()
    }
    assert {k: len(v) for k, v in requests.items()} == {0: 2, 2: 3}
    answer_requests(more, lambda *_: {"text": "open", "finish_reason": "stop"})
    assert more.gather()["samples"] == 6


def test_a_half_written_line_waits(renderer, tmp_path, by_hand):
    _, work = make(renderer, tmp_path)
    work.submit(make_candidates(1, 2), Server("vllm", "m"), Executor())
    answer_requests(work, lambda *_: {"text": "look", "finish_reason": "stop"})
    (path,) = work.folder.glob("*/answers/*.jsonl")
    whole = path.read_text()
    path.write_text(whole[:-20])
    assert work.gather() == {"unfinished": 1, "turns": 1, "samples": K, "failed": 0}
    path.write_text(whole)
    assert work.gather() == {"turns": 1, "samples": K, "failed": 0}


def test_local_executor_fills_the_store_with_failures_in_it(renderer, tmp_path, server):
    pytest.importorskip("datatrove")
    candidates = make_candidates()
    bad = renderer.prompt_ids(candidates[4].prefix)

    def behave(body):
        if body["prompt"] == bad and body["seed"] % 2:
            return 400, "", ""
        return 200, (RIGHT if body["seed"] % 3 else "look"), "stop"

    server.behave = behave
    store, work = make(renderer, tmp_path)
    assert work.submit(candidates, endpoint(server), Executor(tasks=2)) == 9
    counts = work.gather()
    seeds = {tuple(b["prompt"]): [] for b in server.bodies}
    for body in server.bodies:
        seeds[tuple(body["prompt"])].append(body["seed"])
    failing = sum(seed % 2 for seed in seeds[tuple(bad)])
    assert counts == {"turns": 9, "samples": 9 * K, "failed": failing}
    assert 0 < failing < K, "the seeds of the bad turn are of both kinds"
    assert server.bodies[0]["top_p"] == 1.0 and server.bodies[0]["max_tokens"] == 16
    found = reverify(
        candidates, renderer, ExactVerifier(), k=K, sampling=SAMPLING, store=store
    )
    for candidate, judged in zip(candidates, found, strict=True):
        own = seeds[tuple(renderer.prompt_ids(candidate.prefix))]
        broken = [s for s in own if s % 2] if candidate is candidates[4] else []
        right = [s for s in own if s % 3 and s not in broken]
        assert judged.mu == len(right) / K
        assert judged.categories.count("no_sample") == len(broken)
    requests = len(server.bodies)
    assert work.submit(candidates, endpoint(server), Executor(tasks=2)) == 0
    assert len(server.bodies) == requests, "nothing is drawn twice"


def test_a_task_whose_server_dies_goes_on_where_it_was(renderer, tmp_path, server):
    pytest.importorskip("datatrove")
    candidates = make_candidates(1, 3)
    last = renderer.prompt_ids(candidates[2].prefix)
    dead = threading.Event()
    dead.set()

    def behave(body):
        dying = dead.is_set() and body["prompt"] == last
        return (500, "", "") if dying else (200, RIGHT, "stop")

    server.behave = behave
    _, work = make(renderer, tmp_path)
    with pytest.raises(Exception, match="500|unrecoverable|InternalServerError"):
        work.submit(candidates, endpoint(server), Executor())
    dead.clear()
    work.submit(candidates, endpoint(server), Executor())
    assert work.gather() == {"turns": 3, "samples": 3 * K, "failed": 0}
