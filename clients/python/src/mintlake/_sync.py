"""The client without an event loop. Made of _async.py by generate.py: do not edit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, TypeVar

import httpx
from httpx_sse import connect_sse
from pydantic import BaseModel
from typing_extensions import Self, Unpack

from . import models, swap_models
from ._errors import MintlakeError, NotAFeed, error_of
from ._feed import QUIET_LIMIT, Event, Feed
from ._pages import Batch, Tokens
from ._queries import (
    CandlesQuery, Filters, HoldersQuery, HoursQuery, OwnerAccountsQuery, OwnerTokensQuery, OwnerTransfersQuery, Page, Parts, PoolLiquidityQuery, SearchQuery,
    SendOptions, TokenQuery, TradeOptions, TradesQuery, TransfersQuery, encoded, path,
)

M = TypeVar("M", bound=BaseModel)

MAX_TRIES = 5


class Mintlake:
    """A Mintlake node's token API, and its swap API where ``swap_url`` is given.

    A request that is refused for its rate, or while a node loads, is made again when the answer says, within
    ``max_wait`` seconds in all. Other answers that are no success are a MintlakeError.
    """

    def __init__(self, url: str, *, swap_url: str | None = None, swap_key: str | None = None, timeout: float = 30, max_wait: float = 60, http: httpx.Client | None = None) -> None:
        for name, address in {"url": url, "swap_url": swap_url}.items():
            if address is not None and httpx.URL(address).scheme not in ("http", "https"):
                raise ValueError(f"{name} is {address}: must be http(s)://host:port")
        self._url = url.rstrip("/")
        self._swap_url = swap_url and swap_url.rstrip("/")
        self._swap_headers = {"X-API-KEY": swap_key} if swap_key else {}
        self._timeout = timeout
        self._max_wait = max_wait
        self._http = http or httpx.Client()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Ends all connections."""
        self._http.close()

    def search(self, q: str = "", **query: Unpack[SearchQuery]) -> Tokens:
        """GET /tokens: without q the tokens with the most volume."""
        return self._get(Tokens, "/tokens", {"q": q or None, **query})

    def walk(self, q: str = "", **query: Unpack[SearchQuery]) -> Iterator[models.Token]:
        """Every token that matches, each once."""
        cursor: str | None = ""
        while cursor is not None:
            page = self._get(Tokens, "/tokens", {"q": q or None, "limit": 200, **query, "cursor": cursor})
            for token in page.items:
                yield token
            cursor = page.next_cursor

    def token(self, mint: str, **query: Unpack[TokenQuery]) -> models.Token:
        """GET /tokens/{mint}. An unknown mint is a MintlakeError of status 404."""
        return self._get(models.Token, path("tokens", mint), {**query})

    def batch(self, mints: list[str], *, states: bool = False, wait_ms: int = 0, **query: Unpack[Parts]) -> Batch:
        """POST /tokens/batch: up to 500 mints."""
        body = {"mints": mints, "states": states, "wait_ms": wait_ms}
        return Batch.model_validate_json(self._send("POST", self._url + "/tokens/batch", {**query}, body))

    def history(self, mint: str, **query: Unpack[Page]) -> models.HistoryResponse:
        """GET /tokens/{mint}/history: one page, newest first."""
        return self._get(models.HistoryResponse, path("tokens", mint, "history"), {**query})

    def candles(self, mint: str, **query: Unpack[CandlesQuery]) -> models.CandlesResponse:
        """GET /tokens/{mint}/ohlcv, oldest first."""
        return self._get(models.CandlesResponse, path("tokens", mint, "ohlcv"), {**query})

    def pools(self, mint: str, *, limit: int = 50) -> models.PoolsResponse:
        """GET /tokens/{mint}/pools, those that trade most first."""
        return self._get(models.PoolsResponse, path("tokens", mint, "pools"), {"limit": limit})

    def liquidity_history(self, mint: str, **query: Unpack[HoursQuery]) -> models.LiquidityHistoryResponse:
        """GET /tokens/{mint}/liquidity/history, oldest first."""
        return self._get(models.LiquidityHistoryResponse, path("tokens", mint, "liquidity", "history"), {**query})

    def pool_liquidity(self, pool: str, **query: Unpack[PoolLiquidityQuery]) -> models.PoolLiquidityResponse:
        """GET /pools/{pool}/liquidity: one page, newest first."""
        return self._get(models.PoolLiquidityResponse, path("pools", pool, "liquidity"), {**query})

    def pool_reserves(self, pool: str, **query: Unpack[HoursQuery]) -> models.PoolReservesResponse:
        """GET /pools/{pool}/liquidity/history, oldest first."""
        return self._get(models.PoolReservesResponse, path("pools", pool, "liquidity", "history"), {**query})

    def trades(self, mint: str, **query: Unpack[TradesQuery]) -> models.TradesResponse:
        """GET /tokens/{mint}/trades: one page, newest first."""
        return self._get(models.TradesResponse, path("tokens", mint, "trades"), {**query})

    def accounts(self, mint: str, *, limit: int = 50) -> models.AccountsResponse:
        """GET /tokens/{mint}/accounts, those with the most first."""
        return self._get(models.AccountsResponse, path("tokens", mint, "accounts"), {"limit": limit})

    def holders(self, mint: str, **query: Unpack[HoldersQuery]) -> models.HoldersResponse:
        """GET /tokens/{mint}/holders: one page, those with the most first."""
        return self._get(models.HoldersResponse, path("tokens", mint, "holders"), {**query})

    def holders_history(self, mint: str, **query: Unpack[HoursQuery]) -> models.HoldersHistoryResponse:
        """GET /tokens/{mint}/holders/history, oldest first."""
        return self._get(models.HoldersHistoryResponse, path("tokens", mint, "holders", "history"), {**query})

    def transfers(self, mint: str, **query: Unpack[TransfersQuery]) -> models.TransfersResponse:
        """GET /tokens/{mint}/transfers: one page, newest first."""
        return self._get(models.TransfersResponse, path("tokens", mint, "transfers"), {**query})

    def owner_accounts(self, owner: str, **query: Unpack[OwnerAccountsQuery]) -> models.OwnerAccountsResponse:
        """GET /owners/{owner}/accounts: one page, by mint."""
        return self._get(models.OwnerAccountsResponse, path("owners", owner, "accounts"), {**query})

    def owner_tokens(self, owner: str, **query: Unpack[OwnerTokensQuery]) -> models.OwnerTokensResponse:
        """GET /owners/{owner}/tokens: one page, the highest value first."""
        return self._get(models.OwnerTokensResponse, path("owners", owner, "tokens"), {**query})

    def owner_transfers(self, owner: str, **query: Unpack[OwnerTransfersQuery]) -> models.OwnerTransfersResponse:
        """GET /owners/{owner}/transfers: one page, newest first."""
        return self._get(models.OwnerTransfersResponse, path("owners", owner, "transfers"), {**query})

    def status(self) -> models.Status:
        """GET /status."""
        return self._get(models.Status, "/status", {})

    def follow(self, cursor: str | None = None, **query: Unpack[Filters]) -> Iterator[Event]:
        """New and changed tokens as they come, for ever.

        When the stream ends it goes on behind the last cursor: nothing is missed, some events may come twice. A
        Reset comes again if the stream ends before there is a new cursor. Raises for a request that cannot be right.
        """
        feed = Feed(cursor)
        while True:
            problem: Exception | None = None
            try:
                params = encoded({**query, "cursor": feed.cursor})
                with connect_sse(self._http, "GET", self._url + "/tokens/stream", params=params, timeout=httpx.Timeout(self._timeout, read=QUIET_LIMIT)) as source:
                    self._is_feed(source.response)
                    if feed.lost is not None:  # also the changes between the last connection and this one are lost
                        yield feed.lost
                    for event in source.iter_sse():
                        for found in feed.read(event):
                            yield found
            except (MintlakeError, httpx.TransportError) as error:
                problem = error
            time.sleep(feed.pause(problem))

    def follow_trades(self, mint: str) -> Iterator[models.Trade]:
        """The trades of a mint as they come, until the node ends the stream. What comes between two streams is in trades()."""
        with connect_sse(self._http, "GET", self._url + "/trades/stream", params={"mint": mint}, timeout=httpx.Timeout(self._timeout, read=QUIET_LIMIT)) as source:
            self._is_feed(source.response)
            for event in source.iter_sse():
                if event.event == "trade":
                    yield models.Trade.model_validate_json(event.data)

    def quote(self, src_mint: str, dst_mint: str, **options: Unpack[TradeOptions]) -> swap_models.Quote:
        """GET /api/v2/quote. Amounts are raw units; amount_in or, with swap_mode exact_out, amount_out is needed."""
        query = {"src_mint": src_mint, "dst_mint": dst_mint, "slippage_bps": 50, **options}
        return swap_models.Quote.model_validate_json(self._send("GET", self._swap("/api/v2/quote"), query, None, self._swap_headers))

    def swap(self, src_mint: str, dst_mint: str, user_account: str, **options: Unpack[TradeOptions]) -> swap_models.Quote:
        """POST /api/v2/swap: a quote with the transaction for the user to sign, in base64, as ``txn``."""
        body: dict[str, Any] = {"src_mint": src_mint, "dst_mint": dst_mint, "user_account": user_account, "slippage_bps": 50, **options}
        body.update({name: str(body[name]) for name in ("amount_in", "amount_out") if name in body})
        return swap_models.Quote.model_validate_json(self._send("POST", self._swap("/api/v2/swap"), {}, body, self._swap_headers))

    def send(self, quote: swap_models.Quote, transaction: str, **options: Unpack[SendOptions]) -> swap_models.Sent:
        """POST /api/v2/send: sends the signed transaction (base64) of an answer of swap(), and returns when it is confirmed or expired."""
        body = {"transaction": transaction, "quote": quote.model_dump(mode="json", by_alias=True, exclude_unset=True), **options}
        return swap_models.Sent.model_validate_json(self._send("POST", self._swap("/api/v2/send"), {}, body, self._swap_headers, 120))

    def _swap(self, path: str) -> str:
        if self._swap_url is None:
            raise ValueError("quotes and swaps need the address of the swap API: swap_url")
        return self._swap_url + path

    def _is_feed(self, response: httpx.Response) -> None:
        if not response.is_success:
            response.read()
            raise error_of(response)
        kind = response.headers.get("Content-Type", "")
        if not kind.startswith("text/event-stream"):
            raise NotAFeed(f"{response.url} answers with {kind or 'no content type'}: is this the address of Mintlake's API?")

    def _get(self, model: type[M], path: str, query: dict[str, Any]) -> M:
        return model.model_validate_json(self._send("GET", self._url + path, query))

    def _send(self, method: str, url: str, query: dict[str, Any], body: Any = None, headers: dict[str, str] | None = None, timeout: float | None = None) -> bytes:
        left = self._max_wait
        for attempt in range(1, MAX_TRIES + 1):
            response = self._http.request(method, url, params=encoded(query), json=body, headers=headers, timeout=timeout or self._timeout)
            if response.is_success:
                return response.content
            refusal = error_of(response)
            if refusal.retry_after == 0 or refusal.retry_after > left or attempt == MAX_TRIES:
                raise refusal
            left -= refusal.retry_after
            time.sleep(refusal.retry_after)
        raise AssertionError("the last try returns or raises")
