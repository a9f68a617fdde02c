"""Which failures are tried again, and which end a run with the way out."""

import httpx
import pytest

from pivotlab.engines.endpoint_client import (
    EndpointClient,
    EndpointError,
    Unreachable,
    chat_text,
    may_pass_later,
)


def client(monkeypatch, *answers):
    """A client whose posts are answered in turn: a status with JSON, or an error."""
    ours = EndpointClient("http://here/v1/", "m", attempts=3, first_wait=0.0)
    asked, left = [], list(answers)

    def post(url, json):
        asked.append((url, json))
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        return httpx.Response(status, json=body, request=httpx.Request("POST", url))

    monkeypatch.setattr(ours._client, "post", post)
    return ours, asked


def test_a_request_names_the_model_and_is_tried_until_it_is_answered(monkeypatch):
    busy, slow = (503, {}), httpx.ReadTimeout("slow")
    ours, asked = client(monkeypatch, busy, slow, (200, {"a": 1}))
    assert ours.post("completions", {"n": 2}) == {"a": 1}
    assert asked == [("http://here/v1/completions", {"model": "m", "n": 2})] * 3
    assert ours.report["requests"] == 3


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_is_final_and_says_what_to_check(monkeypatch, status):
    ours, asked = client(monkeypatch, (status, {"error": "no such model"}))
    with pytest.raises(EndpointError, match="'m'.*no such model.*here/v1/models"):
        ours.post("completions", {})
    assert len(asked) == 1


def test_no_server_after_the_last_try_names_the_address(monkeypatch):
    ours, asked = client(monkeypatch, *[httpx.ConnectError("refused")] * 3)
    with pytest.raises(Unreachable, match=r"http://here/v1 \(refused\).*vllm serve m"):
        ours.post("completions", {})
    assert len(asked) == 3


def test_a_bad_request_is_not_tried_again(monkeypatch):
    ours, asked = client(monkeypatch, (400, {}))
    with pytest.raises(httpx.HTTPStatusError):
        ours.post("completions", {})
    assert len(asked) == 1
    assert not may_pass_later(ValueError("no JSON"))


def test_the_text_of_a_chat_completion():
    answer = {"choices": [{"message": {"content": "yes"}}]}
    assert chat_text(answer) == "yes"
    with pytest.raises(ValueError, match="no choices"):
        chat_text({"choices": []})
    with pytest.raises(ValueError, match="NoneType, not text"):
        chat_text({"choices": [{"message": {"content": None}}]})
