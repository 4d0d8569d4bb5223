// What was put into the token's pools and taken out, and what they held over time.
import { useState } from "preact/hooks";
import type { LiquidityChange, LiquidityHistory, PoolLiquidity, PoolReserves, Token } from "../../api";
import { absolute, amount, count, short, usd, venueName } from "../../format";
import { useGet } from "../../hooks";
import { Owner } from "../../parts/balances";
import { Line } from "../../parts/line";
import { usePages } from "../../parts/pages";
import { Address, Ago, Amount, Called, More, Problem } from "../../parts/small";

/** LiquidityOverTime draws what all pools of the token held, by hour, for a week. */
export function LiquidityOverTime({ base }: { base: string }) {
  const { data } = useGet<LiquidityHistory>(`${base}/liquidity/history?limit=168`);
  const points = (data?.points ?? []).flatMap(({ time, liquidity_usd }) => (liquidity_usd == null ? [] : [{ x: time, y: liquidity_usd }]));
  if (points.length < 2) return null;
  return (
    <Line
      points={points}
      steps
      name="Liquidity of all pools"
      label={`Liquidity from ${usd(points[0]!.y)} to ${usd(points.at(-1)!.y)}`}
      text={usd}
      where={(time) => absolute(time * 1000)}
    />
  );
}

/** PoolChanges is asked for when a person wants to see it: a token may have many pools. */
export function PoolChanges({ pool, token, other }: { pool: string; token: Token; other: Token | undefined }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="changes" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>Liquidity added and removed</summary>
      {open && <Changes base={`/pools/${encodeURIComponent(pool)}`} tokens={other ? [token, other] : [token]} />}
    </details>
  );
}

const told = { list: (answer: PoolLiquidity) => answer.changes, place: "before" };

function Changes({ base, tokens }: { base: string; tokens: Token[] }) {
  const { items, answer, error, more } = usePages<LiquidityChange, PoolLiquidity>(`${base}/liquidity?limit=20`, told);
  return (
    <>
      {error && <Problem>{error}</Problem>}
      <Reserves base={base} token={tokens[0]!} />
      {answer && items.length === 0 && <p class="empty">Nobody was seen to put liquidity in or to take it out.</p>}
      {answer?.lp_mint && (
        <p>
          <small>Mint of its liquidity tokens:</small> <Address value={answer.lp_mint} what="the mint of liquidity tokens" />
        </p>
      )}
      {items.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Liquidity added and removed">
          <table>
            <thead>
              <tr>
                <th>When</th>
                <th>What</th>
                <th class="number">Amount</th>
                <th class="number">and</th>
                <th>By</th>
                <th>Transaction</th>
              </tr>
            </thead>
            <tbody>
              {items.map((change) => (
                <tr key={change.id}>
                  <td>{change.time == null ? `slot ${count(change.slot)}` : <Ago ms={change.time} />}</td>
                  <td class={change.kind === "added" ? "up" : "down"} title={`${venueName(change.venue)}: ${change.instruction}`}>
                    {change.kind}
                  </td>
                  <td class="number">
                    <Side raw={change.amount_a} mint={change.mint_a} decimals={change.decimals_a} tokens={tokens} />
                  </td>
                  <td class="number">
                    <Side raw={change.amount_b} mint={change.mint_b} decimals={change.decimals_b} tokens={tokens} />
                  </td>
                  <td>
                    <Owner value={change.provider} />
                  </td>
                  <td>
                    <Address value={change.signature} what="the signature" />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      <More of={more}>Older</More>
    </>
  );
}

/** Side is one token's part of a change; a change may name one side only. */
function Side({ raw, mint, decimals, tokens }: { raw: string; mint: string | null; decimals: number | null; tokens: Token[] }) {
  if (mint == null) return <>–</>;
  const token = tokens.find((one) => one.mint === mint);
  const places = decimals ?? token?.decimals;
  return (
    <>
      {places == null ? raw : <Amount raw={raw} decimals={places} />} {token ? <Called token={token} /> : short(mint)}
    </>
  );
}

/** Reserves draws what the pool held of the token, by hour. */
function Reserves({ base, token }: { base: string; token: Token }) {
  const { data } = useGet<PoolReserves>(`${base}/liquidity/history?limit=168`);
  const points = (data?.points ?? []).map((point) => ({ x: point.time, raw: point.mint_a === token.mint ? point.reserve_a : point.reserve_b }));
  if (points.length < 2) return null;
  const text = (raw: string) => amount(raw, token.decimals);
  return (
    <Line
      points={points.map(({ x, raw }) => ({ x, y: Number(raw) }))}
      steps
      name="In the pool"
      label={`What the pool holds of it, from ${text(points[0]!.raw)} to ${text(points.at(-1)!.raw)}`}
      text={(raw) => amount(String(raw), token.decimals)}
      where={(time) => absolute(time * 1000)}
    />
  );
}
