// The token's trades, newest first: those of the list, and above them those that come while the page is seen.
import { useEffect, useState } from "preact/hooks";
import type { Token, Trade, Trades } from "../../api";
import { short, venueName } from "../../format";
import { useGet, useTokens } from "../../hooks";
import { Address, Ago, Amount, Called, Price, Problem, Section, Usd } from "../../parts/small";

const shownTrades = 30;

/** Who goes from token to token opens no streams: a node learns late that one was left, and bounds those of a client. */
const lingers = 2_000;

/** reopens is the pause before a stream that was refused is opened again, in milliseconds. */
const reopens = 5_000;

/**
 * useLive are the latest trades of a mint that the node's stream told. A page that nobody sees has no stream: a browser has six
 * connections to a node for all its pages.
 */
export function useLive(mint: string | undefined): { trades: Trade[]; live: boolean } {
  const [state, setState] = useState<{ mint: string | undefined; trades: Trade[]; live: boolean }>({ mint, trades: [], live: false });
  useEffect(() => {
    if (!mint) return;
    let source: EventSource | undefined;
    let later: ReturnType<typeof setTimeout> | undefined;
    const close = () => {
      clearTimeout(later);
      source?.close();
      source = undefined;
      setState((now) => ({ ...now, live: false }));
    };
    const open = () => {
      if (document.hidden) return close();
      if (source) return;
      source = new EventSource(`/trades/stream?mint=${encodeURIComponent(mint)}`);
      source.addEventListener("open", () => setState((now) => ({ mint, trades: now.mint === mint ? now.trades : [], live: true })));
      source.addEventListener("error", () => {
        setState((now) => ({ ...now, live: false }));
        // The browser itself goes on after a connection that broke, but never after an answer that is no stream.
        if (source?.readyState !== EventSource.CLOSED) return;
        source = undefined;
        later = setTimeout(open, reopens);
      });
      source.addEventListener("trade", (event) => {
        const trade = JSON.parse(event.data as string) as Trade;
        setState((now) => ({ mint, live: true, trades: [trade, ...now.trades.filter(({ id }) => id !== trade.id)].slice(0, shownTrades) }));
      });
    };
    const opens = setTimeout(() => {
      open();
      document.addEventListener("visibilitychange", open);
    }, lingers);
    return () => {
      clearTimeout(opens);
      document.removeEventListener("visibilitychange", open);
      close();
    };
  }, [mint]);
  return state.mint === mint ? state : { trades: [], live: false };
}

/** merged are both lists by time, each trade once: as the list has it, since there its value is made. */
export function merged(listed: Trade[], live: Trade[]): Trade[] {
  const byId = new Map([...live, ...listed.filter(({ value_usd }, place) => value_usd != null || !live.some(({ id }) => id === listed[place]!.id))].map((trade) => [trade.id, trade]));
  return [...byId.values()].sort((a, b) => (a.id < b.id ? 1 : -1)).slice(0, shownTrades);
}

export function TradesCard({ base, token, live }: { base: string; token: Token; live: ReturnType<typeof useLive> }) {
  const { data, error } = useGet<Trades>(`${base}/trades?limit=${shownTrades}`, 15_000);
  const trades = merged(data?.trades ?? [], live.trades);
  const { tokens: others } = useTokens(trades.map((trade) => trade.quote_mint));
  return (
    <Section title="Trades" aside={<small>{live.live ? "as they come" : "each 15 seconds"}</small>}>
      {error && <Problem>{error}</Problem>}
      {data && trades.length === 0 && <p class="empty">Nobody has traded it in a pool that Mintlake knows.</p>}
      {trades.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Trades">
          <table class="trades">
            <thead>
              <tr>
                <th>When</th>
                <th>Side</th>
                <th class="number">Amount</th>
                <th class="number">For</th>
                <th class="number">Price</th>
                <th class="number">Value</th>
                <th>Venue</th>
                <th>Trader</th>
                <th>Transaction</th>
              </tr>
            </thead>
            <tbody>
              {trades.map((trade) => (
                <Row key={trade.id} trade={trade} token={token} other={others.get(trade.quote_mint)} />
              ))}
            </tbody>
          </table>
        </div>
      )}
    </Section>
  );
}

function Row({ trade, token, other }: { trade: Trade; token: Token; other: Token | undefined }) {
  const estimate = trade.estimated && trade.value_usd != null ? "≈ " : "";
  return (
    <tr>
      <td>
        <Ago ms={trade.time} />
      </td>
      <td class={trade.side === "buy" ? "up" : "down"}>{trade.side}</td>
      <td class="number">
        <Amount raw={trade.amount} decimals={token.decimals} />
      </td>
      <td class="number">
        {other ? (
          <>
            <Amount raw={trade.quote_amount} decimals={other.decimals} /> <Called token={other} />
          </>
        ) : (
          short(trade.quote_mint)
        )}
      </td>
      <td class="number">
        {estimate}
        <Price value={trade.price_usd} />
      </td>
      <td class="number">
        {estimate}
        <Usd value={trade.value_usd} />
      </td>
      <td>
        {venueName(trade.venue)}
        {trade.aggregator && <small> by {venueName(trade.aggregator)}</small>}
      </td>
      <td>
        <Address value={trade.trader} what="the trader" />
      </td>
      <td>{trade.signature ? <Address value={trade.signature} what="the signature" /> : "–"}</td>
    </tr>
  );
}
