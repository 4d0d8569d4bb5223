// A user's day with clients that openapi-fetch makes of openapi-typescript's types. It is compiled with --strict.
import { createPrivateKey, sign } from "node:crypto";
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { paths as TokenPaths, components } from "./tokens.js";
import type { paths as SwapPaths } from "./swaps.js";

const sol = "So11111111111111111111111111111111111111112";
const [api, swap, from, keyfile, user] = process.argv.slice(2) as [string, string, string, string, string];
const tokens = createClient<TokenPaths>({ baseUrl: api, headers: { "X-Forwarded-For": from }, querySerializer: { array: { style: "form", explode: false } } });
const swaps = createClient<SwapPaths>({ baseUrl: swap });

function must(what: string, holds: boolean, said?: unknown): asserts holds {
  if (!holds) throw new Error(`${what}: ${JSON.stringify(said)}`);
}
/** Asks again when a refusal says. */
async function patient<T extends { response: Response }>(ask: () => Promise<T>): Promise<[T, number]> {
  for (let waited = 0; ; ) {
    const answer = await ask();
    if (answer.response.status !== 429) return [answer, waited];
    const seconds = Number(answer.response.headers.get("Retry-After"));
    must("Retry-After", seconds >= 1 && seconds <= 60, seconds);
    await setTimeout(seconds * 1000);
    waited += seconds;
  }
}

const { data: found } = await tokens.GET("/tokens", { params: { query: { limit: 5, market: true, not_ext: ["pausable", "transfer_hook"] } } });
must("search", found?.items.length === 5 && found.total >= 5, found);
const mints = found.items.flatMap(({ mint }) => mint ?? []);
const price: number | null | undefined = found.items[0]?.market?.price_usd;
const held: number | null | undefined = found.items[0]?.holders;
must("market", typeof price === "number" && held !== undefined, found.items[0]);

const batch = () => tokens.POST("/tokens/batch", { params: { query: {} }, body: { mints: [...mints, "nothing"], states: true, wait_ms: 0 } });
const [{ data: first }] = await patient(batch);
must("batch", first?.items.length === 5 && first.unknown[0] === "nothing" && first.states?.[5]?.state === "not_a_mint", first);

const { data: history } = await tokens.GET("/tokens/{mint}/history", { params: { path: { mint: mints[0]! }, query: { limit: 3 } } });
must("history", history !== undefined && history.items.length > 0 && Number.isInteger(history.items[0]?.slot), history);

const { error: unknown, response: refused } = await tokens.GET("/tokens/{mint}", { params: { path: { mint: `${sol.slice(0, -1)}9` } } });
must("an unknown mint", refused.status === 404 && unknown?.statusCode === 404 && unknown.message !== "", unknown);

/** Reads the feed until there is a change and a cursor behind it. */
async function feed(cursor?: string): Promise<string> {
  const { data, response } = await tokens.GET("/tokens/stream", { params: { query: cursor === undefined ? {} : { cursor } }, parseAs: "stream" });
  must("feed", response.ok && data instanceof ReadableStream);
  const decoder = new TextDecoder();
  let text = "", changes = 0;
  for await (const chunk of data as ReadableStream<Uint8Array>) {
    text += decoder.decode(chunk, { stream: true });
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const fields = new Map(text.slice(0, end).split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]));
      text = text.slice(end + 2);
      const row = JSON.parse(fields.get("data") ?? "null") as components["schemas"]["Token"] | null;
      if (fields.get("event") === "new" || fields.get("event") === "changed") must("a change", row !== null && row.mint.length > 31 && ++changes > 0, row);
      const id = fields.get("id");
      if (id && changes > 0) return id; // which ends the stream
    }
  }
  throw new Error("the feed ended");
}
await feed(await feed());

const bought = mints.find((mint) => mint !== sol)!;
const trade = { src_mint: sol, dst_mint: bought, amount_in: "1000000", slippage_bps: 300 };
const { data: quote } = await swaps.GET("/api/v2/quote", { params: { query: trade } });
must("quote", quote !== undefined && "route" in quote && BigInt(quote.amount_out) >= BigInt(quote.min_amount_out) && quote.route.length > 0, quote);
const { error: same } = await swaps.GET("/api/v2/quote", { params: { query: { ...trade, dst_mint: sol } } });
must("a quote of a token for itself", same?.statusCode === 400 && same.code === "invalid_request", same);

const { data: built } = await swaps.POST("/api/v2/swap", { body: { ...trade, user_account: user } });
must("swap", built !== undefined && "route" in built && built.txn !== undefined, built);
const transaction = Buffer.from(built.txn, "base64");
const seed = Buffer.from((JSON.parse(readFileSync(keyfile, "utf8")) as number[]).slice(0, 32));
const key = createPrivateKey({ key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]), format: "der", type: "pkcs8" });
sign(null, transaction.subarray(65), key).copy(transaction, 1); // one signer
const { data: sent } = await swaps.POST("/api/v2/send", { body: { transaction: transaction.toString("base64"), quote: { ...built } }, headers: { Accept: "application/json" } });
must("send", typeof sent === "object" && sent.status === "landed" && sent.amount_in === "1000000", sent);

let waited = 0;
for (let i = 1; i < 21; i++) {
  const [{ data }, seconds] = await patient(batch);
  must("batch", data?.items.length === 5, data);
  waited += seconds;
}
must("21 batches a minute", waited > 0);
console.log(`typescript: ${sent.amount_in} lamports for ${sent.amount_out}; waited ${waited} s as a refusal said`);
process.exit(0);
