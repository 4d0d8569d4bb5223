// Who moved most, of the tokens that trade most: the last 24 hours of each, by the hour.
import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { type Candle, type Candles, type Page, type Token, cancelled, get, words } from "../api";
import { percent } from "../format";
import { useGet, useTitle } from "../hooks";
import { Chips } from "../parts/chips";
import { Mark } from "../parts/mark";
import { Logo, Price, Problem, Text, Usd } from "../parts/small";

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

interface Movers {
  movers: Mover[];
  /** done says that each token was asked for once. */
  done: boolean;
  /** error is the last one; tokens that have none are there all the same. */
  error?: string;
}

/** useMovers asks for the hours of each token, a few at a time, and shows each as it comes. */
function useMovers(tokens: Token[] | undefined): Movers {
  const [state, setState] = useState<Movers>({ movers: [], done: false });
  useEffect(() => {
    if (!tokens) return;
    const abort = new AbortController();
    const waiting = [...tokens];
    const listed = new Set(tokens.map(({ mint }) => mint));
    // A mover of the look before stays until it is read anew.
    setState(({ movers, done }) => ({ movers: movers.filter(({ token }) => listed.has(token.mint)), done }));
    const work = async () => {
      for (let token = waiting.shift(); token; token = waiting.shift()) {
        const { mint } = token;
        const from = token.market ? Math.floor(token.market.as_of / 1000) - day : 0;
        try {
          const { candles } = await get<Candles>(`/tokens/${mint}/ohlcv?interval=1h&limit=25&from=${from}`, abort.signal);
          const mover = moverOf(token, candles);
          setState((now) => {
            const others = now.movers.filter((other) => other.token.mint !== mint);
            return { ...now, movers: mover ? [...others, mover] : others };
          });
        } catch (error) {
          if (cancelled(error)) return;
          setState((now) => ({ ...now, error: words(error) }));
        }
      }
    };
    void Promise.all(Array.from({ length: atOnce }, work)).then(() => {
      if (!abort.signal.aborted) setState((now) => ({ ...now, done: true }));
    });
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
      {error ? <Problem>{error}</Problem> : other && <Problem>Not all prices could be read: {other}</Problem>}
      {done && !error && !other && movers.length === 0 && <p class="empty">Nothing has a price yet.</p>}
      {movers.length > 0 && (
        <div class="tokens">
          <div class="row mover heads" aria-hidden="true">
            <span />
            <span>Token</span>
            <span>Hours</span>
            <span class="number">Price</span>
            <span class="number">Change 24 h</span>
            <span class="number">Volume 24 h</span>
          </div>
          <ul aria-label="Movers">
            {[...movers].sort(order[by]).map((mover) => (
              <li key={mover.token.mint}>
                <Row {...mover} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {!done && !error && <p class="empty">Reading the prices of a day …</p>}
    </>
  );
}

function Row({ token, prices, change }: Mover) {
  return (
    <a class="row mover" href={`/token/${token.mint}`}>
      <Logo token={token} />
      <span class="who">
        <b>
          <Text of={token.symbol} most={30} />
        </b>{" "}
        <Mark token={token} />
        <small>
          <Text of={token.name} />
        </small>
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
