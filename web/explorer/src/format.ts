// Figures for people. What is cut off here stands in a tooltip at the place of use.
import type { Launchpad, Token } from "./api";

const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 2 });
const whole = new Intl.NumberFormat("en");

/** count writes a whole number. */
export const count = (n: number) => whole.format(n);

/** usd writes an amount of money, short. */
export function usd(n: number | null | undefined): string {
  if (n == null) return "–";
  if (n > 0 && n < 0.01) return "<$0.01";
  return "$" + (n < 1000 ? n.toFixed(2) : compact.format(n));
}

/** usdFull is the same in full. */
export const usdFull = (n: number) => "$" + n.toLocaleString("en", { maximumFractionDigits: 6 });

const subscripts = "₀₁₂₃₄₅₆₇₈₉";

/** price writes four digits that say something: 0.0₅1234 has five zeros behind the point. */
export function price(n: number | null | undefined): string {
  if (n == null) return "–";
  if (n === 0) return "$0";
  if (n >= 1000) return "$" + n.toLocaleString("en", { maximumFractionDigits: 2 });
  if (n >= 1) return "$" + n.toFixed(n >= 100 ? 2 : 4);
  // It is rounded before its zeros are counted: 0.99996 has four digits as 1.
  const [rounded = "", power = ""] = n.toExponential(3).split("e");
  const zeros = -Number(power) - 1;
  if (zeros < 0) return "$" + n.toFixed(4);
  const digits = rounded.replace(".", "").replace(/0+$/, "");
  if (zeros < 4) return "$0." + "0".repeat(zeros) + digits;
  return "$0.0" + [...String(zeros)].map((digit) => subscripts[Number(digit)]).join("") + digits;
}

/** priceIn writes a price in another token the same way, without the sign of a currency. */
export const priceIn = (n: number) => price(n).slice(1);

/** percent writes a change with its sign. */
export function percent(change: number): string {
  const value = change * 100;
  const sign = value > 0 ? "+" : value < 0 ? "−" : "";
  const size = Math.abs(value);
  return sign + (size >= 1000 ? compact.format(size) : size.toFixed(2)) + " %";
}

/** units places the decimal point in a raw amount, a decimal string that no JavaScript number can hold. */
export function units(raw: string, decimals: number): string {
  const digits = raw.padStart(decimals + 1, "0");
  const head = BigInt(digits.slice(0, digits.length - decimals)).toLocaleString("en");
  const tail = digits.slice(digits.length - decimals).replace(/0+$/, "");
  return tail ? `${head}.${tail}` : head;
}

/**
 * rawOf is what a person typed as a raw amount: null for what is none, or has more decimals than the token. A comma stands between
 * thousands. Elsewhere it is refused: much of Europe writes 1,5 for what is 1.5 here.
 */
export function rawOf(text: string, decimals: number): string | null {
  const match = /^(\d{0,20}|\d{1,3}(?:,\d{3}){1,6})(?:\.(\d*))?$/.exec(text.trim());
  const head = (match?.[1] ?? "").replaceAll(",", "");
  const tail = match?.[2] ?? "";
  if (!match || head + tail === "" || tail.length > decimals) return null;
  const raw = (BigInt(head || "0") * 10n ** BigInt(decimals) + BigInt(tail.padEnd(decimals, "0") || "0")).toString();
  return raw === "0" || raw.length > 20 ? null : raw;
}

/** amount is units, short. */
export function amount(raw: string | null | undefined, decimals: number): string {
  if (raw == null) return "–";
  const value = Number(raw) / 10 ** decimals;
  if (value !== 0 && value < 0.01) return "<0.01";
  return value < 1000 ? String(Math.round(value * 100) / 100) : value < 1e15 ? compact.format(value) : value.toExponential(2).replace("e+", " × 10^");
}

const steps: [number, string][] = [
  [60, "s"],
  [60, "min"],
  [24, "h"],
  [365, "d"],
  [Infinity, "y"],
];

/** ago writes a time as seen from now. */
export function ago(ms: number, now: number): string {
  let value = (now - ms) / 1000;
  if (value < -5) return "in " + span(-value);
  if (value < 5) return "now";
  return span(value) + " ago";
}

function span(value: number): string {
  for (const [size, name] of steps) {
    if (value < size) return `${Math.floor(value)} ${name}`;
    value /= size;
  }
  return "";
}

/** absolute writes a time in full. */
export const absolute = (ms: number) => new Date(ms).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });

/** short cuts an address or a signature to what people compare. */
export function short(text: string): string {
  const line = plain(text); // an address of a page may name anything
  return line.length > 13 ? `${line.slice(0, 5)}…${line.slice(-5)}` : line;
}

/** reordering are the characters that reorder the text around them, also outside of an isolate that one of them closes. */
const reordering = /[\u202a-\u202e\u2066-\u2069]/g;
/** shows is a character that can be seen. */
const shows = /[^\p{C}\p{Z}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u;

/**
 * plain makes one line of a text that a stranger wrote: without control characters, with at most three marks upon a letter, which is
 * enough for names in any language. It is empty where nothing would be seen.
 */
export function plain(text: string): string {
  if (!shows.test(text)) return "";
  return text.replace(reordering, "").replace(/[\p{Cc}\s\u2028\u2029]+/gu, " ").replace(/(\p{M}{3})\p{M}+/gu, "$1").trim();
}

/** cut ends a text behind so many characters. */
export function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const characters = [...text];
  return characters.length <= most ? text : characters.slice(0, most - 1).join("") + "…";
}

/** quoted is the text of a stranger within a sentence: it neither reorders nor outgrows the sentence. */
export const quoted = (text: string) => `\u2068${cut(plain(text), 40)}\u2069`;

/** json is a value for people who want all of it; characters that would not show, or not at their place, are escaped. */
export const json = (value: unknown) =>
  JSON.stringify(value, null, 2).replace(/[\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g, (sign) => "\\u" + sign.charCodeAt(0).toString(16).padStart(4, "0"));

/** title is what a token is called. */
export const title = (token: { symbol: string; name: string; mint: string }) => plain(token.symbol) || plain(token.name) || short(token.mint);

const acronyms = new Set(["amm", "cpmm", "clmm", "dlmm", "damm", "dbc"]);
const spelled: Record<string, string> = { pancakeswap: "PancakeSwap", pumpswap: "PumpSwap", launchlab: "LaunchLab" };

/** venueName writes a venue's name as people know it: raydium_amm_v4 is Raydium AMM v4. */
export const venueName = (venue: string) =>
  venue
    .split("_")
    .map((part) => spelled[part] ?? (acronyms.has(part) ? part.toUpperCase() : /^v\d/.test(part) ? part : part.charAt(0).toUpperCase() + part.slice(1)))
    .join(" ");

const launchpadNames: Record<Launchpad, string> = { pump: "pump.fun", raydium_launchlab: "LaunchLab", meteora_dbc: "Meteora DBC" };

/** launchpads are the names in the API. */
export const launchpads = Object.keys(launchpadNames) as Launchpad[];

/** launchpadName is what people call a launchpad. */
export const launchpadName = (launchpad: Launchpad) => launchpadNames[launchpad];

/**
 * multipliers are what wallets multiply shown amounts of a token by: now, and from at on, in epoch milliseconds. A number that was
 * announced is the present one once its time has come.
 */
export function multipliers(token: Token): { now?: number; next?: number; at?: number } {
  const { ui_multiplier: now, next_ui_multiplier: next, next_ui_multiplier_at: at } = token;
  return next != null && at != null && at <= Date.now() ? { now: next } : { now, next, at };
}
