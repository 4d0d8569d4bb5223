// The head of a token's page: who it is, where it is at home, what the figures say.
import type { ComponentChildren } from "preact";
import type { Token } from "../../api";
import { absolute, count, cut, launchpadName, multipliers, percent, plain, short, title } from "../../format";
import { Address, Ago, Amount, Copy, Logo, OnChain, Price, Text, Usd } from "../../parts/small";
import { judge } from "../../parts/mark";
import { sol, swapURL } from "../quote/swap";

/** safe keeps links that lead to the page that they name: what they are comes from whoever made the token. */
function safe(url: string | null | undefined): URL | null {
  if (!url) return null;
  try {
    const parsed = new URL(url);
    // https://wallet.example@evil.example/ leads to evil.example.
    return /^https?:$/.test(parsed.protocol) && !parsed.username && !parsed.password ? parsed : null;
  } catch {
    return null;
  }
}

function links(token: Token): [string, URL][] {
  const all: [string, URL | null][] = Object.entries(token.extensions ?? {}).map(([name, url]) => [name, safe(url)]);
  const home = safe(token.external_url);
  if (home && !all.some(([, url]) => url?.href === home.href)) all.unshift(["website", home]);
  return all.filter((link): link is [string, URL] => link[1] !== null);
}

/** withheld says why a token has no market cap. */
const withheld: Record<string, string> = {
  no_price: "no pool with SOL or a stablecoin is deep enough",
  no_supply: "its supply is not known",
  transfer_fee: "more than a tenth of each transfer is taken",
  thin_liquidity: "its pools hold too little, or not for long",
  few_traders: "too few wallets trade it",
  beyond_liquidity: "more than its pools could carry",
};

/** hostOf is where a link leads, in the form that shows letters that only look like others; the end of it says whose it is. */
const hostOf = ({ host }: URL) => (host.length > 40 ? "…" + host.slice(-39) : host);

export function Head({ token }: { token: Token }) {
  const verdict = judge(token.evidence, token.symbol);
  const canonical = token.evidence?.canonical;
  const market = token.market;
  const change = market?.price_change_24h;
  return (
    <>
      <header class="head">
        <Logo token={token} size={64} />
        <div>
          <h1>
            <Text of={title(token)} /> {plain(token.symbol) && plain(token.name) && <small><Text of={token.name} most={200} /></small>}
          </h1>
          <p class="mint">
            <code>{token.mint}</code>
            <Copy text={token.mint} what="the mint" />
            <OnChain value={token.mint} what="the mint" />
          </p>
          <p class="tags">
            {swapURL !== "" && token.market?.price_usd != null && (
              <a class="chip" href={`/quote?${new URLSearchParams(token.mint === sol ? { from: token.mint } : { from: sol, to: token.mint })}`}>
                Quote
              </a>
            )}
            <span class="badge">{token.is_token22 ? "Token-2022" : "SPL Token"}</span>
            {token.launchpad && (
              <a class="badge" href={`/?${new URLSearchParams({ launchpad: token.launchpad })}`}>
                {launchpadName(token.launchpad)}
              </a>
            )}
            {(token.tags ?? []).map((tag) => (
              <a class="badge" href={`/?${new URLSearchParams({ tag })}`}>
                <Text of={tag} most={30} />
              </a>
            ))}
            {links(token).map(([name, url]) => (
              <a href={url.href} rel="noopener noreferrer nofollow" target="_blank" title={cut(url.href, 500)}>
                <Text of={name} most={30} /> <small>{hostOf(url)}</small> ↗
              </a>
            ))}
          </p>
        </div>
      </header>
      {verdict && (
        <p class={`verdict ${verdict.tone}`}>
          {verdict.text}{" "}
          {canonical && canonical !== token.mint && (
            <>
              Traded most: <a href={`/token/${canonical}`}>{short(canonical)}</a>.
            </>
          )}
        </p>
      )}
      {token.description && <p class="about"><Text of={token.description} most={5000} /></p>}
      <dl class="figures">
        <Figure name="Price">
          <Price value={market?.price_usd} />
        </Figure>
        <Figure name="Change 24 h">{change == null ? "–" : <span class={change < 0 ? "down" : "up"}>{percent(change / 100)}</span>}</Figure>
        <Figure name="Market cap">
          {market?.market_cap_usd == null && market?.market_cap_withheld ? <span title={withheld[market.market_cap_withheld]}>none <small>{withheld[market.market_cap_withheld]}</small></span> : <Usd value={market?.market_cap_usd} />}
        </Figure>
        <Figure name="Fully diluted">
          <Usd value={market?.fdv_usd} />
        </Figure>
        <Figure name="Liquidity">
          <Usd value={market?.liquidity_usd} />
        </Figure>
        <Figure name="Volume 5 min">
          <Usd value={market?.volume_5m_usd} />
        </Figure>
        <Figure name="Volume 1 h">
          <Usd value={market?.volume_1h_usd} />
        </Figure>
        <Figure name="Volume 6 h">
          <Usd value={market?.volume_6h_usd} />
        </Figure>
        <Figure name="Volume 24 h">
          <Usd value={token.daily_volume_usd} />
        </Figure>
        <Figure name="Organic volume">
          <Usd value={market?.organic_volume_usd} />
        </Figure>
        <Figure name="Trades 24 h">{market ? count(market.trades_24h) : "–"}</Figure>
        <Figure name="Traders 24 h">{market ? count(market.traders_24h) : "–"}</Figure>
        <Figure name="Pools">{market ? count(market.pools) : "–"}</Figure>
        <Figure name="First pool">
          <Ago ms={market?.first_pool_at} />
        </Figure>
        <Figure name="Supply">
          <Amount raw={token.supply} decimals={token.decimals} />
        </Figure>
        <Figure name="Decimals">{token.decimals}</Figure>
        <Multiplier token={token} />
        <Figure name="First seen">
          <Ago ms={token.first_seen_at} />
        </Figure>
        <Figure name="Last seen">
          <Ago ms={token.last_seen_at} />
        </Figure>
        {token.creator && (
          <Figure name="Creator">
            <Address value={token.creator} what="the creator" />
          </Figure>
        )}
        {token.graduated_at != null && (
          <Figure name="Graduated">
            <Ago ms={token.graduated_at} />
          </Figure>
        )}
      </dl>
    </>
  );
}

/** What wallets multiply shown amounts by; nothing for most tokens. */
function Multiplier({ token }: { token: Token }) {
  const { now, next, at } = multipliers(token);
  if (now == null && next == null) return null;
  return (
    <Figure name="Shown amounts">
      <span title="Wallets multiply amounts by this number. Prices, supply and amounts here are of raw amounts.">× {now ?? "?"}</span>
      {next != null && at != null && ` (× ${next} from ${absolute(at)})`}
    </Figure>
  );
}

export function Figure({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
