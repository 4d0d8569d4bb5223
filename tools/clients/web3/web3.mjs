// @solana/web3.js 1.x with nothing but the RPC address: it opens its WebSocket at the port after it.
import {
  Connection, Keypair, LAMPORTS_PER_SOL, PublicKey, SystemProgram, Transaction, sendAndConfirmTransaction,
} from '@solana/web3.js';
import { TOKEN_PROGRAM_ID } from '@solana/spl-token';
import { assert, done, rpcURL, until, within } from './check.mjs';

const USDC = new PublicKey('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v');
const connection = new Connection(rpcURL);
const wallet = Keypair.generate();
const other = Keypair.generate().publicKey;
const transfer = (lamports) =>
  new Transaction().add(SystemProgram.transfer({ fromPubkey: wallet.publicKey, toPubkey: other, lamports }));

// A newcomer's funds.
const airdrop = await connection.requestAirdrop(wallet.publicKey, 5 * LAMPORTS_PER_SOL);
const latest = await connection.getLatestBlockhash();
assert.equal((await within(90, 'airdrop', connection.confirmTransaction({ signature: airdrop, ...latest }, 'confirmed'))).value.err, null);
assert.equal(await connection.getBalance(wallet.publicKey, 'confirmed'), 5 * LAMPORTS_PER_SOL);

// Sent and confirmed, at each commitment. With one blockhash, equal transfers are one transaction.
let sent = 0;
for (const commitment of ['processed', 'confirmed', 'finalized']) {
  const options = { commitment, preflightCommitment: 'processed' };
  const amount = 1_000_000 + sent;
  sent += amount;
  const signature = await within(90, `transfer, ${commitment}`, sendAndConfirmTransaction(connection, transfer(amount), [wallet], options));
  const { value } = await connection.getSignatureStatus(signature);
  assert.equal(value.err, null);
}
assert.equal(await connection.getBalance(other, 'confirmed'), sent);

// A whole block, of which two in five transactions are of version 1. Without the version it is refused.
const whole = await within(90, 'a block with version 1', until(90, 'a block with version 1', async () => {
  const slot = await connection.getSlot('confirmed');
  const block = await connection.getBlock(slot, { commitment: 'confirmed', maxSupportedTransactionVersion: 1 }).catch(() => null);
  return block?.transactions.some((t) => t.version === 1) && { slot, block };
}));
const first1 = whole.block.transactions.find((t) => t.version === 1);
assert.equal(first1.transaction.message.version, 1);
assert.ok('computeUnitLimit' in first1.transaction.message.transactionConfig, JSON.stringify(first1.transaction.message.transactionConfig));
await assert.rejects(connection.getBlock(whole.slot, { commitment: 'confirmed', maxSupportedTransactionVersion: 0 }), /version/i);

// A transaction that lands and fails says so, soon. The client throws an Error when a notification
// tells it. When the transaction landed before the subscription stood, it throws the bare status.
const options = { commitment: 'confirmed', skipPreflight: true };
const failing = sendAndConfirmTransaction(connection, transfer(1_000 * LAMPORTS_PER_SOL), [wallet], options);
await assert.rejects(within(90, 'a failing transfer', failing), (reason) => {
  if (reason instanceof Error) assert.match(reason.message, /failed|"Custom":1/);
  else assert.deepEqual(reason, { InstructionError: [0, { Custom: 1 }] });
  return true;
});

// onSignature of something that has landed before.
const early = await connection.sendTransaction(transfer(2_000_000), [wallet], { preflightCommitment: 'processed' });
await until(90, 'the transfer', async () => /confirmed|finalized/.test((await connection.getSignatureStatus(early)).value?.confirmationStatus));
const result = await within(90, 'onSignature', new Promise((told) => connection.onSignature(early, (r, context) => told({ r, context }), 'confirmed')));
assert.equal(result.r.err, null);
assert.ok(result.context.slot > 0);
// enableReceivedNotification: this client takes the first notification and listens no more.
const first = await within(90, 'onSignatureWithOptions', new Promise((told) =>
  connection.onSignatureWithOptions(early, (n) => told(n.type), { commitment: 'confirmed', enableReceivedNotification: true })));
assert.equal(first, 'received');

// Slots and roots rise.
for (const [name, listen, unlisten, number] of [
  ['onSlotChange', 'onSlotChange', 'removeSlotChangeListener', (s) => s.slot],
  ['onRootChange', 'onRootChange', 'removeRootChangeListener', (r) => r],
]) {
  const seen = [];
  const id = await within(120, name, new Promise((told) => {
    const id = connection[listen]((n) => {
      if (name === 'onSlotChange') assert.ok(n.parent < n.slot && n.root <= n.slot, JSON.stringify(n));
      seen.push(number(n));
      if (seen.length === 4) told(id);
    });
  }));
  await connection[unlisten](id);
  assert.deepEqual(seen, [...seen].sort((a, b) => a - b));
}

// What wallets and explorers ask.
const largest = await connection.getTokenLargestAccounts(USDC, 'confirmed');
assert.equal(largest.value.length, 20);
assert.ok(BigInt(largest.value[0].amount) >= BigInt(largest.value[19].amount));
const info = await connection.getParsedAccountInfo(largest.value[19].address, 'confirmed');
const owner = new PublicKey(info.value.data.parsed.info.owner);
for (const filter of [{ mint: USDC }, { programId: TOKEN_PROGRAM_ID }]) {
  // The owner may get another account between two reads, so both are of one slot.
  const [raw, parsed] = await until(90, 'both forms at one slot', async () => {
    const both = await Promise.all([connection.getTokenAccountsByOwner(owner, filter, 'confirmed'), connection.getParsedTokenAccountsByOwner(owner, filter, 'confirmed')]);
    return both[0].context.slot === both[1].context.slot && both;
  });
  assert.ok(raw.value.length > 0);
  assert.equal(parsed.value.length, raw.value.length);
  assert.equal(raw.value[0].account.data.length, 165);
  assert.equal(parsed.value[0].account.data.program, 'spl-token');
  assert.equal(parsed.value[0].account.data.parsed.info.owner, owner.toBase58());
}
assert.ok((await connection.getParsedAccountInfo(USDC)).value.data.parsed.info.supply > '0');
assert.ok((await connection.getRecentPrioritizationFees()).length > 0);
const supply = await connection.getSupply();
assert.equal(supply.value.total, supply.value.circulating + supply.value.nonCirculating);
assert.ok((await connection.getEpochInfo('processed')).transactionCount > 0);
assert.ok((await connection.getTransactionCount('processed')) > 0);
await assert.rejects(connection.requestAirdrop(wallet.publicKey, 1e18), /at most/);
done('web3.js');
