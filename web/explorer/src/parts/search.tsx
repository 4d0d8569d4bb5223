// Search as you type: a combobox as the ARIA practices have it. The list is a set of links' targets; Enter without a choice opens all matches.
import { useLocation } from "preact-iso";
import { useEffect, useRef, useState } from "preact/hooks";
import { Cache, type Page, type Token, cancelled, get, sleep, words } from "../api";
import { short } from "../format";
import { Ago, Logo, Price, Text, Usd } from "./small";
import { Mark } from "./mark";

const shown = 8;
const debounce = 150;
const cache = new Cache<Token[]>(200);
const looksLikeMint = /^[1-9A-HJ-NP-Za-km-z]{32,44}$/;

/** fromPrefix is what an earlier answer for a beginning of the text has that fits all of it, to show until the answer is there. */
function fromPrefix(text: string): Token[] | undefined {
  const wanted = text.toLowerCase();
  for (let length = text.length; length > 0; length--) {
    const items = cache.get(text.slice(0, length));
    if (!items) continue;
    if (length === text.length) return items;
    return items.filter((token) => `${token.symbol}\n${token.name}`.toLowerCase().includes(wanted) || token.mint.startsWith(text));
  }
  return undefined;
}

/** useHits are the matches of a text, and whether they are all that there is to say. */
export function useHits(text: string): { items: Token[]; done: boolean; error?: string } {
  const [state, setState] = useState<{ text: string; items: Token[]; error?: string }>({ text: "", items: [] });
  useEffect(() => {
    if (text === "") return setState({ text, items: [] });
    // What was found before is shown until the answer is there: prices change, and a token may have come meanwhile.
    const known = cache.get(text);
    if (known?.length) setState({ text, items: known });
    const abort = new AbortController();
    void (async () => {
      try {
        await sleep(debounce, abort.signal);
        const page = await get<Page>(`/tokens?${new URLSearchParams({ q: text, limit: String(shown), evidence: "true", market: "true" })}`, abort.signal);
        cache.set(text, page.items);
        setState({ text, items: page.items });
      } catch (error) {
        if (!cancelled(error)) setState({ text, items: [], error: words(error) });
      }
    })();
    return () => abort.abort();
  }, [text]);
  if (state.text === text) return { items: state.items, done: true, error: state.error };
  return { items: (text && fromPrefix(text)) || [], done: false };
}

export function Search() {
  const { path, query, route } = useLocation();
  const [text, setText] = useState(query.q ?? "");
  const [focused, setFocused] = useState(false);
  const [open, setOpen] = useState(false);
  const [chosen, setChosen] = useState<string>(); // by its mint: the answer may exchange the rows
  const input = useRef<HTMLInputElement>(null);
  const wanted = text.trim();
  const { items, done, error } = useHits(focused ? wanted : "");
  const active = items.findIndex(({ mint }) => mint === chosen);

  // The box says what the list below is about.
  useEffect(() => setText(path === "/" ? (query.q ?? "") : ""), [path, query.q]);
  useEffect(() => {
    const slash = (event: KeyboardEvent) => {
      const at = event.target as HTMLElement;
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || at.closest("input, textarea, select")) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    addEventListener("keydown", slash);
    return () => removeEventListener("keydown", slash);
  }, []);

  const go = (url: string) => {
    setOpen(false);
    setChosen(undefined);
    input.current?.blur();
    route(url);
  };
  const submit = (event: Event) => {
    event.preventDefault();
    const hit = items[active];
    if (hit) go(`/token/${hit.mint}`);
    else if (looksLikeMint.test(wanted)) go(`/token/${wanted}`);
    else go(wanted ? `/?${new URLSearchParams({ q: wanted })}` : "/");
  };
  const key = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      const places = items.length + 1; // one is the box itself
      setChosen(items[((active + 1 + (event.key === "ArrowDown" ? 1 : -1) + places) % places) - 1]?.mint);
    } else if (event.key === "Escape") {
      event.preventDefault(); // the browser would empty the box at once
      if (open) setOpen(false);
      else if (text) setText("");
      else input.current?.blur();
      setChosen(undefined);
    }
  };
  const listed = open && wanted !== "";
  return (
    <form class="search" role="search" onSubmit={submit}>
      <label class="hidden" for="q">
        Search tokens by symbol, name or mint
      </label>
      <input
        id="q"
        ref={input}
        type="search"
        list={undefined}
        role="combobox"
        aria-expanded={listed && items.length > 0}
        aria-controls="hits"
        aria-autocomplete="list"
        aria-activedescendant={active >= 0 ? `hit-${active}` : undefined}
        autocomplete="off"
        spellcheck={false}
        maxLength={200}
        placeholder="Symbol, name or mint"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setOpen(true);
          setChosen(undefined);
        }}
        onFocus={() => {
          setFocused(true);
          setOpen(true);
        }}
        onBlur={() => {
          setFocused(false);
          setOpen(false);
        }}
        onKeyDown={key}
      />
      <kbd aria-hidden="true">/</kbd>
      <div class="hits" hidden={!listed}>
        <ul id="hits" role="listbox" aria-label="Tokens found">
          {listed && items.map((token, place) => <Hit key={token.mint} id={`hit-${place}`} token={token} active={place === active} choose={({ mint }) => go(`/token/${mint}`)} />)}
        </ul>
        {listed && items.length === 0 && <p>{error ?? (done ? "No token matches." : "…")}</p>}
        {listed && items.length > 0 && <p>↑ ↓ choose · Enter opens{active < 0 ? " all matches" : ""} · Esc closes</p>}
      </div>
    </form>
  );
}

/** Hit is one line of a list of matches. */
export function Hit({ id, token, active, choose }: { id: string; token: Token; active: boolean; choose: (token: Token) => void }) {
  return (
    // The press, not the click: the box loses the focus in between, and that closes the list.
    <li
      id={id}
      role="option"
      aria-selected={active}
      onMouseDown={(event) => {
        event.preventDefault();
        if (event.button === 0) choose(token);
      }}
    >
      <Logo token={token} />
      <span class="who">
        <b>
          <Text of={token.symbol} most={30} />
        </b>{" "}
        <Mark token={token} />
        <small>
          <Text of={token.name} /> · <code>{short(token.mint)}</code>
        </small>
      </span>
      <span class="figures">
        <Price value={token.market?.price_usd} />
        <small>
          {token.daily_volume_usd != null && (
            <>
              <Usd value={token.daily_volume_usd} /> a day ·{" "}
            </>
          )}
          <Ago ms={token.first_seen_at} />
        </small>
      </span>
    </li>
  );
}
