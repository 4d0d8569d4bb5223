// Which venues had pools of the pair, which pools took no part and why, and which venues are not covered.
import { count, venueName } from "../../format";
import { Address, Section } from "../../parts/small";
import { type Pool, type Quote, type Venue, useSwap } from "./swap";

interface Row {
  venue: string;
  pools: number;
  refused: { pool: string; reason: string }[];
}

/** rowsOf puts the pools of a pair together by venue, where there is no quote to tell of them. */
function rowsOf(pools: Pool[]): Row[] {
  const rows = new Map<string, Row>();
  for (const { venue, pool, refused } of pools) {
    const row = rows.get(venue) ?? { venue, pools: 0, refused: [] };
    row.pools++;
    if (refused) row.refused.push({ pool, reason: refused.reason });
    rows.set(venue, row);
  }
  return [...rows.values()];
}

export function VenuesCard({ quote, source, target, keyText }: { quote: Quote | undefined; source: string; target: string; keyText: string }) {
  const all = useSwap<{ venues: Venue[] }>("/api/v2/venues", keyText, 0);
  const pools = useSwap<{ pools: Pool[] }>(quote ? null : `/api/v2/pools?mint=${source}&with=${target}`, keyText, 10_000);
  const rows: Row[] = quote ? quote.venues : rowsOf(pools.data?.pools ?? []);
  const closed = all.data?.venues.filter((venue) => venue.status !== "proved") ?? [];
  return (
    <Section title="Venues">
      {(quote || pools.data) && rows.length === 0 && <p class="found">No venue that is covered has a pool of these two tokens: a route goes over a third one.</p>}
      <ul class="asked">
        {rows.map((row) => (
          <li key={row.venue}>
            <b>{venueName(row.venue)}</b> {count(row.pools)} {row.pools === 1 ? "pool" : "pools"}
            {row.refused.length > 0 && `, ${count(row.refused.length)} refused`}
            <ul>
              {row.refused.map(({ pool, reason }) => (
                <li key={pool} class="refused">
                  <Address value={pool} what="the pool" /> {reason}
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
      {closed.length > 0 && (
        <details>
          <summary>{count(closed.length)} venues are not quoted</summary>
          <ul class="asked">
            {closed.map(({ venue, label, reason }) => (
              <li key={venue}>
                <b>{label}</b> {reason}
              </li>
            ))}
          </ul>
        </details>
      )}
    </Section>
  );
}
