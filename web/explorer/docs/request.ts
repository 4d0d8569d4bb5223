// Requests of the pages: what they send, and what a person types to send the same.
import { get } from "../src/api";
import type { Call } from "./document";

/** Values are what a person fills in, by the names of parameters. */
export type Values = Record<string, string>;

/** Known are things that this node has: the token that is traded most, who holds it, a pool of it. */
export interface Known {
  mint?: string;
  owner?: string;
  pool?: string;
}

/** known asks this node for them. A node that keeps no balances tells no holders. */
export async function known(): Promise<Known> {
  const page = await get<{ items: { mint: string; holders?: number | null }[] }>("/tokens?limit=1&fields=mint,holders");
  const { mint, holders } = page.items[0] ?? {};
  if (!mint) return {};
  const owners = holders ? await get<{ items: { owner: string | null }[] }>(`/tokens/${mint}/holders?limit=1`).catch(() => undefined) : undefined;
  const pools = await get<{ pools: { pool: string }[] }>(`/tokens/${mint}/pools?limit=1`).catch(() => undefined);
  return { mint, owner: owners?.items[0]?.owner ?? undefined, pool: pools?.pools[0]?.pool };
}

/** examples are the values that an operation begins with: what this node has, else the document's. */
export function examples(call: Call, { mint, owner, pool }: Known): Values {
  const here: Record<string, string | undefined> = { mint, owner, pool };
  const values: Values = {};
  for (const { name, in: place, required, example } of call.parameters ?? []) {
    const asked = required || example !== undefined;
    const value = (asked && (place === "path" || name === "mint") ? here[name] : undefined) ?? example;
    if (value !== undefined) values[name] = Array.isArray(value) ? value.join(",") : String(value);
  }
  return values;
}

/** bodyOf is the example of an operation's body, with a mint that this node has. */
export function bodyOf(call: Call, { mint }: Known): string | undefined {
  const content = call.requestBody?.content["application/json"];
  if (!content) return undefined;
  if (call.path === "/tokens/batch" && mint) return JSON.stringify({ mints: [mint], states: true }, null, 1);
  return JSON.stringify(content.example ?? {}, null, 1);
}

/** pathOf is path and query of a request. Without a value a parameter of the query is left out. */
export function pathOf(call: Call, values: Values): string {
  const query = new URLSearchParams();
  for (const { name, in: place } of call.parameters ?? []) {
    const value = values[name] ?? "";
    if (place === "query" && value !== "") query.set(name, value);
  }
  const path = call.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(values[name] ?? ""));
  return query.size > 0 ? `${path}?${query}` : path;
}

const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** command is the request as a command. withKey leaves the key to a variable: none is printed. */
export function command(base: string, call: Call, values: Values, body: string | undefined, withKey: boolean): string {
  const parts = ["curl"];
  if (call.path.endsWith("/stream")) parts.push("-N");
  parts.push(quoted(base + pathOf(call, values)));
  if (withKey) parts.push('-H "X-API-KEY: $SWAP_KEY"');
  if (body !== undefined) parts.push("-H 'Content-Type: application/json'", "-d", quoted(JSON.stringify(parsed(body))));
  return parts.join(" ");
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return body;
  }
}

/** Answer is what came back: its status, and its text for people. */
export interface Answer {
  status: string;
  text: string;
}

const longest = 40_000;

/** send makes the request. */
export async function send(base: string, call: Call, values: Values, body: string | undefined, key: string): Promise<Answer> {
  const headers: Record<string, string> = {};
  if (key) headers["X-API-KEY"] = key;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  const response = await fetch(base + pathOf(call, values), { method: call.method.toUpperCase(), headers, body });
  const status = `${response.status} ${response.statusText}`;
  const type = response.headers.get("Content-Type") ?? "";
  if (!/json|^text\//.test(type)) return { status, text: `${type}, ${(await response.blob()).size} bytes` };
  const text = await response.text();
  return { status, text: text.slice(0, longest) };
}
