// A newcomer's first swap on the demo chain: funds, a quote with a transaction, a signature, and the swap in ClickHouse.
import { Connection, Keypair, LAMPORTS_PER_SOL, PublicKey, VersionedTransaction } from '@solana/web3.js';
import { assert, done, patient, rpcURL, until, within } from './check.mjs';

const SOL = 'So11111111111111111111111111111111111111112';
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const connection = new Connection(rpcURL, 'confirmed');
const wallet = Keypair.generate();
const airdrop = await connection.requestAirdrop(wallet.publicKey, 10 * LAMPORTS_PER_SOL);
await within(90, 'airdrop', connection.confirmTransaction({ signature: airdrop, ...(await connection.getLatestBlockhash()) }));

// swap asks for a quote, signs it, sends it, and waits until it has landed.
async function swap() {
  const query = new URLSearchParams({ src_mint: SOL, dst_mint: USDC, amount_in: '1500000000', slippage_bps: '300', user_account: wallet.publicKey.toBase58() });
  const answer = await patient(`${process.env.MINTLAKE_SWAP}/api/v2/quote?${query}`);
  const quote = await answer.json();
  assert.equal(answer.status, 200, JSON.stringify(quote));
  const transaction = VersionedTransaction.deserialize(Buffer.from(quote.txn, 'base64'));
  transaction.sign([wallet]);
  const signature = await connection.sendTransaction(transaction);
  const confirmed = connection.confirmTransaction(
    { signature, blockhash: transaction.message.recentBlockhash, lastValidBlockHeight: quote.last_valid_block_height });
  const { err } = (await within(90, 'swap', confirmed)).value;
  assert.equal(err, null, JSON.stringify(err));
  return { quote, signature };
}
// Others may move the price by more than the slippage before it lands. Then the venue's program refuses it, and a newcomer asks again.
const refused = (reason) => /custom program error|"Custom":/.test(reason.message ?? JSON.stringify(reason));
let landed;
for (let attempt = 1; !landed; attempt++) {
  landed = await swap().catch((reason) => {
    if (attempt === 3 || !refused(reason)) throw reason;
    console.log('again:', reason.message ?? JSON.stringify(reason));
  });
}
const { quote, signature } = landed;
const held = await connection.getParsedTokenAccountsByOwner(wallet.publicKey, { mint: new PublicKey(USDC) });
const got = held.value[0].account.data.parsed.info.tokenAmount.amount;
assert.ok(BigInt(got) >= BigInt(quote.min_amount_out), `${got} of ${quote.amount_out}`);

const sql = `SELECT toString(amount_in), toString(amount_out) FROM mintlake.swaps WHERE signature = '${signature}' FORMAT JSONCompactEachRow`;
const row = await until(90, 'the swap in ClickHouse', async () => {
  const rows = await fetch(`${process.env.MINTLAKE_CLICKHOUSE}/?query=${encodeURIComponent(sql)}`);
  return rows.ok && rows.text(); // a busy ClickHouse may answer an error
});
assert.deepEqual(JSON.parse(row), ['1500000000', got]);
done('swap');
