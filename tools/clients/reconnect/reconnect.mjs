// Subscribes with an unchanged client that comes back by itself, kills the gateway twice, and compares what came with the chain: each transaction at
// least once, and none that the filter does not want.
//
//   node reconnect.mjs yellowstone|laserstream FOLDER
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { Gateway } from './gateway.mjs';

const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const [client, folder] = process.argv.slice(2);
const request = {
  accounts: {}, slots: {}, transactions: { mine: { accountInclude: [USDC], accountExclude: [], accountRequired: [] } },
  transactionsStatus: {}, blocks: {}, blocksMeta: {}, entry: {}, accountsDataSlice: [], commitment: 1,
};
const digits = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';
function base58(bytes) {
  let text = '';
  for (let n = BigInt('0x' + Buffer.from(bytes).toString('hex')); n > 0n; n /= 58n) text = digits[Number(n % 58n)] + text;
  for (const byte of bytes) {
    if (byte !== 0) break;
    text = '1' + text;
  }
  return text;
}
const wait = (ms) => new Promise((over) => setTimeout(over, ms));
async function until(what, look) {
  for (const end = Date.now() + 120_000; Date.now() < end; await wait(100)) if (await look()) return;
  throw new Error(`${what}: not within two minutes`);
}
async function rpc(method, ...params) {
  const answer = await fetch(process.env.MINTLAKE_RPC, {
    method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = await answer.json();
  if (error) throw new Error(`${method}: ${error.message}`);
  return result;
}

const got = new Map(); // slots by signature
let received = 0;
function take(update) {
  const t = update.transaction;
  if (!t) return;
  received++;
  got.set(base58(t.transaction.signature), Number(t.slot));
}
const highest = () => Math.max(0, ...got.values());
const clients = {
  async yellowstone(endpoint) {
    const { default: Client } = await import('@triton-one/yellowstone-grpc');
    const c = new Client(endpoint, undefined, {}, { backoff: { initialIntervalMs: 100, multiplier: 1.2, maxRetries: 100 } });
    await c.connect();
    const stream = await c.subscribe(request);
    stream.on('data', take);
    stream.on('error', (err) => console.error(`stream: ${err.message}`));
  },
  async laserstream(endpoint) {
    const { subscribe } = createRequire(import.meta.url)('helius-laserstream');
    await subscribe({ apiKey: '', endpoint, replay: true, maxReconnectAttempts: 100 }, request, take, (err) => console.error(`stream: ${err.message}`));
  },
};

const gateway = new Gateway(folder);
await gateway.start();
await clients[client](`http://${gateway.addr}`);
await until('the first transactions', () => received > 20);
const first = Math.min(...got.values()) + 1; // the subscription began within that slot
for (let kill = 1; kill <= 2; kill++) {
  await gateway.kill();
  await wait(1500);
  const now = await rpc('getSlot', { commitment: 'confirmed' });
  await gateway.start();
  await until(`transactions after kill ${kill}`, () => highest() > now + 5);
}
const last = highest() - 1;
let wanted = 0;
for (const slot of await rpc('getBlocks', first, last, { commitment: 'confirmed' })) {
  const block = await rpc('getBlock', slot, { encoding: 'json', transactionDetails: 'full', rewards: false, commitment: 'confirmed', maxSupportedTransactionVersion: 1 });
  for (const { transaction, meta } of block.transactions) {
    const loaded = meta.loadedAddresses ?? { writable: [], readonly: [] };
    const wants = [...transaction.message.accountKeys, ...loaded.writable, ...loaded.readonly].includes(USDC);
    const signature = transaction.signatures[0];
    if (wants) wanted++;
    assert.equal(got.has(signature), wants, `${signature} in slot ${slot}: ${wants ? 'is missing' : 'is not wanted'}`);
  }
}
assert.ok(wanted > 50, `${wanted} transactions are too few`);
console.log(`${client}: all ${wanted} transactions of slots ${first} to ${last} came over two kills, ${received - got.size} of them again`);
await gateway.kill();
process.exit(0);
