// The token API of Mintlake; swap.ts has the swap API. Types are made of the OpenAPI documents by
// openapi-typescript. A refused request (429, or 503 while a node loads) is made again when
// Retry-After says.
import type { components, operations } from "./openapi.js";
import { errorOf, Http, MintlakeError, sleep, type Options } from "./http.js";
import { events, NotAFeed } from "./sse.js";

type Schemas = components["schemas"];
type Query<Name extends keyof operations> = NonNullable<operations[Name]["parameters"]["query"]>;

/** A query without fields, whose rows are whole tokens. */
type Whole<Name extends keyof operations> = Query<Name> & { fields?: never };

export type Token = Schemas["Token"];
/** A token, or with fields what was asked for of it. */
export type Row = Schemas["Row"];
export type SearchResponse<R = Row> = Omit<Schemas["SearchResponse"], "items"> & { items: R[] };
export type BatchRequest = Schemas["BatchRequest"];
export type BatchResponse<R = Row> = Omit<Schemas["BatchResponse"], "items"> & { items: R[] };
export type HistoryResponse = Schemas["HistoryResponse"];
export type CandlesResponse = Schemas["CandlesResponse"];
export type PoolsResponse = Schemas["PoolsResponse"];
export type TradesResponse = Schemas["TradesResponse"];
export type Trade = Schemas["Trade"];
export type AccountsResponse = Schemas["AccountsResponse"];
export type HoldersResponse = Schemas["HoldersResponse"];
export type PoolLiquidityResponse = Schemas["PoolLiquidityResponse"];
export type PoolReservesResponse = Schemas["PoolReservesResponse"];
export type LiquidityHistoryResponse = Schemas["LiquidityHistoryResponse"];
export type HoldersHistoryResponse = Schemas["HoldersHistoryResponse"];
export type TransfersResponse = Schemas["TransfersResponse"];
export type OwnerAccountsResponse = Schemas["OwnerAccountsResponse"];
export type OwnerTokensResponse = Schemas["OwnerTokensResponse"];
export type OwnerTransfersResponse = Schemas["OwnerTransfersResponse"];
export type Status = Schemas["Status"];

/**
 * One event of the change feed. Save a cursor after the events before it are stored. After a reset
 * read the whole registry again, before the next event is asked for: that may take hours.
 */
export type FeedEvent<R = Row> =
  | { event: "new" | "changed"; token: R }
  | { event: "removed"; mint: string }
  | { event: "reset"; reason: string; message: string }
  | { event: "cursor"; cursor: string };

export { MintlakeError, type Options } from "./http.js";
export * from "./swap.js";

const longestPauseMs = 30_000;
/** The feed sends a sign of life each 15 s. */
const quietLimitMs = 45_000;

export class Mintlake {
  readonly #http: Http;

  constructor(options: Options) {
    this.#http = new Http(options);
  }

  /** GET /tokens: without q the tokens with the most volume. */
  search(query?: Whole<"searchTokens">, signal?: AbortSignal): Promise<SearchResponse<Token>>;
  search(query: Query<"searchTokens">, signal?: AbortSignal): Promise<SearchResponse>;
  search(query: Query<"searchTokens"> = {}, signal?: AbortSignal): Promise<SearchResponse> {
    return this.#http.json("/tokens", query, { signal: signal ?? null });
  }

  /** Every token that matches, each once, by walks of 200. */
  walk(query?: Whole<"searchTokens">, signal?: AbortSignal): AsyncGenerator<Token>;
  walk(query: Query<"searchTokens">, signal?: AbortSignal): AsyncGenerator<Row>;
  async *walk(query: Query<"searchTokens"> = {}, signal?: AbortSignal): AsyncGenerator<Row> {
    for (let cursor: string | null | undefined = ""; cursor !== null && cursor !== undefined; ) {
      const page: SearchResponse = await this.search({ limit: 200, ...query, cursor }, signal);
      yield* page.items;
      cursor = page.next_cursor;
    }
  }

  /** GET /tokens/{mint}. An unknown mint is a MintlakeError of status 404. */
  token(mint: string, query?: Whole<"getToken">, signal?: AbortSignal): Promise<Token>;
  token(mint: string, query: Query<"getToken">, signal?: AbortSignal): Promise<Row>;
  token(mint: string, query: Query<"getToken"> = {}, signal?: AbortSignal): Promise<Row> {
    return this.#http.json(`/tokens/${encodeURIComponent(mint)}`, query, { signal: signal ?? null });
  }

