// The pools that hold the token, those that trade most first.
import type { Pools, Token } from "../../api";
import { count, short, venueName } from "../../format";
import { useGet, useTokens } from "../../hooks";
import { Address, Ago, Amount, Called, Problem, Section, Usd } from "../../parts/small";
import { LiquidityOverTime, PoolChanges } from "./liquidity";

export function PoolsCard({ base, token }: { base: string; token: Token }) {
  const { data, error } = useGet<Pools>(`${base}/pools?limit=20`, 30_000);
  const pools = data?.pools ?? [];
  const { tokens: others } = useTokens(pools.flatMap((pool) => [pool.mint_a, pool.mint_b]).filter((mint) => mint !== token.mint));
  return (
    <Section title="Pools">
      {error && <Problem>{error}</Problem>}
      {data && pools.length === 0 && <p class="empty">No pool that Mintlake knows holds it.</p>}
      {pools.length > 0 && <LiquidityOverTime base={base} />}
      <ul class="pools">
        {pools.map((pool) => {
          const isA = pool.mint_a === token.mint;
          const mint = isA ? pool.mint_b : pool.mint_a;
          const [mine, theirs] = isA ? [pool.reserve_a, pool.reserve_b] : [pool.reserve_b, pool.reserve_a];
          const other = others.get(mint);
          return (
            <li key={pool.pool}>
              <span>
                <b>{venueName(pool.venue)}</b>{" "}
                <small>
                  with <a href={`/token/${mint}`}>{other ? <Called token={other} /> : short(mint)}</a>
                </small>
                <Address value={pool.pool} what="the pool" /> <a href={`/token/${token.mint}?pool=${pool.pool}`}>Chart</a>
              </span>
              <Cell name="Holds">
                <Amount raw={mine} decimals={token.decimals} /> <Called token={token} />
              </Cell>
              <Cell name="and">{other ? <><Amount raw={theirs} decimals={other.decimals} /> <Called token={other} /></> : "–"}</Cell>
              <Cell name="Volume 24 h">
                <Usd value={pool.daily_volume_usd} />
              </Cell>
              <Cell name="Trades 24 h">{count(pool.trades)}</Cell>
              <Cell name="Made">
                <Ago ms={pool.created_at} />
              </Cell>
              <PoolChanges pool={pool.pool} token={token} other={other} />
            </li>
          );
        })}
      </ul>
    </Section>
  );
}

function Cell({ name, children }: { name: string; children: preact.ComponentChildren }) {
  return (
    <span class="cell">
      <small>{name}</small>
      {children}
    </span>
  );
}
