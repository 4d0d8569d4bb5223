// Tokens one below the other; on a phone each is a card with the same facts.
import type { Token } from "../api";
import { short } from "../format";
import { Ago, Logo, Price, Text, Usd } from "./small";
import { Mark } from "./mark";

/** step moves the focus to the row above or below. */
function step(event: KeyboardEvent) {
  const to = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const rows = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("a.row")];
  const next = rows[rows.indexOf(event.target as HTMLElement) + to];
  if (!to || !next) return;
  event.preventDefault();
  next.focus();
}

export function TokenList({ items, label }: { items: Token[]; label: string }) {
  return (
    <div class="tokens">
      <div class="row heads" aria-hidden="true">
        <span />
        <span>Token</span>
        <span>Mint</span>
        <span class="number">Price</span>
        <span class="number">Market cap</span>
        <span class="number">Volume 24 h</span>
        <span class="number">First seen</span>
      </div>
      <ul aria-label={label} onKeyDown={step}>
        {items.map((token) => (
          <li key={token.mint}>
            <Row token={token} />
          </li>
        ))}
      </ul>
    </div>
  );
}

function Row({ token }: { token: Token }) {
  return (
    <a class="row" href={`/token/${token.mint}`}>
      <Logo token={token} />
      <span class="who">
        <b>
          <Text of={token.symbol} most={30} />
        </b>
        {token.is_token22 && <span class="badge">Token-2022</span>} <Mark token={token} />
        <small>
          <Text of={token.name} />
        </small>
      </span>
      <span class="cell" data-label="Mint">
        <code title={token.mint}>{short(token.mint)}</code>
      </span>
      <span class="cell number" data-label="Price">
        <Price value={token.market?.price_usd} />
      </span>
      <span class="cell number" data-label="Market cap" data-short="cap">
        <Usd value={token.market?.market_cap_usd} />
      </span>
      <span class="cell number" data-label="Volume 24 h" data-short="vol">
        <Usd value={token.daily_volume_usd} />
      </span>
      <span class="cell number" data-label="First seen">
        <Ago ms={token.first_seen_at} />
      </span>
    </a>
  );
}
