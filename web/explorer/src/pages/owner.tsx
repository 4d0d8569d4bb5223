// One wallet: /owner/ADDRESS.
import { useRoute } from "preact-iso";
import type { OwnerAccount, OwnerAccounts, OwnerToken, OwnerTokens, OwnerTransfer, OwnerTransfers } from "../api";
import { count, short, usd } from "../format";
import { useTitle, useTokens } from "../hooks";
import { Owner, TransfersTable, Whole } from "../parts/balances";
import { type Pages, usePages } from "../parts/pages";
import { Address, Amount, Called, Copy, More, OnChain, Price, Problem, Section, Usd } from "../parts/small";

export function OwnerPage() {
  const { params } = useRoute();
  const owner = params.owner ?? "";
  useTitle(`Wallet ${short(owner)}`);
  return (
    <article class="token">
      <header class="head">
        <div>
          <h1>Wallet</h1>
          <p class="mint">
            <code>{owner}</code>
            <Copy text={owner} what="the address" />
            <OnChain value={owner} what="the address" />
          </p>
        </div>
      </header>
      <Holdings key={owner} base={`/owners/${encodeURIComponent(owner)}`} />
    </article>
  );
}

/** Holdings are the lists of a wallet. A node without balances says so once. */
function Holdings({ base }: { base: string }) {
  const tokens = usePages<OwnerToken, OwnerTokens>(`${base}/tokens?limit=50`);
  const accounts = usePages<OwnerAccount, OwnerAccounts>(`${base}/accounts?limit=50`);
  const transfers = usePages<OwnerTransfer, OwnerTransfers>(`${base}/transfers?limit=50`);
  const all = [tokens, accounts, transfers];
  if (tokens.error && all.every(({ error, answer }) => error === tokens.error && !answer)) {
    return (
      <Section title="Tokens, accounts and transfers">
        <Problem>{tokens.error}</Problem>
      </Section>
    );
  }
  return (
    <>
      <Held of={tokens} />
      <Accounts of={accounts} />
      <Moves of={transfers} />
    </>
  );
}

function Held({ of: { items, answer, error, more } }: { of: Pages<OwnerToken, OwnerTokens> }) {
  const worth = items.reduce((sum, { value_usd }) => sum + (value_usd ?? 0), 0);
  return (
    <Section title="Tokens" aside={answer && <Whole of={answer} />}>
      {error && <Problem>{error}</Problem>}
      {answer && items.length === 0 && <p class="empty">It holds no token that Mintlake knows.</p>}
      {answer && items.length > 0 && (
        <>
          <p>
            <b>{answer.total === 1 ? "1 token" : `${count(answer.total)} tokens`}</b>
            <small>{more ? `, those below worth ${usd(worth)}` : `, worth ${usd(worth)}`}</small>
          </p>
          <div class="scroll" tabIndex={0} role="region" aria-label="Tokens">
            <table class="held">
              <thead>
                <tr>
                  <th>Token</th>
                  <th class="number">Amount</th>
                  <th class="number">Price</th>
                  <th class="number">Value</th>
                </tr>
              </thead>
              <tbody>
                {items.map((item) => (
                  <tr key={item.mint}>
                    <td>
                      <a href={`/token/${item.mint}`}>
                        <Called token={{ symbol: item.symbol ?? "", name: item.name ?? "", mint: item.mint }} />
                      </a>{" "}
                      <Address value={item.mint} what="the mint" />
                    </td>
                    <td class="number">{item.decimals == null ? item.amount : <Amount raw={item.amount} decimals={item.decimals} />}</td>
                    <td class="number">
                      <Price value={item.price_usd} />
                    </td>
                    <td class="number">
                      <Usd value={item.value_usd} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
          <More of={more}>More</More>
        </>
      )}
    </Section>
  );
}

function Accounts({ of: { items, answer, error, more } }: { of: Pages<OwnerAccount, OwnerAccounts> }) {
  const { tokens } = useTokens(items.map(({ mint }) => mint));
  const amountOf = (raw: string | null, mint: string) => {
    const token = tokens.get(mint);
    return token ? <Amount raw={raw} decimals={token.decimals} /> : (raw ?? "–");
  };
  return (
    <Section title="Token accounts" aside={answer && <Whole of={answer} />}>
      {error && <Problem>{error}</Problem>}
      {answer && items.length === 0 && <p class="empty">It has no token account that Mintlake knows.</p>}
      {items.length > 0 && (
        <div class="scroll" tabIndex={0} role="region" aria-label="Token accounts">
          <table class="accounts">
            <thead>
              <tr>
                <th>Token</th>
                <th>Account</th>
                <th class="number">Amount</th>
                <th>State</th>
                <th>Delegate</th>
                <th class="number">May spend</th>
              </tr>
            </thead>
            <tbody>
              {items.map((item) => {
                const token = tokens.get(item.mint);
                return (
                  <tr key={item.account}>
                    <td>
                      <a href={`/token/${item.mint}`}>{token ? <Called token={token} /> : short(item.mint)}</a>
                    </td>
                    <td>
                      <Address value={item.account} what="the token account" />
                    </td>
                    <td class="number">{amountOf(item.amount, item.mint)}</td>
                    <td>{item.is_frozen == null ? "not known" : item.is_frozen ? <span class="mark warn">frozen</span> : "open"}</td>
                    <td>
                      <Owner value={item.delegate} />
                    </td>
                    <td class="number">{item.delegate == null ? "–" : amountOf(item.delegated_amount, item.mint)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      )}
      <More of={more}>More</More>
    </Section>
  );
}

function Moves({ of: { items, answer, error, more } }: { of: Pages<OwnerTransfer, OwnerTransfers> }) {
  const { tokens } = useTokens(items.flatMap(({ mint }) => (mint == null ? [] : [mint])));
  return (
    <Section title="Transfers">
      {error && <Problem>{error}</Problem>}
      {answer && items.length === 0 && <p class="empty">Nothing has moved that Mintlake keeps.</p>}
      {items.length > 0 && <TransfersTable items={items} tokens={tokens} name="Transfers" />}
      <More of={more}>Older</More>
    </Section>
  );
}
