// What pages about balances share: how whole an answer is, links to wallets, and tables of transfers.
import type { OwnerTransfer, Token, Transfer } from "../api";
import { count, short } from "../format";
import { Address, Ago, Amount, Called, Copy } from "./small";

/** Whole says how whole an answer is. */
export function Whole({ of }: { of: { complete: boolean; since_slot: number | null; as_of_slot: number | null } }) {
  if (!of.complete) return <small title="Changes from before the node began, or that it missed, are not counted.">not complete</small>;
  return (
    <small>
      complete{of.since_slot != null && ` since slot ${count(of.since_slot)}`}
      {of.as_of_slot != null && `, as of slot ${count(of.as_of_slot)}`}
    </small>
  );
}

/** Owner links to the page of a wallet. */
export function Owner({ value }: { value: string | null }) {
  if (value == null) return <>–</>;
  return (
    <span class="address">
      <a href={`/owner/${value}`}>
        <code title={value}>{short(value)}</code>
      </a>
      <Copy text={value} what="the owner" />
    </span>
  );
}

/** TransfersTable lists transfers; those of a wallet name their token. */
export function TransfersTable({ items, token, tokens, name }: { items: (Transfer | OwnerTransfer)[]; token?: Token; tokens?: Map<string, Token>; name: string }) {
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={name}>
      <table>
        <thead>
          <tr>
            <th>When</th>
            <th>Kind</th>
            <th class="number">Amount</th>
            <th>From</th>
            <th>To</th>
            <th>Transaction</th>
          </tr>
        </thead>
        <tbody>
          {items.map((item, place) => (
            <tr key={items.length - place}>
              <td>{item.block_time == null ? `slot ${count(item.slot)}` : <Ago ms={item.block_time} />}</td>
              <td class={"direction" in item ? (item.direction === "in" ? "up" : "down") : undefined}>
                {item.kind.replaceAll("_", " ")}
                {"direction" in item && ` ${item.direction}`}
              </td>
              <td class="number">
                <Moved item={item} token={token ?? ("mint" in item && item.mint != null ? tokens?.get(item.mint) : undefined)} linked={token === undefined} />
              </td>
              <td>
                <Owner value={item.from_owner} />
              </td>
              <td>
                <Owner value={item.to_owner} />
              </td>
              <td>
                <Address value={item.signature} what="the signature" />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Moved({ item, token, linked }: { item: Transfer | OwnerTransfer; token: Token | undefined; linked: boolean }) {
  const decimals = token?.decimals ?? ("decimals" in item ? item.decimals : null);
  const mint = "mint" in item ? item.mint : null;
  const name = token ? <Called token={token} /> : mint != null ? short(mint) : "";
  return (
    <>
      {decimals == null ? (item.amount ?? "–") : <Amount raw={item.amount} decimals={decimals} />} {linked && mint != null ? <a href={`/token/${mint}`}>{name}</a> : name}
    </>
  );
}
