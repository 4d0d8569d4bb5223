// The tokens that are made of payloads: each has its payload wherever a token can have a text, on the chain and in its document.
import { payloads } from "./payloads.mjs";

/** clipped is the beginning of a text that has at most so many bytes. */
function clipped(text, most) {
  let end = [...text];
  while (Buffer.byteLength(end.join("")) > most) end = end.slice(0, -1);
  return end.join("");
}

const base64 = (text) => Buffer.from(text).toString("base64");

/** documentOf is the document of token n; undefined for none. */
export function documentOf(n) {
  const payload = payloads[n];
  if (payload === undefined) return undefined;
  const path = `https://evil.example/${payload.slice(0, 500)}`;
  return {
    name: payload,
    symbol: payload,
    description: payload + payload,
    image: payload,
    external_url: n % 2 ? path : payload,
    // As texts JSON is made of: __proto__ is a name as any other there.
    extensions: JSON.parse(`{"website":${JSON.stringify(payload)},${JSON.stringify(payload.slice(0, 40))}:"https://evil.example/","telegram":${JSON.stringify(path)}}`),
    tags: [payload, "stranger"],
  };
}

/**
 * tokenOf is what the chain says of token n, whose document is at an address. Metaplex has room for 32 and 10 bytes, Token-2022 for all;
 * one in three has no name on the chain, so that the document's is shown.
 */
export function tokenOf(n, documents) {
  const payload = payloads[n];
  const uri = base64(`http://${documents}/${n}.json`);
  if (n % 3 === 0) return { program: "token", name: base64(clipped(payload, 32)), symbol: base64(clipped(payload, 10)), uri };
  if (n % 3 === 2) return { program: n % 2 ? "token" : "token-2022", name: "", symbol: "", uri };
  const fields = [["github", payload], [clipped(payload, 60), "https://evil.example/field"], ["discord", `https://evil.example/${payload}`]];
  return { program: "token-2022", name: base64(payload), symbol: base64(payload), uri, fields: fields.map((pair) => pair.map((text) => base64(clipped(text, 900)))) };
}
