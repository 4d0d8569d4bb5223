// What happened to the token in the last minutes and hours.
import type { ComponentChildren } from "preact";
import type { Token } from "../../api";
import { absolute, count, percent } from "../../format";
import { Price, Section, Usd } from "../../parts/small";

const windows = [["5m", "5 min"], ["1h", "1 h"], ["6h", "6 h"], ["24h", "24 h"]] as const;

export function WindowsCard({ token }: { token: Token }) {
  const all = token.windows;
  if (!all) return null;
  const row = (name: string, cell: (w: NonNullable<Token["windows"]>["5m"]) => ComponentChildren) => (
    <tr>
      <th scope="row">{name}</th>
      {windows.map(([key]) => (
        <td key={key} class="number">
          {cell(all[key])}
        </td>
      ))}
    </tr>
  );
  return (
    <Section title="Activity">
      <div class="scroll" tabIndex={0} role="region" aria-label="Activity">
        <table class="windows">
          <thead>
            <tr>
              <th>
                <span class="hidden">Figure</span>
              </th>
              {windows.map(([key, text]) => (
                <th key={key} scope="col" class="number">
                  {text}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {row("Change", ({ price_change: change, price_since: since }) =>
              change == null ? "–" : (
                <span class={change < 0 ? "down" : "up"} title={since == null ? undefined : `since its first price in this time, ${absolute(since)}`}>
                  {percent(change / 100)}
                  {since != null && "*"}
                </span>
              ),
            )}
            {row("High", (w) => <Price value={w.high_usd} />)}
            {row("Low", (w) => <Price value={w.low_usd} />)}
            {row("Volume", (w) => <Usd value={w.volume_usd} />)}
            {row("Bought", (w) => <Usd value={w.bought_usd} />)}
            {row("Sold", (w) => <Usd value={w.sold_usd} />)}
            {row("Trades", (w) => `${count(w.trades)} (${count(w.buys)} / ${count(w.sells)})`)}
            {row("Traders", (w) => count(w.traders))}
            {row("Buyers / sellers", (w) => `${count(w.buyers)} / ${count(w.sellers)}`)}
          </tbody>
        </table>
      </div>
      {windows.some(([key]) => all[key].price_since != null) && <p class="empty">* since its first price in this time</p>}
    </Section>
  );
}
