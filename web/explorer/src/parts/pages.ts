// Lists that come in pages.
import { useEffect, useState } from "preact/hooks";
import { cancelled, get, words } from "../api";

interface Page {
  next: string | null;
}

/** Kind says how a list is told: where its items are in an answer, and which parameter takes the next page's place. */
interface Kind<Item, Answer> {
  list: (answer: Answer) => Item[];
  place: string;
}

const usual = { list: (answer: { items: unknown[] }) => answer.items, place: "cursor" };

/** Pages are the pages so far; `answer` is the last one. */
export interface Pages<Item, Answer extends Page> {
  items: Item[];
  answer: Answer | undefined;
  error: string | undefined;
  /** more loads the next page; undefined when there is none. */
  more: (() => void) | undefined;
}

/** usePages loads a list page by page. The component has the path as its key: a cursor is good for one list. */
export function usePages<Item, Answer extends Page>(path: string, { list, place } = usual as unknown as Kind<Item, Answer>): Pages<Item, Answer> {
  const [state, setState] = useState<{ items: Item[]; answer?: Answer; error?: string }>({ items: [] });
  // Another try at the same place is another object.
  const [from, setFrom] = useState({ cursor: "" });
  useEffect(() => {
    const abort = new AbortController();
    const { cursor } = from;
    const url = cursor === "" ? path : `${path}${path.includes("?") ? "&" : "?"}${place}=${encodeURIComponent(cursor)}`;
    get<Answer>(url, abort.signal).then(
      (answer) => setState((now) => ({ items: cursor === "" ? list(answer) : [...now.items, ...list(answer)], answer })),
      (error: unknown) => {
        if (!cancelled(error)) setState((now) => ({ ...now, error: words(error) }));
      },
    );
    return () => abort.abort();
  }, [path, from]);
  const next = state.answer?.next;
  return { items: state.items, answer: state.answer, error: state.error, more: next ? () => setFrom({ cursor: next }) : undefined };
}
