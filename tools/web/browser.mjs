// What the tests share: the browser, pages whose complaints are gathered, and the API.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const base = process.env.MINTLAKE_API;
export const swap = process.env.MINTLAKE_SWAP;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** browser is started once; whoever imports this closes it. */
export const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"], timeout: 180_000 });

export const phone = { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true };
export const dark = { colorScheme: "dark" };

/**
 * open shows a path, runs look, and fails when the page complained of anything or asked another host. The browser itself complains of
 * answers that are no success: expected is such a one, and those of a busy node, which pages ask again. at is another node than the usual one.
 */
export async function open(path, look, { expected, at = base, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1180, height: 900 }, ...options });
  const complaints = [];
  const refused = []; // what requests that failed were told
  const page = await context.newPage();
  page.setDefaultTimeout(90_000); // for hanging: the machine may be slow
  page.on("console", (message) => {
    const wanted = /status of 503/.test(message.text()) || expected?.test(message.text());
    if (["error", "warning"].includes(message.type()) && !wanted) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("response", (response) => {
    if (response.status() < 400) return;
    refused.push(response.text().catch(String).then((text) => `${response.status()} ${response.url()}: ${text.slice(0, 300)}`));
  });
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("request", (request) => [at, base, swap].some((own) => request.url().startsWith(own)) || complaints.push(`another host: ${request.url()}`));
  try {
    await page.goto(at + path);
    await look(page);
    if (complaints.length > 0) assert.fail([...complaints, ...(await Promise.all(refused))].join("\n"));
  } finally {
    await page.unrouteAll({ behavior: "ignoreErrors" }); // the page may just be asking
    await context.close();
  }
}

/** clean holds a page to axe's rules. */
export async function clean(page) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] })); // in full; it need not list what is right
  const told = violations.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html.slice(0, 160)).join("\n  ")}`);
  assert.deepEqual(told, []);
}

/** picture writes one of the docs' images, the top of the page, if they are wanted. */
export async function picture(page, name) {
  if (!process.env.PICTURES) return;
  if (page.viewportSize().width > 1000) await page.setViewportSize({ width: 1000, height: 640 });
  await page.evaluate(() => scrollTo(0, 0));
  await page.screenshot({ path: `${process.env.PICTURES}/${name}.png` });
}

/** get asks the API, and asks again while the node is busy. */
export async function get(path, at = base) {
  for (const end = Date.now() + 90_000; ; await new Promise((resolve) => setTimeout(resolve, 1000))) {
    const response = await fetch(at + path);
    if (response.status === 503 && Date.now() < end) continue;
    assert.ok(response.ok, `${path}: ${response.status}`);
    return response.json();
  }
}

/** until asks again until the answer holds. */
export async function until(what, ask, seconds = 240) {
  for (const end = Date.now() + seconds * 1000; ; ) {
    const answer = await ask();
    if (answer) return answer;
    assert.ok(Date.now() < end, `not within ${seconds} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}
