// The reference at /docs: this node's answers as the examples of responses, and try-it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { base, browser, get, open, until } from "./browser.mjs";

before(() => until("trades", async () => (await get("/venues").catch(() => ({ venues: [] }))).venues.length > 0));
after(() => browser.close());

const operation = (page, name) => page.locator(`[id='api-1/tag/tokens/${name}']`);

/** reference opens the page with all its examples: it goes without those that a busy node refused. */
const reference = (look) =>
  open("/docs?plain", async (page) => {
    await until("answers to all that the page asked", async () => {
      let refused = 0;
      const count = (response) => (refused += response.status() === 503);
      page.on("response", count);
      await page.goto(`${base}/docs`);
      await page.waitForSelector("text=Search the registry"); // it asks for examples before it shows anything
      page.off("response", count);
      return refused === 0;
    });
    await look(page);
  });

/** example is the JSON that the page shows as the response of an operation. */
async function example(page, name) {
  const section = operation(page, name);
  await section.scrollIntoViewIfNeeded();
  return until(`an example of ${name}`, async () => {
    for (const text of await section.locator("code").allTextContents()) if (/^\s*[{[]\s*\n/.test(text)) return JSON.parse(text);
  });
}

test("examples of responses are this node's own answers", () =>
  reference(async (page) => {
    const found = await example(page, "GET/tokens");
    const mints = found.items.map(({ mint }) => mint);
    assert.equal(mints.length, 2);
    for (const mint of mints) assert.equal((await get(`/tokens/${mint}`)).mint, mint);
    const token = await example(page, "GET/tokens/{mint}");
    const real = await get(`/tokens/${token.mint}`);
    for (const field of ["symbol", "name", "decimals", "mint_authority", "first_seen_at", "metaplex_uri"]) assert.deepEqual(token[field], real[field], field);
    assert.deepEqual(Object.keys(token).sort(), Object.keys(real).sort(), "the fields are those of the answer");
    const history = await example(page, "GET/tokens/{mint}/history");
    const entries = (await get(`/tokens/${token.mint}/history?limit=200`)).items;
    for (const { position } of history.items) assert.ok(entries.some((entry) => entry.position === position), `${position} is in the history`);
    const { venues } = await example(page, "GET/venues");
    assert.ok(venues.length > 0 && venues[0].volume_usd > 0);
    for (const name of ["GET/tokens", "GET/tokens/{mint}", "POST/tokens/batch", "GET/venues"]) {
      const shown = await operation(page, name).textContent();
      assert.ok(shown.includes(`curl ${base}/`) || shown.includes(`curl '${base}/`), `${name}: this server's address in curl`);
    }
  }));

test("a request can be tried", () =>
  open("/docs", async (page) => {
    await page.waitForSelector("text=Search the registry");
    const section = operation(page, "GET/tokens");
    await section.scrollIntoViewIfNeeded();
    await section.getByRole("button", { name: /Test Request/ }).click();
    const send = page.getByRole("button", { name: /^Send/ }).first();
    await send.waitFor();
    const [answer] = await Promise.all([page.waitForResponse((response) => new URL(response.url()).pathname === "/tokens"), send.click()]);
    assert.equal(answer.status(), 200);
    assert.equal(new URL(answer.url()).search, "?q=usdc&limit=5", "what the reference shows is what is sent");
    const { items } = await answer.json();
    assert.ok(items.length > 0);
    await page.waitForSelector("[role=dialog] >> text=200 OK");
    await until("the answer in the page", async () => (await page.locator("[role=dialog]").textContent()).includes(items[0].mint));
  }));
