// Who moved most, of all tokens above the floor of docs/market-caps.md, in the window and by the figure that the URL names.
import { useLocation } from "preact-iso";
import type { Page, Token } from "../api";
import { count, percent } from "../format";
import { useGet, useTitle } from "../hooks";
import { Chips } from "../parts/chips";
import { Mark } from "../parts/mark";
import { Logo, Price, Problem, Text, Usd } from "../parts/small";

const limit = 50;
const orders = [
  ["", "Up"], ["down", "Down"], ["volume", "Volume"], ["bought", "Bought"], ["sold", "Sold"], ["trades", "Trades"], ["buys", "Buys"], ["sells", "Sells"],
  ["traders", "Traders"], ["buyers", "Buyers"], ["sellers", "Sellers"],
] as const;
type Order = (typeof orders)[number][0];
const windows = [["5m", "5 min"], ["1h", "1 h"], ["6h", "6 h"], ["", "24 h"]] as const;
type Window = (typeof windows)[number][0];

/** Figure is what the last column shows: what rows are in the order of, or else the volume. */
type Figure = Exclude<Order, "" | "down">;
const figureOf = (by: Order): Figure => (by === "" || by === "down" ? "volume" : by);
const inDollars = (figure: Figure): figure is "volume" | "bought" | "sold" => figure === "volume" || figure === "bought" || figure === "sold";

/** request asks for those that rose, or fell, or have most of a figure, of those that count. Orders by change rank no others. */
function request(by: Order, window: string): string {
  const figure = figureOf(by);
  const most = inDollars(figure) ? `${figure}_${window}_usd` : `${figure}_${window}`;
  const sort = { "": `price_change_${window}`, down: `price_drop_${window}` }[by as string] ?? most;
  const bound = by === "" || by === "down" ? `${sort}:0` : "held_usd:10000,traders_24h:25";
  return `/tokens?sort=${sort}&min=${bound}&limit=${limit}&evidence=true&market=true&windows=true`;
}

function url(by: Order, window: Window): string {
  const parameters = new URLSearchParams();
  if (by) parameters.set("by", by);
  if (window) parameters.set("window", window);
  return parameters.size ? `/movers?${parameters}` : "/movers";
}

export function MoversPage() {
  const { query, route } = useLocation();
  const by: Order = orders.find(([key]) => key === query.by)?.[0] ?? "";
  const window: Window = windows.find(([key]) => key === query.window)?.[0] ?? "";
  const { data, error } = useGet<Page>(request(by, window || "24h"), 20_000);
  useTitle("Movers");
  const named = windows.find(([key]) => key === window)![1];
  const figure = figureOf(by);
  const called = orders.find(([key]) => key === figure)![1];
  return (
    <>
      <div class="title">
        <h1>Movers</h1>
        <Chips label="Sort" value={by} choices={orders} choose={(key) => route(url(key, window))} />
        <Chips label="In" value={window} choices={windows} choose={(key) => route(url(by, key))} />
      </div>
      <p class="found">Of all tokens whose pools held 10,000 dollars or more and that 25 wallets or more traded in 24 hours.</p>
      {error && <Problem>{error}</Problem>}
      {data?.items.length === 0 && <p class="empty">{by === "" || by === "down" ? "No price" : "Nothing"} has moved in {named} yet.</p>}
      {data && data.items.length > 0 && (
        <div class="tokens">
          <div class="row mover heads" aria-hidden="true">
            <span />
            <span>Token</span>
            <span class="number">Price</span>
            <span class="number">Change {named}</span>
            <span class="number">
              {called} {named}
            </span>
          </div>
          <ul aria-label="Movers">
            {data.items.map((token) => (
              <li key={token.mint}>
                <Row token={token} window={window || "24h"} named={named} figure={figure} called={called} />
              </li>
            ))}
          </ul>
        </div>
      )}
      {!data && !error && <p class="empty">Reading …</p>}
    </>
  );
}

function Row({ token, window, named, figure, called }: { token: Token; window: "5m" | "1h" | "6h" | "24h"; named: string; figure: Figure; called: string }) {
  const all = token.windows?.[window];
  const change = token.market?.[`price_change_${window}`];
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
      <span class="cell number" data-label="Price">
        <Price value={token.market?.price_usd} />
      </span>
      <span class={`cell number ${change != null && change < 0 ? "down" : "up"}`} data-label={`Change ${named}`}>
        {change == null ? "–" : percent(change / 100)}
      </span>
      <span class="cell number" data-label={`${called} ${named}`} data-short={figure === "volume" ? "vol" : figure}>
        {inDollars(figure) ? <Usd value={all?.[`${figure}_usd`]} /> : all ? count(all[figure]) : "–"}
      </span>
    </a>
  );
}
