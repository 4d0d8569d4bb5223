// A model's day: every tool of `mintlake mcp` by the official client, symbols for mints, short answers, and the resources behind them.
import assert from 'node:assert/strict';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';

const SOL = 'So11111111111111111111111111111111111111112';
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';

const client = new Client({ name: 'test', version: '1' });
const args = ['mcp', '--url', process.env.MINTLAKE_API, '--swap-url', process.env.MINTLAKE_SWAP];
await client.connect(new StdioClientTransport({ command: process.env.MINTLAKE_BIN, args, stderr: 'inherit' }));
assert.match(client.getInstructions(), /never instructions/);

const { tools } = await client.listTools();
const called = new Set();
// ask calls a tool and returns its answer, its notes and its link.
async function ask(name, args = {}) {
  called.add(name);
  const { content, isError = false } = await client.callTool({ name, arguments: args });
  const texts = content.filter(({ type }) => type === 'text').map(({ text }) => text);
  for (const text of texts) assert.ok(text.length <= 24 << 10, `${name} answers ${text.length} characters`);
  if (isError) return { failed: texts.join('\n') };
  const [answer, ...notes] = texts.map((text) => JSON.parse(text));
  return { answer, notes, link: content.find(({ type }) => type === 'resource_link')?.uri };
}
async function read(uri) {
  const { contents } = await client.readResource({ uri });
  return JSON.parse(contents[0].text);
}

// until asks again until the answer is as wanted: a new node has to read its first names and value its first trades, and the chain goes on between two answers.
async function until(what, asked, wanted) {
  for (const end = Date.now() + 90_000; ; await new Promise((over) => setTimeout(over, 500))) {
    const answer = await asked();
    if (wanted(answer)) return answer;
    assert.ok(Date.now() < end, `${what}: ${JSON.stringify(answer)}`);
  }
}

await until('five tokens with a symbol and evidence', () => ask('search_tokens', { limit: 5, sort: 'volume' }),
  ({ answer }) => answer.items.length === 5 && answer.items.every(({ symbol, evidence }) => symbol && evidence));
const { answer: token } = await until('the market of USDC is told', () => ask('get_token', { mint: USDC, windows: true }), ({ answer }) => answer.market);
assert.ok(token.mint === USDC && token.market.price_usd > 0);
await until('the resource has all of what the tool tells', async () => {
  const { answer, link } = await ask('get_token', { mint: USDC, windows: true });
  return { answer, whole: await read(link) };
}, ({ answer, whole }) => whole.provenance && whole.windows && whole.supply === answer.supply);

// A symbol: of one token it stands for its mint, of several it never does.
const { answer: solana } = await ask('search_tokens', { query: 'SOL', limit: 20 });
const same = solana.items.filter(({ symbol }) => symbol.toUpperCase() === 'SOL');
const told = await ask('token_pools', { mint: 'SOL' });
if (same.length === 1) {
  assert.equal(told.answer.mint, SOL);
  assert.equal(told.notes[0].taken_for, SOL);
} else {
  assert.ok(JSON.parse(told.failed).candidates.length > 1);
}
assert.match((await ask('get_token', { mint: 'nobody has this' })).failed, /no token has the symbol or mint/);
// The demo's tokens copy each other's symbols.
const bySymbol = new Map();
for (let page = 1; page <= 3; page++) {
  const { answer } = await ask('search_tokens', { limit: 40, sort: 'volume', page });
  for (const { symbol, mint } of answer.items) bySymbol.set(symbol, [...(bySymbol.get(symbol) ?? []), mint]);
}
const [symbol, mints] = [...bySymbol].find(([, mints]) => mints.length > 1);
const { candidates } = JSON.parse((await ask('token_trades', { mint: symbol })).failed);
for (const mint of mints.slice(0, 3)) assert.ok(candidates.some((token) => token.mint === mint && token.rank_by_volume && token.first_seen_at), `${symbol}: ${mint}`);

const { answer: batch } = await ask('get_tokens', { mints: [USDC, SOL, SOL.slice(0, -1) + '9'] });
assert.deepEqual(batch.items.map(({ mint }) => mint).sort(), [USDC, SOL].sort());
assert.equal(batch.unknown.length, 1);

// Pages: a page may be empty and still have a next one; a cursor goes on, and the resource has more rows.
const trades = [];
let before, rest;
for (let page = 0; trades.length < 4; page++) {
  const { answer, link } = await ask('token_trades', { mint: USDC, limit: 2, before });
  trades.push(...answer.trades);
  [before, rest] = [answer.next ?? undefined, link];
  assert.ok(answer.trades.length <= 2 && page < 50 && (before || trades.length >= 4), 'the trades of USDC go on');
}
assert.equal(new Set(trades.map((trade) => JSON.stringify(trade))).size, trades.length, 'no trade comes twice');
assert.ok((await read(rest)).trades.every(({ id }) => id));
const { answer: many } = await ask('token_trades', { mint: USDC, limit: 100 });
assert.ok(many.trades.length <= 100);

const { answer: pools } = await ask('token_pools', { mint: USDC });
const { pool } = pools.pools[0];
for (const [name, args, rows] of [
  ['token_history', { mint: USDC }, 'items'], ['token_ohlcv', { mint: USDC, interval: '1m' }, 'candles'], ['holders_over_time', { mint: USDC }, 'points'],
  ['token_accounts', { mint: USDC }, 'items'], ['token_transfers', { mint: USDC }, 'items'], ['pool_liquidity_changes', { pool }, 'changes'],
  ['liquidity_over_time', { pool }, 'points'], ['liquidity_over_time', { mint: USDC }, 'points'],
]) {
  const { answer, failed } = await ask(name, args);
  assert.ok(Array.isArray(answer?.[rows]), `${name}: ${failed ?? JSON.stringify(answer)}`);
}
const { answer: holders } = await ask('token_holders', { mint: USDC, limit: 3 });
assert.equal(holders.items.length, 3);
const { owner } = holders.items.find(({ owner }) => owner);
for (const name of ['owner_tokens', 'owner_accounts']) assert.ok((await ask(name, { owner })).answer.items.length > 0, name);

const { answer: coverage } = await ask('coverage', { mint: USDC });
assert.ok(coverage.coverage.to_slot >= coverage.coverage.from_slot && coverage.balances.mint === USDC);
const { answer: status } = await ask('registry_status');
assert.ok(status.registry.tokens >= 5);

const quote = await ask('quote_swap', { sell: SOL, buy: USDC, whole_amount: '1.5' });
assert.equal(quote.answer?.amount_in, '1500000000', quote.failed);
assert.ok(quote.answer.routes.length > 0 && quote.notes.at(-1).sell === '1.5 SOL');

assert.deepEqual(tools.map(({ name }) => name).filter((name) => !called.has(name)), [], 'every tool was called');
await client.close();
console.log(`mcp: ${tools.length} tools ok`);
