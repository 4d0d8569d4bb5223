"""A user's day with clients that openapi-python-client makes. It is checked by mypy --strict."""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import mintlake_swaps as swaps
import mintlake_tokens as tokens
from mintlake_swaps import models as swap_models
from mintlake_swaps.api.quotes import get_quote, post_send, post_swap
from mintlake_tokens import models
from mintlake_tokens.api.tokens import get_history, get_token, resolve_tokens, search_tokens, stream_tokens
from solders.keypair import Keypair

SOL = "So11111111111111111111111111111111111111112"
T = TypeVar("T")


def patient(ask: Callable[[], tokens.types.Response[T]]) -> tuple[T | None, int]:
    """Asks again when a refusal says. Returns the answer, and how long it waited."""
    waited = 0
    while (answer := ask()).status_code == 429:
        seconds = int(answer.headers["Retry-After"])
        assert 1 <= seconds <= 60, seconds
        time.sleep(seconds)
        waited += seconds
    return answer.parsed, waited


def feed(client: tokens.Client, cursor: str | None) -> str:
    """Reads the feed until there is a change and a cursor behind it."""
    changes, event, data, place = 0, "", "", ""
    with client.get_httpx_client().stream(**stream_tokens._get_kwargs(cursor=cursor or tokens.types.UNSET)) as answer:
        answer.raise_for_status()
        for line in answer.iter_lines():
            name, _, value = line.partition(":")
            match name, value.strip():
                case "event", event:
                    pass
                case "data", data:
                    pass
                case "id", place:
                    pass
                case "", _:
                    if event in ("new", "changed"):
                        assert len(str(models.TokenFields.from_dict(json.loads(data)).mint)) > 31
                        changes += 1
                    if place and changes:
                        return place
                    event = data = place = ""
    raise AssertionError("the feed ended")


def day(api: str, swap: str, source: str, keyfile: str, user: str) -> None:
    client = tokens.Client(base_url=api, headers={"X-Forwarded-For": source})
    found = search_tokens.sync(client=client, limit=5, market=True, not_ext=[models.ExtensionKindsItem.PAUSABLE, models.ExtensionKindsItem.TRANSFER_HOOK])
    assert isinstance(found, models.SearchResponse) and len(found.items) == 5 <= found.total, found
    mints = [token.mint for token in found.items if isinstance(token.mint, str)]
    assert len(mints) == 5 and isinstance(found.items[0].market, models.Market) and found.items[0].market.price_usd is not None, found.items[0]

    def batch() -> Any:
        return resolve_tokens.sync_detailed(client=client, body=models.BatchRequest(mints=[*mints, "nothing"], states=True))

    first, waited = patient(batch)
    assert isinstance(first, models.BatchResponse) and len(first.items) == 5 and first.unknown == ["nothing"], first
    assert first.states and first.states[5].state == models.MintStateState.NOT_A_MINT, first.states
    history = get_history.sync(mints[0], client=client, limit=3)
    assert isinstance(history, models.HistoryResponse) and history.items and history.items[0].slot > 0, history
    unknown = get_token.sync_detailed(SOL[:-1] + "9", client=client)
    assert unknown.status_code == 404 and isinstance(unknown.parsed, models.Error) and unknown.parsed.message, unknown
    feed(client, feed(client, None))

    exchange = swaps.Client(base_url=swap, timeout=90)  # type: ignore[arg-type]
    bought = next(mint for mint in mints if mint != SOL)
    quote = get_quote.sync(client=exchange, src_mint=SOL, dst_mint=bought, amount_in="1000000", slippage_bps=300)
    assert isinstance(quote, swap_models.Quote) and int(quote.amount_out) >= int(quote.min_amount_out) > 0 and quote.route, quote
    same = get_quote.sync(client=exchange, src_mint=SOL, dst_mint=SOL, amount_in="1000000", slippage_bps=300)
    assert isinstance(same, swap_models.Error) and same.status_code == 400, same
    built = post_swap.sync(client=exchange, body=swap_models.SwapRequest(src_mint=SOL, dst_mint=bought, amount_in="1000000", slippage_bps=300, user_account=user))
    assert isinstance(built, swap_models.Quote) and isinstance(built.txn, str), built
    transaction = bytearray(base64.b64decode(built.txn))
    transaction[1:65] = bytes(Keypair.from_json(Path(keyfile).read_text()).sign_message(bytes(transaction[65:])))  # one signer
    request = swap_models.SendRequest(transaction=base64.b64encode(transaction).decode(), quote=swap_models.SendRequestQuote.from_dict(built.to_dict()))
    sent = post_send.sync(client=exchange, body=request)
    assert isinstance(sent, swap_models.Sent) and sent.status == swap_models.SentStatus.LANDED and sent.amount_in == "1000000", sent

    for _ in range(20):
        answer, seconds = patient(batch)
        assert isinstance(answer, models.BatchResponse) and len(answer.items) == 5, answer
        waited += seconds
    assert waited, "21 batches a minute"
    print(f"openapi-python-client: {sent.amount_in} lamports for {sent.amount_out}; waited {waited} s as a refusal said")


day(*sys.argv[1:])
