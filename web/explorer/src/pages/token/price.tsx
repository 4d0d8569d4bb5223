// Price and volume: candles with intervals, the interval in the URL.
import { useLocation } from "preact-iso";
import type { Candles, Token } from "../../api";
import { count, percent, price, quoted, title, usd } from "../../format";
import { useGet } from "../../hooks";
import { Chart } from "../../parts/chart";
import { Chips } from "../../parts/chips";
import { Problem, Section } from "../../parts/small";

const intervals = [["1s", "1 s"], ["1m", "1 min"], ["5m", "5 min"], ["15m", "15 min"], ["1h", "1 h"], ["4h", "4 h"], ["1d", "1 d"], ["1w", "1 w"]] as const;
type Interval = (typeof intervals)[number][0];

export function PriceCard({ base, token }: { base: string; token: Token }) {
  const { path, query, route } = useLocation();
  const interval: Interval = intervals.find(([key]) => key === query.interval)?.[0] ?? "1m";
  const { data, error } = useGet<Candles>(`${base}/ohlcv?interval=${interval}&limit=300`, 15_000);
  const candles = data?.candles ?? [];
  const priced = candles.filter((candle) => candle.open != null && candle.close != null);
  const [first, last] = [priced[0], priced.at(-1)];
  const change = first?.open && last?.close != null ? last.close / first.open - 1 : null;
  const summary =
    last?.close != null
      ? `${quoted(title(token))}: ${price(last.close)}, ${change === null ? "" : `${percent(change)} over ${count(priced.length)} candles, `}${usd(candles.reduce((sum, c) => sum + c.volume_usd, 0))} traded`
      : "";
  return (
    <Section
      title="Price and volume"
      aside={<Chips label="Interval" value={interval} choices={intervals} choose={(key) => route(`${path}?interval=${key}`, true)} />}
    >
      {error && <Problem>{error}</Problem>}
      {last?.close != null && (
        <p class="price">
          <b title={`$${last.close}`}>{price(last.close)}</b>{" "}
          {change !== null && (
            <span class={change < 0 ? "down" : "up"}>
              {percent(change)} <small>in what is drawn</small>
            </span>
          )}
        </p>
      )}
      {data && candles.length === 0 && <p class="empty">Nobody has traded it in a pool that Mintlake knows.</p>}
      {candles.length > 0 && priced.length === 0 && <p class="empty">Its trades have no price: no pool of it with SOL or a stablecoin is deep enough.</p>}
      {priced.length > 0 && <Chart data={candles} about={base + interval} label={summary} />}
    </Section>
  );
}
