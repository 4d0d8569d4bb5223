// Try a quote: what an amount of one token buys of another now, and over which pools.
import { useLocation } from "preact-iso";
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Token } from "../api";
import { count, json, rawOf, short } from "../format";
import { useGet, useNow, useTitle, useTokens } from "../hooks";
import { Chips } from "../parts/chips";
import { Problem, Section, Usd } from "../parts/small";
import { Pick } from "./quote/pick";
import { Of, RouteDrawing, type Tokens, name } from "./quote/route";
import { type Quote, sol, swapURL, useSwap } from "./quote/swap";
import { VenuesCard } from "./quote/venues";

const usdc = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
const slippages = [["10", "0.1 %"], ["50", "0.5 %"], ["100", "1 %"]] as const;
/** every is how often a quote is asked for anew, in milliseconds: the state of pools changes with each slot. */
const every = 2_000;

interface Question {
  from: string;
  to: string;
  amount: string;
  slippage: (typeof slippages)[number][0];
}

/** useQuestion is what is asked; it lives in the URL, so that a link shows the same. */
function useQuestion(): [Question, (change: Partial<Question>) => void] {
  const { query, route } = useLocation();
  const slippage = slippages.find(([bps]) => bps === query.slippage)?.[0] ?? "50";
  const question: Question = { from: query.from || sol, to: query.to || usdc, amount: query.amount ?? "1", slippage };
  return [question, (change) => route(`/quote?${new URLSearchParams({ ...question, ...change })}`, true)];
}

export function QuotePage() {
  const [question, ask] = useQuestion();
  const [key, setKey] = useState("");
  const { from, to } = question;
  const { tokens: sides, done, error: unnamed } = useTokens([from, to]);
  const source = sides.get(from);
  const raw = source ? rawOf(question.amount, source.decimals) : null;
  const path = raw && `/api/v2/quote?${new URLSearchParams({ src_mint: from, dst_mint: to, amount_in: raw, slippage_bps: question.slippage, sizes: "true" })}`;
  const { data: quote, readAt, error, keyed } = useSwap<Quote>(path, key, every);
  const { tokens: middle } = useTokens(quote?.route.flatMap((leg) => [leg.src_mint, leg.dst_mint]) ?? []);
  const tokens = new Map([...middle, ...sides]);
  useTitle("Try a quote");
  if (swapURL === "") {
    return (
      <Shell>
        <p class="empty">This node names no swap API. Whoever runs it can do so by the setting api.swap_url.</p>
      </Shell>
    );
  }
  return (
    <Shell>
      <form class="card trade" onSubmit={(event) => event.preventDefault()}>
        <Pick id="from" label="Sell" token={source} mint={from} choose={(mint) => ask(mint === to ? { from: to, to: from } : { from: mint })} />
        <div class="pick">
          <label for="amount">Amount</label>
          <input id="amount" inputMode="decimal" autocomplete="off" maxLength={40} value={question.amount} onInput={(event) => ask({ amount: event.currentTarget.value })} />
          <small>{source && raw === null ? `a number above 0, up to ${source.decimals} decimals behind a point` : "\u00a0"}</small>
        </div>
        <button type="button" class="turned" aria-label="Exchange the two tokens" title="Exchange the two tokens" onClick={() => ask({ from: to, to: from })}>
          ⇄
        </button>
        <Pick id="to" label="Buy" token={sides.get(to)} mint={to} choose={(mint) => ask(mint === from ? { from: to, to: from } : { to: mint })} />
        <Chips label="Slippage" value={question.slippage} choices={slippages} choose={(slippage) => ask({ slippage })} />
        {(keyed || key !== "") && (
          <div class="pick">
            <label for="key">API key</label>
            <input id="key" type="password" autocomplete="off" value={key} onInput={(event) => setKey(event.currentTarget.value.trim())} />
            <small>It stays in this page, until the page is closed.</small>
          </div>
        )}
      </form>
      {(error ?? unnamed) && <Problem>{error ?? unnamed}</Problem>}
      {done && !unnamed && [from, to].filter((mint) => !sides.has(mint)).map((mint) => <Problem key={mint}>{short(mint)} is not in the registry: its decimals are not known.</Problem>)}
      {!quote && !error && (raw || !done) && <p class="empty">…</p>}
      {quote && readAt !== undefined && <Result quote={quote} readAt={readAt} tokens={tokens} />}
      <VenuesCard quote={quote} source={from} target={to} keyText={key} />
    </Shell>
  );
}

