// What a visitor sees when answers are late, refused, missing or odd, over a running demo.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { base, browser, clean, get, open, until } from "./browser.mjs";

const lake = "2jkr4DGiCE9faYHcjYijNhn95EQ4nWqWYwTypfuUZzg9"; // of the demo's genesis, and traded throughout
const rows = "main .tokens a.row";

before(() => until("four tokens that trade", async () => (await get("/tokens?min_volume=1&limit=1").catch(() => ({ total: 0 }))).total >= 4));
after(() => browser.close());

/** to opens a page by its link, without a load. */
const to = (page, name) => page.click(`header nav a:text-is("${name}")`);

test("a page that was opened in a tab behind loads when it is looked at", () =>
  open("/coverage", async (page) => {
    await page.addInitScript(() => {
      let hidden = true;
      Object.defineProperty(document, "hidden", { get: () => hidden });
      globalThis.look = () => {
        hidden = false;
        document.dispatchEvent(new Event("visibilitychange"));
      };
    });
    const asked = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    // It asks each 30 s, and the page of quotes once and no more.
    for (const [path, question, shown] of [["/volume", "/venues", ".venues tbody tr"], ["/quote", "/api/v2/venues", "summary:has-text('not quoted')"]]) {
      await page.goto(base + path);
      await page.waitForSelector("h1");
      assert.ok(!asked.includes(question), "nobody looks");
      await page.evaluate(() => globalThis.look());
      await until(question, () => asked.includes(question), 15);
      await page.waitForSelector(shown);
    }
  }));

test("a price is rounded before its zeros are counted", () =>
  open("/coverage", async (page) => {
    const prices = { 0.99996: "$1.0000", 0.0999996: "$0.1", 0.00001234: "$0.0₄1234", 1e-21: "$0.0₂₀1", 0.9876: "$0.9876" };
    await page.route("**/tokens?limit=25&*", async (route) => {
      const answer = await (await route.fetch()).json();
      const items = Object.keys(prices).map((price, at) => ({ ...answer.items[at], market: { price_usd: Number(price) } }));
      await route.fulfill({ json: { ...answer, items } });
    });
    await to(page, "Tokens");
    await page.waitForSelector(rows);
    assert.deepEqual((await page.$$eval(`${rows} [data-label=Price]`, (all) => all.map((cell) => cell.textContent))).toSorted(), Object.values(prices).toSorted());
  }));

test("new tokens go on after the feed was refused", () =>
  open("/coverage", async (page) => {
    let feeds = 0;
    let lists = 0;
    await page.route("**/tokens/stream?*", (route) => (feeds++ === 0 ? route.fulfill({ status: 503, json: { message: "the registry is still loading" } }) : route.continue()));
    page.on("request", (request) => (lists += request.url().includes("/tokens?sort=newest")));
    await Promise.all([page.waitForSelector(".live:text-is('connecting')"), to(page, "New")]);
    await page.waitForSelector(".live.on");
    assert.equal(feeds, 2);
    await until("the list anew: what came meanwhile is in no feed", () => lists === 2);
  }, { expected: /status of 503|MIME type/ }));

test("trades go on as they come after their stream was refused", () =>
  open("/coverage", async (page) => {
    let streams = 0;
    await page.route("**/trades/stream?*", (route) => (streams++ === 0 ? route.fulfill({ status: 503, json: { message: "the registry is still loading" } }) : route.continue()));
    await page.goto(`${base}/token/${lake}`);
    await page.waitForSelector("small:text-is('as they come')");
    assert.equal(streams, 2);
  }, { expected: /status of 503|MIME type/ }));

test("a search that found nothing is asked again", () =>
  open("/", async (page) => {
    let asked = 0;
    await page.waitForSelector(rows);
    await page.route("**/tokens?q=lake&*", async (route) => (asked++ === 0 ? route.fulfill({ json: { items: [], total: 0, page: 1, limit: 8 } }) : route.continue()));
    await page.fill("#q", "lake");
    await until("the first answer", () => asked === 1);
    await page.fill("#q", "");
    await page.fill("#q", "lake");
    await page.waitForSelector("#hits li");
    assert.equal(asked, 2);
  }));

