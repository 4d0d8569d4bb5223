// What happened to the token, newest first, and its supply over time as that tells it.
import { useEffect, useState } from "preact/hooks";
import { type History, type HistoryEntry, type Token, cancelled, get, words } from "../../api";
import { amount, count } from "../../format";
import { Address, Ago, More, Problem, Section, Text } from "../../parts/small";
import { Line } from "../../parts/line";
import { fieldText } from "./facts";

const pageSize = 100;

/** useHistory loads page by page, from the newest back. The component has the token as its key: a cursor is good for one token. */
function useHistory(base: string) {
  const [state, setState] = useState<{ items: HistoryEntry[]; next: string | null; error?: string }>({ items: [], next: "" });
  const [wanted, setWanted] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    const before = state.next ? `&before=${encodeURIComponent(state.next)}` : "";
    get<History>(`${base}/history?limit=${pageSize}${before}`, abort.signal).then(
      (page) => setState((now) => ({ items: before ? [...now.items, ...page.items] : page.items, next: page.next })),
      (error: unknown) => {
        if (!cancelled(error)) setState((now) => ({ ...now, error: words(error) }));
      },
    );
    return () => abort.abort();
  }, [base, wanted]);
  return { ...state, older: () => setWanted(wanted + 1) };
}

export function HistoryCard({ base, token }: { base: string; token: Token }) {
  const { items, next, error, older } = useHistory(base);
  const supply = items.flatMap((entry) => entry.changes.filter((change) => change.field === "supply").map((change) => ({ slot: entry.slot, raw: change.after as string | null }))).reverse();
  return (
    <>
      {supply.length > 1 && (
        <Section title="Supply over time" aside={<small>{next ? "as far back as the history below" : "since it was made"}</small>}>
          <Line
            points={supply.map(({ slot, raw }) => ({ x: slot, y: Number(raw ?? 0) / 10 ** token.decimals }))}
            steps
            name="Supply"
            label={`Supply from ${amount(supply[0]?.raw, token.decimals)} to ${amount(supply.at(-1)?.raw, token.decimals)}`}
            text={(value) => amount(String(Math.round(value)), 0)}
            where={(slot) => `slot ${count(slot)}`}
          />
        </Section>
      )}
      <Section title="History">
        {error && <Problem>{error}</Problem>}
        <ol class="history">
          {folded(items).map((run, place) => (
            <Run key={place} run={run} decimals={token.decimals} />
          ))}
        </ol>
        <More of={next ? older : undefined}>Older</More>
      </Section>
    </>
  );
}

/** folded puts reads together that found nothing new and follow one another. All else stands alone. */
function folded(items: HistoryEntry[]): HistoryEntry[][] {
  const runs: HistoryEntry[][] = [];
  const empty = (entry: HistoryEntry | undefined) => entry !== undefined && !entry.instruction && entry.changes.length === 0;
  for (const entry of items) {
    const last = runs.at(-1);
    if (last && empty(entry) && empty(last[0])) last.push(entry);
    else runs.push([entry]);
  }
  return runs;
}

function Run({ run, decimals }: { run: HistoryEntry[]; decimals: number }) {
  const [first] = run;
  if (first && run.length === 1) return <Entry entry={first} decimals={decimals} />;
  return (
    <li>
      <details>
        <summary>{count(run.length)} reads that found nothing new</summary>
        <ol>
          {run.map((entry, place) => (
            <Entry key={place} entry={entry} decimals={decimals} />
          ))}
        </ol>
      </details>
    </li>
  );
}

function Entry({ entry, decimals }: { entry: HistoryEntry; decimals: number }) {
  return (
    <li>
      <div>
        <b>{(entry.instruction ?? entry.kind).replaceAll("_", " ")}</b>{" "}
        <small>
          {entry.source.replaceAll("_", " ")}
          {entry.slot > 0 && ` · slot ${count(entry.slot)}`}
          {entry.block_time != null && (
            <>
              {" · "}
              <Ago ms={entry.block_time} />
            </>
          )}
          {entry.signature && (
            <>
              {" · "}
              <Address value={entry.signature} what="the signature" />
            </>
          )}
          {!entry.in_registry && " · not in the registry"}
        </small>
      </div>
      {entry.changes.length > 0 && (
        <ul>
          {entry.changes.map((change) => (
            <li key={change.field}>
              {change.field}:{" "}
              <s>
                <Text of={fieldText(change.field, change.before, decimals)} most={500} />
              </s>{" "}
              → <Text of={fieldText(change.field, change.after, decimals)} most={500} />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}
