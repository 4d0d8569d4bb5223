// What a newcomer sees at the addresses of the README: a list of tokens that can be searched, and the reference of the API.
import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const [explorer, reference] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--disable-dev-shm-usage"], timeout: 180_000 });
try {
  const page = await browser.newPage();
  const complaints = [];
  page.setDefaultTimeout(90_000); // for hanging: the machine may be slow
  // A page asks a busy node again, but the browser complains.
  page.on("console", (message) => message.type() === "error" && !/status of 503/.test(message.text()) && complaints.push(`${message.text()} ${message.location().url}`));
  page.on("pageerror", (error) => complaints.push(String(error)));
  await page.goto(explorer);
  await page.waitForSelector("main .tokens a.row:not(.heads)");
  await page.keyboard.press("/");
  await page.keyboard.type("lake", { delay: 40 });
  await page.waitForSelector("#hits li:has-text('Mintlake')");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.waitForSelector("h1:has-text('LAKE')");
  await page.goto(reference);
  await page.waitForSelector("body:has-text('/tokens/batch')");
  assert.deepEqual(complaints, []);
} finally {
  await browser.close();
}
