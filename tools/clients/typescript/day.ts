// A program as a user writes it: compiled with --strict against the packed client, and run over the demo chain.
import assert from "node:assert/strict";
import { generateKeyPairSync, sign } from "node:crypto";
import { request } from "node:http";
import { Readable } from "node:stream";
import { Mintlake, MintlakeError, MintlakeSwap, type Quote, type Sent, type SwapQuote, type Token } from "@mintlake/client";

const SOL = "So11111111111111111111111111111111111111112";
const { MINTLAKE_API: url = "", MINTLAKE_SWAP: swapURL = "", MINTLAKE_RPC: rpcURL = "" } = process.env;
const mintlake = new Mintlake({ url });

// Search, walk, batch.
const { items, total } = await mintlake.search({ limit: 5, sort: "volume", market: true });
assert.ok(items.length === 5 && total >= 5);
const mints: string[] = items.map((token: Token) => token.mint);
const known = new Set<string>();
for await (const token of mintlake.walk()) known.add(token.mint);
assert.ok(mints.every((mint) => known.has(mint)));
const batch = await mintlake.batch({ mints: [...mints, "nothing"], states: true });
assert.deepEqual(batch.items.map(({ mint }) => mint), mints);
assert.deepEqual(batch.unknown, ["nothing"]);
assert.equal(batch.states?.length, 6);

// One token, and what there is of it.
const first = items[0];
assert.ok(first);
const token = await mintlake.token(first.mint, { market: true });
const price: number | null | undefined = token.market?.price_usd;
console.log(token.symbol, token.decimals, price);
assert.ok((await mintlake.history(token.mint, { limit: 3 })).items.length > 0);
assert.ok((await mintlake.candles(token.mint, { interval: "1m" })).candles.length > 0);
let page = await mintlake.trades(token.mint, { limit: 2 });
while (page.trades.length === 0 && page.next !== null) page = await mintlake.trades(token.mint, { limit: 2, before: page.next }); // a page may be empty and still have a next one
assert.ok(page.trades.length > 0);
assert.ok((await mintlake.pools(token.mint)).pools.length > 0);
const holder = (await mintlake.holders(token.mint, { limit: 2 })).items[0];
assert.ok(holder?.owner);
assert.ok((await mintlake.ownerTokens(holder.owner)).items.length > 0);
assert.ok((await mintlake.status()).registry.tokens >= 5);

// The feed, and again behind its cursor.
let cursor: string | undefined;
for (const time of ["first", "again"]) {
  let events = 0;
  for await (const event of mintlake.follow(cursor === undefined ? {} : { cursor })) {
    events++;
    if (event.event === "new" || event.event === "changed") console.log(time, event.event, event.token.symbol);
    if (event.event === "reset") assert.fail(event.message);
    if (event.event === "cursor") {
      cursor = event.cursor;
      break;
    }
  }
  assert.ok(events > 0);
}

// Errors: what they are, and what to do.
await assert.rejects(mintlake.token(SOL.slice(0, -1) + "9"), (error) => error instanceof MintlakeError && error.status === 404 && error.requestId !== null);
await assert.rejects(mintlake.search({ limit: 1000 }), (error) => error instanceof MintlakeError && error.status === 400 && /limit/.test(error.message));

// A quote, the swap, and what arrived. The wallet is a fresh one with ten SOL.
const swaps = new MintlakeSwap({ url: swapURL });
const bought = mints.find((mint) => mint !== SOL);
assert.ok(bought);
const trade = { src_mint: SOL, dst_mint: bought, amount_in: "100000000", slippage_bps: 500 };
const quote: Quote = await swaps.quote(trade);
assert.ok(BigInt(quote.amount_out) >= BigInt(quote.min_amount_out) && quote.route.length > 0);
await assert.rejects(swaps.quote({ ...trade, dst_mint: SOL }), (error) => error instanceof MintlakeError && error.status >= 400 && error.status < 500);
for await (const event of swaps.follow(trade)) {
  if (event.event === "quote") {
    assert.ok(BigInt(event.quote.amount_out) > 0n);
    break;
  }
}
const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const wallet = base58(publicKey.export({ format: "der", type: "spki" }).subarray(-32));
await rpc("requestAirdrop", [wallet, 10_000_000_000]);
for (const end = Date.now() + 90_000; (await rpc<{ value: number }>("getBalance", [wallet])).value === 0; await new Promise((over) => setTimeout(over, 200))) {
  assert.ok(Date.now() < end, "the airdrop landed");
}
let sent: Sent | undefined;
for (let attempt = 1; sent?.status !== "landed"; attempt++) { // others may move the price by more than the slippage meanwhile
  assert.ok(attempt <= 3, JSON.stringify(sent));
  const built: SwapQuote = await swaps.swap({ ...trade, user_account: wallet });
  sent = await swaps.send({ quote: built, transaction: signed(built.txn) });
}
assert.ok(BigInt(sent.amount_out ?? 0) > 0n);
console.log(sent.signature, sent.amount_out);

// A rate limit. It counts by address, so this client has one of its own: others of this node are not kept waiting.
const hasty = new Mintlake({ url, maxWaitMs: 0, fetch: from("127.0.0.7") });
const refusal = await (async () => {
  for (let asked = 0; asked < 100; asked++) {
    const error = await hasty.batch({ mints: [SOL] }).then(() => null, (reason: unknown) => reason);
    if (error) return error;
  }
})();
assert.ok(refusal instanceof MintlakeError && refusal.status === 429 && refusal.retryAfterMs > 0 && refusal.retryAfterMs <= 60_000, String(refusal));
const began = Date.now();
const patient = new Mintlake({ url, fetch: from("127.0.0.7") });
assert.equal((await patient.batch({ mints: [SOL] })).items[0]?.mint, SOL);
assert.ok(Date.now() - began > refusal.retryAfterMs - 2000, "it was asked again when Retry-After said");
console.log(`waited ${Date.now() - began} ms, told ${refusal.retryAfterMs}`);

/** The transaction of a quote with the wallet's signature, the first of it. */
function signed(txn: string): string {
  const bytes = Buffer.from(txn, "base64");
  const signatures = bytes[0] ?? 0;
  sign(null, bytes.subarray(1 + 64 * signatures), privateKey).copy(bytes, 1);
  return bytes.toString("base64");
}

async function rpc<T>(method: string, params: unknown[]): Promise<T> {
  const response = await fetch(rpcURL, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) });
  const { result, error } = (await response.json()) as { result: T; error?: unknown };
  assert.equal(error, undefined, JSON.stringify(error));
  return result;
}

function base58(bytes: Uint8Array): string {
  const alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  let text = "";
  for (let n = BigInt(`0x${Buffer.from(bytes).toString("hex")}`); n > 0n; n /= 58n) text = (alphabet[Number(n % 58n)] ?? "") + text;
  for (const byte of bytes) {
    if (byte !== 0) break;
    text = "1" + text;
  }
  return text;
}

/** A fetch whose connections come from an address of this machine. */
function from(localAddress: string): typeof fetch {
  return (input, init) => new Promise((resolve, reject) => {
    const headers = Object.fromEntries(new Headers(init?.headers));
    const outgoing = request(String(input), { method: init?.method ?? "GET", headers, localAddress }, (answer) => {
      const had = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)]);
      resolve(new Response(Readable.toWeb(answer) as ReadableStream, { status: answer.statusCode ?? 0, headers: had }));
    });
    outgoing.on("error", reject).end(init?.body as string | undefined);
  });
}
