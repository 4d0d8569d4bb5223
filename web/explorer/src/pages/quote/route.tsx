// The route of a quote, drawn: a line for each part of the split, as thick as its share, with a box for each pool on it. Pools that sell the
// same token side by side are one above the other.
import type { Token } from "../../api";
import { quoted, short, title, units, venueName } from "../../format";
import { Address, Amount, Called } from "../../parts/small";
import type { Fee, Leg, Quote } from "./swap";

export type Tokens = Map<string, Token>;

/** name is what a mint is called within a sentence, its beginning and end where its token is not known. */
export const name = (tokens: Tokens, mint: string) => {
  const token = tokens.get(mint);
  return token ? quoted(title(token)) : short(mint);
};

/** Of is an amount with its token. Without the token's decimals it is raw. */
export function Of({ raw, mint, tokens }: { raw: string; mint: string; tokens: Tokens }) {
  const token = tokens.get(mint);
  return token ? <><Amount raw={raw} decimals={token.decimals} /> <Called token={token} /></> : <>{raw} raw units of {short(mint)}</>;
}

/** part is a fee as a part of what goes in, or of what comes out before it; null where it is of a third token. */
function part(leg: Leg, fee: Fee): number | null {
  if (fee.mint === leg.src_mint) return Number(fee.amount) / Number(leg.amount_in);
  if (fee.mint === leg.dst_mint) return Number(fee.amount) / (Number(leg.amount_out) + Number(fee.amount));
  return null;
}

const percent = (share: number) => `${Number((share * 100).toPrecision(3))} %`;

const thickest = 18; // pixels, of all that is sold

export function RouteDrawing({ quote, tokens }: { quote: Quote; tokens: Tokens }) {
  return (
    <ol class="ways">
      {quote.routes.map((way) => {
        const share = way.share_bps / 10_000;
        return (
          <li key={way.legs.map((leg) => leg.pool).join()} style={{ "--thick": `${Math.max(2, share * thickest)}px` }}>
            <span class="node">
              <b>{percent(share)}</b>
              <Of raw={way.amount_in} mint={quote.src_mint} tokens={tokens} />
            </span>
            {stagesOf(way.legs).map((legs) => (
              <Stage key={legs[0]!.src_mint} legs={legs} tokens={tokens} />
            ))}
          </li>
        );
      })}
    </ol>
  );
}

/** stagesOf puts the swaps of a way together that sell the same token, in the order of the transaction. */
function stagesOf(legs: Leg[]): Leg[][] {
  const stages = new Map<string, Leg[]>();
  for (const leg of legs) stages.set(leg.src_mint, [...(stages.get(leg.src_mint) ?? []), leg]);
  return [...stages.values()];
}

/** sum adds raw amounts, which may exceed what a number holds. */
const sum = (raws: string[]) => raws.reduce((total, raw) => total + BigInt(raw), 0n).toString();

function Stage({ legs, tokens }: { legs: Leg[]; tokens: Tokens }) {
  const sold = Number(sum(legs.map((leg) => leg.amount_in)));
  return (
    <>
      <span class="way" aria-hidden="true" />
      <span class="hops">
        {legs.map((leg) => (
          <Hop key={leg.pool} leg={leg} share={legs.length > 1 ? Number(leg.amount_in) / sold : null} tokens={tokens} />
        ))}
      </span>
      <span class="way" aria-hidden="true" />
      <span class="node">
        {[...new Set(legs.map((leg) => leg.dst_mint))].map((mint) => (
          <span key={mint}>
            <Of raw={sum(legs.filter((leg) => leg.dst_mint === mint).map((leg) => leg.amount_out))} mint={mint} tokens={tokens} />
          </span>
        ))}
      </span>
    </>
  );
}

function Hop({ leg, share, tokens }: { leg: Leg; share: number | null; tokens: Tokens }) {
  return (
    <span class="hop">
      <b>
        {share !== null && `${percent(share)} `}
        {venueName(leg.venue)}
      </b>
      <Address value={leg.pool} what="the pool" />
      <span class="cost">
        {leg.fees.length === 0 && "costs nothing"}
        {leg.fees.map((fee) => (
          <span key={fee.kind + fee.mint} title={`raw ${fee.amount}`}>
            {fee.kind} fee <FeeAmount fee={fee} tokens={tokens} /> {part(leg, fee) !== null && `(${percent(part(leg, fee)!)})`}
          </span>
        ))}
      </span>
    </span>
  );
}

/** FeeAmount is never rounded: fees are small. */
function FeeAmount({ fee, tokens }: { fee: Fee; tokens: Tokens }) {
  const token = tokens.get(fee.mint);
  return token ? <>{units(fee.amount, token.decimals)} <Called token={token} /></> : <>{fee.amount} raw units of {short(fee.mint)}</>;
}