test("the age of a list moves on while the page is open", () =>
  open("/coverage", async (page) => {
    const times = new Set();
    page.on("request", (request) => {
      const time = new URL(request.url()).searchParams.get("created_after");
      if (time) times.add(Number(time));
    });
    await page.clock.install();
    await page.goto(`${base}/?age=1h&sort=newest`);
    await page.waitForSelector("main [aria-busy=false]");
    await until("a later time", async () => {
      await page.clock.runFor(60_000);
      return times.size > 1;
    });
    const [first, second] = [...times];
    assert.ok(second - first <= 660_000 && second > first, `${first}, ${second}`);
  }));

test("the history of a token begins at its own end", () =>
  open(`/token/${lake}`, async (page) => {
    const asked = [];
    await page.route("**/tokens/*/history?*", async (route) => {
      asked.push(route.request().url());
      if (!route.request().url().includes(lake)) return route.continue();
      const response = await route.fetch();
      await route.fulfill(response.ok() ? { json: { ...(await response.json()), next: "cursor-of-lake" } } : { response });
    });
    await page.reload();
    await page.waitForSelector("button:text-is('Older')");
    const other = await page.getAttribute(".pools a", "href");
    await page.click(`.pools a[href='${other}'] >> nth=0`); // the order may change
    const answered = () => page.waitForResponse((response) => response.url().includes("/history?"));
    await page.waitForURL(base + other);
    await page.waitForSelector(".history > li");
    for (const go of [() => page.goBack(), () => page.goForward()]) {
      await Promise.all([answered(), go()]); // both tokens are known: the page stays, with another token
      await page.waitForSelector(".history > li");
    }
    assert.ok(asked.length >= 4);
    assert.deepEqual(asked.filter((url) => url.includes("before=")), []);
  }));

test("a token that was seen stays while the node is away", () =>
  open("/", async (page) => {
    await page.click(`${rows}[href='/token/${lake}']`);
    await page.waitForSelector("h1:has-text('LAKE')");
    await page.goBack();
    await page.waitForSelector(rows);
    await page.route(`**/tokens/${lake}?evidence=*`, (route) => route.abort());
    await page.goForward();
    await page.waitForSelector("article .problem:has-text('The node does not answer')");
    assert.ok(await page.isVisible("article h1:has-text('LAKE')"));
  }, { expected: /ERR_FAILED/ }));

test("a list stays until the next one is there, which begins at its top", () =>
  open("/", async (page) => {
    await page.waitForSelector(rows);
    const held = [];
    await page.route("**/tokens?*page=2*", (route) => held.push(route));
    const first = await page.getAttribute(rows, "href");
    await page.click("button:text-is('Next')");
    await until("the question", () => held.length > 0);
    assert.equal(await page.getAttribute(rows, "href"), first);
    assert.equal(await page.evaluate(() => scrollY), 0);
    await held[0].continue();
    await page.waitForSelector("[aria-busy=false]");
    assert.notEqual(await page.getAttribute(rows, "href"), first);
  }));

test("a new page has the focus, and the way back leads to the same place", () =>
  open("/", async (page) => {
    const row = page.locator(rows).nth(20);
    await row.scrollIntoViewIfNeeded();
    const place = await page.evaluate(() => scrollY);
    assert.ok(place > 0);
    await row.click();
    await page.waitForSelector("article.token");
    assert.equal(await page.evaluate(() => document.activeElement.id), "main");
    assert.equal(await page.evaluate(() => scrollY), 0);
    await page.goBack();
    await page.waitForSelector(rows);
    await until("the place in the list", async () => (await page.evaluate(() => scrollY)) === place, 10);
  }));
