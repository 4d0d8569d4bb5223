// What the clients of both APIs share: requests, and those that are refused made again.

/** An answer that is no success. */
export class MintlakeError extends Error {
  constructor(
    readonly status: number,
    message: string,
    /** Milliseconds to wait before the next try; 0 where the API says nothing. */
    readonly retryAfterMs: number,
    /** Finds the request in the node's log. */
    readonly requestId: string | null,
    /** Why the swap API has no quote, such as no_liquidity; null for other errors. */
    readonly code: string | null = null,
  ) {
    super(`${status}: ${message}`);
    this.name = "MintlakeError";
  }
}

export interface Options {
  /** The token API, such as http://127.0.0.1:8080; of the swap API http://127.0.0.1:8081. */
  url: string;
  /** Makes the requests; the global fetch by default. */
  fetch?: typeof fetch;
  /** Longest time that one request waits for its limit; a minute by default, 0 for never. */
  maxWaitMs?: number;
}

const maxTries = 5;

/** Makes the requests to one address. */
export class Http {
  readonly #url: string;
  readonly #fetch: typeof fetch;
  readonly #maxWaitMs: number;
  readonly #headers: Record<string, string>;

  constructor(options: Options, headers: Record<string, string> = {}) {
    const url = new URL(options.url);
    if (url.protocol !== "http:" && url.protocol !== "https:") {
      throw new TypeError(`url is ${options.url}: must be http(s)://host:port`);
    }
    this.#url = url.href.replace(/\/$/, "");
    this.#fetch = options.fetch ?? ((input, init) => fetch(input, init));
    this.#maxWaitMs = options.maxWaitMs ?? 60_000;
    this.#headers = headers;
  }

  /** Begins a stream of events, once. */
  open(path: string, query: object, signal?: AbortSignal): Promise<Response> {
    return this.#fetch(this.#address(path, query), { headers: { ...this.#headers, Accept: "text/event-stream" }, signal: signal ?? null });
  }

  /** POSTs a body as JSON. */
  post<T>(path: string, query: object, body: object, signal?: AbortSignal): Promise<T> {
    const headers = { "Content-Type": "application/json" };
    return this.json(path, query, { method: "POST", headers, body: JSON.stringify(body), signal: signal ?? null });
  }

  async json<T>(path: string, query: object, init: RequestInit & { headers?: Record<string, string> }): Promise<T> {
    let left = this.#maxWaitMs;
    for (let attempt = 1; ; attempt++) {
      const response = await this.#fetch(this.#address(path, query), { ...init, headers: { ...this.#headers, ...init.headers } });
      if (response.ok) return (await response.json()) as T;
      const refusal = await errorOf(response);
      if (refusal.retryAfterMs === 0 || refusal.retryAfterMs > left || attempt === maxTries) throw refusal;
      left -= refusal.retryAfterMs;
      await sleep(refusal.retryAfterMs, init.signal ?? undefined);
      init.signal?.throwIfAborted();
    }
  }

  #address(path: string, query: object): string {
    const params = new URLSearchParams();
    for (const [name, value] of Object.entries(query)) {
      if (value !== undefined && value !== null) params.set(name, String(value)); // lists are joined by commas
    }
    const text = params.toString();
    return this.#url + path + (text === "" ? "" : "?" + text);
  }
}

export async function errorOf(response: Response): Promise<MintlakeError> {
  let message = `${response.statusText}, and no error as Mintlake answers: is this the address of its API?`;
  let code: string | null = null;
  try {
    const told = (await response.json()) as { message?: unknown; code?: unknown };
    if (typeof told.message === "string") message = told.message;
    if (typeof told.code === "string") code = told.code;
  } catch {
    // not JSON: another server answered
  }
  const seconds = Number(response.headers.get("Retry-After"));
  const waits = (response.status === 429 || response.status === 503) && seconds > 0;
  return new MintlakeError(response.status, message, waits ? seconds * 1000 : 0, response.headers.get("X-Request-ID"), code);
}

export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => { clearTimeout(timer); signal?.removeEventListener("abort", done); resolve(); };
    const timer = setTimeout(done, ms);
    if (signal?.aborted) done();
    signal?.addEventListener("abort", done);
  });
}
