// Price and volume: candles. Interval, unit and pool are in the URL.
import { useLocation } from "preact-iso";
import type { Candle, Candles, Token, Trade } from "../../api";
import { count, percent, price, priceIn, quoted, title, usd } from "../../format";
import { useGet, useTokens } from "../../hooks";
import { Chart } from "../../parts/chart";
import { Chips } from "../../parts/chips";
import { Address, Called, Problem, Section } from "../../parts/small";

const intervals = [["1s", "1 s"], ["1m", "1 min"], ["5m", "5 min"], ["15m", "15 min"], ["1h", "1 h"], ["4h", "4 h"], ["1d", "1 d"], ["1w", "1 w"]] as const;
type Interval = (typeof intervals)[number][0];
const units = [["", "$"], ["quote", "Other token"]] as const;
type Unit = (typeof units)[number][0];

/** ended is the candles with the token's price as the last point: price_usd is what every page and answer says. */
function ended(candles: Candle[], token: Token): Candle[] {
  const now = token.market?.price_usd;
  const last = candles.findLastIndex((candle) => candle.close != null);
  if (now == null || last < 0) return candles;
  const { open, high, low } = candles[last]!;
  return candles.with(last, { ...candles[last]!, open, high: Math.max(high ?? now, now), low: Math.min(low ?? now, now), close: now });
}

export function PriceCard({ base, token, latest }: { base: string; token: Token; latest: Trade | undefined }) {
  const { path, query, route } = useLocation();
  const interval: Interval = intervals.find(([key]) => key === query.interval)?.[0] ?? "1m";
  const unit: Unit = query.in === "quote" ? "quote" : "";
  const pool = query.pool ?? "";
  const { data, error } = useGet<Candles>(`${base}/ohlcv?interval=${interval}&limit=300${unit && "&in=quote"}${pool && `&pool=${encodeURIComponent(pool)}`}`, 15_000);
  const { tokens } = useTokens(unit && data?.quote_mint ? [data.quote_mint] : []);
  const other = data?.quote_mint ? tokens.get(data.quote_mint) : undefined;
  const text = unit ? priceIn : price;
  const set = (changed: Record<string, string>) => {
    const parameters = new URLSearchParams();
    for (const [key, value] of Object.entries({ interval: query.interval ?? "", in: unit as string, pool, ...changed })) if (value) parameters.set(key, value);
    route(parameters.size ? `${path}?${parameters}` : path, true);
  };
  // The price of all pools in dollars is price_usd; one pool, and another token, have only what was traded.
  const candles = unit || pool ? data?.candles ?? [] : ended(data?.candles ?? [], token);
  const priced = candles.filter((candle) => candle.open != null && candle.close != null);
  const [first, last] = [priced[0], priced.at(-1)];
  const now = token.market?.price_usd;
  const change = first?.open && last?.close != null ? last.close / first.open - 1 : null;
  // Between two valuations the page follows the trades.
  const traded = latest?.price_usd != null && latest.estimated && latest.time > (token.market?.as_of ?? 0) ? latest.price_usd : null;
  const summary =
    last?.close != null
      ? `${quoted(title(token))}: ${text(last.close)}, ${change === null ? "" : `${percent(change)} over ${count(priced.length)} candles, `}${usd(candles.reduce((sum, c) => sum + c.volume_usd, 0))} traded`
      : "";
  return (
    <Section
      title="Price and volume"
      aside={
        <>
          <Chips label="Interval" value={interval} choices={intervals} choose={(key) => set({ interval: key })} />
          <Chips label="In" value={unit} choices={units} choose={(key) => set({ in: key })} />
        </>
      }
    >
      {error && <Problem>{error}</Problem>}
      {now != null && (
        <p class="price">
          <b title={`$${now}`}>{price(now)}</b>{" "}
          {traded !== null && (
            <small title={`$${traded}: an estimate, until the valuation has seen the trade`}>≈ {price(traded)} in the latest trade </small>
          )}
          {change !== null && (
            <span class={change < 0 ? "down" : "up"}>
              {percent(change)} <small>in what is drawn</small>
            </span>
          )}
        </p>
      )}
      {pool && (
        <p>
          <small>On one pool:</small> <Address value={pool} what="the pool" />{" "}
          <button type="button" class="link" onClick={() => set({ pool: "" })}>
            All pools
          </button>
        </p>
      )}
      {unit && other && (
        <p>
          <small>
            Prices are in <Called token={other} />.
          </small>
        </p>
      )}
      {data && candles.length === 0 && <p class="empty">Nobody has traded it in a pool that Mintlake knows.</p>}
      {candles.length > 0 && priced.length === 0 && <p class="empty">Its trades have no price: no pool of it with SOL or a stablecoin is deep enough.</p>}
      {priced.length > 0 && <Chart data={candles} about={base + interval + unit + pool} label={summary} text={text} />}
    </Section>
  );
}
