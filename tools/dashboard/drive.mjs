// Drives the dashboard of a running node as an operator does, in headless Chromium.
// ADMIN is its address, TOKEN the admin token, RPC the JSON-RPC address; SHOTS a folder for
// screenshots, if they are wanted.
import assert from 'node:assert/strict';
import { chromium } from 'playwright-core';

const { ADMIN, TOKEN, RPC, SHOTS, CHROMIUM = '/usr/bin/chromium' } = process.env;
const name = `test-${Date.now()}`;
const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'], timeout: 180_000 });
const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
const page = await context.newPage();
page.setDefaultTimeout(90_000); // for hanging: the machine may be slow
const problems = [];
page.on('pageerror', (error) => problems.push(String(error)));
page.on('console', (message) => message.type() === 'error' && !/status of 40[13]|status of 410|status of 503/.test(message.text()) && problems.push(message.text()));
page.on('request', (request) => {
  if (!request.url().startsWith(ADMIN)) problems.push(`another host: ${request.url()}`);
  if (request.url().includes(TOKEN)) problems.push('the token is in a URL');
});

async function shot(label) {
  if (!SHOTS) return;
  await page.screenshot({ path: `${SHOTS}/${label}-wide.png` });
  await page.emulateMedia({ colorScheme: 'dark' });
  await page.screenshot({ path: `${SHOTS}/${label}-dark.png` });
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize({ width: 390, height: 844 });
  const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  await page.screenshot({ path: `${SHOTS}/${label}-phone.png` });
  await page.setViewportSize({ width: 1280, height: 800 });
  assert(wider <= 0, `${label}: the page is ${wider} pixels wider than a phone`);
}

async function rpc(key) {
  const response = await fetch(RPC, {
    method: 'POST', headers: { 'Content-Type': 'application/json', 'X-API-KEY': key },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getSlot' }),
  });
  return response.status;
}

// until repeats what takes a moment to be known on the node.
async function until(what, wanted) {
  for (const end = Date.now() + 120_000; ; await new Promise((resolve) => setTimeout(resolve, 100))) {
    const last = await what();
    if (last === wanted) return;
    assert(Date.now() < end, `${last}, not ${wanted}, for two minutes`);
  }
}

const dialog = page.locator('dialog');
const row = page.locator('tr', { hasText: name });
const act = (action) => page.getByRole('button', { name: `${action} rpc ${name}`, exact: true });

async function issued() {
  const key = await page.locator('#secret').textContent();
  await page.getByRole('button', { name: 'I have it' }).click();
  await page.locator('#secret').waitFor({ state: 'detached' });
  assert(!(await page.content()).includes(key), 'the key is still in the page');
  return key;
}

// Sign in, by keyboard; a wrong token first.
await page.goto(ADMIN);
await page.getByLabel('Admin token').waitFor();
await shot('sign-in');
await page.keyboard.type('a-wrong-token-of-nobody');
await page.keyboard.press('Enter');
await page.getByRole('alert').getByText('wrong').waitFor();
await page.getByLabel('Admin token').fill(TOKEN);
await page.keyboard.press('Enter');
await page.getByRole('heading', { name: 'Keys' }).waitFor();
const [cookie] = await context.cookies();
assert(cookie.httpOnly && cookie.sameSite === 'Strict', 'the cookie is not safe');
assert(!cookie.value.includes(TOKEN));

