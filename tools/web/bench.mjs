// make bench-web: how long a visitor waits for the first page and for the first result of a search,
// as it is and with the processor slowed four times, the median of five each. Fails when the slowed
// result takes more than four times as long.
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { base, browser, get, until } from "./browser.mjs";

const slowdown = 4;
const rounds = 5;

/** visit is one: milliseconds to the first row, and from the first key to the first result. */
async function visit(rate) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 900 } }); // nothing is cached
  try {
    const page = await context.newPage();
    const session = await context.newCDPSession(page);
    await session.send("Emulation.setCPUThrottlingRate", { rate });
    await page.addInitScript(() => {
      globalThis.seen = {};
      const painted = (name) => requestAnimationFrame(() => (globalThis.seen[name] ??= performance.now()));
      new MutationObserver(() => {
        if (document.querySelector("main .tokens a.row")) painted("row");
        if (document.querySelector("#hits li")) painted("hit");
      }).observe(document, { childList: true, subtree: true });
      addEventListener("keydown", () => (globalThis.seen.key ??= performance.now()), { capture: true, once: true });
    });
    await page.goto(base);
    await page.waitForFunction(() => globalThis.seen.row);
    await page.focus("#q");
    await page.keyboard.type("lake");
    await page.waitForFunction(() => globalThis.seen.hit);
    const { row, key, hit } = await page.evaluate(() => globalThis.seen);
    return { page: row, result: hit - key };
  } finally {
    await context.close();
  }
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

await until("a token named LAKE", async () => (await get("/tokens?q=lake")).items.length > 0);
await visit(1); // what is read once
const times = { 1: [], [slowdown]: [] };
for (let round = 0; round < rounds; round++) for (const rate of [1, slowdown]) times[rate].push(await visit(rate)); // in turns
await browser.close();

const of = (rate, what) => Math.round(median(times[rate].map((one) => one[what])));
const figures = Object.fromEntries(["page", "result"].map((what) => [what, { unslowed_ms: of(1, what), slowed_ms: of(slowdown, what) }]));
for (const [what, { unslowed_ms, slowed_ms }] of Object.entries(figures)) console.log(`${what}: ${unslowed_ms} ms, slowed ${slowdown} times ${slowed_ms} ms (${(slowed_ms / unslowed_ms).toFixed(1)} times)`);
if (process.env.BENCH_OUT) {
  mkdirSync(process.env.BENCH_OUT, { recursive: true });
  writeFileSync(`${process.env.BENCH_OUT}/bench-web.json`, JSON.stringify({ slowdown, rounds, ...figures }, null, 2));
}
assert.ok(figures.result.slowed_ms <= slowdown * figures.result.unslowed_ms, `the first result takes more than ${slowdown} times as long`);
