// The pages of /docs, in the order of their menu. Each is a page of docs/ or, where `document` is
// named, the operations of an OpenAPI document.
export const groups = [
  { title: "Begin", pages: [{ name: "apis", title: "Start here" }] },
  {
    title: "Token API",
    pages: [
      { name: "api", title: "Token API: guide" },
      { name: "api-reference", title: "Token API: rules" },
      { name: "token-operations", title: "Token API: operations", document: "token" },
    ],
  },
  {
    title: "Swap API",
    pages: [
      { name: "swap", title: "Swap API: guide" },
      { name: "swap-reference", title: "Swap API: rules" },
      { name: "swap-operations", title: "Swap API: operations", document: "swap" },
    ],
  },
  {
    title: "JSON-RPC and stream",
    pages: [
      { name: "gateway", title: "Gateway: guide" },
      { name: "gateway-reference", title: "Gateway: rules" },
    ],
  },
  { title: "For all three", pages: [{ name: "keys", title: "API keys" }, { name: "cli", title: "Command line" }, { name: "mcp", title: "Language models" }] },
  {
    title: "What figures mean",
    pages: [
      { name: "volume", title: "Prices and volumes" },
      { name: "market-caps", title: "Market caps" },
      { name: "balances", title: "Holders and transfers" },
      { name: "swaps", title: "Trades and venues" },
      { name: "evidence", title: "Lookalikes" },
      { name: "logos", title: "Logos" },
      { name: "analytics", title: "SQL" },
    ],
  },
];

/** first is the page of /docs itself. */
export const first = "apis";
