// The pages over tokens whose makers attack whoever looks at them: each of the payloads is a token of the chain with a document.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { base, browser, get, open, phone, until } from "./browser.mjs";
import { inked, judge, watch } from "./hostile.mjs";
import { bidirectional, examples, payloads, towers } from "./payloads.mjs";
import { tokenOf } from "./strangers.mjs";

const tabs = 4; // at once
const sol = "So11111111111111111111111111111111111111112";
const elsewhere = ["https://www.tradingview.com"]; // the footer's link
const refused = /status of 4(00|04|14)/; // what the API says of a question that makes no sense
let mints;
let renamed;

/** made makes or renames tokens on the chain, and returns their mints. */
function made(wanted) {
  return new Promise((resolve, reject) => {
    const child = execFile(process.env.TOKENS, [process.env.MINTLAKE_RPC], (error, stdout, stderr) => (error ? reject(new Error(stderr || String(error))) : resolve(JSON.parse(stdout))));
    child.stdin.end(JSON.stringify(wanted));
  });
}

/** rename gives texts to tokens that trade. Their makers are wallets of the demo, and not all of them may do so any more. */
async function rename() {
  const traded = await until("tokens of Token-2022 that trade", async () => {
    const { items } = await get("/tokens?sort=volume&min_volume=1&limit=200&program=token-2022&market=true");
    return items.filter((token) => token.update_authority && token.market?.price_usd).length > 2 && items;
  });
  const texts = [...bidirectional, ...towers, "W".repeat(300), "</title><script>pwned()</script>"].map((text) => Buffer.from(text).toString("base64"));
  const wanted = traded.slice(0, texts.length).flatMap(({ mint, update_authority: authority, metaplex_uri: uri }, n) =>
    authority ? [{ mint, authority, program: "token-2022", name: texts[n], symbol: texts[n], uri: Buffer.from(uri ?? "").toString("base64") }] : [],
  );
  const done = (await made(wanted)).filter((mint) => mint !== "");
  assert.ok(done.length > 0, "one of them could be renamed");
  return done;
}

before(async () => {
  mints = await made(payloads.map((_, n) => tokenOf(n, process.env.DOCUMENTS)));
  renamed = await rename();
  await until("all of them with their documents", async () => {
    const response = await fetch(`${base}/tokens/batch`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ mints }) });
    if (!response.ok) return false;
    const { items } = await response.json();
    const without = payloads.filter((payload, n) => /[!-~]/.test(payload) && !items.find(({ mint }) => mint === mints[n])?.description);
    return items.length === mints.length && without.length === 0;
  });
});
after(() => browser.close());

/** spread shares work among tabs. */
const spread = (items, work) => Promise.all(Array.from({ length: tabs }, (_, tab) => work(items.filter((_, n) => n % tabs === tab))));

/** look opens a path and holds what look does there to the rules; nothing of a text may run, or open a window. */
const look = (path, act, options) =>
  open("/coverage", async (page) => {
    const seen = await watch(page.context());
    await page.goto(base + path);
    await act(page);
    assert.deepEqual(seen, []);
  }, options);

/** to goes to another page without a load, as links do. */
const to = (page, path) =>
  page.evaluate((url) => {
    history.pushState(null, "", url);
    dispatchEvent(new PopStateEvent("popstate"));
  }, path);

test("the page of each token", () =>
  spread(mints, (some) =>
    look(`/token/${some[0]}`, async (page) => {
      // Each has a history, of the same texts, but it takes longest to read: some are enough.
      let whole = true;
      // Nobody goes through so many: each that lingers would have a stream, of which a client may have eight.
      await page.route(/\/trades\/stream\?/, (route) => route.fulfill({ contentType: "text/event-stream", body: "retry: 3600000\n\n" }));
      // Of the others what has no text of theirs is left out too: nobody trades them, and each answer is a query of ClickHouse.
      const none = { items: [], next: null, candles: [], trades: [], pools: [], points: [], total: 0, complete: false };
      await page.route(/\/tokens\/\w+\/(history|ohlcv|trades|pools|holders|holders\/history|transfers)\?/, (route) => (whole ? route.continue() : route.fulfill({ json: none })));
      for (const mint of some) {
        whole = some.indexOf(mint) % 8 === 0 || bidirectional.includes(payloads[mints.indexOf(mint)]);
        await to(page, `/token/${mint}`);
        await page.waitForSelector(`article.token .mint code:text-is("${mint}")`);
        const payload = payloads[mints.indexOf(mint)];
        await page.evaluate(() => document.querySelector("article details").toggleAttribute("open", true));
        if (whole) await page.waitForSelector(".history > li");
        await judge(page, `${mint}: ${JSON.stringify(payload)}`, { elsewhere });
      }
    }, phone),
  ));

test("lists", () =>
  spread(Array.from({ length: Math.ceil(payloads.length / 25) + 1 }, (_, n) => n + 1), (some) =>
    look("/new", async (page) => {
      await page.waitForSelector("main a.row");
      await judge(page, "/new", { elsewhere });
      for (const number of some) {
        const path = `/?sort=newest&page=${number}`;
        await to(page, path);
        await page.waitForSelector("main [aria-busy=false] a.row");
        for (const viewport of [phone.viewport, { width: 1180, height: 900 }]) {
          await page.setViewportSize(viewport);
          await judge(page, path, { elsewhere });
        }
      }
    }),
  ));

