import assert from "node:assert/strict";
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Mintlake, MintlakeError, MintlakeSwap } from "@mintlake/client";

const mint = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
const usdc = { mint, symbol: "USDC", name: "USD Coin", decimals: 6, logo_status: "ok", is_token22: false };

/** A server that answers by handle for the time of one test. */
async function serving(t, handle) {
  const server = createServer(handle).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  t.after(() => { server.closeAllConnections(); server.close(); });
  return `http://127.0.0.1:${server.address().port}`;
}

function send(response, body, status = 200, headers = {}) {
  response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(JSON.stringify(body));
}

const lost = { event: "reset", reason: "cursor_too_old", message: "read anew" };
const refusal = { statusCode: 429, error: "Too Many Requests", message: "slower" };

test("a refused request is made again when Retry-After says", async (t) => {
  let asked = 0;
  const url = await serving(t, (request, response) => {
    let body = "";
    request.on("data", (part) => (body += part)).on("end", () => {
      if (asked++ === 0) return send(response, refusal, 429, { "Retry-After": "1" });
      send(response, { items: [usdc], unknown: JSON.parse(body).mints.slice(1) });
    });
  });
  const began = Date.now();
  const found = await new Mintlake({ url }).batch({ mints: [mint, "x"] });
  assert.deepEqual(found, { items: [usdc], unknown: ["x"] });
  assert.ok(Date.now() - began >= 990);
});

test("errors are the API's", async (t) => {
  const url = await serving(t, (request, response) => request.url === "/status" ? send(response, refusal, 429, { "Retry-After": "30", "X-Request-ID": "r1" }) : response.writeHead(404).end("<html>"));
  const client = new Mintlake({ url: url + "/", maxWaitMs: 5_000 });
  await assert.rejects(client.status(), (error) => error instanceof MintlakeError && error.retryAfterMs === 30_000 && error.requestId === "r1" && /slower/.test(error.message));
  await assert.rejects(client.token(mint), /is this the address of its API/);
  assert.throws(() => new Mintlake({ url: "ftp://x" }), /http/);
});

test("parameters are those of the API", async (t) => {
  const asked = [];
  const url = await serving(t, (request, response) => { asked.push(request.url); send(response, { items: [usdc], next_cursor: asked.length < 2 ? "next" : null }); });
  const rows = [];
  for await (const row of new Mintlake({ url }).walk({ fields: ["mint", "symbol"], q: "a b" })) rows.push(row);
  assert.deepEqual(rows, [usdc, usdc]);
  assert.deepEqual(asked, ["/tokens?limit=200&fields=mint%2Csymbol&q=a+b&cursor=", "/tokens?limit=200&fields=mint%2Csymbol&q=a+b&cursor=next"]);
});

test("a feed that is cut off goes on behind its last cursor", async (t) => {
  const asked = [];
  const answers = [
    'retry: 1\n\nevent: new\ndata: {"mint":"a",\ndata: "symbol":"A"}\n\nid: one\n\nevent: new\ndata: {"mi',
    null,
    ': alive\n\nevent: changed\ndata: {"mint":"b"}\n\nevent: later\ndata: ?\n\nevent: end\ndata: {"reason":"age"}\n\n',
    'event: reset\ndata: {"reason":"cursor_too_old","message":"read anew"}\n\n',
    'event: removed\ndata: {"mint":"a"}\n\n',
  ];
  const url = await serving(t, (request, response) => {
    asked.push(new URL(request.url, "http://x").searchParams.get("cursor"));
    const answer = answers[asked.length - 1];
    if (answer === null) return send(response, refusal, 429, { "Retry-After": "1" });
    response.writeHead(200, { "Content-Type": "text/event-stream" }).end(answer);
  });
  const got = [];
  for await (const event of new Mintlake({ url }).follow()) {
    got.push(event);
    if (event.event === "removed") break;
  }
  assert.deepEqual(got, [
    { event: "new", token: { mint: "a", symbol: "A" } }, { event: "cursor", cursor: "one" }, { event: "changed", token: { mint: "b" } },
    lost, lost, { event: "removed", mint: "a" },
  ]);
  assert.deepEqual(asked, [null, "one", "one", "one", null], "the reset came without a cursor, so it is told again");
});

test("a reset with its cursor is told once", async (t) => {
  const asked = [];
  const answers = [
    'retry: 1\n\nid: one\nevent: reset\ndata: {"reason":"cursor_too_old","message":"read anew"}\n\n',
    'event: removed\ndata: {"mint":"a"}\n\n',
  ];
  const url = await serving(t, (request, response) => {
    asked.push(new URL(request.url, "http://x").searchParams.get("cursor"));
    response.writeHead(200, { "Content-Type": "text/event-stream" }).end(answers[asked.length - 1]);
  });
  const got = [];
  for await (const event of new Mintlake({ url }).follow({ cursor: "old" })) {
    got.push(event);
    if (event.event === "removed") break;
  }
  assert.deepEqual(got, [lost, { event: "cursor", cursor: "one" }, { event: "removed", mint: "a" }]);
  assert.deepEqual(asked, ["old", "one"]);
});

