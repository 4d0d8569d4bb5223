// The swap API as the page of quotes uses it. It has an address of its own, which the node names in the document.
import { useEffect, useState } from "preact/hooks";
import { cancelled, seen, sleep } from "../../api";
import type { components } from "../../swap";

type Schemas = components["schemas"];
export type Quote = Schemas["Quote"];
export type Leg = Schemas["Leg"];
export type Fee = Schemas["Fee"];
export type Venue = Schemas["Venue"];
export type Pool = Schemas["Pool"];

/** sol is the mint of wrapped SOL. */
export const sol = "So11111111111111111111111111111111111111112";

/** swapURL is where the swap API is; empty where this node names none. */
export const swapURL = document.querySelector<HTMLMetaElement>("meta[name=mintlake-swap]")?.content ?? "";

export interface Answer<T> {
  data?: T;
  /** readAt is when the answer came. */
  readAt?: number;
  error?: string;
  /** keyed says that the API wants a key, or another one. */
  keyed?: boolean;
}

/**
 * useSwap asks the swap API for a path, null for nothing, and again each `every` milliseconds while the page is seen. After a question of
 * another path nothing of the last one is shown: it would be a wrong price.
 */
export function useSwap<T>(path: string | null, key: string, every: number): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T> & { path: string | null }>({ path: null });
  useEffect(() => {
    if (path === null || swapURL === "") return;
    const abort = new AbortController();
    void (async () => {
      try {
        await sleep(200, abort.signal); // an amount is typed digit by digit
        for (;;) {
          await seen(abort.signal);
          setAnswer({ path, ...(await ask<T>(path, key, abort.signal)) });
          if (every === 0) return;
          await sleep(every, abort.signal);
        }
      } catch (error) {
        if (!cancelled(error)) console.error(error);
      }
    })();
    return () => abort.abort();
  }, [path, key, every]);
  return answer.path === path ? answer : {};
}

async function ask<T>(path: string, key: string, signal: AbortSignal): Promise<Answer<T>> {
  try {
    const response = await fetch(swapURL + path, { signal, headers: key ? { "X-API-KEY": key } : {} });
    const body: unknown = await response.json();
    if (response.ok) return { data: body as T, readAt: Date.now() };
    const { message } = body as { message?: string };
    return { error: message ?? `The swap API answers ${response.status}.`, keyed: response.status === 401 || response.status === 403 };
  } catch (error) {
    if (cancelled(error)) throw error;
    return { error: `The swap API at ${swapURL} does not answer.` };
  }
}
