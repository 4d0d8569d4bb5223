// How callers use the client. It is compiled with --strict and never run: what stands here is what must compile, and what ts-expect-error marks must not.
import { Mintlake, MintlakeError, MintlakeSwap, type BatchRequest, type FeedEvent, type Quote, type Row, type Sent, type SwapQuote, type Token } from "@mintlake/client";

const mintlake = new Mintlake({ url: "http://127.0.0.1:8080" });
const signal = AbortSignal.timeout(1000);

// Parameters with a default may be left out, of bodies too.
const request: BatchRequest = { mints: ["x"] };
const batches = [await mintlake.batch({ mints: ["x"] }), await mintlake.batch(request, {}, signal), await mintlake.batch({ mints: [], states: true, wait_ms: 5 }, { evidence: true })];
const states: string[] = batches.flatMap(({ states }) => states ?? []).map(({ state, retry_after_ms }) => `${state} ${retry_after_ms?.toFixed()}`);
await mintlake.search();
await mintlake.search({ q: "usdc", limit: 5, ext: ["pausable"], sort: "trending", explain: true }, signal);
await mintlake.history("x", { limit: 5 });
await mintlake.candles("x", { interval: "1h" });
await mintlake.pools("x");

// Without fields a row is a whole token, with them it may lack any member.
const token: Token = await mintlake.token("x", { market: true });
const symbols: string[] = [token.symbol, ...batches.flatMap(({ items }) => items).map(({ symbol }) => symbol.toUpperCase()), ...(await mintlake.search({ q: "x" })).items.map((item) => item.mint)];
const price: number | null | undefined = token.market?.price_usd;
const row: Row = await mintlake.token("x", { fields: ["symbol", "price_usd"] });
const some: string | undefined = row.symbol;
// @ts-expect-error the symbol may be missing
const sure: string = row.symbol;
// @ts-expect-error so may those of a batch
(await mintlake.batch(request, { fields: ["mint"] })).items.map(({ symbol }) => symbol.length);
// @ts-expect-error there is no such field
await mintlake.token("x", { fields: ["colour"] });
// @ts-expect-error there is no such parameter
await mintlake.search({ q: "x", limitt: 5 });
// @ts-expect-error mints are required
await mintlake.batch({});

for await (const found of mintlake.walk({ launchpad: "pump" }, signal)) symbols.push(found.symbol);
for await (const event of mintlake.follow()) {
  if (event.event === "new" || event.event === "changed") symbols.push(event.token.symbol);
  if (event.event === "cursor") break;
}
const kept: FeedEvent[] = [];
for await (const event of mintlake.follow({ fields: ["mint"], cursor: "c" })) kept.push(event);

const { pipeline, coverage, unknowns } = await mintlake.status(signal);
console.log(states, price, some, sure, kept, pipeline.lag_records, coverage.gaps.length, unknowns.map(({ name }) => name));

const swaps = new MintlakeSwap({ url: "http://127.0.0.1:8081", key: "k" });
const trade = { src_mint: "a", dst_mint: "b", amount_in: "1000", slippage_bps: 50 };
const quote: Quote = await swaps.quote({ ...trade, dexes: ["raydium_cpmm"], transaction_version: "1", sizes: true }, signal);
const bytes: number | undefined = quote.transaction_bytes?.[1];
// @ts-expect-error without a user there may be no transaction
const nothing: string = quote.txn;
const built: SwapQuote = await swaps.swap({ ...trade, user_account: "u", payer: "p", priority_fee: { jitoTipLamports: 1000 } });
await swaps.swap({ quote, user_account: "u", destination_token_account: "d" }, signal);
const transaction: string = built.txn;
const sent: Sent = await swaps.send({ quote: built, transaction });
const realised: number | null = sent.slippage_realised_bps;
for await (const event of swaps.follow(trade)) console.log(event.event === "quote" ? event.quote.amount_out : event.code);
// @ts-expect-error a wallet must sign
await swaps.swap(trade);
// @ts-expect-error a slippage is required
await swaps.quote({ src_mint: "a", dst_mint: "b", amount_in: "1" });
// @ts-expect-error there is no such parameter
await swaps.quote({ ...trade, slippage: 5 });
// @ts-expect-error amounts are text: a number loses digits above 2 to the 53rd
await swaps.quote({ ...trade, amount_in: 1000 });
const listed: (string | undefined)[] = [...(await swaps.venues()).venues.map((venue) => venue.status), ...(await swaps.pools({ mint: "a" })).pools.map((pool) => pool.refused?.code)];
const code: string | null = new MintlakeError(404, "m", 0, null).code;
console.log(bytes, nothing, realised, listed, code);