function Shell({ children }: { children: ComponentChildren }) {
  return (
    <>
      <div class="title">
        <h1>Try a quote</h1>
      </div>
      {children}
    </>
  );
}

function Result({ quote, readAt, tokens }: { quote: Quote; readAt: number; tokens: Tokens }) {
  const now = useNow();
  const age = (quote.state_age_ms + Math.max(0, now - readAt)) / 1000;
  const sold = useWorth(quote.src_mint, quote.amount_in, tokens);
  const bought = useWorth(quote.dst_mint, quote.amount_out, tokens);
  return (
    <>
      <section class="card" aria-label="The quote">
        <p class="price">
          <b>
            <Of raw={quote.amount_out} mint={quote.dst_mint} tokens={tokens} />
          </b>{" "}
          for <Of raw={quote.amount_in} mint={quote.src_mint} tokens={tokens} />
        </p>
        <dl class="figures">
          <Figure name="At least">
            <Of raw={quote.min_amount_out} mint={quote.dst_mint} tokens={tokens} />
          </Figure>
          <Figure name="Price">{rate(quote, tokens)}</Figure>
          <Figure name="Value">
            <Usd value={bought} /> for <Usd value={sold} />
          </Figure>
          <Figure name="Price impact">{quote.price_impact_bps / 100} %</Figure>
          <Figure name="State">
            <span class="age">{age.toFixed(1)} s old</span>, of slot {count(quote.slot)}
          </Figure>
          {quote.transaction_bytes && (
            <Figure name="Transaction">
              <span title="at most 1,232 bytes">{count(quote.transaction_bytes["0"])} bytes</span>, <span title="at most 4,096 bytes">{count(quote.transaction_bytes["1"])} in version 1</span>
            </Figure>
          )}
          <Figure name="Computed in">{quote.time_taken_ms.toFixed(1)} ms</Figure>
        </dl>
        {quote.warnings.length > 0 && <p class="verdict warn">Take care: {quote.warnings.map((text) => warning(text, quote, tokens)).join(", ")}.</p>}
        {quote.transaction_bytes && (
          <p class="found">A wallet that is built on @solana/kit signs version 1. One on @solana/web3.js 1.x reads it and cannot write it: give it version 0.</p>
        )}
        {quote.residual.map(({ mint, amount_max }) => (
          <p key={mint} class="found">
            Up to <Of raw={amount_max} mint={mint} tokens={tokens} /> stays with you.
          </p>
        ))}
      </section>
      <Section title="Route">
        <RouteDrawing quote={quote} tokens={tokens} />
      </Section>
      <details>
        <summary>Raw JSON</summary>
        <pre tabIndex={0}>{json(quote)}</pre>
      </details>
    </>
  );
}

function Figure({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** warnings by the word that the swap API has for them. */
const warnings: Record<string, (token: string) => string> = {
  freezable: (token) => `accounts of ${token} can be frozen`,
  permanent_delegate: (token) => `a permanent delegate can take anybody's ${token}`,
};

/** warning puts one into words; what is not known stays as it came: "dst_mint: freezable". */
function warning(text: string, quote: Quote, tokens: Tokens): string {
  const [side, word] = text.split(": ");
  const mint = side === "src_mint" ? quote.src_mint : side === "dst_mint" ? quote.dst_mint : undefined;
  return (mint && word && warnings[word]?.(name(tokens, mint))) || text;
}

/** useWorth is an amount in US dollars, by the price_usd that every page says. */
function useWorth(mint: string, raw: string, tokens: Tokens): number | null {
  const token = tokens.get(mint);
  const { data } = useGet<Token>(token ? `/tokens/${mint}?fields=market` : null, 10_000);
  const price = data?.market?.price_usd;
  return price == null || !token ? null : (price * Number(raw)) / 10 ** token.decimals;
}

/** rate is what one unit of the token that is sold buys, of what the quote gives. */
function rate(quote: Quote, tokens: Tokens): string {
  const [source, target] = [tokens.get(quote.src_mint), tokens.get(quote.dst_mint)];
  if (!source || !target) return "–";
  const price = (Number(quote.amount_out) / 10 ** target.decimals) / (Number(quote.amount_in) / 10 ** source.decimals);
  return `1 ${name(tokens, quote.src_mint)} = ${Number(price.toPrecision(6))} ${name(tokens, quote.dst_mint)}`;
}