test("a feed is not given up while its reader works", async (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const signals = [];
  const node = async (_, { signal }) => {
    signals.push(signal);
    const body = new ReadableStream({
      start(feed) {
        for (const event of ['event: reset\ndata: {"reason":"cursor_too_old","message":"read anew"}\n\n', "id: two\n\n"]) feed.enqueue(new TextEncoder().encode(event));
        signal.addEventListener("abort", () => feed.error(signal.reason));
      },
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  };
  const got = [];
  for await (const event of new Mintlake({ url: "http://node.test", fetch: node }).follow()) {
    got.push(event);
    t.mock.timers.tick(3 * 3600 * 1000);
    assert.ok(!signals[0].aborted);
    if (got.length === 2) break;
  }
  assert.deepEqual(got, [lost, { event: "cursor", cursor: "two" }]);
});

test("a feed that cannot be right throws", async (t) => {
  const url = await serving(t, (_, response) => send(response, { statusCode: 400, error: "Bad Request", message: "tag is too long" }, 400));
  await assert.rejects(new Mintlake({ url }).follow({ tag: "x" }).next(), /tag is too long/);
  const other = await serving(t, (_, response) => response.end("<html>"));
  await assert.rejects(new Mintlake({ url: other }).follow().next(), /no event stream/);
});

test("the example of the README runs", async (t) => {
  const url = await serving(t, (request, response) => {
    const path = request.url.split("?")[0];
    if (path === "/tokens") return send(response, { items: [usdc], page: 1, limit: 5, total: 1 });
    if (path === "/tokens/stream") return response.writeHead(200, { "Content-Type": "text/event-stream" }).end(`event: new\ndata: ${JSON.stringify(usdc)}\n\n`);
    send(response, { ...usdc, supply: "1000000" });
  });
  const example = readFileSync(new URL("../example.mjs", import.meta.url), "utf8");
  const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8");
  assert.equal(/```js\n([\s\S]*?)```/.exec(readme)[1], example, "the README shows example.mjs");
  process.env.MINTLAKE_URL = url;
  const lines = [];
  t.mock.method(console, "log", (...words) => lines.push(words.join(" ")));
  await import("../example.mjs");
  assert.deepEqual(lines, [`USDC ${mint}`, "supply 1000000", "new USDC"]);
});

test("quotes and swaps are asked for as the swap API takes them", async (t) => {
  const asked = [];
  const quote = { amount_out: "9", min_amount_out: "8" };
  const url = await serving(t, (request, response) => {
    let body = "";
    request.on("data", (part) => (body += part)).on("end", () => {
      asked.push([request.method, request.url, request.headers["x-api-key"], body === "" ? null : JSON.parse(body)]);
      if (request.url.startsWith("/api/v2/quote/stream")) {
        response.writeHead(200, { "Content-Type": "text/event-stream" });
        return response.end(`event: quote\ndata: ${JSON.stringify(quote)}\n\nevent: error\ndata: {"statusCode":404,"message":"none","code":"no_pool"}\n\nevent: end\ndata: {"reason":"age"}\n\n`);
      }
      if (asked.length === 1) return send(response, { ...refusal, statusCode: 503 }, 503, { "Retry-After": "1" });
      if (body.includes("nobody")) return send(response, { statusCode: 404, error: "Not Found", message: "no pool trades", code: "no_pool" }, 404);
      send(response, request.url === "/api/v2/send" ? { status: "landed" } : { ...quote, txn: "AA==" });
    });
  });
  const swaps = new MintlakeSwap({ url, key: "secret" });
  const trade = { src_mint: mint, dst_mint: "b", amount_in: "18446744073709551615", slippage_bps: 50 };
  assert.equal((await swaps.quote({ ...trade, dexes: ["raydium_cpmm", "pumpswap"] })).amount_out, "9");
  const built = await swaps.swap({ quote, user_account: "u" });
  assert.equal((await swaps.send({ quote: built, transaction: "AQ==" })).status, "landed");
  await assert.rejects(swaps.swap({ ...trade, user_account: "nobody" }), (error) => error instanceof MintlakeError && error.status === 404 && error.code === "no_pool");
  const got = [];
  for await (const event of swaps.follow(trade)) got.push(event);
  assert.deepEqual(got, [{ event: "quote", quote }, { event: "error", message: "none", code: "no_pool" }]);
  const query = `src_mint=${mint}&dst_mint=b&amount_in=18446744073709551615&slippage_bps=50`;
  assert.deepEqual(asked, [
    ["GET", `/api/v2/quote?${query}&dexes=raydium_cpmm%2Cpumpswap`, "secret", null], ["GET", `/api/v2/quote?${query}&dexes=raydium_cpmm%2Cpumpswap`, "secret", null],
    ["POST", "/api/v2/swap", "secret", { quote, user_account: "u" }], ["POST", "/api/v2/send", "secret", { quote: { ...quote, txn: "AA==" }, transaction: "AQ==" }],
    ["POST", "/api/v2/swap", "secret", { ...trade, user_account: "nobody" }], ["GET", `/api/v2/quote/stream?${query}`, "secret", null],
  ]);
});
