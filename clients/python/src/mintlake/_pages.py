"""Answers whose rows are whole tokens: a client that asks for no fields gets all."""

from __future__ import annotations

from pydantic import BaseModel

from .models import MintState, Token


class Tokens(BaseModel):
    """A page of matches. next_cursor is of walks alone."""

    items: list[Token]
    page: int
    limit: int
    total: int
    next_cursor: str | None = None


class Batch(BaseModel):
    """What is known of mints. states is there if it was asked for."""

    items: list[Token]
    unknown: list[str]
    states: list[MintState] | None = None
