// The swap API of Mintlake: quotes, the transactions that wallets sign, and what came of them.
import type { components, operations } from "./swapapi.js";
import { errorOf, Http, type Options } from "./http.js";
import { events } from "./sse.js";

type Schemas = components["schemas"];
type Query<Name extends keyof operations> = NonNullable<operations[Name]["parameters"]["query"]>;
type Asked = Query<"getQuote">;
/** What both forms of a swap's request may have besides the trade. */
type Transacted = { user_account: string } & Partial<Omit<Asked, "user_account" | "format" | "src_mint" | "dst_mint" | "amount_in" | "amount_out" | "slippage_bps" | "priority_fee">>;

/** Amounts are raw units in decimal strings: pass a bigint as text. */
export type QuoteRequest = Omit<Asked, "format" | "slippage_bps"> & { slippage_bps: number };
export type Quote = Schemas["Quote"];
/** A quote with the transaction in base64, which the user signs. */
export type SwapQuote = Quote & Required<Pick<Quote, "txn" | "last_valid_block_height">>;
/** The lamports of the transaction, "auto", or the object of Jupiter's API. */
export type PriorityFee = number | "auto" | { [name: string]: unknown };
/** A trade, or a whole quote whose threshold is kept. */
export type SwapRequest = Transacted & { priority_fee?: PriorityFee } & (Pick<QuoteRequest, "src_mint" | "dst_mint" | "amount_in" | "amount_out" | "slippage_bps"> | { quote: Quote });
export type SendRequest = { quote: Quote; transaction: string } & Pick<Asked, "user_account" | "destination_token_account" | "native_destination_account">;
export type Sent = Schemas["Sent"];
export type Venue = Schemas["Venue"];
export type Pool = Schemas["Pool"];
export type VenuesResponse = operations["listVenues"]["responses"][200]["content"]["application/json"];
export type SwapPoolsResponse = operations["listPools"]["responses"][200]["content"]["application/json"];

/** A quote anew, or why there is none for now. */
export type QuoteEvent = { event: "quote"; quote: Quote } | { event: "error"; message: string; code: string | null };

export interface SwapOptions extends Options {
  /** The key that is sent as X-API-KEY, if the server wants one. Keys belong on servers. */
  key?: string;
}

export class MintlakeSwap {
  readonly #http: Http;

  constructor(options: SwapOptions) {
    this.#http = new Http(options, options.key === undefined ? {} : { "X-API-KEY": options.key });
  }

  /** GET /api/v2/quote. Where nobody trades it is a MintlakeError of status 404 that has a code. */
  quote(query: QuoteRequest, signal?: AbortSignal): Promise<Quote> {
    return this.#http.json("/api/v2/quote", query, { signal: signal ?? null });
  }

  /** POST /api/v2/swap: a quote with its transaction. Nothing is executed. */
  swap(body: SwapRequest, signal?: AbortSignal): Promise<SwapQuote> {
    return this.#http.post("/api/v2/swap", {}, body, signal);
  }

  /**
   * POST /api/v2/send: sends the signed transaction of a quote, and waits until it is confirmed or
   * expired: up to minutes.
   */
  send(body: SendRequest, signal?: AbortSignal): Promise<Sent> {
    return this.#http.post("/api/v2/send", {}, body, signal);
  }

  /** A quote whenever it changes, until the server ends the stream, or the signal does. */
  async *follow(query: QuoteRequest, signal?: AbortSignal): AsyncGenerator<QuoteEvent> {
    const response = await this.#http.open("/api/v2/quote/stream", query, signal);
    if (!response.ok) throw await errorOf(response);
    for await (const { event, data } of events(response, () => {})) {
      if (event === "quote") yield { event, quote: JSON.parse(data) as Quote };
      if (event === "error") {
        const told = JSON.parse(data) as { message: string; code?: string };
        yield { event, message: told.message, code: told.code ?? null };
      }
    }
  }

  /** GET /api/v2/venues. */
  venues(signal?: AbortSignal): Promise<VenuesResponse> {
    return this.#http.json("/api/v2/venues", {}, { signal: signal ?? null });
  }

  /** GET /api/v2/pools: of a token with the hubs, or with another one. */
  pools(query: Query<"listPools">, signal?: AbortSignal): Promise<SwapPoolsResponse> {
    return this.#http.json("/api/v2/pools", query, { signal: signal ?? null });
  }
}
