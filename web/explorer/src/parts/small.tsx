// Small things that stand in many places.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Token } from "../api";
import { absolute, ago, amount, cut, plain, price, short, title, units, usd, usdFull } from "../format";
import { useNow } from "../hooks";

/** Logo names its status in the URL, for which the server does not care: a picture of an earlier status is not shown for a later one. */
export function Logo({ token, size = 32 }: { token: Token; size?: number }) {
  const source = `/img/${encodeURIComponent(token.mint)}?status=${encodeURIComponent(token.logo_status)}`;
  return <img class="logo" src={source} width={size} height={size} alt="" loading="lazy" decoding="async" />;
}

/**
 * Text is what a stranger wrote, at most so many characters of it: it has a box of its own, beyond which it draws nothing, and whose
 * direction of writing nobody else has (style.css). What it lacks is in its tooltip.
 */
export function Text({ of, most = 100 }: { of: string | null | undefined; most?: number }) {
  const text = plain(of ?? "");
  const shown = cut(text, most);
  return shown === "" ? <>–</> : <bdi title={shown === text ? undefined : cut(text, 1000)}>{shown}</bdi>;
}

/** Called is the name of a token within a text. */
export function Called({ token }: { token: { symbol: string; name: string; mint: string } }) {
  return <Text of={title(token)} most={40} />;
}

/** Ago is a time as seen from now, in full in its tooltip. */
export function Ago({ ms }: { ms: number | null | undefined }) {
  const now = useNow();
  if (ms == null) return <>–</>;
  return (
    <time dateTime={new Date(ms).toISOString()} title={absolute(ms)}>
      {ago(ms, now)}
    </time>
  );
}

/** Amount is in units of the token; the tooltip has it in full, and raw. */
export function Amount({ raw, decimals }: { raw: string | null | undefined; decimals: number }) {
  if (raw == null) return <>–</>;
  return <span title={`${units(raw, decimals)} (raw ${raw})`}>{amount(raw, decimals)}</span>;
}

export function Usd({ value }: { value: number | null | undefined }) {
  return value == null ? <>–</> : <span title={usdFull(value)}>{usd(value)}</span>;
}

export function Price({ value }: { value: number | null | undefined }) {
  return value == null ? <>–</> : <span title={`$${value}`}>{price(value)}</span>;
}

/** Copy puts a text on the clipboard. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [done, setDone] = useState(false);
  const copy = async (event: Event) => {
    event.preventDefault();
    event.stopPropagation();
    await navigator.clipboard?.writeText(text).catch(() => undefined);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class="copy" onClick={copy} aria-label={done ? "Copied" : `Copy ${what}`} title={`Copy ${what}`}>
      <svg width="14" height="14" viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.6" aria-hidden="true">
        {done ? <path d="M3 8.5l3.5 3.5L13 4.5" /> : <path d="M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3" />}
      </svg>
    </button>
  );
}

/** More asks for the next page of a list; it is not there when there is none. */
export function More({ of, children }: { of: (() => void) | undefined; children: string }) {
  return of ? (
    <button type="button" class="chip" onClick={of}>
      {children}
    </button>
  ) : null;
}

/** chain is an explorer of the chain that this node names; empty where there is none. */
const chain = document.querySelector<HTMLMetaElement>("meta[name=mintlake-chain]")?.content ?? "";

/** OnChain leads to the same thing in an explorer of the chain. */
export function OnChain({ value, what }: { value: string; what: string }) {
  if (chain === "") return null;
  const kind = what === "the signature" ? "tx" : "address";
  return (
    <a class="out" href={`${chain}/${kind}/${encodeURIComponent(value)}`} rel="noopener noreferrer" target="_blank" aria-label={`Look at ${what} at ${new URL(chain).host}`} title={`Look at ${what} at ${new URL(chain).host}`}>
      ↗
    </a>
  );
}

/** Address is a key, shortened, whole in its tooltip, with a button that copies it. */
export function Address({ value, what }: { value: string; what: string }) {
  return (
    <span class="address">
      <code title={value}>{short(value)}</code>
      <Copy text={value} what={what} />
      {what !== "the root" && <OnChain value={value} what={what} />}
    </span>
  );
}

/** Problem tells what went wrong. */
export function Problem({ children }: { children: ComponentChildren }) {
  return (
    <p class="problem" role="alert">
      {children}
    </p>
  );
}

/** Section is a part of a page under a heading. */
export function Section({ title, aside, children }: { title: string; aside?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="card">
      <header>
        <h2>{title}</h2>
        {aside}
      </header>
      {children}
    </section>
  );
}
