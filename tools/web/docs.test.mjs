// The documentation at /docs: pages that can be read and left again, this node's answers as the
// examples of operations, and forms that send requests.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { base, browser, clean, dark, get, open, phone, picture, swap, until } from "./browser.mjs";

before(() => until("trades", async () => (await get("/venues").catch(() => ({ venues: [] }))).venues.length > 0));
after(() => browser.close());

const operations = "/docs?page=token-operations";
const section = (page, name) => page.locator(`#${name}`);

/** example is the JSON that the page shows as this node's answer to an operation. */
async function example(page, name) {
  const answer = section(page, name).locator(".answer").first();
  await section(page, name).scrollIntoViewIfNeeded();
  return until(`an example of ${name}`, async () => {
    const text = await answer.textContent();
    return text !== "…" && JSON.parse(text);
  });
}

/** wide is how much a page is wider than its window. */
const wide = (page) => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);

for (const [name, options] of Object.entries({ "a desk in the light": {}, "a desk in the dark": dark, "a phone in the light": phone, "a phone in the dark": { ...phone, ...dark } })) {
  test(`every page can be read on ${name}`, () =>
    open("/docs", async (page) => {
      await page.waitForSelector("h1:has-text('start here')");
      assert.ok((await page.textContent("main")).includes(`curl "${base}/tokens?q=usdc`), "commands name this node");
      if (name.endsWith("light")) await picture(page, `docs-${name.split(" ")[1]}`);
      const all = await page.$$eval("#menu a", (links) => links.map((link) => link.getAttribute("href")));
      assert.ok(all.length > 12);
      // All on a desk. Elsewhere those that have of every kind of content.
      const links = name === "a desk in the light" ? all : all.filter((link) => /=(apis|gateway-reference|token-operations|swap-operations)$/.test(link));
      for (const link of links) {
        await page.goto(base + link);
        if (link.endsWith("-operations")) await page.waitForSelector("#operations .operation");
        assert.equal(await page.getAttribute("#menu a[aria-current]", "href"), link);
        assert.equal(await page.locator("h1").count(), 1);
        assert.ok((await wide(page)) <= 0, `${link}: nothing stands out at the side`);
        await clean(page);
      }
      await page.click("header .brand");
      await page.waitForSelector("main .tokens a.row");
    }, options));
}

test("the plain page can be read, too", () =>
  open("/docs?plain", async (page) => {
    await clean(page);
    await page.click("a:text-is('Explorer')");
    await page.waitForSelector("main .tokens a.row");
  }));

test("a page that is not there is told, and leads on", () =>
  open("/docs?page=nothing", async (page) => {
    await page.click("#menu a:has-text('Token API: guide')");
    await page.waitForSelector("h1:text-is('The token API')");
    await page.click("main a:has-text('search order')");
    await page.waitForSelector("h2#search-order");
    assert.equal(new URL(page.url()).hash, "#search-order");
  }, { expected: /status of 404/ }));

test("examples of answers are this node's own", () =>
  open(operations, async (page) => {
    await page.waitForSelector("#searchTokens");
    const found = await example(page, "searchTokens");
    const mints = found.items.map(({ mint }) => mint);
    assert.equal(mints.length, 2);
    for (const mint of mints) assert.equal((await get(`/tokens/${mint}`)).mint, mint);
    const token = await example(page, "getToken");
    const real = await get(`/tokens/${token.mint}`);
    for (const field of ["symbol", "name", "decimals", "mint_authority", "first_seen_at", "metaplex_uri"]) assert.deepEqual(token[field], real[field], field);
    assert.deepEqual(Object.keys(token).sort(), Object.keys(real).sort(), "the fields are those of the answer");
    const history = await example(page, "getHistory");
    const entries = (await get(`/tokens/${token.mint}/history?limit=200`)).items;
    for (const { position } of history.items) assert.ok(entries.some((entry) => entry.position === position), `${position} is in the history`);
    const { venues } = await example(page, "getVenues");
    assert.ok(venues.length > 0 && venues[0].volume_usd > 0);
    const holders = await example(page, "getHolders");
    assert.ok(holders.items.length > 0, "of a mint of this node");
    for (const name of ["searchTokens", "getToken", "resolveTokens", "getVenues"])
      assert.ok((await section(page, name).textContent()).includes(`curl '${base}/`), `${name}: this server's address in curl`);
    // All that can be opened, on one operation: fields in fields, statuses, the form.
    for (const summary of await section(page, "searchTokens").locator("summary").all()) await summary.click();
    await section(page, "searchTokens").locator(".fields li code:text-is('symbol')").first().waitFor();
    await section(page, "searchTokens").locator(".try button").waitFor();
    await clean(page);
  }));

test("a request can be tried", () =>
  open(`${operations}#searchTokens`, async (page) => {
    const one = section(page, "searchTokens");
    await one.locator("summary:text-is('Try it')").click();
    const sent = (button) => Promise.all([page.waitForResponse((response) => new URL(response.url()).pathname === "/tokens" && response.request().resourceType() === "fetch" && new URL(response.url()).searchParams.has("q")), button.click()]);
    const [answer] = await sent(one.getByRole("button", { name: "Send" }));
    assert.equal(new URL(answer.url()).search, "?q=usdc&limit=5", "what the page shows is what is sent");
    const { items } = await answer.json();
    assert.ok(items.length > 0);
    await one.locator(".try .status:has-text('200')").waitFor();
    assert.ok((await one.locator(".try .answer").textContent()).includes(items[0].mint));
    await one.locator(".try label:has(code:text-is('limit')) input").fill("0");
    assert.ok((await one.locator(".try pre").first().textContent()).includes("limit=0"), "the command follows what is typed");
    await sent(one.getByRole("button", { name: "Send" }));
    await one.locator(".try .status:has-text('400')").waitFor();
    assert.match(await one.locator(".try .answer").textContent(), /must be a whole number from 1 to 200/);
    await clean(page);
  }, { expected: /status of 400/ }));

test("the swap API is beside it, and can be tried", () =>
  open("/docs?page=swap-operations", async (page) => {
    const one = section(page, "getQuote");
    await one.locator("summary:text-is('Try it')").click();
    assert.ok((await one.locator(".try pre").first().textContent()).includes(`curl '${swap}/api/v2/quote?src_mint=`));
    await one.getByRole("button", { name: "Send" }).click();
    await one.locator(".try .status:has-text('200')").waitFor();
    assert.ok(JSON.parse(await one.locator(".try .answer").textContent()).amount_out > 0);
    await clean(page);
  }));
