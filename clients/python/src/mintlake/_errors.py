"""What goes wrong."""

from __future__ import annotations

import json

import httpx


class MintlakeError(Exception):
    """An answer that is no success.

    ``retry_after`` is how many seconds the API asks to wait, 0 where it says nothing. ``request_id`` finds the
    request in the node's log. ``code`` is the swap API's word for what is wrong, or None.
    """

    def __init__(self, status: int, message: str, retry_after: float, request_id: str | None, code: str | None) -> None:
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message
        self.retry_after = retry_after
        self.request_id = request_id
        self.code = code


class NotAFeed(Exception):
    """The address answers, and not with a feed of events."""


def error_of(response: httpx.Response) -> MintlakeError:
    """The error that a response tells. The response must have been read."""
    message = f"{response.reason_phrase}, and no error as Mintlake answers: is this the address of its API?"
    code = None
    try:
        told = json.loads(response.content)
        if isinstance(told, dict) and isinstance(told.get("message"), str):
            message = told["message"]
            code = told["code"] if isinstance(told.get("code"), str) else None
    except ValueError:
        pass  # another server answered
    try:
        seconds = float(response.headers.get("Retry-After", ""))
    except ValueError:
        seconds = 0
    waits = response.status_code in (429, 503) and seconds > 0
    return MintlakeError(response.status_code, message, seconds if waits else 0, response.headers.get("X-Request-ID"), code)
