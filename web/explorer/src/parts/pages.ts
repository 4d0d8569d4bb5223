// Lists that come in pages.
import { useEffect, useState } from "preact/hooks";
import { cancelled, get, words } from "../api";

interface Page<Item> {
  items: Item[];
  next: string | null;
}

/** Pages are the pages so far; `answer` is the last one. */
export interface Pages<Item, Answer extends Page<Item>> {
  items: Item[];
  answer: Answer | undefined;
  error: string | undefined;
  /** more loads the next page; undefined when there is none. */
  more: (() => void) | undefined;
}

/** usePages loads a list page by page. The component has the path as its key: a cursor is good for one list. */
export function usePages<Item, Answer extends Page<Item>>(path: string): Pages<Item, Answer> {
  const [state, setState] = useState<{ items: Item[]; answer?: Answer; error?: string }>({ items: [] });
  const [cursor, setCursor] = useState("");
  useEffect(() => {
    const abort = new AbortController();
    const url = cursor === "" ? path : `${path}${path.includes("?") ? "&" : "?"}cursor=${encodeURIComponent(cursor)}`;
    get<Answer>(url, abort.signal).then(
      (answer) => setState((now) => ({ items: cursor === "" ? answer.items : [...now.items, ...answer.items], answer })),
      (error: unknown) => {
        if (!cancelled(error)) setState((now) => ({ ...now, error: words(error) }));
      },
    );
    return () => abort.abort();
  }, [path, cursor]);
  const next = state.answer?.next;
  return { items: state.items, answer: state.answer, error: state.error, more: next ? () => setCursor(next) : undefined };
}
