// The newest tokens, as the change feed tells of them.
import { useEffect, useState } from "preact/hooks";
import type { Page, Token } from "../api";
import { cancelled, get, words } from "../api";
import { useLatest, useTitle } from "../hooks";
import { Problem } from "../parts/small";
import { TokenList } from "../parts/token-list";

const most = 100;
/** kept bounds the changes that wait while nobody looks: as many new tokens as the list has, and a change of each row. */
const kept = 2 * most;
/** again is how long a feed that was refused rests, in milliseconds. */
const again = 5000;
/** together is how long changes are gathered before the list is drawn anew. */
const together = 300;

interface Live {
  items: Token[];
  connected: boolean;
  error?: string;
}

/** merge puts changed rows at their place and new ones on top; null takes a row away. */
function merge(items: Token[], changes: Map<string, Token | null>): Token[] {
  const known = new Map(items.map((token) => [token.mint, token]));
  for (const [mint, token] of changes) {
    if (token) known.set(mint, token);
    else known.delete(mint);
  }
  return [...known.values()].sort((a, b) => (b.first_seen_at ?? 0) - (a.first_seen_at ?? 0) || (a.mint < b.mint ? -1 : 1)).slice(0, most);
}

/** useNewest opens the feed first and reads the list behind it, so that nothing is missed in between. */
function useNewest(paused: boolean): Live {
  const [live, setLive] = useState<Live>({ items: [], connected: false });
  const held = useLatest(paused);
  useEffect(() => {
    const abort = new AbortController();
    const changes = new Map<string, Token | null>();
    const shown = new Set<string>();
    const read = async () => {
      try {
        const page = await get<Page>("/tokens?sort=newest&limit=50&evidence=true&market=true", abort.signal);
        for (const token of page.items) if (!changes.has(token.mint)) changes.set(token.mint, token);
      } catch (error) {
        if (!cancelled(error)) setLive((now) => ({ ...now, error: words(error) }));
      }
    };
    const take = (event: MessageEvent<string>) => {
      const token = JSON.parse(event.data) as Token;
      if (event.type === "removed") changes.set(token.mint, null);
      else if (event.type === "new" || shown.has(token.mint) || changes.has(token.mint)) changes.set(token.mint, token);
      if (changes.size > kept) changes.delete(changes.keys().next().value!);
    };
    let feed: EventSource;
    let rest: ReturnType<typeof setTimeout> | undefined;
    const connect = (after?: () => Promise<void>) => {
      feed = new EventSource("/tokens/stream?evidence=true&market=true");
      for (const name of ["new", "changed", "removed"]) feed.addEventListener(name, take as EventListener);
      feed.addEventListener("reset", () => void read());
      feed.onopen = () => {
        setLive((now) => ({ ...now, connected: true }));
        void after?.();
      };
      feed.onerror = () => {
        setLive((now) => ({ ...now, connected: false }));
        // The browser itself goes on after a connection that broke, but never after an answer that is no feed.
        if (feed.readyState === EventSource.CLOSED) rest = setTimeout(connect, again, read);
      };
    };
    connect();
    void read();
    const timer = setInterval(() => {
      if (held.current || changes.size === 0 || document.hidden) return;
      const batch = new Map(changes);
      changes.clear();
      setLive((now) => {
        const items = merge(now.items, batch);
        shown.clear();
        for (const token of items) shown.add(token.mint);
        return { ...now, items, error: undefined };
      });
    }, together);
    return () => {
      abort.abort();
      feed.close();
      clearTimeout(rest);
      clearInterval(timer);
    };
  }, []);
  return live;
}

export function NewPage() {
  const [paused, setPaused] = useState(false);
  const { items, connected, error } = useNewest(paused);
  useTitle("New tokens");
  return (
    <>
      <div class="title">
        <h1>New tokens</h1>
        <span class={connected && !paused ? "live on" : "live"}>{paused ? "paused" : connected ? "live" : "connecting"}</span>
        <button type="button" class="chip" aria-pressed={paused} onClick={() => setPaused(!paused)}>
          {paused ? "Go on" : "Pause"}
        </button>
      </div>
      {error && <Problem>{error}</Problem>}
      {items.length > 0 && <TokenList items={items} label="New tokens" />}
    </>
  );
}
