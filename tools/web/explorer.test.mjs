// What a visitor does, in a browser, over a running demo.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { base, browser, clean, dark, get, open, phone, picture, until } from "./browser.mjs";

const lake = "2jkr4DGiCE9faYHcjYijNhn95EQ4nWqWYwTypfuUZzg9"; // of the demo's genesis, and traded throughout
const usdc = "EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v";
const nowhere = "Sysvar1nstructions1111111111111111111111111"; // an address at which the chain has no mint
const rows = "main .tokens a.row";

before(async () => {
  await until("50 tokens", async () => (await get("/status")).registry.tokens >= 50);
  // Of a second each: a minute's candle takes a minute.
  await until("candles", async () => (await get(`/tokens/${lake}/ohlcv?interval=1s`).catch(() => ({ candles: [] }))).candles.filter(({ close }) => close != null).length >= 2, 480);
});
after(() => browser.close());

test("search by keyboard", () =>
  open("/", async (page) => {
    await page.waitForSelector(rows);
    await page.keyboard.press("/");
    await page.keyboard.type("lake", { delay: 40 });
    // Until the answer is there, the list has what earlier letters found.
    const hit = await page.waitForSelector(`#hits li:has(code:text-is("${lake.slice(0, 5)}…${lake.slice(-5)}"))`);
    assert.match(await hit.textContent(), /LAKE.*Mintlake/s);
    const id = await hit.getAttribute("id"); // tokens that look the same may be traded more
    await picture(page, "explorer-search");
    await clean(page);
    await page.keyboard.press("ArrowDown");
    assert.equal(await page.getAttribute("#q", "aria-activedescendant"), "hit-0");
    await page.keyboard.press("Escape");
    assert.ok(await page.isHidden("#hits"), "Escape closes the list");
    for (let steps = 0; (await page.getAttribute("#q", "aria-activedescendant")) !== id; steps++) {
      assert.ok(steps < 50, `${id} is reached by the arrows`);
      await page.keyboard.press("ArrowDown");
    }
    await page.keyboard.press("Enter");
    await page.waitForURL(`${base}/token/${lake}`);
    await page.waitForSelector("h1:has-text('LAKE')");
    await page.waitForFunction(() => document.title.startsWith("LAKE"));
    await page.goBack();
    await page.keyboard.press("/");
    await page.keyboard.type("usdc");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${base}/?q=usdc`);
    await page.waitForFunction(() => document.querySelector("main [aria-busy=false] a.row b")?.textContent === "USDC");
    await page.goto(`${base}/?sort=oldest`); // an order that no trade changes
    await page.waitForSelector(`${rows} >> nth=1`);
    await until("arrows go from row to row", async () => {
      const [, second] = await page.$$eval(rows, (all) => all.map((row) => row.href));
      await page.focus(`${rows} >> nth=0`);
      await page.keyboard.press("ArrowDown");
      return second && (await page.evaluate(() => document.activeElement.href)) === second;
    }, 20);
  }));

test("each hit has the mark of what is known of it", async () => {
  const symbol = await until("two tokens of one symbol", async () => {
    const symbols = (await get("/tokens?limit=200&fields=symbol")).items.map((token) => token.symbol).filter((text) => /^[A-Z]{3,6}$/.test(text));
    return symbols.find((text, at) => symbols.indexOf(text) < at);
  });
  await open("/", async (page) => {
    await page.waitForSelector(rows);
    const asked = page.waitForResponse((response) => response.ok() && new URL(response.url()).searchParams.get("q") === symbol);
    await page.fill("#q", symbol);
    await page.waitForSelector("#hits .mark");
    const { items } = await (await asked).json(); // what the page has: ranks change with each trade
    const known = new Map(items.map(({ mint, evidence }) => [mint.slice(0, 4), evidence]));
    const hits = await page.$$eval("#hits li", (all) => all.map((hit) => ({ mint: hit.querySelector("code").textContent, mark: hit.querySelector(".mark")?.firstChild.textContent })));
    assert.ok(hits.length >= 2);
    for (const { mint, mark } of hits) {
      const evidence = known.get(mint.slice(0, 4));
      if (evidence.sharing < 2) assert.equal(mark, undefined, mint);
      else if (evidence.rank_by_volume === 1) assert.match(mark, /^1st of \d+$/);
      else assert.match(mark, /^(same symbol|lookalike)$/, mint);
    }
    assert.match(hits[0].mark, /^1st of/, "the one that trades most comes first");
    assert.ok(hits.slice(1).some(({ mark }) => mark && !mark.startsWith("1st")), "and another one is marked");
    await clean(page);
  });
});

test("a search that is refused waits quietly", () =>
  open("/", async (page) => {
    let refused = 0;
    await page.waitForSelector(rows);
    await page.route("**/tokens?q=*", (route) =>
      refused++ === 0 ? route.fulfill({ status: 429, headers: { "Retry-After": "1" }, json: { message: "too many requests" } }) : route.continue(),
    );
    await page.fill("#q", "usdc"); // at once: a busy machine types slower than a person
    await page.waitForSelector("#hits li");
    assert.equal(refused, 2, "it is asked for once, and once more after the refusal");
    assert.equal(await page.locator(".problem").count(), 0);
  }, { expected: /status of 429/ }));

test("a token that is made now appears live", () =>
  open("/new", async (page) => {
    await page.waitForSelector(rows);
    await page.waitForSelector(".live.on");
    const hrefs = () => page.$$eval(rows, (all) => all.map((row) => row.getAttribute("href")));
    const known = await hrefs();
    const made = await until("a token that was not there, above those that were", async () => (await hrefs()).slice(0, 1).find((href) => !known.includes(href)));
    const [token, last] = await Promise.all([made, known[0]].map((href) => get(`/tokens/${href.split("/").at(-1)}`)));
    assert.ok(token.first_seen_at >= last.first_seen_at, "it is newer than what was there");
    await clean(page);
  }));

test("a token's page draws candles", () =>
  open(`/token/${lake}?interval=1s`, async (page) => {
    await page.waitForSelector(".chart canvas");
    // The colours of rising and falling candles, counted in what was really drawn.
    const colours = await until("drawn candles", () =>
      page.evaluate(() => {
        const style = getComputedStyle(document.documentElement);
        const wanted = ["--up", "--down"].map((name) => style.getPropertyValue(name).trim().slice(1).match(/../g).map((hex) => parseInt(hex, 16)));
        let found = 0;
        for (const canvas of document.querySelectorAll(".chart canvas")) {
          if (canvas.width === 0 || canvas.height === 0) continue; // not laid out yet
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          for (let at = 0; at < data.length; at += 4) if (wanted.some((rgb) => rgb.every((part, n) => Math.abs(part - data[at + n]) < 4))) found++;
        }
        return found > 300 ? found : 0;
      }),
    );
    assert.ok(colours > 300);
    for (const heading of ["What others can do", "Pools", "History", "Facts and where they came from"]) await page.waitForSelector(`h2:has-text("${heading}")`);
    await page.waitForSelector(".pools li");
    await page.waitForSelector(".history > li");
    await page.waitForSelector(".origin:has-text('slot')");
    assert.doesNotMatch(await page.textContent("dl.facts"), /\[object/);
    await page.click("summary:has-text('Raw JSON')");
    assert.equal(JSON.parse(await page.textContent("pre")).mint, lake);
    await page.click("summary:has-text('Raw JSON')");
    await clean(page);
    await picture(page, "explorer-token");
  }));

test("a token's page says one price, ends the chart with it, and follows the trades between two valuations", () =>
  open("/coverage", async (page) => {
    // The node's own answers, with figures that stand still, and a trade that no valuation has seen.
    const [price, asOf, trade] = [1.2345, Date.now() - 30_000, { price_usd: 1.5, value_usd: 3, estimated: true, time: Date.now(), side: "buy" }];
    const [known] = (await until("a trade", async () => (await get(`/tokens/${lake}/trades?limit=1`)).trades)).slice(-1);
    await page.route(`**/tokens/${lake}?*`, async (route) => {
      const token = await (await route.fetch()).json();
      await route.fulfill({ json: { ...token, market: { ...token.market, price_usd: price, as_of: asOf } } });
    });
    await page.route(`**/tokens/${lake}/trades?*`, (route) => route.fulfill({ json: { mint: lake, trades: [{ ...known, estimated: false }], next: null } }));
    await page.route("**/trades/stream?*", (route) =>
      route.fulfill({ contentType: "text/event-stream", body: `retry: 3600000\n\nevent: open\ndata: {}\n\nevent: trade\ndata: ${JSON.stringify({ ...known, ...trade, id: "f".repeat(40) })}\n\n` }),
    );
    const candles = [1, 2].map((n) => ({ time: 1790000000 - (1790000000 % 60) + 60 * n, open: 1, high: 1.1, low: 0.9, close: 1.05, volume_usd: 10, trades: 2, traders: 1 }));
    const asked = [];
    await page.route(`**/tokens/${lake}/ohlcv?*`, (route) => {
      const { searchParams } = new URL(route.request().url());
      asked.push(Object.fromEntries(searchParams));
      return route.fulfill({ json: { mint: lake, interval: "1m", in: searchParams.get("in") ?? "usd", pool: searchParams.get("pool"), quote_mint: searchParams.get("in") && usdc, candles } });
    });
    await page.goto(`${base}/token/${lake}`);
    assert.equal(await page.getAttribute('.figures div:has(dt:text-is("Price")) dd span', "title"), `$${price}`, "the head");
    assert.equal(await page.getAttribute("p.price b", "title"), `$${price}`, "above the chart");
    const drawn = await page.waitForSelector(".chart[role='img']");
    assert.match(await drawn.getAttribute("aria-label"), /: \$1\.2345, \+23\.45 %/, "the chart's last point");
    await page.waitForSelector("p.price small:has-text('≈ $1.5000 in the latest trade')[title*='an estimate']");
    const rows = page.locator("table.trades tbody tr");
    assert.match(await rows.first().textContent(), /buy.*≈ \$1\.5000≈ \$3\.00/);
    assert.equal(await rows.count(), 2, "the one that came, above the one of the list");
    assert.doesNotMatch(await rows.last().textContent(), /≈/);
    await page.click("button.chip:text-is('Other token')");
    await page.waitForURL(/in=quote/);
    await page.waitForSelector("small:has-text('Prices are in')");
    await page.waitForSelector(".chart[aria-label*=': 1.0500, +5.00 %']");
    await page.click(".pools li a:text-is('Chart')");
    await page.waitForURL(/\?pool=/);
    await page.waitForSelector(".chart[aria-label*=': $1.0500, +5.00 %']");
    await page.click("button.link:text-is('All pools')");
    await page.waitForSelector(".chart[aria-label*=': $1.2345']");
    assert.ok(asked.some((one) => one.in === "quote" && !one.pool) && asked.some((one) => one.pool && !one.in), JSON.stringify(asked));
    await clean(page);
  }));

test("who holds a token, and what a wallet has", () =>
  open(`/token/${lake}`, async (page) => {
    await page.waitForSelector(".shares rect");
    await page.waitForSelector("h2:text-is('Transfers')");
    const wallet = page.locator("table.holders tbody tr:has(td:text-is('wallet'))").first();
    assert.match(await wallet.textContent(), /%/);
    await clean(page);
    const address = await wallet.locator("code").getAttribute("title");
    await wallet.locator("a").click();
    await page.waitForURL(`${base}/owner/${address}`);
    await page.waitForSelector(`table.held a[href='/token/${lake}']`);
    const held = await get(`/owners/${address}/tokens`);
    assert.equal(await page.locator("table.held tbody tr").count(), held.items.length);
    await clean(page);
  }));

test("a wallet's token accounts say who may spend, and which are frozen", async () => {
  const holder = (await until("a holder", () => get(`/tokens/${lake}/holders?limit=20`).then(({ items }) => items.find(({ owner_kind }) => owner_kind === "wallet")))).owner;
  await open("/coverage", async (page) => {
    // The node's own answer, with a delegate and a frozen account: the demo freezes and approves by chance.
    let accounts;
    await page.route(`**/owners/${holder}/accounts?*`, async (route) => {
      accounts = await (await route.fetch()).json();
      Object.assign(accounts.items[0], { is_frozen: true, delegate: lake, delegated_amount: accounts.items[0].amount });
      await route.fulfill({ json: accounts });
    });
    await page.goto(`${base}/owner/${holder}`);
    await page.waitForSelector("table.accounts tbody tr");
    const rows = page.locator("table.accounts tbody tr");
    assert.equal(await rows.count(), accounts.items.length);
    const first = rows.first();
    assert.match(await first.textContent(), /frozen/);
    assert.equal(await first.locator("td:nth-child(2) code").getAttribute("title"), accounts.items[0].account);
    assert.equal(await first.locator("a[href^='/owner/'] code").getAttribute("title"), lake, "the delegate");
    await first.locator("td:nth-child(6) span[title*='raw ']").waitFor(); // raw until the token's decimals are there
    await clean(page);
    await picture(page, "explorer-wallet");
  });
});

test("a node without balances says so once on a wallet's page", () =>
  open("/coverage", async (page) => {
    const message = "no balances are kept here";
    let asked = 0;
    await page.route("**/owners/*/*", (route) => (asked++, route.fulfill({ status: 404, json: { statusCode: 404, error: "Not Found", message } })));
    await page.goto(`${base}/owner/${lake}`);
    await page.waitForSelector(`.problem:has-text('${message}')`);
    await until("three lists", () => asked === 3);
    await page.waitForSelector("h2:text-is('Tokens, accounts and transfers')");
    assert.equal(await page.locator(".problem").count(), 1);
    await clean(page);
  }, { expected: /status of 404/ }));

test("a pool tells what was put in and taken out, and what it held", async () => {
  const { pool, mint } = await until("a pool whose liquidity changed", async () => {
    for (const { mint } of (await get("/tokens?limit=40&sort=volume&fields=mint")).items) {
      for (const { pool } of (await get(`/tokens/${mint}/pools?limit=20`)).pools) if ((await get(`/pools/${pool}/liquidity?limit=1`)).changes.length > 0) return { pool, mint };
    }
  });
  await open("/coverage", async (page) => {
    // A young demo has the one hour: here are two, so that there is a line.
    const hours = (answer, field) => ({ ...answer, points: [0, 1].map((n) => ({ ...answer.points.at(-1), time: answer.points.at(-1).time - 3600 * (1 - n), [field]: n ? answer.points.at(-1)[field] : "1000" })) });
    await page.route(`**/pools/${pool}/liquidity/history?*`, async (route) => {
      const answer = await (await route.fetch()).json();
      await route.fulfill({ json: answer.points.length ? hours(answer, "reserve_a") : answer });
    });
    await page.route(`**/tokens/${mint}/liquidity/history?*`, (route) => route.fulfill({ json: { mint, points: [1, 2].map((n) => ({ time: 1790000000 + 3600 * n, liquidity_usd: 1000 * n, pools: n })) } }));
    await page.goto(`${base}/token/${mint}`);
    await page.waitForSelector("svg[aria-label='Liquidity from $1.00K to $2.00K'], svg[aria-label='Liquidity from $1K to $2K']", { state: "attached" });
    const row = page.locator(`.pools > li:has(code[title="${pool}"])`).first();
    const [asked] = await Promise.all([page.waitForResponse((response) => response.url().includes(`/pools/${pool}/liquidity?`)), row.locator("summary").click()]);
    const { changes } = await asked.json();
    await row.locator("tbody tr").first().waitFor();
    assert.equal(await row.locator("tbody tr").count(), changes.length);
    const shown = row.locator("tbody tr").first();
    assert.match(await shown.textContent(), new RegExp(changes[0].kind));
    assert.equal(await shown.locator("td:nth-child(6) code").getAttribute("title"), changes[0].signature);
    await row.locator("svg[aria-label^='What the pool holds']").waitFor({ state: "attached" });
    await clean(page);
    await page.setViewportSize(phone.viewport);
    assert.ok((await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)) <= 0, "nothing stands out at the side of a phone");
  });
});

test("a token's page tells who launched it", () =>
  open("/", async (page) => {
    // The node's own answer, as of a token of Meteora DBC: the demo's chain has pump.fun alone.
    const creator = "5xyaTEAbh7eHoeLmWb9uFgyAry9JfVHrmNszvPgHAnMY";
    await page.route(`**/tokens/${lake}?evidence=*`, async (route) => {
      const token = await (await route.fetch()).json();
      await route.fulfill({ json: { ...token, launchpad: "meteora_dbc", creator, graduated_at: Date.now() - 9_000_000 } });
    });
    await page.click(`${rows}[href='/token/${lake}']`);
    const figure = (name) => page.textContent(`.figures div:has(dt:text-is("${name}")) dd`);
    assert.match(await figure("Creator"), /^5xyaT…HAnMY/);
    assert.equal(await figure("Graduated"), "2 h ago");
    await clean(page);
    await page.click("a.badge:has-text('Meteora DBC')");
    await page.waitForURL(`${base}/?launchpad=meteora_dbc`);
    await page.waitForSelector(".chip[aria-pressed='true']:has-text('Meteora DBC')");
    await page.waitForSelector(".found:has-text('No token matches')"); // of this one the node itself knows none
    await page.click("button.chip:has-text('pump.fun')");
    await page.waitForURL(`${base}/?launchpad=pump`);
  }));

test("a token's page says who can do what, and copies the mint", () =>
  open(
    `/token/${lake}`,
    async (page) => {
      const token = await get(`/tokens/${lake}?evidence=true`);
      const powers = await page.waitForSelector(".powers li").then(() => page.$$eval(".powers li", (all) => all.map((item) => item.textContent)));
      assert.ok(token.mint_authority && !token.freeze_authority && token.update_authority, "the demo's LAKE can be minted, not frozen, and renamed");
      for (const sentence of [/^Note .*can make more of it at any time\.$/, /^Fine Nobody can freeze an account\.$/, /^Note .*can change its name, symbol and logo/])
        assert.ok(powers.some((text) => sentence.test(text)), `${sentence}: ${powers}`);
      // It says so for a second and a half only.
      await Promise.all([page.waitForSelector("button[aria-label='Copied']"), page.click("button[aria-label='Copy the mint']")]);
      assert.equal(await page.evaluate(() => navigator.clipboard.readText()), lake);
    },
    { permissions: ["clipboard-read", "clipboard-write"] },
  ));

test("a token's page lists its namesakes", async () => {
  // Of a hundred tokens many share a symbol. Which ones do is the chain's chance.
  const shared = await until("a symbol of two tokens", async () =>
    (await get("/tokens?limit=200&evidence=true")).items.find(({ symbol, evidence }) => evidence.sharing > 1 && /^[A-Z]{3,}$/.test(symbol)),
  );
  await open(`/token/${shared.mint}`, async (page) => {
    const heading = await page.waitForSelector("h2:has-text('Others that look like')");
    assert.equal(await heading.textContent(), `Others that look like \u2068${shared.symbol}\u2069`, "the symbol does not reorder the heading");
    const others = await page.waitForSelector(".tokens a.row").then(() => page.$$eval(".tokens a.row", (all) => all.map((row) => row.getAttribute("href"))));
    assert.ok(others.length > 0 && !others.includes(`/token/${shared.mint}`), "namesakes, without itself");
    assert.equal(await page.locator(".tokens a.row .mark").count(), others.length, "each is marked");
  });
});

test("danger is shown as danger", () =>
  open("/", async (page) => {
    // The node's own answer, with a danger: the demo makes such a token only by chance.
    await page.route(`**/tokens/${lake}?evidence=*`, async (route) => {
      const token = await (await route.fetch()).json();
      token.evidence.signals = ["transfer_fee", "permanent_delegate"];
      await route.fulfill({ json: token });
    });
    await page.click(`${rows}[href='/token/${lake}']`);
    const first = await page.waitForSelector(".powers li.danger");
    assert.equal(await first.textContent(), "Danger A permanent delegate can move or burn anybody's tokens without being asked.");
    assert.ok(await first.evaluate((item) => item === item.parentElement.firstElementChild), "danger comes first");
    await clean(page);
  }));

test("supply is drawn over time", async () => {
  // What was minted more than once.
  const minted = await until("a token whose supply changed", async () => {
    for (const { mint } of (await get("/tokens?limit=20&sort=volume_24h_usd&market=true&fields=mint")).items) {
      const { items } = await get(`/tokens/${mint}/history?limit=100`);
      if (items.filter((entry) => entry.changes.some(({ field }) => field === "supply")).length > 1) return mint;
    }
  });
  await open(`/token/${minted}`, async (page) => {
    const drawn = await page.waitForSelector("section:has(h2:text('Supply over time')) svg path", { state: "attached" }); // a flat line counts as hidden
    assert.match(await drawn.getAttribute("d"), /^M[\d.]+ [\d.]+(H[\d.]+V[\d.]+)+$/, "steps");
    assert.match(await page.getAttribute("section:has(h2:text('Supply over time')) svg", "aria-label"), /^Supply from .* to /);
  });
});

test("tokens that look alike are told apart", async () => {
  // The demo makes tokens under the names of others. Which of them trades most may change: this one is the farthest from it.
  const fake = await until("a lookalike", async () =>
    (await get("/tokens?limit=200&sort=newest&evidence=true")).items
      .filter(({ evidence }) => evidence.signals.some((signal) => ["copied_name", "homoglyph"].includes(signal)))
      .toSorted((a, b) => b.evidence.rank_by_volume - a.evidence.rank_by_volume)[0],
  );
  await open(`/?q=${encodeURIComponent(fake.mint)}`, async (page) => {
    await page.waitForSelector(`${rows} .mark.danger`);
    const asked = page.waitForResponse((response) => response.ok() && response.url().includes(`/tokens/${fake.mint}?evidence`));
    await page.click(rows);
    await page.waitForSelector(".verdict.danger");
    assert.match(await page.textContent(".verdict"), /Take care/);
    assert.equal(await page.getAttribute(".verdict a", "href"), `/token/${(await (await asked).json()).evidence.canonical}`);
    await clean(page);
  });
});

test("filters live in the URL and survive a reload", () =>
  open("/", async (page) => {
    await page.waitForSelector(rows);
    await page.click("button.chip:has-text('Token-2022')");
    await page.click("button.chip:has-text('Newest')");
    await page.waitForURL(/program=token-2022/);
    await page.waitForURL(/sort=newest/);
    for (const again of [false, true]) {
      if (again) await page.reload();
      await page.waitForFunction(() => document.querySelectorAll("button.chip[aria-pressed='true']").length === 6);
      assert.deepEqual(await page.$$eval(".chip[aria-pressed='true']", (all) => all.map((chip) => chip.textContent)), ["Newest", "Token-2022", "Any", "Any", "Any", "Any"]);
      const programs = await until("rows of that program alone", async () => {
        const badges = await page.$$eval(rows, (all) => all.map((row) => row.querySelector(".badge")?.textContent));
        return badges.length > 0 && badges.every((badge) => badge === "Token-2022");
      });
      assert.ok(programs);
    }
    await page.goBack();
    await page.waitForURL(/\/\?program=token-2022$/);
  }));

test("a link orders by any figure and bounds it", () =>
  open("/coverage", async (page) => {
    const asks = (request) => request.url().startsWith(`${base}/tokens?`);
    const [asked] = await Promise.all([page.waitForRequest(asks), page.goto(`${base}/?sort=trades_24h&min=trades_24h:1&max=price_usd:1000000`)]);
    const { sort, min, max } = Object.fromEntries(new URL(asked.url()).searchParams);
    assert.deepEqual([sort, min, max], ["trades_24h", "trades_24h:1", "price_usd:1000000"]);
    await page.waitForSelector(rows);
    await page.click("button[aria-label^='Remove the filter At most']");
    await page.waitForURL(`${base}/?sort=trades_24h&min=trades_24h%3A1`);
    await page.click("button[aria-label^='Remove the filter At least']");
    await page.waitForURL(`${base}/?sort=trades_24h`);
  }));

test("movers are in the order asked for", () =>
  open("/coverage", async (page) => {
    // A fresh demo has no pools that held anything for ten minutes: its tokens get changes here, in the order that the page asks for.
    await page.route("**/tokens?sort=price_*", async (route) => {
      const order = new URL(route.request().url()).searchParams.get("sort");
      const { items, ...more } = await get("/tokens?limit=5&evidence=true&market=true&min=trades_24h:1");
      const signed = { price_change_24h: 1, price_drop_24h: -1 }[order];
      items.forEach((item, n) => (item.market.price_change_24h = signed * (items.length - n)));
      await route.fulfill({ json: { ...more, items } });
    });
    await page.click("header nav a:text-is(\"Movers\")");
    await page.waitForSelector("a.row.mover");
    const changes = () => page.$$eval("a.mover [data-label='Change 24 h']", (all) => all.map((cell) => Number(cell.textContent.replace("−", "-").replace(/[ %+]/g, "").replace("K", "e3").replace("M", "e6"))));
    const up = await changes();
    assert.ok(up.length > 1);
    assert.deepEqual(up, up.toSorted((a, b) => b - a));
    await page.click("button.chip:has-text('Down')");
    await page.waitForURL(/by=down/);
    await page.waitForSelector("a.mover .down");
    const down = await changes();
    assert.deepEqual(down, down.toSorted((a, b) => a - b));
    // The other orders are by figures of the window. Here they ask for all tokens instead of those above the floor.
    const figures = { Volume: "volume_1h_usd", Bought: "bought_1h_usd", Sold: "sold_1h_usd", Trades: "trades_1h", Buys: "buys_1h", Sells: "sells_1h", Traders: "traders_1h", Buyers: "buyers_1h", Sellers: "sellers_1h" };
    await page.route("**/tokens?sort=*_1h*", async (route) => {
      const asked = new URL(route.request().url());
      if (asked.searchParams.get("sort").startsWith("price_")) return route.fallback();
      assert.equal(asked.searchParams.get("min"), "held_usd:10000,traders_24h:25", "the floor that the page states");
      await route.fulfill({ json: await get(`/tokens?limit=5&evidence=true&market=true&windows=true&sort=${asked.searchParams.get("sort")}`) });
    });
    await page.click("button.chip:text-is('1 h')");
    for (const [name, sort] of Object.entries(figures)) {
      const [asked] = await Promise.all([page.waitForResponse((response) => response.url().includes(`sort=${sort}&`)), page.click(`button.chip:text-is('${name}')`)]);
      const { items } = await asked.json();
      await page.waitForSelector(`a.mover [data-label='${name} 1 h']`);
      const shown = await page.$$eval(`a.mover [data-label='${name} 1 h']`, (all) => all.map((cell) => cell.textContent));
      const values = items.map(({ windows }) => windows["1h"][sort.replace("_1h", "")]);
      assert.deepEqual(values, values.toSorted((a, b) => b - a), sort);
      assert.ok(values[0] > 0, sort);
      if (!sort.endsWith("_usd")) assert.deepEqual(shown.map((text) => Number(text.replace(/[^0-9]/g, ""))), values, sort);
    }
    await clean(page);
  }));

test("venues are listed with what they traded", () =>
  open("/volume", async (page) => {
    await page.waitForSelector(".venues tbody tr");
    // What the page has: the order changes with each trade.
    const [answer] = await Promise.all([page.waitForResponse((response) => response.ok() && new URL(response.url()).pathname === "/venues"), page.reload()]);
    const { venues } = await answer.json();
    await page.waitForSelector(".venues tbody tr");
    assert.ok(venues.length > 0 && venues[0].volume_usd > 0);
    assert.match(await page.textContent(".venues tbody tr >> nth=0"), new RegExp(venues[0].venue.replaceAll("_", " "), "i"));
    await clean(page);
  }));

test("coverage draws what the node remembers", () =>
  open("/coverage", async (page) => {
    await page.waitForSelector("svg.slots");
    const { looks } = await until("three looks", async () => {
      const past = await get("/status/past");
      return past.looks.filter((look) => look.p50_ms !== null).length >= 3 && past;
    });
    await page.reload();
    // attached: a line that never rose has no height, so it counts as hidden
    const drawn = await page.waitForSelector("figure.line:has(svg[aria-label^='p50']) path", { state: "attached" });
    const known = looks.filter((look) => look.p50_ms !== null).length;
    await until(`${known} points, though the page was just opened`, async () => (await drawn.getAttribute("d")).match(/[ML]/g).length >= known);
    await clean(page);
  }));

for (const [name, options] of Object.entries({ "a phone in the light": phone, "a phone in the dark": { ...phone, ...dark } })) {
  test(`${name} shows what matters`, () =>
    open(
      "/",
      async (page) => {
        await page.waitForSelector(rows);
        for (const label of ["Price", "Volume 24 h", "Market cap", "First seen"]) assert.ok(await page.isVisible(`${rows} >> nth=0 >> [data-label='${label}']`), label);
        const seen = await page.$$eval(rows, (all) => all.filter((row) => row.getBoundingClientRect().bottom <= innerHeight).length);
        assert.ok(seen >= 8, `${seen} tokens are seen at once`);
        const wide = () => page.evaluate(() => document.documentElement.scrollWidth - screen.width);
        assert.ok((await wide()) <= 0, "nothing stands out at the side");
        await clean(page);
        if (name.endsWith("light")) await picture(page, "explorer-phone");
        await page.click(`${rows}[href='/token/${lake}']`);
        await page.waitForSelector(".chart canvas");
        await page.waitForSelector(".history > li");
        assert.ok((await wide()) <= 0, "nothing stands out at the side of a token's page");
        await clean(page);
      },
      options,
    ));
}

test("a desktop in the dark is readable", () =>
  open(
    "/",
    async (page) => {
      await page.waitForSelector(rows);
      const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      assert.ok(back.match(/\d+/g).every((part) => Number(part) < 64), back);
      await clean(page);
      const seen = { [`/token/${lake}`]: ".history > li", "/movers": "a.row", "/volume": ".venues tbody tr", "/coverage": "svg.slots", "/new": "a.row" };
      for (const [path, selector] of Object.entries(seen)) {
        await page.goto(base + path);
        await page.waitForSelector(selector);
        await clean(page);
      }
    },
    dark,
  ));

test("a path without a page is told", () =>
  open("/nothing", async (page) => {
    await page.waitForSelector(".empty:has-text('There is no such page')");
    await clean(page);
    await page.click(".empty a");
    await page.waitForSelector(rows);
  }, { expected: /status of 404/ }));

test("what is not there can be asked for", () =>
  open("/token/notamint", async (page) => {
    await page.waitForSelector("h2:has-text('does not have this mint')");
    await clean(page);
    await page.click("text=Ask the chain");
    await page.waitForSelector("text=This is no address");
    await page.goto(`${base}/token/${nowhere}`);
    await page.click("text=Ask the chain");
    await page.waitForSelector("text=The chain has no mint at this address");
    await page.click("text=Look at it as a wallet");
    await page.waitForSelector(`h1:has-text('Wallet')`);
  }, { expected: /status of 404/ }));

test("a link to a token has a title and a picture", async () => {
  const page = await (await fetch(`${base}/token/${lake}`)).text();
  const { symbol } = await get(`/tokens/${lake}`);
  assert.ok(page.includes(`<meta property="og:title" content="${symbol} `));
  const [, image] = page.match(/<meta property="og:image" content="([^"]+)">/);
  assert.match((await fetch(image)).headers.get("content-type"), /^image\//);
});

test("a token's page leads to a quote", () =>
  open(`/token/${lake}`, async (page) => {
    await page.click(".tags >> text=Quote");
    await page.waitForSelector("h1:has-text('quote')");
    assert.equal(new URL(page.url()).searchParams.get("to"), lake);
  }));
