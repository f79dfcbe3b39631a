"""A stand-in for litellm, for tests of the real Aider where PyPI cannot be reached.

What is real: requests over HTTP to an OpenAI-compatible server, streamed or whole; the
classes of errors by status, as litellm 1.75 chooses them; two retries of a request, after
the delays of the package openai, which litellm uses.

What is not: every other provider, tools, images, prices, tokenizers (a token is four
characters), caching, callbacks, and each of litellm's many options.
"""

import json
import os
import random
import time

import httpx

from . import _logging  # noqa: F401  Aider turns its debugging off

suppress_debug_info = False
set_verbose = False
drop_params = False
client_session = None
aclient_session = None
model_cost = {}

# Aider wants to know each class of litellm's whose name ends in "Error", and no other.


class OpenAIError(Exception):
    """An error of a model server."""

    def __init__(self, message, status_code=500):
        name = type(self).__name__
        super().__init__(f"litellm.{name}: {message}")
        self.status_code = status_code


class APIError(OpenAIError):
    pass


class APIConnectionError(OpenAIError):
    pass


class APIResponseValidationError(OpenAIError):
    pass


class AuthenticationError(OpenAIError):
    pass


class AzureOpenAIError(OpenAIError):
    pass


class BadRequestError(OpenAIError):
    pass


class BudgetExceededError(OpenAIError):
    pass


class ContentPolicyViolationError(BadRequestError):
    pass


class ContextWindowExceededError(BadRequestError):
    pass


class InternalServerError(OpenAIError):
    pass


class InvalidRequestError(BadRequestError):
    pass


class JSONSchemaValidationError(APIResponseValidationError):
    pass


class NotFoundError(OpenAIError):
    pass


class RateLimitError(OpenAIError):
    pass


class RouterRateLimitError(RateLimitError):
    pass


class ServiceUnavailableError(OpenAIError):
    pass


class UnprocessableEntityError(OpenAIError):
    pass


class UnsupportedParamsError(BadRequestError):
    pass


class Timeout(OpenAIError):
    pass


_by_status = {
    400: BadRequestError,
    401: AuthenticationError,
    404: NotFoundError,
    408: Timeout,
    422: BadRequestError,
    429: RateLimitError,
    500: InternalServerError,
    503: ServiceUnavailableError,
    504: Timeout,
}


def _refusal(response):
    """The error for an answer that is none."""
    text = response.read().decode(errors="replace")
    try:
        message = json.loads(text)["error"]["message"]
    except (ValueError, KeyError, TypeError):
        message = text
    if "maximum context length" in message or "context_length_exceeded" in text:
        return ContextWindowExceededError(f"OpenAIException - {message}", response.status_code)
    kind = _by_status.get(response.status_code, APIError)
    return kind(f"OpenAIException - {message}", response.status_code)


_retries = 2


def _retried(response):
    """Whether the package openai tries a request again after this answer."""
    wish = response.headers.get("x-should-retry")
    if wish in ("true", "false"):
        return wish == "true"
    return response.status_code in (408, 409, 429) or response.status_code >= 500


def _delay(attempt, headers):
    """How long the package openai waits before it tries again."""
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            asked = float(headers[name]) / unit
        except (KeyError, ValueError):
            continue
        if 0 < asked <= 60:
            return asked
    return min(0.5 * 2**attempt, 8) * (1 - 0.25 * random.random())


def _send(body, timeout):
    """Sends a request until there is an answer, and returns it, not read yet."""
    base = os.environ.get("OPENAI_API_BASE") or "https://api.openai.com/v1"
    client = httpx.Client(timeout=httpx.Timeout(timeout))
    headers = {
        "Authorization": "Bearer " + os.environ.get("OPENAI_API_KEY", ""),
        "User-Agent": "OpenAI/Python 1.98.0",  # litellm uses this package
    }
    request = client.build_request("POST", base.rstrip("/") + "/chat/completions", json=body, headers=headers)
    for attempt in range(_retries + 1):
        last = attempt == _retries
        try:
            response = client.send(request, stream=True)
        except httpx.TimeoutException as err:
            if last:
                raise Timeout(f"APITimeoutError - Request timed out. {err}", 408) from err
            time.sleep(_delay(attempt, {}))
            continue
        except httpx.HTTPError as err:
            if last:
                raise InternalServerError(f"OpenAIException - Connection error. {err}") from err
            time.sleep(_delay(attempt, {}))
            continue
        if response.is_success:
            return response
        if last or not _retried(response):
            raise _refusal(response)
        response.close()
        time.sleep(_delay(attempt, response.headers))
    raise AssertionError("the last attempt returns or raises")


class _Fields:
    """An answer's fields as attributes: one that is missing is an AttributeError."""

    def __init__(self, fields):
        for name, value in fields.items():
            setattr(self, name, _fields(value))


def _fields(value):
    if isinstance(value, dict):
        return _Fields(value)
    if isinstance(value, list):
        return [_fields(item) for item in value]
    return value


def _chunks(response):
    """The chunks of a streamed answer. One without any ends with an empty one."""
    finished = False
    try:
        for line in response.iter_lines():
            line = line.strip()
            if not line.startswith("data:"):
                continue
            data = line[len("data:") :].strip()
            if data == "[DONE]":
                break
            chunk = json.loads(data)
            if chunk.get("error"):
                raise APIError(f"OpenAIException - {chunk['error']}")
            finished = finished or any(choice.get("finish_reason") for choice in chunk.get("choices", []))
            yield _fields({"choices": [], "usage": None, **chunk})
    except httpx.TimeoutException as err:
        raise Timeout(f"OpenAIException - {err}", 408) from err
    except (httpx.HTTPError, ValueError) as err:
        raise APIConnectionError(f"APIConnectionError: OpenAIException - {err}") from err
    finally:
        response.close()
    if not finished:
        choice = {"index": 0, "delta": {"content": None}, "finish_reason": "stop"}
        yield _fields({"choices": [choice], "usage": None})


def completion(model, messages, stream=False, timeout=600, **options):
    """Asks the model server for an answer: an iterator of chunks if it is streamed."""
    provider, _, name = model.partition("/")
    if provider != "openai":
        raise BadRequestError(f"this stand-in knows no provider {provider!r}", 400)
    known = ("temperature", "max_tokens", "tools", "tool_choice", "reasoning_effort", "extra_body")
    body = {"model": name, "messages": messages, "stream": bool(stream)}
    body.update({key: value for key, value in options.items() if key in known})
    body.update(body.pop("extra_body", {}))
    response = _send(body, timeout)
    if stream:
        return _chunks(response)
    try:
        text = response.read()
        return _fields({"usage": None, **json.loads(text)})
    except (httpx.HTTPError, ValueError) as err:
        raise APIConnectionError(f"APIConnectionError: OpenAIException - {err}") from err
    finally:
        response.close()


def encode(model, text):
    """Not a model's tokens: four characters each."""
    return [text[at : at + 4] for at in range(0, len(text), 4)]


def token_counter(model, messages):
    return len(encode(model, json.dumps(messages)))


def completion_cost(completion_response=None):
    raise ValueError("this stand-in knows no prices")


def get_model_info(model):
    # Aider prints every other message.
    raise ValueError(f"{model} is not in model_prices_and_context_window.json")


def validate_environment(model):
    return {"keys_in_environment": True, "missing_keys": []}


def register_model(models):
    model_cost.update(models)


def transcription(**options):
    raise BadRequestError("this stand-in knows no speech", 400)
