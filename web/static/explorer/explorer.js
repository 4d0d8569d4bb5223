// The token explorer: search, page, look at one token. Everything shown comes from token creators, so it is only ever set as text.
const $ = (id) => document.getElementById(id);
const limit = 25;
const state = { q: "", page: 1, token22: true };
let running; // the request under way: a newer one ends it
let shown = new Map(); // the rows on the page: the logo and its status by mint, in their order
let following; // the timer of the next look

function readURL() {
  const params = new URLSearchParams(location.search);
  state.q = params.get("q") ?? "";
  state.page = Math.max(1, parseInt(params.get("page"), 10) || 1);
  state.token22 = params.get("include_token22") !== "false";
  $("q").value = state.q;
  $("token22").checked = state.token22;
}

function query() {
  const params = new URLSearchParams();
  if (state.q) params.set("q", state.q);
  if (state.page > 1) params.set("page", state.page);
  if (!state.token22) params.set("include_token22", "false");
  return params;
}

async function getJSON(path, signal) {
  const response = await fetch(path, { signal });
  const body = await response.json();
  if (!response.ok) {
    const wait = response.headers.get("Retry-After");
    throw new Error(response.status === 429 ? `Too many requests: try again in ${wait} s` : body.message);
  }
  return body;
}

async function search() {
  running?.abort();
  clearTimeout(following);
  const mine = (running = new AbortController());
  const params = query();
  history.replaceState(null, "", params.size ? `?${params}` : location.pathname);
  params.set("limit", limit);
  try {
    const found = await getJSON(`/tokens?${params}`, mine.signal);
    show(found);
    follow(2000);
  } catch (error) {
    if (error.name !== "AbortError") $("message").textContent = error.message;
  }
}

// follow looks again after pause, and then after twice as long each time, up to half a minute: right after the start tokens and logos still come
// in, and a picture that was shown for want of a logo is not asked for again by itself.
function follow(pause) {
  clearTimeout(following);
  if (pause > 32000) return;
  following = setTimeout(async () => {
    const params = query();
    params.set("limit", limit);
    try {
      refresh(await getJSON(`/tokens?${params}`, running.signal));
    } catch { /* the next look may do better */ }
    follow(2 * pause);
  }, pause);
}

// refresh shows other rows only while nobody is at them, and logos that have become good.
function refresh(found) {
  const mints = found.items.map((token) => token.mint);
  const busy = $("detail").open || $("rows").matches(":hover, :focus-within");
  if (!busy && mints.join() !== [...shown.keys()].join()) return show(found);
  for (const token of found.items) {
    const at = shown.get(token.mint);
    if (!at || at.status === token.logo_status) continue;
    at.status = token.logo_status;
    if (token.logo_status === "ok") at.logo.src = picture(token); // another URL, so the browser asks
  }
}

// picture is the URL of a token's logo. It names the status, for which the server does not care, so that a picture kept by the browser is not
// taken for that of a later status.
const picture = (token) => `/img/${encodeURIComponent(token.mint)}?status=${encodeURIComponent(token.logo_status)}`;

function show({ items, page, total }) {
  shown = new Map();
  $("rows").replaceChildren(...items.map(row));
  const pages = Math.max(1, Math.ceil(total / limit));
  $("message").textContent = total === 0 ? "No token matches." : `${total.toLocaleString()} ${total === 1 ? "token" : "tokens"}`;
  $("page").textContent = `${page} / ${pages}`;
  $("previous").disabled = page <= 1;
  $("next").disabled = page >= pages;
}

function element(name, text, className) {
  const e = document.createElement(name);
  if (text !== undefined) e.textContent = text;
  if (className) e.className = className;
  return e;
}

function row(token) {
  const tr = element("tr");
  tr.tabIndex = 0;
  const logo = element("img");
  logo.src = picture(token);
  logo.alt = "";
  logo.loading = "lazy";
  shown.set(token.mint, { logo, status: token.logo_status });
  const first = element("td");
  first.append(logo);
  const symbol = element("td", token.symbol || "–");
  if (token.is_token22) symbol.append(element("span", "2022", "badge"));
  const mint = element("td");
  mint.append(element("code", `${token.mint.slice(0, 6)}…${token.mint.slice(-6)}`));
  tr.append(first, symbol, element("td", token.name || "–"), mint, element("td", amount(token.supply, token.decimals), "number"),
    element("td", token.daily_volume_usd == null ? "–" : `$${Math.round(token.daily_volume_usd).toLocaleString()}`, "number"),
    element("td", when(token.first_seen_at)));
  tr.addEventListener("click", () => detail(token));
  tr.addEventListener("keydown", (event) => { if (event.key === "Enter") detail(token); });
  return tr;
}

// amount places the decimal point in a raw amount, a decimal string that no JavaScript number can hold.
function amount(raw, decimals) {
  if (raw == null) return "–";
  const digits = raw.padStart(decimals + 1, "0");
  const whole = BigInt(digits.slice(0, digits.length - decimals)).toLocaleString();
  const fraction = digits.slice(digits.length - decimals).slice(0, 4).replace(/0+$/, "");
  return fraction ? `${whole}.${fraction}` : whole;
}

const when = (ms) => (ms == null ? "–" : new Date(ms).toLocaleString());

function detail(token) {
  $("detail-title").textContent = token.name || token.symbol || token.mint;
  const fields = Object.entries(token).filter(([, value]) => value !== null && value !== undefined);
  $("detail-fields").replaceChildren(...fields.flatMap(([name, value]) => {
    const text = name.endsWith("_at") ? when(value) : typeof value === "object" ? JSON.stringify(value) : String(value);
    return [element("dt", name), element("dd", text)];
  }));
  $("detail").showModal();
}

async function refreshStatus() {
  try {
    const s = await getJSON("/status");
    $("status-tokens").textContent = s.registry.tokens.toLocaleString();
    $("status-slot").textContent = s.source.slot ? s.source.slot.toLocaleString() : "–";
    $("status-lag").textContent = s.pipeline.lag_records ?? "unknown";
    $("status-fresh").textContent = s.freshness.p99_ms == null ? "–" : `${Math.round(s.freshness.p99_ms)} ms`;
  } catch {
    $("status-lag").textContent = "unreachable";
  }
}

let typing;
$("q").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => { state.q = $("q").value.trim(); state.page = 1; search(); }, 200);
});
$("search").addEventListener("submit", (event) => { event.preventDefault(); state.q = $("q").value.trim(); state.page = 1; search(); });
$("token22").addEventListener("change", () => { state.token22 = $("token22").checked; state.page = 1; search(); });
$("previous").addEventListener("click", () => { state.page--; search(); });
$("next").addEventListener("click", () => { state.page++; search(); });
addEventListener("popstate", () => { readURL(); search(); });

readURL();
search();
refreshStatus();
setInterval(refreshStatus, 5000);
