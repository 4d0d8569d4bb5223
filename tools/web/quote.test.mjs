// The page to try a quote, over the swap API of a running demo.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { base, browser, clean, dark, get, open, phone, picture, swap, until } from "./browser.mjs";

const lake = "2jkr4DGiCE9faYHcjYijNhn95EQ4nWqWYwTypfuUZzg9";
const sol = "So11111111111111111111111111111111111111112";
const usdc = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
const overSOL = `/quote?from=${lake}&to=${usdc}&amount=1.5&slippage=50`;

before(() => until("the three tokens", async () => (await Promise.all([lake, sol, usdc].map((mint) => get(`/tokens/${mint}`).catch(() => null)))).every(Boolean)));
after(() => browser.close());

test("a quote is drawn with its route, pools, costs and age", () =>
  open(overSOL, async (page) => {
    await page.waitForSelector(".ways .hop >> nth=1");
    // What the page shows, and as it came; at once, because the page goes on asking.
    const [pools, quote] = await page.$$eval(".hop code", (all) => [all.map((pool) => pool.title), JSON.parse(document.querySelector("pre").textContent)]);
    assert.deepEqual(pools, quote.route.map((leg) => leg.pool), "each pool, in the order of the route");
    assert.match(await page.textContent(".ways .node >> nth=0"), /^100 %.*LAKE/s);
    // Raw until the tokens' decimals are there.
    await until("fees in units of the tokens", async () => {
      const costs = await page.$$eval(".cost", (all) => all.map((one) => one.textContent));
      return costs.length > 0 && costs.every((cost) => /pool fee [0-9.]+ (LAKE|SOL|USDC) \(0\.25 %\)/.test(cost));
    });
    assert.match(await page.textContent(".age"), /^[0-9.]+ s old/);
    assert.match(await page.textContent(".figures"), /[0-9,]+ bytes, [0-9,]+ in version 1/);
    await until("the value of both sides by the price that the rows say", async () => {
      const price = (await get(`/tokens/${lake}?fields=price_usd`)).price_usd;
      const [bought, sold] = await page.$$eval("dt:has-text('Value') + dd span", (all) => all.map((one) => Number(one.title.replace(/[$,]/g, ""))));
      return price > 0 && Math.abs(sold - 1.5 * price) < 1e-5 && bought > 0;
    });
    await until("the whole share is drawn thick", async () => {
      const thick = await page.$$eval(".way", (all) => all.map((line) => line.getBoundingClientRect().height));
      return thick.length === 4 && thick.every((height) => height > 10);
    });
    await page.waitForSelector("summary:has-text('venues are not quoted')");
    await clean(page);
    await picture(page, "explorer-quote");
  }));

test("tokens and amounts are chosen by keyboard, and a link shows the same", () =>
  open("/quote", async (page) => {
    await page.waitForSelector(".hop");
    await page.fill("#from", "lake");
    await page.waitForSelector("#from-hits li:has-text('Mintlake')");
    await page.keyboard.press("Enter");
    await page.waitForURL(new RegExp(`from=${lake}`));
    await page.fill("#amount", "2,5x");
    await page.waitForSelector("small:has-text('a number above 0')");
    await page.fill("#amount", "2.5");
    await page.waitForURL(/amount=2\.5&/);
    await page.waitForSelector(".ways .hop >> nth=1");
    await page.reload();
    await page.waitForSelector(".price:has-text('2.5 LAKE')");
    await page.click("button[aria-label='Exchange the two tokens']");
    await page.waitForSelector(".price:has-text('for 2.5 USDC')");
  }));

test("Enter waits for the answer to what was typed", () =>
  open("/quote", async (page) => {
    await page.waitForSelector(".hop");
    const { items } = await get("/tokens?limit=5&fields=mint,symbol,name,decimals,logo_status,is_token22");
    const lookalike = { ...items.find(({ mint }) => ![lake, sol, usdc].includes(mint)), symbol: "LAKE" };
    await page.route("**/tokens?q=lak&*", (route) => route.fulfill({ json: { items: [lookalike], page: 1, limit: 8, total: 1 } }));
    const asked = [];
    await page.route("**/tokens?q=lake&*", (route) => asked.push(route)); // no answer yet
    await page.fill("#to", "lak");
    await page.waitForSelector("#to-hits li");
    await page.fill("#to", "lake");
    await page.keyboard.press("Enter");
    await until("the question", () => asked.length > 0);
    assert.equal(await page.locator("#to-hits li").count(), 1, "what is known already is shown");
    for (const route of asked) await route.continue();
    await page.waitForURL(/[?&]to=/);
    assert.equal(new URL(page.url()).searchParams.get("to"), lake);
    await until("the token is shown", async () => (await page.inputValue("#to")) === "LAKE");
    await page.keyboard.type("nothing has this name");
    assert.equal(await page.inputValue("#to"), "nothing has this name", "it takes the token's place");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".hits p:has-text('No token matches')");
    assert.equal(await page.inputValue("#to"), "nothing has this name", "what was typed stays");
  }));

