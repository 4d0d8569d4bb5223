// @solana/kit, the successor of web3.js 1.x: its WebSocket address is given, and it confirms by block height too.
import {
  address, appendTransactionMessageInstruction, assertIsTransactionWithBlockhashLifetime, createSolanaRpc,
  createSolanaRpcSubscriptions, createTransactionMessage, generateKeyPairSigner, getSignatureFromTransaction, lamports, pipe,
  sendAndConfirmTransactionFactory, setTransactionMessageConfig, setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash, signTransactionMessageWithSigners, airdropFactory,
} from '@solana/kit';
import { assert, done, rpcURL, within } from './check.mjs';

const rpc = createSolanaRpc(rpcURL);
const sockets = new URL(rpcURL);
sockets.protocol = 'ws:';
const rpcSubscriptions = createSolanaRpcSubscriptions(sockets.href); // the RPC address itself serves WebSockets too
const wallet = await generateKeyPairSigner();
const other = await generateKeyPairSigner();

const airdrop = airdropFactory({ rpc, rpcSubscriptions });
await within(90, 'airdrop', airdrop({ commitment: 'confirmed', lamports: lamports(2_000_000_000n), recipientAddress: wallet.address }));

function transfer(amount) {
  const data = new Uint8Array(12);
  data[0] = 2; // SystemInstruction::Transfer
  new DataView(data.buffer).setBigUint64(4, amount, true);
  return {
    programAddress: address('11111111111111111111111111111111'), data,
    accounts: [{ address: wallet.address, role: 3, signer: wallet }, { address: other.address, role: 1 }],
  };
}
const sendAndConfirm = sendAndConfirmTransactionFactory({ rpc, rpcSubscriptions });
// Version 1 has a config in place of instructions of the Compute Budget program.
const config = { computeUnitLimit: 10_000, loadedAccountsDataSizeLimit: 64 * 1024, priorityFeeLamports: 77n };
const signatures = [];
// Each transfer has an amount of its own: with one blockhash, equal ones are one transaction.
let sent = 0n;
for (const version of [0, 1]) {
  for (const commitment of ['processed', 'confirmed', 'finalized']) {
    const { value: latest } = await rpc.getLatestBlockhash({ commitment: 'confirmed' }).send();
    const amount = 1_000_000n + sent;
    sent += amount;
    const message = pipe(
      createTransactionMessage({ version }),
      (m) => setTransactionMessageFeePayerSigner(wallet, m),
      (m) => setTransactionMessageLifetimeUsingBlockhash(latest, m),
      (m) => appendTransactionMessageInstruction(transfer(amount), m),
      (m) => (version === 1 ? setTransactionMessageConfig(config, m) : m),
    );
    const transaction = await signTransactionMessageWithSigners(message);
    assertIsTransactionWithBlockhashLifetime(transaction);
    await within(90, `transfer of version ${version}, ${commitment}`, sendAndConfirm(transaction, { commitment, preflightCommitment: 'processed' }));
    const signature = getSignatureFromTransaction(transaction);
    const { value } = await rpc.getSignatureStatuses([signature]).send();
    assert.equal(value[0].err, null);
    signatures[version] = signature;
  }
}
assert.equal((await rpc.getBalance(other.address, { commitment: 'confirmed' }).send()).value, sent);
for (const encoding of ['json', 'jsonParsed']) {
  const read = await rpc.getTransaction(signatures[1], { encoding, commitment: 'confirmed', maxSupportedTransactionVersion: 1 }).send();
  assert.equal(read.version, 1);
  assert.equal(read.meta.fee, 5_077n);
  const { computeUnitLimit, priorityFee } = read.transaction.message.transactionConfig;
  assert.deepEqual([Number(computeUnitLimit), BigInt(priorityFee)], [10_000, 77n]);
}
await assert.rejects(rpc.getTransaction(signatures[1], { commitment: 'confirmed', encoding: 'json', maxSupportedTransactionVersion: 0 }).send(), /version/i);

for (const name of ['slotNotifications', 'rootNotifications']) {
  const abort = new AbortController();
  await within(120, name, (async () => {
    let seen = 0;
    let last = 0n;
    for await (const n of await rpcSubscriptions[name]().subscribe({ abortSignal: abort.signal })) {
      const slot = name === 'slotNotifications' ? n.slot : n;
      assert.ok(slot > last);
      last = slot;
      if (++seen === 3) break;
    }
  })());
  abort.abort();
}

const usdc = address('EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v');
const { value: largest } = await rpc.getTokenLargestAccounts(usdc).send();
const { value: holder } = await rpc.getAccountInfo(largest[1].address, { encoding: 'jsonParsed' }).send();
const { value: accounts } = await rpc.getTokenAccountsByOwner(holder.data.parsed.info.owner, { mint: usdc }, { encoding: 'jsonParsed' }).send();
assert.ok(accounts.some((a) => a.pubkey === largest[1].address));
assert.ok((await rpc.getEpochInfo().send()).transactionCount > 0n);
await assert.rejects(rpcSubscriptions.accountNotifications(usdc).subscribe({ abortSignal: AbortSignal.timeout(60_000) }));
done('kit');
