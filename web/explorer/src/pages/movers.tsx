// Who moved most, of the tokens that trade most: the last 24 hours of each, by the hour.
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { type Candle, type Candles, type Page, type Token, cancelled, get, words } from "../api";
import { percent } from "../format";
import { useGet, useTitle } from "../hooks";
import { Chips } from "../parts/chips";
import { Mark } from "../parts/mark";
import { Logo, Price, Problem, Usd } from "../parts/small";

/** looked is how many tokens are looked at: each costs a request. */
const looked = 24;
const atOnce = 4;
const day = 86_400;

const orders = [["", "Up"], ["down", "Down"], ["volume", "Volume"]] as const;
type Order = (typeof orders)[number][0];

interface Mover {
  token: Token;
  /** prices are the first one of the day, and the last one of each hour. */
  prices: number[];
  change: number;
}

function moverOf(token: Token, candles: Candle[]): Mover | null {
  const priced = candles.filter((candle) => candle.open != null && candle.close != null);
  const first = priced[0]?.open;
  if (!first) return null;
  const prices = [first, ...priced.map((candle) => candle.close!)];
  return { token, prices, change: prices.at(-1)! / first - 1 };
}

/** useMovers asks for the hours of each token, a few at a time. */
function useMovers(tokens: Token[] | undefined): { movers: Mover[]; done: boolean; error?: string } {
  const [state, setState] = useState<{ movers: Mover[]; done: boolean; error?: string }>({ movers: [], done: false });
  useEffect(() => {
    if (!tokens) return;
    const abort = new AbortController();
    const waiting = [...tokens];
    const found: Mover[] = [];
    const work = async () => {
      for (let token = waiting.shift(); token; token = waiting.shift()) {
        const from = token.market ? Math.floor(token.market.as_of / 1000) - day : 0;
        const { candles } = await get<Candles>(`/tokens/${token.mint}/ohlcv?interval=1h&limit=25&from=${from}`, abort.signal);
        const mover = moverOf(token, candles);
        if (mover) found.push(mover);
      }
    };
    Promise.all(Array.from({ length: atOnce }, work)).then(
      () => setState({ movers: found, done: true }),
      (error: unknown) => {
        if (!cancelled(error)) setState((now) => ({ ...now, done: true, error: words(error) }));
      },
    );
    return () => abort.abort();
  }, [tokens]);
  return state;
}

export function MoversPage() {
  const { query, route } = useLocation();
  const by: Order = orders.find(([key]) => key === query.by)?.[0] ?? "";
  const { data, error } = useGet<Page>(`/tokens?sort=volume&limit=${looked}&min_volume=1&evidence=true&market=true`, 60_000);
  const { movers, done, error: other } = useMovers(data?.items);
  useTitle("Movers");
  const order = { "": (a: Mover, b: Mover) => b.change - a.change, down: (a: Mover, b: Mover) => a.change - b.change, volume: (a: Mover, b: Mover) => (b.token.daily_volume_usd ?? 0) - (a.token.daily_volume_usd ?? 0) };
  return (
    <>
      <div class="title">
        <h1>Movers</h1>
        <Chips label="Sort" value={by} choices={orders} choose={(key) => route(key ? `/movers?by=${key}` : "/movers")} />
      </div>
      <p class="found">Of the {looked} tokens that traded most in 24 hours: the last price against the first one of these hours.</p>
      {(error ?? other) && <Problem>{error ?? other}</Problem>}
      {!done && !error && <p class="empty">Reading the prices of a day …</p>}
      {done && movers.length === 0 && <p class="empty">Nothing has a price yet.</p>}
      {movers.length > 0 && (
        <div class="tokens">
          <ul aria-label="Movers">
            {[...movers].sort(order[by]).map((mover) => (
              <li key={mover.token.mint}>
                <Row {...mover} />
              </li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}

function Row({ token, prices, change }: Mover) {
  return (
    <a class="row mover" href={`/token/${token.mint}`}>
      <Logo token={token} />
      <span class="who">
        <b>{token.symbol || "–"}</b> <Mark token={token} />
        <small>{token.name || "–"}</small>
      </span>
      <Spark prices={prices} up={change >= 0} />
      <span class="cell number" data-label="Price">
        <Price value={token.market?.price_usd} />
      </span>
      <span class={`cell number ${change < 0 ? "down" : "up"}`} data-label="Change 24 h">
        {percent(change)}
      </span>
      <span class="cell number" data-label="Volume 24 h">
        <Usd value={token.daily_volume_usd} />
      </span>
    </a>
  );
}

/** Spark is the course of a day without words: the figures stand beside it. */
function Spark({ prices, up }: { prices: number[]; up: boolean }) {
  const least = Math.min(...prices);
  const high = Math.max(...prices) - least || 1;
  const points = prices.map((price, n) => `${((n / (prices.length - 1)) * 100).toFixed(1)},${(29 - ((price - least) / high) * 26).toFixed(1)}`);
  return (
    <svg class="spark" viewBox="0 0 100 32" preserveAspectRatio="none" aria-hidden="true">
      <polyline points={points.join(" ")} fill="none" stroke={up ? "var(--up)" : "var(--down)"} stroke-width="1.5" vector-effect="non-scaling-stroke" />
    </svg>
  );
}