// Create, restrict, rotate, revoke.
await page.getByRole('button', { name: 'New key' }).click();
await dialog.getByLabel('Name').fill(name);
await dialog.getByLabel('Environment').fill('test');
await shot('create');
await dialog.getByRole('button', { name: 'Create' }).click();
await page.locator('#secret').waitFor();
await shot('created');
const first = await issued();
await until(() => rpc(first), 200);
await act('Restrict').click();
await dialog.getByLabel('Methods').fill('getBlock*');
await dialog.getByLabel('Requests a second').fill('50');
await dialog.getByRole('button', { name: 'Save' }).click();
await row.getByText('methods getBlock* · requests/s 50').waitFor();
await until(() => rpc(first), 403);
// Somebody else restricts the key meanwhile: the dialog changes only what was changed in it.
await act('Restrict').click();
const elsewhere = await fetch(`${ADMIN}/v1/keys/rpc/${name}`, {
  method: 'PATCH', headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${TOKEN}` },
  body: JSON.stringify({ addresses: ['127.0.0.0/8'], expires_at: '2100-01-02T03:04:05Z' }),
});
assert.equal(elsewhere.status, 200);
await dialog.getByLabel('Methods').fill('');
await dialog.getByRole('button', { name: 'Save' }).click();
await row.getByText('from 127.0.0.0/8 · requests/s 50').waitFor();
await act('Restrict').click();
await dialog.getByLabel('Streams').fill('100');
await dialog.getByRole('button', { name: 'Save' }).click();
await row.getByText('requests/s 50 · streams 100').waitFor();
const { rules } = await (await fetch(`${ADMIN}/v1/keys/rpc/${name}`, { headers: { Authorization: `Bearer ${TOKEN}` } })).json();
assert.equal(rules.expires_at, '2100-01-02T03:04:05Z', 'seconds, which the form does not show, stay');
await until(() => rpc(first), 200);
await act('Rotate').click();
await dialog.getByRole('button', { name: 'Rotate' }).click();
const second = await issued();
assert.notEqual(first, second);
await until(() => rpc(second), 200);
await until(() => rpc(first), 200); // the earlier secret has its grace
await shot('keys');
await act('Revoke').click();
await dialog.getByLabel('Why').fill('the test is over');
await page.keyboard.press('Enter');
await row.getByText('revoked', { exact: true }).waitFor();
await until(() => rpc(second), 403);
assert.equal(await rpc(first), 403, 'revoking ends the grace');

// Usage, by the minute that was just used.
await page.getByRole('link', { name: 'Usage' }).click();
await until(async () => {
  await page.locator('select[name=period]').selectOption('24h');
  await page.locator('select[name=period]').selectOption('1h');
  await page.locator('figure, .problem').first().waitFor();
  return (await row.count()) > 0;
}, true);
await shot('usage');
for (const [link, heading] of [['Upstreams', 'Upstreams'], ['Streams', 'Streams'], ['Pipeline', 'Pipeline']]) {
  await page.getByRole('link', { name: link, exact: true }).click();
  await page.getByRole('heading', { name: heading, exact: true }).waitFor();
  await shot(link.toLowerCase());
}

// Replay a dead letter. LETTERS says that there is one whose record is kept.
await page.getByRole('link', { name: 'Dead letters' }).click();
await page.getByRole('heading', { name: 'Dead letters' }).waitFor();
await shot('dead-letters');
const replays = page.getByRole('button', { name: /^Replay/ });
if (process.env.LETTERS) {
  await until(async () => { // the projector may not have read the record yet
    await page.reload();
    await page.getByRole('heading', { name: 'Dead letters' }).waitFor();
    return (await replays.count()) > 0;
  }, true);
  // By kind: the one that the projector made, of which the list below then has all and no other.
  const kinds = page.locator('table.kinds tbody tr');
  const kind = kinds.filter({ hasText: 'chain.swaps' }).first();
  const counted = Number(await kind.locator('td.number').textContent());
  assert.match(await kind.textContent(), /projector.*(now|\d+ (s|min) ago)/s, 'its room, and its time as elsewhere');
  await kind.getByRole('button').click();
  const listed = page.locator('table.letters tbody tr');
  await until(() => listed.count(), counted);
  for (const text of await listed.allTextContents()) assert.match(text, /chain\.swaps/);
  await shot('dead-letters-by-kind');
  await kinds.getByRole('button', { name: /List/, pressed: true }).click();
  await replays.first().click();
  await dialog.getByRole('button', { name: 'Replay' }).click();
  await page.getByText('The record is written again.').waitFor();
}

// Another origin's page gets nothing with the cookie, and signing out ends it.
const asked = (headers) => fetch(`${ADMIN}/v1/keys`, { headers: { Cookie: `${cookie.name}=${cookie.value}`, ...headers } });
assert.equal((await asked({})).status, 200);
assert.equal((await asked({ Origin: 'http://127.0.0.1:1' })).status, 403);
await page.getByRole('button', { name: 'Sign out' }).click();
await page.getByLabel('Admin token').waitFor();
assert.equal((await asked({})).status, 401, 'the session is over');
await browser.close();
assert.deepEqual(problems, []);
console.log('dashboard: ok');
