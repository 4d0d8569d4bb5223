// The token API as the pages use it: one function that asks, a small cache, and the types of the OpenAPI document.
import type { components } from "./openapi";

type Schemas = components["schemas"];
export type Token = Schemas["Token"];
export type Launchpad = Schemas["Launchpad"];
export type Evidence = Schemas["Evidence"];
export type Page = Omit<Schemas["SearchResponse"], "items"> & { items: Token[] };
export type Status = Schemas["Status"];
export type StatusPast = Schemas["StatusPast"];
export type Candles = Schemas["CandlesResponse"];
export type Candle = Schemas["Candle"];
export type Batch = Omit<Schemas["BatchResponse"], "items"> & { items: Token[] };
export type MintState = Schemas["MintState"];
export type Pool = Schemas["Pool"];
export type Venues = Schemas["VenuesResponse"];
export type Pools = Schemas["PoolsResponse"];
export type Trades = Schemas["TradesResponse"];
export type Trade = Schemas["Trade"];
export type Holders = Schemas["HoldersResponse"];
export type Holder = Schemas["Holder"];
export type HoldersHistory = Schemas["HoldersHistoryResponse"];
export type Transfers = Schemas["TransfersResponse"];
export type Transfer = Schemas["Transfer"];
export type OwnerTokens = Schemas["OwnerTokensResponse"];
export type OwnerToken = Schemas["OwnerToken"];
export type OwnerTransfers = Schemas["OwnerTransfersResponse"];
export type OwnerTransfer = Schemas["OwnerTransfer"];
export type OwnerAccounts = Schemas["OwnerAccountsResponse"];
export type OwnerAccount = OwnerAccounts["items"][number];
export type LiquidityHistory = Schemas["LiquidityHistoryResponse"];
export type PoolLiquidity = Schemas["PoolLiquidityResponse"];
export type LiquidityChange = Schemas["LiquidityChange"];
export type PoolReserves = Schemas["PoolReservesResponse"];
export type History = Schemas["HistoryResponse"];
export type HistoryEntry = Schemas["HistoryEntry"];
export type Origin = Schemas["Origin"];

/** APIError is an answer that is no success. Its message is for people. */
export class APIError extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** longest is how long a request waits at most when the server names no time, or an absurd one. */
const longest = 60;
/** attempts bounds how often a server that is busy or loading is asked again. */
const attempts = 6;

/** get asks the API. On 429 and 503 it waits as long as Retry-After says and asks again. */
export const get = <T>(path: string, signal?: AbortSignal) => ask<T>(path, { signal });

/** post is get with a body, for batches. */
export const post = <T>(path: string, body: unknown, signal?: AbortSignal) =>
  ask<T>(path, { signal, method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" } });

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  const signal = init.signal ?? undefined;
  for (let attempt = 1; ; attempt++) {
    const response = await fetch(path, init);
    if (response.ok) return (await response.json()) as T;
    const seconds = Number(response.headers.get("Retry-After"));
    const again = response.status === 429 || response.status === 503;
    if (!again || !(seconds > 0) || attempt === attempts) {
      const body = (await response.json().catch(() => null)) as { message?: string } | null;
      throw new APIError(response.status, body?.message ?? `The server answers ${response.status}.`);
    }
    await sleep(Math.min(seconds, longest) * 1000, signal);
  }
}

/** sleep fails as a request does when it is cancelled. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const cancel = () => {
      clearTimeout(timer);
      reject(new DOMException("cancelled", "AbortError"));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", cancel);
      resolve();
    }, ms);
    if (signal?.aborted) cancel();
    else signal?.addEventListener("abort", cancel, { once: true });
  });
}

/** seen waits until a person sees the page. */
export function seen(signal: AbortSignal): Promise<void> {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => {
    const look = () => {
      if (document.hidden) return;
      document.removeEventListener("visibilitychange", look);
      resolve();
    };
    document.addEventListener("visibilitychange", look, { signal });
  });
}

/** cancelled says that nobody waits for the answer any more. */
export const cancelled = (error: unknown) => error instanceof DOMException && error.name === "AbortError";

/** words of an error for people; a request that reached nobody has only the browser's own. */
export const words = (error: unknown) => (error instanceof APIError ? error.message : "The node does not answer.");

/** Cache keeps the answers used last. */
export class Cache<T> {
  private readonly entries = new Map<string, T>();
  constructor(private readonly size: number) {}

  get(key: string): T | undefined {
    const value = this.entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  set(key: string, value: T) {
    this.entries.delete(key);
    this.entries.set(key, value);
    if (this.entries.size > this.size) this.entries.delete(this.entries.keys().next().value!);
  }
}