  /** POST /tokens/batch: up to 500 mints. */
  batch(body: BatchRequest, query?: Whole<"resolveTokens">, signal?: AbortSignal): Promise<BatchResponse<Token>>;
  batch(body: BatchRequest, query: Query<"resolveTokens">, signal?: AbortSignal): Promise<BatchResponse>;
  batch(body: BatchRequest, query: Query<"resolveTokens"> = {}, signal?: AbortSignal): Promise<BatchResponse> {
    return this.#http.post("/tokens/batch", query, body, signal);
  }

  /** GET /tokens/{mint}/history: one page, newest first. */
  history(mint: string, query: Query<"getHistory"> = {}, signal?: AbortSignal): Promise<HistoryResponse> {
    return this.#http.json(`/tokens/${encodeURIComponent(mint)}/history`, query, { signal: signal ?? null });
  }

  /** GET /tokens/{mint}/ohlcv, oldest first. */
  candles(mint: string, query: Query<"getCandles"> = {}, signal?: AbortSignal): Promise<CandlesResponse> {
    return this.#http.json(`/tokens/${encodeURIComponent(mint)}/ohlcv`, query, { signal: signal ?? null });
  }

  /** GET /tokens/{mint}/pools, those that trade most first. */
  pools(mint: string, query: Query<"getPools"> = {}, signal?: AbortSignal): Promise<PoolsResponse> {
    return this.#http.json(`/tokens/${encodeURIComponent(mint)}/pools`, query, { signal: signal ?? null });
  }

  /** GET /tokens/{mint}/liquidity/history, oldest first. */
  liquidityHistory(mint: string, query: Query<"getLiquidityHistory"> = {}, signal?: AbortSignal): Promise<LiquidityHistoryResponse> {
    return this.#http.json(`/tokens/${encodeURIComponent(mint)}/liquidity/history`, query, { signal: signal ?? null });
  }

  /** GET /pools/{pool}/liquidity: one page, newest first. */
  poolLiquidity(pool: string, query: Query<"getPoolLiquidity"> = {}, signal?: AbortSignal): Promise<PoolLiquidityResponse> {
    return this.#http.json(`/pools/${encodeURIComponent(pool)}/liquidity`, query, { signal: signal ?? null });
  }

  /** GET /pools/{pool}/liquidity/history, oldest first. */
  poolReserves(pool: string, query: Query<"getPoolLiquidityHistory"> = {}, signal?: AbortSignal): Promise<PoolReservesResponse> {
    return this.#http.json(`/pools/${encodeURIComponent(pool)}/liquidity/history`, query, { signal: signal ?? null });
  }

  /** GET /tokens/{mint}/trades: one page, newest first. */
  trades(mint: string, query: Query<"getTrades"> = {}, signal?: AbortSignal): Promise<TradesResponse> {
    return this.#http.json(`/tokens/${encodeURIComponent(mint)}/trades`, query, { signal: signal ?? null });
  }

  /**
   * The trades of a mint as they come, until the node ends the stream or the signal does. What comes
   * between two streams is in trades().
   */
  async *followTrades(mint: string, signal?: AbortSignal): AsyncGenerator<Trade> {
    const response = await this.#http.open("/trades/stream", { mint }, signal);
    if (!response.ok) throw await errorOf(response);
    for await (const event of events(response, () => {})) {
      if (event.event === "trade") yield JSON.parse(event.data) as Trade;
    }
  }

  /** GET /tokens/{mint}/accounts, those with the most first. */
  accounts(mint: string, query: Query<"getAccounts"> = {}, signal?: AbortSignal): Promise<AccountsResponse> {
    return this.#http.json(`/tokens/${encodeURIComponent(mint)}/accounts`, query, { signal: signal ?? null });
  }

  /** GET /tokens/{mint}/holders: one page, those with the most first. */
  holders(mint: string, query: Query<"getHolders"> = {}, signal?: AbortSignal): Promise<HoldersResponse> {
    return this.#http.json(`/tokens/${encodeURIComponent(mint)}/holders`, query, { signal: signal ?? null });
  }

  /** GET /tokens/{mint}/holders/history, oldest first. */
  holdersHistory(mint: string, query: Query<"getHoldersHistory"> = {}, signal?: AbortSignal): Promise<HoldersHistoryResponse> {
    return this.#http.json(`/tokens/${encodeURIComponent(mint)}/holders/history`, query, { signal: signal ?? null });
  }

