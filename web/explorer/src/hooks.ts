// Hooks that several pages use.
import { useEffect, useRef, useState } from "preact/hooks";
import { APIError, type Batch, Cache, type Token, cancelled, get, post, seen, words } from "./api";
import { cut, plain } from "./format";

const answers = new Cache<unknown>(200);

export interface Answer<T> {
  data: T | undefined;
  /** error is what to tell people; data of before stays beside it. */
  error: string | undefined;
  /** missing says that there is no such thing, as far as the node knows. */
  missing?: boolean;
}

/**
 * useGet asks for a path, null for nothing, and again each `every` milliseconds while the page is seen. An answer of before is shown
 * until the new one is there.
 */
export function useGet<T>(path: string | null, every = 0): Answer<T> {
  const [answer, setAnswer] = useState<Answer<T> & { path: string | null }>({ path: null, data: undefined, error: undefined });
  useEffect(() => {
    if (path === null) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const ask = async () => {
      try {
        await seen(abort.signal);
        const data = await get<T>(path, abort.signal);
        answers.set(path, data);
        setAnswer({ path, data, error: undefined });
      } catch (error) {
        if (cancelled(error)) return;
        setAnswer({ path, data: answers.get(path) as T | undefined, error: words(error), missing: error instanceof APIError && error.status === 404 });
      }
      if (every > 0 && !abort.signal.aborted) timer = setTimeout(ask, every);
    };
    void ask();
    return () => {
      abort.abort();
      clearTimeout(timer);
    };
  }, [path, every]);
  if (answer.path === path) return answer;
  return { data: path === null ? undefined : (answers.get(path) as T | undefined), error: undefined };
}

/** most is how many mints a batch takes. */
const most = 500;

/**
 * useTokens are tokens by mint, with what it takes to name them and their amounts. Without them mints are shown. When it is done and has
 * no error, a mint that is missing is not in the registry.
 */
export function useTokens(mints: string[]): { tokens: Map<string, Token>; done: boolean; error?: string } {
  const key = [...new Set(mints)].sort().join();
  const [state, setState] = useState<{ key: string; tokens: Map<string, Token>; error?: string }>({ key: "", tokens: new Map() });
  useEffect(() => {
    if (key === "") return;
    const abort = new AbortController();
    const all = key.split(",");
    const parts = Array.from({ length: Math.ceil(all.length / most) }, (_, n) => all.slice(n * most, (n + 1) * most));
    Promise.all(parts.map((part) => post<Batch>("/tokens/batch?fields=mint,symbol,name,decimals,logo_status", { mints: part }, abort.signal))).then(
      (answers) => setState({ key, tokens: new Map(answers.flatMap(({ items }) => items.map((token) => [token.mint, token] as const))) }),
      (error: unknown) => {
        if (!cancelled(error)) setState(({ tokens }) => ({ key, tokens, error: words(error) }));
      },
    );
    return () => abort.abort();
  }, [key]);
  const done = state.key === key;
  return { tokens: state.tokens, done, error: done ? state.error : undefined };
}

/** useNow is the time, told anew each second while the page is seen. One timer serves all. */
export function useNow(): number {
  const [now, setNow] = useState(clock.now);
  useEffect(() => {
    clock.listeners.add(setNow);
    return () => void clock.listeners.delete(setNow);
  }, []);
  return now;
}

const clock = { now: Date.now(), listeners: new Set<(now: number) => void>() };
setInterval(() => {
  if (document.hidden) return;
  clock.now = Date.now();
  for (const listener of clock.listeners) listener(clock.now);
}, 1000);

/** useTitle names the page. The text may be a stranger's. */
export function useTitle(text: string) {
  useEffect(() => {
    document.title = text ? `${cut(plain(text), 100)} · Mintlake` : "Mintlake: every fungible token on Solana";
  }, [text]);
}

/** useLatest is the value of the last rendering, for callbacks that outlive it. */
export function useLatest<T>(value: T) {
  const ref = useRef(value);
  ref.current = value;
  return ref;
}
