"""Where a change feed is, from connection to connection. The clients do the waiting and the reading."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal, Union

import httpx
from httpx_sse import ServerSentEvent

from ._errors import MintlakeError, NotAFeed
from .models import Token

LONGEST_PAUSE = 30.0
QUIET_LIMIT = 45.0  # seconds; the feed sends a sign of life each 15


@dataclass(frozen=True)
class Changed:
    """A token that is new, or one of whose fields changed."""

    event: Literal["new", "changed"]
    token: Token


@dataclass(frozen=True)
class Removed:
    """A token that is no fungible token any more, or whose creation was on an abandoned fork."""

    mint: str
    event: Literal["removed"] = "removed"


@dataclass(frozen=True)
class Reset:
    """What changed cannot be told: read the whole registry again before the next event is asked for."""

    reason: str
    message: str
    event: Literal["reset"] = "reset"


@dataclass(frozen=True)
class Cursor:
    """A place in the feed: store it after the events before it are stored."""

    cursor: str
    event: Literal["cursor"] = "cursor"


Event = Union[Changed, Removed, Reset, Cursor]


def shown(event: ServerSentEvent) -> Event | None:
    """The event as callers get it. None for the end of a stream, and for what later versions send."""
    if event.event in ("new", "changed"):
        kind: Literal["new", "changed"] = "new" if event.event == "new" else "changed"
        return Changed(kind, Token.model_validate_json(event.data))
    if event.event == "removed":
        return Removed(str(told(event)["mint"]))
    if event.event == "reset":
        lost = told(event)
        return Reset(str(lost["reason"]), str(lost["message"]))
    return None


def told(event: ServerSentEvent) -> dict[str, Any]:
    data = json.loads(event.data)
    if not isinstance(data, dict):
        raise NotAFeed(f"an event {event.event!r} without an object")
    return data


class Feed:
    """Cursor, pauses, and the reset after which no cursor has come yet."""

    def __init__(self, cursor: str | None) -> None:
        self.cursor = cursor
        self.lost: Reset | None = None
        self._retry = 0.0
        self._failures = 0

    def read(self, event: ServerSentEvent) -> list[Event]:
        """What to hand on. An id repeats in later events until the next one comes: only a new one is a cursor."""
        self._failures = 0
        if event.retry is not None:
            self._retry = min(event.retry / 1000, LONGEST_PAUSE)
        out: list[Event] = []
        found = shown(event)
        if isinstance(found, Reset):
            self.cursor, self.lost = None, found  # the cursor is of no use any more
        if found is not None:
            out.append(found)
        if event.id and event.id != self.cursor:
            self.cursor, self.lost = event.id, None
            out.append(Cursor(event.id))
        return out

    def pause(self, error: Exception | None) -> float:
        """Seconds until the next connection. Raises errors that another connection would not mend."""
        if error is None:
            return self._retry
        if isinstance(error, MintlakeError) and error.retry_after == 0 and error.status < 500:
            raise error
        if not isinstance(error, (MintlakeError, httpx.TransportError)):
            raise error
        wait: float = min(LONGEST_PAUSE, 0.5 * 2 ** min(self._failures, 6))
        self._failures += 1
        asked = error.retry_after if isinstance(error, MintlakeError) else 0
        return max(wait, self._retry, asked)


