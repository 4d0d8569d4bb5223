// A token, chosen by symbol, name or mint: a combobox, as the search at the head of the page.
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Token } from "../../api";
import { plain, short, title } from "../../format";
import { Hit, useHits } from "../../parts/search";
import { Text } from "../../parts/small";

export function Pick({ id, label, token, mint, choose }: { id: string; label: string; token: Token | undefined; mint: string; choose: (mint: string) => void }) {
  const [text, setText] = useState<string | null>(null); // null: nobody types
  const [chosen, setChosen] = useState<string>(); // by its mint: the answer may exchange the rows
  const [entered, setEntered] = useState(false); // Enter was pressed before the answer was there
  const wanted = text?.trim() ?? "";
  const { items, done, error } = useHits(wanted);
  const open = wanted !== "";
  const marked = items.findIndex(({ mint }) => mint === chosen);
  const active = Math.max(marked, 0);
  const shown = token ? title(token) : short(mint);
  const input = useRef<HTMLInputElement>(null);
  // What is typed next takes the place of the token that was chosen, and is not appended to it.
  useLayoutEffect(() => {
    if (text === null && document.activeElement === input.current) input.current?.select();
  }, [text === null, shown]);
  const take = (hit: Token | undefined) => {
    setEntered(false);
    if (!hit) return; // what was typed stays, with the reason below it
    choose(hit.mint);
    setText(null);
  };
  useEffect(() => {
    if (entered && done) take(items[active]);
  }, [entered, done]);
  const key = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setChosen(items[(active + (event.key === "ArrowDown" ? 1 : -1) + items.length) % Math.max(1, items.length)]?.mint);
    } else if (event.key === "Enter" && open) {
      event.preventDefault();
      if (done || marked >= 0) take(items[active]);
      else setEntered(true);
    } else if (event.key === "Escape") {
      event.preventDefault();
      setText(null);
    }
  };
  return (
    <div class="search pick">
      <label for={id}>{label}</label>
      <input
        ref={input}
        id={id}
        role="combobox"
        aria-expanded={open && items.length > 0}
        aria-controls={`${id}-hits`}
        aria-autocomplete="list"
        aria-activedescendant={open && items[active] ? `${id}-hit-${active}` : undefined}
        autocomplete="off"
        spellcheck={false}
        maxLength={200}
        placeholder="Symbol, name or mint"
        value={text ?? shown}
        onFocus={(event) => event.currentTarget.select()}
        onInput={(event) => {
          setText(event.currentTarget.value);
          setChosen(undefined);
          setEntered(false);
        }}
        onBlur={() => setText(null)}
        onKeyDown={key}
      />
      <small>
        <Text of={token?.name} /> <a href={`/token/${encodeURIComponent(mint)}`} title={plain(mint)}>{short(mint)}</a>
      </small>
      <div class="hits" hidden={!open}>
        <ul id={`${id}-hits`} role="listbox" aria-label={`Tokens found: ${label}`}>
          {open && items.map((hit, place) => <Hit key={hit.mint} id={`${id}-hit-${place}`} token={hit} active={place === active} choose={take} />)}
        </ul>
        {open && items.length === 0 && <p>{error ?? (done ? "No token matches." : "…")}</p>}
      </div>
    </div>
  );
}
