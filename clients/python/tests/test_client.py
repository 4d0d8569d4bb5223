"""Both clients against a server of our own, over real sockets: what comes when answers do not come as they should."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
import time
import unittest
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from mintlake import AsyncMintlake, Changed, Cursor, Mintlake, MintlakeError, NotAFeed, Removed, Reset

MINT = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v"
USDC = {"mint": MINT, "symbol": "USDC", "name": "USD Coin", "decimals": 6, "logo_status": "ok", "is_token22": False}
OTHER = {**USDC, "mint": "b"}
REFUSAL = {"statusCode": 429, "error": "Too Many Requests", "message": "slower"}
Answer = tuple[int, dict[str, str], bytes]


def sent(body: Any, status: int = 200, **headers: str) -> Answer:
    return status, {"Content-Type": "application/json", **{name.replace("_", "-"): value for name, value in headers.items()}}, json.dumps(body).encode()


class Server:
    """Answers by a function of the method, the URL and the body, for the time of one test."""

    def __init__(self, handle: Callable[[str, str, bytes], Answer]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, headers, answer = handle(self.command, self.path, body)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()  # HTTP/1.0: the answer ends with the connection
                self.wfile.write(answer)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> str:
        return self.url

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def both(url: str, use: Callable[[Any], Any], **settings: Any) -> list[Any]:
    """What use() gives with the one client and with the other. Generators are read to their end."""

    async def asynchronous() -> Any:
        async with AsyncMintlake(url, **settings) as client:
            got = use(client)
            return [item async for item in got] if inspect.isasyncgen(got) else await got

    with Mintlake(url, **settings) as client:
        got = use(client)
        first = list(got) if inspect.isgenerator(got) else got
    return [first, asyncio.run(asynchronous())]


class Requests(unittest.TestCase):
    def test_a_refused_request_is_made_again_when_the_answer_says(self) -> None:
        asked: list[bytes] = []

        def handle(_: str, __: str, body: bytes) -> Answer:
            asked.append(body)
            if len(asked) % 2 == 1:
                return sent(REFUSAL, 429, Retry_After="1")
            return sent({"items": [USDC], "unknown": json.loads(body)["mints"][1:]})

        began = time.monotonic()
        with Server(handle) as url:
            for batch in both(url, lambda client: client.batch([MINT, "x"])):
                self.assertEqual((batch.items[0].symbol, batch.unknown), ("USDC", ["x"]))
        self.assertGreaterEqual(time.monotonic() - began, 1.9)
        self.assertEqual(len(asked), 4)

    def test_errors_are_the_apis(self) -> None:
        def handle(_: str, path: str, __: bytes) -> Answer:
            if path == "/status":
                return sent(REFUSAL, 429, Retry_After="30", X_Request_ID="r1")
            return 404, {}, b"<html>"

        with Server(handle) as url:
            with Mintlake(url + "/", max_wait=5) as client:
                with self.assertRaises(MintlakeError) as refused:
                    client.status()
                self.assertEqual((refused.exception.retry_after, refused.exception.request_id, refused.exception.message), (30, "r1", "slower"))
                with self.assertRaisesRegex(MintlakeError, "is this the address of its API"):
                    client.token(MINT)
                with self.assertRaisesRegex(ValueError, "swap_url"):
                    client.quote(MINT, MINT, amount_in=1)
        with self.assertRaisesRegex(ValueError, "http"):
            Mintlake("ftp://x")

    def test_parameters_are_those_of_the_api(self) -> None:
        asked: list[str] = []

        def handle(_: str, path: str, __: bytes) -> Answer:
            asked.append(path)
            return sent({"items": [USDC], "page": 1, "limit": 200, "total": 2, "next_cursor": "next" if len(asked) % 2 else None})

        with Server(handle) as url:
            for rows in both(url, lambda client: client.walk("a b", ext=["x", "y"], market=True, min_volume=0.5)):
                self.assertEqual([row.mint for row in rows], [MINT, MINT])
        query = "/tokens?q=a%20b&limit=200&ext=x%2Cy&market=true&min_volume=0.5&cursor="
        self.assertEqual([path.replace("a+b", "a%20b").replace("x,y", "x%2Cy") for path in asked], [query, query + "next"] * 2)


class Feeds(unittest.TestCase):
    ANSWERS: list[Any] = [
        'retry: 1\n\nevent: new\ndata: ' + json.dumps(USDC) + '\n\nid: one\n\nevent: new\ndata: {"mi',
        None,
        ": alive\n\nevent: changed\ndata: " + json.dumps(OTHER) + '\n\nevent: later\ndata: ?\n\nevent: end\ndata: {"reason":"age"}\n\n',
        'event: reset\ndata: {"reason":"cursor_too_old","message":"read anew"}\n\n',
        'event: removed\ndata: {"mint":"a"}\n\n',
    ]

    def test_a_feed_that_is_cut_off_goes_on_behind_its_last_cursor(self) -> None:
        asked: list[str | None] = []

        def handle(_: str, path: str, __: bytes) -> Answer:
            cursor = parse_qs(urlsplit(path).query).get("cursor")
            asked.append(cursor[0] if cursor else None)
            answer = self.ANSWERS[(len(asked) - 1) % len(self.ANSWERS)]
            return sent(REFUSAL, 429, Retry_After="1") if answer is None else (200, {"Content-Type": "text/event-stream"}, answer.encode())

        with Server(handle) as url:
            got = []
            with Mintlake(url) as client:
                for event in client.follow():
                    got.append(event)
                    if event.event == "removed":
                        break
            # The trouble of one client has no bearing on the next.
            again = asyncio.run(self.until_removed(url))
        lost = Reset("cursor_too_old", "read anew")
        self.assertEqual([event if not isinstance(event, Changed) else event.token.mint for event in got], [MINT, Cursor("one"), "b", lost, lost, Removed("a")])
        self.assertEqual([str(event) for event in again], [str(event) for event in got])
        self.assertEqual(asked, [None, "one", "one", "one", None] * 2)

    @staticmethod
    async def until_removed(url: str) -> list[Any]:
        got = []
        async with AsyncMintlake(url) as client:
            async for event in client.follow():
                got.append(event)
                if event.event == "removed":
                    break
        return got

    def test_what_cannot_be_right_ends_the_feed(self) -> None:
        for answer, error in ((sent({"message": "no such tag"}, 400), MintlakeError), (sent({}), NotAFeed)):
            with Server(lambda *_, answer=answer: answer) as url, Mintlake(url) as client, self.assertRaises(error):
                next(iter(client.follow()))


if __name__ == "__main__":
    unittest.main()