test("hits of a search, and what was typed", () =>
  spread(payloads.filter((_, n) => n % 3 === 0).concat(bidirectional, towers), (some) =>
    look("/", async (page) => {
      await page.waitForSelector("main a.row");
      for (const payload of some) {
        const asked = page.waitForResponse((response) => new URL(response.url()).searchParams.get("evidence") === "true" && response.url().includes("/tokens?q="));
        await page.fill("#q", mints[payloads.indexOf(payload)]);
        await asked;
        await page.waitForSelector("#hits li");
        await judge(page, JSON.stringify(payload), { elsewhere });
        await page.fill("#q", payload);
        if (payload.trim() === "") continue;
        await page.waitForFunction(() => document.querySelector("#hits li, .hits p")?.textContent !== "…");
        await judge(page, JSON.stringify(payload), { elsewhere });
      }
    }, { ...phone, expected: refused }),
  ));

test("texts in addresses", () =>
  spread(payloads, (some) =>
    look("/", async (page) => {
      for (const [n, payload] of some.entries()) {
        const text = encodeURIComponent(payload.toWellFormed());
        const path = [`/?q=${text}`, `/?tag=${text}&ext=${text}&sort=${text}`, `/?age=${text}&page=${text}&launchpad=${text}`, `/token/${text}`, `/quote?from=${text}&to=${text}&amount=${text}&slippage=${text}`, `/movers?by=${text}`, `/${text}`][n % 7];
        await to(page, path);
        await page.waitForFunction(() => !document.querySelector("main > .empty, main [aria-busy=true]") || document.querySelector("main .problem, main h1"));
        await judge(page, path, { elsewhere });
      }
    }, { ...phone, expected: refused }),
  ));

test("tokens that trade, after they were renamed", () =>
  look("/coverage", async (page) => {
    const items = await Promise.all(renamed.map((mint) => get(`/tokens/${mint}?evidence=true&market=true`)));
    await page.route("**/tokens?sort=volume&limit=24&*", (route) => route.fulfill({ json: { items, total: items.length } })); // they need not be the first 24
    await to(page, "/movers");
    await page.waitForSelector("main a.row.mover");
    await page.waitForSelector(".empty", { state: "detached" });
    await judge(page, "/movers", { elsewhere });
    for (const mint of renamed.slice(0, 6)) {
      await to(page, `/token/${mint}`);
      await page.waitForSelector(".pools li");
      await page.waitForSelector(".chart canvas");
      await page.waitForSelector(".history > li s");
      await judge(page, mint, { elsewhere });
      await to(page, `/quote?from=${sol}&to=${mint}&amount=1`);
      await page.waitForSelector(".ways li, .problem");
      await judge(page, `quote of ${mint}`, { elsewhere });
    }
  }, { ...phone, expected: refused }));

test("no text draws upon what stands beside it", () =>
  look("/", async (page) => {
    for (const payload of towers) {
      const mint = mints[payloads.indexOf(payload)];
      await to(page, `/?q=${mint}`);
      const row = page.locator(`main a.row[href='/token/${mint}']`);
      await row.waitFor();
      assert.equal(await inked(page, row), 0, `the row of ${JSON.stringify(payload)}`);
      await row.click();
      await page.waitForSelector("article.token h1 bdi");
      for (const place of ["h1 bdi >> nth=0", ".about"]) assert.equal(await inked(page, page.locator(`article.token ${place}`)), 0, `${place} of ${JSON.stringify(payload)}`);
    }
  }));

test("the documentation shows them in its examples, and what a request answers", () =>
  look("/docs?plain", async (page) => {
    await judge(page, "/docs?plain");
    for (const path of ["/llms.txt", "/openapi.json"]) {
      const type = (await fetch(base + path)).headers.get("content-type");
      assert.match(type, /^(text\/plain|application\/json)/, path);
    }
    const shown = examples.map((payload) => mints[payloads.indexOf(payload)]);
    const items = await Promise.all(shown.map((mint) => get(`/tokens/${mint}`)));
    // The token that trades most is the example; here it is one of these.
    await page.route("**/tokens?limit=1&fields=mint,holders", (route) => route.fulfill({ json: { items: [{ mint: shown[0] }] } }));
    await page.route("**/tokens?q=usdc&limit=5", (route) => route.fulfill({ json: { items: items.slice(1), total: 2 } }), { times: 1 });
    await page.goto(`${base}/docs?page=token-operations`);
    for (const [name, mint] of [["searchTokens", shown[1]], ["getToken", shown[0]], ["resolveTokens", shown[0]]]) {
      const section = page.locator(`#${name}`);
      await section.scrollIntoViewIfNeeded();
      await section.locator(`.answer:has-text("${mint}")`).waitFor();
      await judge(page, `/docs, ${name}`);
    }
    const section = page.locator("#searchTokens");
    await section.locator("summary:text-is('Try it')").click();
    for (const mint of shown) {
      await section.locator("label:has(code:text-is('q')) input").fill(mint);
      await section.getByRole("button", { name: "Send" }).click();
      await section.locator(`.try .answer:has-text('"${mint}"')`).waitFor();
      await judge(page, `/docs, the answer with ${mint}`);
    }
  }, phone));