  /** GET /tokens/{mint}/transfers: one page, newest first. */
  transfers(mint: string, query: Query<"getTransfers"> = {}, signal?: AbortSignal): Promise<TransfersResponse> {
    return this.#http.json(`/tokens/${encodeURIComponent(mint)}/transfers`, query, { signal: signal ?? null });
  }

  /** GET /owners/{owner}/accounts: one page, by mint. */
  ownerAccounts(owner: string, query: Query<"getOwnerAccounts"> = {}, signal?: AbortSignal): Promise<OwnerAccountsResponse> {
    return this.#http.json(`/owners/${encodeURIComponent(owner)}/accounts`, query, { signal: signal ?? null });
  }

  /** GET /owners/{owner}/tokens: one page, the highest value first. */
  ownerTokens(owner: string, query: Query<"getOwnerTokens"> = {}, signal?: AbortSignal): Promise<OwnerTokensResponse> {
    return this.#http.json(`/owners/${encodeURIComponent(owner)}/tokens`, query, { signal: signal ?? null });
  }

  /** GET /owners/{owner}/transfers: one page, newest first. */
  ownerTransfers(owner: string, query: Query<"getOwnerTransfers"> = {}, signal?: AbortSignal): Promise<OwnerTransfersResponse> {
    return this.#http.json(`/owners/${encodeURIComponent(owner)}/transfers`, query, { signal: signal ?? null });
  }

  /** GET /status. */
  status(signal?: AbortSignal): Promise<Status> {
    return this.#http.json("/status", {}, { signal: signal ?? null });
  }

  /**
   * New and changed tokens as they come, for ever. When the stream ends it goes on behind the last
   * cursor: nothing is missed, some events may come twice. A reset comes again if the stream ends
   * before there is a new cursor. Throws for a request that cannot be right.
   */
  follow(query?: Whole<"streamTokens">, signal?: AbortSignal): AsyncGenerator<FeedEvent<Token>>;
  follow(query: Query<"streamTokens">, signal?: AbortSignal): AsyncGenerator<FeedEvent>;
  async *follow(query: Query<"streamTokens"> = {}, signal?: AbortSignal): AsyncGenerator<FeedEvent> {
    let cursor = query.cursor;
    let lost: FeedEvent | undefined; // the reset after which no cursor has come yet
    let retryMs = 0;
    for (let failures = 0; !signal?.aborted; ) {
      let wait = Math.min(longestPauseMs, 500 * 2 ** Math.min(failures++, 6));
      const quiet = new AbortController();
      const stop = () => quiet.abort();
      signal?.addEventListener("abort", stop);
      let timer = setTimeout(stop, quietLimitMs);
      try {
        const response = await this.#http.open("/tokens/stream", { ...query, cursor }, quiet.signal);
        if (!response.ok) throw await errorOf(response);
        const alive = () => { clearTimeout(timer); timer = setTimeout(stop, quietLimitMs); };
        if (lost) { // also the changes between the last connection and this one are lost
          clearTimeout(timer);
          yield lost;
          alive();
        }
        for await (const event of events(response, alive)) {
          clearTimeout(timer); // nothing is read while the caller works: the silence is ours
          failures = 0;
          retryMs = Math.min(event.retry ?? retryMs, longestPauseMs);
          const shown = shownEvent(event.event, event.data);
          if (shown?.event === "reset") {
            cursor = undefined; // it is of no use any more
            lost = shown;
          }
          if (shown) yield shown;
          if (event.id !== undefined) {
            cursor = event.id;
            lost = undefined;
            yield { event: "cursor", cursor: event.id };
          }
          alive();
        }
        wait = retryMs;
      } catch (error) {
        if (error instanceof SyntaxError || error instanceof NotAFeed) throw error;
        if (error instanceof MintlakeError) {
          if (error.retryAfterMs === 0 && error.status < 500) throw error;
          wait = Math.max(wait, error.retryAfterMs);
        }
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", stop);
        quiet.abort();
      }
      await sleep(Math.max(wait, retryMs), signal);
    }
  }
}

function shownEvent(event: string, data: string): FeedEvent | undefined {
  switch (event) {
    case "new":
    case "changed":
      return { event, token: JSON.parse(data) as Row };
    case "removed":
      return { event, mint: (JSON.parse(data) as { mint: string }).mint };
    case "reset":
      return { event, ...(JSON.parse(data) as { reason: string; message: string }) };
  }
  return undefined; // end, and what later versions send
}
