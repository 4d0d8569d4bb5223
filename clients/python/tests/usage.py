"""A program as a user writes it. It is compiled by mypy --strict, and run against a node: python usage.py API SWAP."""

from __future__ import annotations

import asyncio
import sys

from mintlake import AsyncMintlake, Mintlake, MintlakeError

SOL = "So11111111111111111111111111111111111111112"


def day(url: str, swap_url: str) -> None:
    with Mintlake(url, swap_url=swap_url) as client:
        found = client.search(limit=5, market=True, sort="volume")
        assert found.items and found.total >= len(found.items)
        mints: list[str] = [token.mint for token in found.items]
        batch = client.batch([*mints, "nothing"], states=True)
        assert [token.mint for token in batch.items] == mints and batch.unknown == ["nothing"] and batch.states and len(batch.states) == len(mints) + 1

        token = client.token(mints[0], market=True)
        price: float | None = token.market.price_usd if token.market else None
        print(token.symbol, token.decimals, price)
        assert client.history(token.mint, limit=3).items
        assert client.pools(token.mint).pools and client.trades(token.mint, limit=2).trades
        assert client.candles(token.mint, interval="1m").candles
        assert client.holders(token.mint, limit=2).items[0].owner
        assert client.status().registry.tokens >= len(mints)
        assert len({row.mint for row in client.walk()}) >= len(mints)
        try:
            client.token(SOL[:-1] + "9")
        except MintlakeError as error:
            assert error.status == 404, error

        bought = next(mint for mint in mints if mint != SOL)
        quote = client.quote(SOL, bought, amount_in=1_000_000, slippage_bps=100)
        assert int(quote.amount_out) >= int(quote.min_amount_out) > 0
        print("1,000,000 lamports buy", quote.amount_out, "over", [leg.venue for leg in quote.route])


async def feed(url: str) -> None:
    async with AsyncMintlake(url) as client:
        cursor: str | None = None
        for _ in range(2):  # the second goes on behind the first
            async for event in client.follow(cursor):
                if event.event == "cursor":
                    cursor = event.cursor
                    break
                if event.event == "new" or event.event == "changed":
                    print(event.event, event.token.symbol)
        assert cursor


if __name__ == "__main__":
    day(sys.argv[1], sys.argv[2])
    asyncio.run(feed(sys.argv[1]))
