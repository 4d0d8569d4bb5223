// The reference of this node's API: its document, with this server's address in every example, and
// this server's answers as the examples of responses. Nothing is asked of another host.

const get = async (path) => {
  const response = await fetch(path);
  return response.ok ? response.json() : undefined;
};

/** What an answer looks like here: long lists and texts are cut, and texts do not turn the direction of writing around. */
const shortened = (value) => {
  if (typeof value === "string") return value.replace(/[\u202a-\u202e\u2066-\u2069]/g, "").slice(0, 300);
  if (Array.isArray(value)) return value.slice(0, 2).map(shortened);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, shortened(inner)]));
};

/** What a node answers that keeps balances. */
const ofBalances = /^\/owners\/|\/(holders|transfers|accounts)\b/;

/**
 * Asks this node for an example of each response. A refused one stays without. Without an owner the
 * node keeps no balances; a mint may have no pool.
 */
const addExamples = async (document, mint, owner, pool) => {
  const asked = Object.entries(document.paths).map(async ([path, { get: operation, post }]) => {
    const content = (operation ?? post)?.responses["200"]?.content?.["application/json"];
    if (!content || path === "/openapi.json" || (!owner && ofBalances.test(path)) || (!pool && path.startsWith("/pools/"))) return;
    const query = new URLSearchParams();
    const inPath = { mint };
    for (const { in: place, name, required, example } of (operation ?? post).parameters ?? []) {
      if (place === "query" && required) query.set(name, example);
      if (place === "path" && example !== undefined) inPath[name] = example;
    }
    Object.assign(inPath, { owner, pool });
    if (path === "/tokens") query.set("limit", "2");
    const body = post && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ mints: [mint], states: true }) };
    const response = await fetch(`${path.replace(/\{(\w+)\}/g, (_, name) => inPath[name])}?${query}`, body);
    if (response.ok) content.example = shortened(await response.json());
    if (post) post.requestBody.content["application/json"].example = { mints: [mint], states: true };
  });
  await Promise.allSettled(asked);
};

/** Leaves out of the examples of requests what nobody asked for: a person fills it in, or not. */
const sendOnlyExamples = (document) => {
  for (const operation of Object.values(document.paths).flatMap(Object.values)) {
    operation.parameters = operation.parameters?.map((parameter) => {
      const whole = parameter.$ref ? structuredClone(document.components.parameters[parameter.$ref.split("/").pop()]) : parameter;
      if (whole.in === "query" && !whole.required && whole.example === undefined) whole.examples = { unused: { value: "", "x-disabled": true } };
      return whole;
    });
  }
};

const start = async () => {
  const document_ = await get("/openapi.json");
  document_.servers = [{ url: location.origin, description: "this node" }];
  const { mint, holders } = (await get("/tokens?limit=1&fields=mint,holders"))?.items[0] ?? {};
  if (mint) {
    document_.components.parameters.mint.example = mint;
    const owner = holders ? (await get(`/tokens/${mint}/holders?limit=1`))?.items[0]?.owner : undefined;
    const pool = (await get(`/tokens/${mint}/pools?limit=1`))?.pools?.[0]?.pool;
    await addExamples(document_, mint, owner, pool);
  }
  sendOnlyExamples(document_);
  Scalar.createApiReference("#reference", {
    content: document_,
    // everything that would ask another host
    withDefaultFonts: false, telemetry: false, agent: { disabled: true }, mcp: { disabled: true }, proxyUrl: "", hideClientButton: true, showDeveloperTools: "never",
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" }, documentDownloadType: "direct",
  });
};

await start();