test("a comma is no decimal point", () =>
  open("/quote?amount=1,5", async (page) => {
    await page.waitForSelector("small:has-text('decimals behind a point')");
    assert.equal(await page.locator(".ways").count(), 0);
    const asked = page.waitForRequest(/amount_in=1250500000000&/);
    await page.fill("#amount", "1,250.5");
    await asked;
  }));

test("tokens that are not known are told", async () => {
  const nobody = "SysvarRent111111111111111111111111111111111";
  await open(`/quote?from=${nobody}&to=${usdc}`, async (page) => {
    await page.waitForSelector(".problem:has-text('Sysva…11111 is not in the registry')");
    await clean(page);
  }, { expected: /status of 404/ }); // the swap API knows no pools of it
  await open("/coverage", async (page) => {
    await page.route("**/tokens/batch?*", (route) => route.fulfill({ status: 500, json: { message: "it is broken" } }));
    await page.click("header nav a:has-text('Quote')");
    await page.waitForSelector(".problem:has-text('it is broken')");
  }, { expected: /status of 500/ });
});

test("pools that are refused are named with the reason, and an error is told", () =>
  open("/quote", async (page) => {
    // The node's own quote with a refused pool: the demo's pools all trade.
    const refused = { pool: lake, code: "no_liquidity", reason: "the pool does not trade now: swaps are disabled" };
    await page.route(`${swap}/api/v2/quote?*`, async (route) => {
      const response = await route.fetch();
      if (!response.ok()) return route.fulfill({ response });
      const quote = await response.json();
      quote.venues = [{ venue: "raydium_cpmm", pools: 2, refused: [refused] }];
      await route.fulfill({ json: quote, headers: { "Access-Control-Allow-Origin": base } });
    });
    await page.waitForSelector(".refused:has-text('swaps are disabled')");
    await clean(page);
    await page.unroute(`${swap}/api/v2/quote?*`);
    await page.fill("#amount", "99999999999");
    await page.waitForSelector(".problem");
    await clean(page);
  }, { expected: /status of 4/ }));

test("three pools in a row and pools side by side are drawn", () =>
  open(overSOL, async (page) => {
    await page.route(`${swap}/api/v2/quote?*`, async (route) => {
      const response = await route.fetch();
      if (!response.ok()) return route.fulfill({ response });
      const quote = await response.json();
      const leg = (pool, src_mint, dst_mint, amount_in, amount_out) => ({ ...quote.route[0], pool, src_mint, dst_mint, amount_in, amount_out, fees: [] });
      const legs = [leg(lake, lake, sol, "750000", "3000000000"), leg(sol, lake, sol, "250000", "1000000000"), leg(usdc, sol, "5".repeat(44), "4000000000", "77"), leg(lake + "1", "5".repeat(44), usdc, "77", "9")];
      const direct = leg(sol + "1", lake, usdc, "500000", "4");
      const way = (share_bps, legs) => ({ share_bps, one_instruction: false, amount_in: legs[0].amount_in, amount_out: legs.at(-1).amount_out, legs });
      Object.assign(quote, { route: [...legs, direct], routes: [way(7000, legs), way(3000, [direct])] });
      await route.fulfill({ json: quote, headers: { "Access-Control-Allow-Origin": base } });
    });
    await page.waitForSelector(".ways li >> nth=1");
    const drawn = await page.$$eval(".ways li", (ways) => ways.map((way) => [...way.querySelectorAll(".hops")].map((stage) => stage.querySelectorAll(".hop").length)));
    assert.deepEqual(drawn, [[2, 1, 1], [1]]);
    assert.match(await page.textContent(".hops >> nth=0"), /75 %.*25 %/s);
    await until("what both pools give together", async () => /^4 \W*SOL/.test(await page.textContent(".ways .node >> nth=1")));
    await clean(page);
  }));

test("a swap API with keys is asked with the one that a person types", () =>
  open("/quote", async (page) => {
    const keys = [];
    await page.route(`${swap}/api/v2/quote?*`, (route) => {
      const key = route.request().headers()["x-api-key"];
      if (key) keys.push(key);
      return key ? route.continue() : route.fulfill({ status: 401, headers: { "Access-Control-Allow-Origin": base }, json: { message: "a key is needed in the header X-API-KEY" } });
    });
    await page.waitForSelector(".problem:has-text('X-API-KEY')");
    await page.fill("#key", "secret");
    await page.waitForSelector(".hop");
    assert.ok(keys.includes("secret") && !page.url().includes("secret"));
  }, { expected: /status of 401/ }));

test("a phone in the dark shows the route", () =>
  open(
    overSOL,
    async (page) => {
      await page.waitForSelector(".ways .hop >> nth=1");
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - screen.width)) <= 0, "nothing stands out at the side");
      await clean(page);
    },
    { ...phone, ...dark },
  ));
