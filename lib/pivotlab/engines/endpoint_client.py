"""One client of OpenAI-compatible servers: retries, and errors that say the way out."""

from __future__ import annotations

from collections import Counter
from typing import Any

import httpx
from tenacity import Retrying, retry_if_exception, stop_after_attempt
from tenacity import wait_exponential as wait

#: Answers that a later try may change: throttled, or the server is not ready.
RETRIED_STATUS = frozenset({408, 409, 429, 500, 502, 503, 504})
#: Answers that no later try will change: a wrong key, model or address.
REFUSED_STATUS = frozenset({401, 403, 404})


class EndpointError(RuntimeError):
    """The endpoint cannot be used at all; the message names it and the way out."""


class Unreachable(EndpointError):
    """No server answers at the address."""


class EndpointClient:
    """Posts requests to one served model; safe to call from several threads."""

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        api_key: str = "none",
        attempts: int = 4,
        timeout: float = 600.0,
        first_wait: float = 0.5,
    ):
        """
        Args:
            base_url: up to and including the version, e.g. "http://localhost:8000/v1".
            model: name under which the server serves it.
            api_key: sent as a bearer token.
            attempts: tries of one request.
            timeout: seconds one try may take.
            first_wait: seconds before the second try; doubles after every try.
        """
        self.base_url, self.model = base_url.rstrip("/"), model
        self.report: Counter[str] = Counter()
        self._client = httpx.Client(
            timeout=timeout, headers={"Authorization": f"Bearer {api_key}"}
        )
        self._retrying = Retrying(
            retry=retry_if_exception(may_pass_later),
            stop=stop_after_attempt(attempts),
            wait=wait(multiplier=first_wait, max=30.0),
            reraise=True,
        )

    def post(self, path: str, body: dict[str, Any]) -> Any:
        """The answer's JSON to a request for the model; `report` counts the tries.

        Raises:
            EndpointError: the server refuses the model or the key.
            Unreachable: no server answers.
            httpx.HTTPError: any other failure that outlasts the tries.
            ValueError: the answer is no JSON.
        """
        try:
            return self._retrying(self._post, path, {"model": self.model, **body})
        except httpx.HTTPStatusError as error:
            if error.response.status_code in REFUSED_STATUS:
                raise EndpointError(self._refusal(error.response)) from None
            raise
        except httpx.ConnectError as error:
            raise Unreachable(
                f"no server answers at {self.base_url} ({error}); start one, e.g. "
                f"`vllm serve {self.model}`, or correct the address"
            ) from None

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        self.report["requests"] += 1
        response = self._client.post(f"{self.base_url}/{path}", json=body)
        response.raise_for_status()
        return response.json()

    def _refusal(self, response: httpx.Response) -> str:
        return (
            f"{self.base_url} answered {response.status_code} for model "
            f"{self.model!r}: {response.text[:200]}; check the served model name "
            f"({self.base_url}/models lists them) and the API key"
        )


def chat_text(answer: Any) -> str:
    """The text of a chat completion.

    Raises:
        ValueError: it is none, or has no text.
    """
    try:
        content = answer["choices"][0]["message"]["content"]
    except (KeyError, IndexError, TypeError):
        raise ValueError("the answer holds no choices[0].message.content") from None
    if not isinstance(content, str):
        raise ValueError(f"the answer's content is {type(content).__name__}, not text")
    return content


def may_pass_later(error: BaseException) -> bool:
    """Whether a request that failed so is worth another try."""
    if isinstance(error, httpx.HTTPStatusError):
        return error.response.status_code in RETRIED_STATUS
    return isinstance(error, httpx.TransportError)
