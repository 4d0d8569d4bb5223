"""A user's day with clients that openapi-generator makes for Python. It is checked by mypy --strict."""

from __future__ import annotations

import base64
import json
import sys
import time
from pathlib import Path

import mintlake_swaps as swaps
import mintlake_tokens as tokens
import urllib3
from solders.keypair import Keypair

SOL = "So11111111111111111111111111111111111111112"


def feed(api: tokens.TokensApi, cursor: str | None) -> str:
    """Reads the feed until there is a change and a cursor behind it."""
    changes, event, data, place, rest = 0, "", "", "", b""
    answer = api.stream_tokens_without_preload_content(cursor=cursor)
    assert isinstance(answer, urllib3.HTTPResponse)
    for chunk in answer.stream(1 << 10):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            name, _, value = line.decode().partition(":")
            match name, value.strip():
                case "event", event:
                    pass
                case "data", data:
                    pass
                case "id", place:
                    pass
                case "", _:
                    if event in ("new", "changed"):
                        token = tokens.Token.from_dict(json.loads(data))
                        assert token is not None and len(token.mint) > 31
                        changes += 1
                    if place and changes:
                        answer.close()
                        return place
                    event = data = place = ""
    raise AssertionError("the feed ended")


def trade(url: str, bought: str, keyfile: str, user: str) -> swaps.Sent:
    """Quotes a swap of SOL for a token, and makes it."""
    with swaps.ApiClient(swaps.Configuration(host=url)) as client:
        api = swaps.QuotesApi(client)
        quote = api.get_quote(src_mint=SOL, dst_mint=bought, amount_in="1000000", slippage_bps=300).actual_instance
        assert isinstance(quote, swaps.Quote) and int(quote.amount_out) >= int(quote.min_amount_out) > 0 and quote.route, quote
        try:
            api.get_quote(src_mint=SOL, dst_mint=SOL, amount_in="1000000", slippage_bps=300)
            raise AssertionError("a quote of a token for itself")
        except swaps.exceptions.BadRequestException as refusal:
            assert isinstance(refusal.data, swaps.Error) and refusal.data.code == "invalid_request", refusal

        amount = swaps.RequestAmount("1000000")
        ask = swaps.SwapRequest(src_mint=SOL, dst_mint=bought, amount_in=amount, slippage_bps=300, user_account=user)
        built = api.post_swap(ask).actual_instance
        assert isinstance(built, swaps.Quote) and built.txn is not None, built
        transaction = bytearray(base64.b64decode(built.txn))
        transaction[1:65] = bytes(Keypair.from_json(Path(keyfile).read_text()).sign_message(bytes(transaction[65:])))  # one signer
        return api.post_send(swaps.SendRequest(transaction=base64.b64encode(transaction).decode(), quote=built.to_dict()))


def day(url: str, swap: str, source: str, keyfile: str, user: str) -> None:
    # urllib3 waits as long as Retry-After says.
    retries = urllib3.Retry(3, status_forcelist=[429], allowed_methods=None)
    with tokens.ApiClient(tokens.Configuration(host=url, retries=retries), header_name="X-Forwarded-For", header_value=source) as client:
        api = tokens.TokensApi(client)
        found = api.search_tokens(limit=5, market=True, not_ext=["pausable", "transfer_hook"])
        rows = [row.actual_instance for row in found.items]
        mints = [row.mint for row in rows if isinstance(row, tokens.Token)]
        assert len(mints) == 5 <= found.total and rows[0] and rows[0].market and rows[0].market.price_usd is not None, found

        request = tokens.BatchRequest(mints=[*mints, "nothing"], states=True)
        first = api.resolve_tokens(request)
        assert len(first.items) == 5 and first.unknown == ["nothing"] and first.states and first.states[5].state == "not_a_mint", first
        history = api.get_history(mints[0], limit=3)
        assert history.items and history.items[0].slot > 0, history
        try:
            api.get_token(SOL[:-1] + "9")
            raise AssertionError("an unknown mint")
        except tokens.exceptions.NotFoundException as refusal:
            assert isinstance(refusal.data, tokens.Error) and refusal.data.status_code == 404, refusal
        feed(api, feed(api, None))
        sent = trade(swap, next(mint for mint in mints if mint != SOL), keyfile, user)
        assert sent.status == "landed" and sent.amount_in == "1000000", sent

        begin = time.monotonic()
        for _ in range(20):
            assert len(api.resolve_tokens(request).items) == 5
        waited = round(time.monotonic() - begin)
        assert waited > 5, "21 batches a minute"
        print(f"openapi-generator for Python: {sent.amount_in} lamports for {sent.amount_out}; waited {waited} s as a refusal said")


day(*sys.argv[1:])
