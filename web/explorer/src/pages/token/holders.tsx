// Who holds the token: how concentrated it is as a picture, how many there were over time, and the table.
import type { Holder, Holders, HoldersHistory, Token } from "../../api";
import { absolute, count, percent } from "../../format";
import { useGet } from "../../hooks";
import { Owner, Whole } from "../../parts/balances";
import { Line } from "../../parts/line";
import { usePages } from "../../parts/pages";
import { Amount, More, Problem, Section } from "../../parts/small";

const pageSize = 50;

export function HoldersCard({ base, token }: { base: string; token: Token }) {
  const { items, answer, error, more } = usePages<Holder, Holders>(`${base}/holders?limit=${pageSize}`);
  const { data: past } = useGet<HoldersHistory>(`${base}/holders/history?limit=500`);
  const change = token.holders_change_24h;
  return (
    <Section title="Holders" aside={answer && <Whole of={answer} />}>
      {error && <Problem>{error}</Problem>}
      {answer && items.length === 0 && <p class="empty">Nobody that Mintlake knows holds it.</p>}
      {answer && items.length > 0 && (
        <>
          <p>
            {answer.total != null && <b>{count(answer.total)} holders</b>}
            {change != null && change !== 0 && <small> {`${change > 0 ? "+" : "−"}${count(Math.abs(change))}`} in 24 h</small>}
            {token.top10_pct != null && <small> · the first ten hold {percent(token.top10_pct / 100).replace("+", "")}</small>}
          </p>
          <Concentration items={items.slice(0, pageSize)} all={answer.total} />
          <OverTime points={past?.points ?? []} />
          <div class="scroll" tabIndex={0} role="region" aria-label="Holders">
            <table class="holders">
              <thead>
                <tr>
                  <th class="number">Rank</th>
                  <th>Owner</th>
                  <th>Kind</th>
                  <th class="number">Amount</th>
                  <th class="number">Share</th>
                  <th class="number">Accounts</th>
                </tr>
              </thead>
              <tbody>
                {items.map((holder) => (
                  <tr key={holder.rank}>
                    <td class="number">{count(holder.rank)}</td>
                    <td>
                      <Owner value={holder.owner} />
                    </td>
                    <td>{holder.owner_kind}</td>
                    <td class="number">
                      <Amount raw={holder.amount} decimals={token.decimals} />
                    </td>
                    <td class="number">{holder.share_pct == null ? "–" : `${holder.share_pct.toFixed(2)} %`}</td>
                    <td class="number">{count(holder.accounts)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <More of={more}>More</More>
        </>
      )}
    </Section>
  );
}

/** parts of the supply, from the holders of the first page: who signs for them is what matters. */
function parts(items: Holder[], all: number | null): { name: string; tone: string; share: number }[] {
  const share = (list: Holder[]) => list.reduce((sum, { share_pct }) => sum + (share_pct ?? 0), 0);
  const of = (...kinds: string[]) => items.filter(({ owner_kind }) => kinds.includes(owner_kind));
  const people = of("wallet", "program", "unknown");
  const listed = [
    { name: "Pools and curves", tone: "pool", share: share(of("pool", "curve")) },
    { name: "First ten", tone: "ten", share: share(people.slice(0, 10)) },
    { name: `Next ${Math.max(people.length - 10, 0)}`, tone: "next", share: share(people.slice(10)) },
    { name: "Burnt", tone: "burn", share: share(of("burn")) },
  ];
  const rest = Math.max(0, 100 - listed.reduce((sum, part) => sum + part.share, 0));
  const others = all == null ? "All others" : all > items.length ? `${count(all - items.length)} others` : "Not seen";
  return [...listed, { name: others, tone: "rest", share: rest }].filter((part) => part.share > 0.005);
}

function Concentration({ items, all }: { items: Holder[]; all: number | null }) {
  if (items.every(({ share_pct }) => share_pct == null)) return null;
  const shown = parts(items, all);
  const text = shown.map((part) => `${part.name} ${part.share.toFixed(1)} %`).join(", ");
  const whole = shown.reduce((sum, part) => sum + part.share, 0);
  let from = 0;
  return (
    <figure class="shares">
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={`Shares of the supply: ${text}`}>
        {shown.map((part) => {
          const width = (part.share / whole) * 100;
          from += width;
          return <rect class={part.tone} x={from - width} y="0" width={width} height="6" />;
        })}
      </svg>
      <figcaption>
        {shown.map((part) => (
          <span>
            <i class={part.tone} /> {part.name} {part.share.toFixed(1)} %
          </span>
        ))}
      </figcaption>
    </figure>
  );
}

function OverTime({ points }: { points: HoldersHistory["points"] }) {
  if (points.length < 2) return null;
  return (
    <Line
      points={points.map(({ time, holders }) => ({ x: time, y: holders }))}
      steps
      name="Holders"
      label={`Holders from ${count(points[0]!.holders)} to ${count(points.at(-1)!.holders)}`}
      text={(value) => count(value)}
      where={(time) => absolute(time * 1000)}
    />
  );
}
