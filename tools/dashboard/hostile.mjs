// The dashboard over texts of strangers: dead letters, reasons, actors and methods. Its environment is that of drive.mjs.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';
import { inked, judge, watch } from '../web/hostile.mjs';
import { payloads, towers } from '../web/payloads.mjs';

const { ADMIN, TOKEN, RPC, SHOTS, CHROMIUM = '/usr/bin/chromium' } = process.env;
const phone = { width: 390, height: 844 };
const wide = { width: 1280, height: 800 };

async function ask(method, path, body, headers = {}) {
  const response = await fetch(ADMIN + path, { method, headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${TOKEN}`, ...headers }, body: JSON.stringify(body) });
  assert(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
  return response.json();
}

// Keys that were revoked for such reasons by such people, as far as a header can hold their names; and methods that nobody has.
for (const [n, payload] of payloads.entries()) {
  if (n % 4) continue;
  const name = `stranger-${n}`;
  const { key } = await ask('POST', '/v1/keys', { product: 'rpc', name });
  if (n % 8) continue;
  await fetch(RPC, { method: 'POST', headers: { 'Content-Type': 'application/json', 'X-API-KEY': key }, body: JSON.stringify({ jsonrpc: '2.0', id: payload, method: payload }) });
  await ask('POST', `/v1/keys/rpc/${name}/revoke`, { reason: payload }, { 'X-Mintlake-Actor': payload.replace(/[^\x20-\x7e]/g, '?').slice(0, 100) || '?' });
}

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout: 180_000 });
const context = await browser.newContext({ viewport: wide });
const seen = await watch(context);
const page = await context.newPage();
page.setDefaultTimeout(90_000);
page.on('pageerror', (error) => seen.push(String(error)));
page.on('console', (message) => ['error', 'warning'].includes(message.type()) && !/status of (401|503)/.test(message.text()) && seen.push(message.text()));
page.on('request', (request) => request.url().startsWith(ADMIN) || seen.push(`another host: ${request.url()}`));

await page.goto(ADMIN);
await page.getByLabel('Admin token').fill(TOKEN);
await page.keyboard.press('Enter');
await page.getByRole('heading', { name: 'Keys' }).waitFor();

/** both holds a page to the rules at both widths. */
async function both(what) {
  for (const [name, viewport] of [['wide', wide], ['phone', phone]]) {
    await page.setViewportSize(viewport);
    if (SHOTS) await page.screenshot({ path: `${SHOTS}/hostile-${what.replaceAll(' ', '-')}-${name}.png` });
    await judge(page, `${what}, ${name}`);
  }
  await page.setViewportSize(wide);
}

for (const [link, wanted] of [['Keys', 'tr:has-text("stranger-0")'], ['Usage', '.problem, table, .empty'], ['Upstreams', 'table'], ['Streams', 'h1'], ['Pipeline', '.cards'], ['Dead letters', 'table.kinds tbody tr']]) {
  await page.getByRole('link', { name: link, exact: true }).click();
  await page.getByRole('heading', { name: link, exact: true }).waitFor();
  await page.locator(wanted).first().waitFor();
  await both(link.toLowerCase());
}
const rows = page.locator('table.letters tbody tr');
const count = await rows.count();
assert(count > payloads.length, `${count} dead letters are shown`);

// What asks before a record is replayed shows the reason again.
const replays = page.getByRole('button', { name: /^Replay/ });
const asked = (await replays.count()) - 1;
for (let at = 0; at < asked; at += 3) {
  await replays.nth(at).click();
  await page.getByRole('dialog').waitFor();
  await (at % 9 ? judge(page, `replay ${at}`) : both('replay'));
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'hidden' });
}

const tall = rows.filter({ hasText: towers[0].slice(0, 4) }).first();
await tall.scrollIntoViewIfNeeded();
assert.equal(await inked(page, tall), 0, 'marks draw upon the next row');
assert.deepEqual(seen, []);
await browser.close();
console.log(`dashboard: ok with ${payloads.length} hostile texts`);
