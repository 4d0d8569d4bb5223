// A swap in a transaction of version 1: its bytes are those that @solana/kit makes of the same instructions, and it pays.
import * as kit from '@solana/kit';
import { assert, done, patient, rpcURL, until } from './check.mjs';

const SOL = 'So11111111111111111111111111111111111111112';
const USDC = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v';
const rpc = kit.createSolanaRpc(rpcURL);
const wallet = await kit.generateKeyPairSigner();
await rpc.requestAirdrop(wallet.address, kit.lamports(10_000_000_000n)).send();
await until(90, 'airdrop', async () => (await rpc.getBalance(wallet.address).send()).value > 0n);

const roles = { truetrue: kit.AccountRole.WRITABLE_SIGNER, truefalse: kit.AccountRole.READONLY_SIGNER, falsetrue: kit.AccountRole.WRITABLE, falsefalse: kit.AccountRole.READONLY };
const theirs = ({ programId, accounts, data }) => ({
  programAddress: programId, data: Buffer.from(data, 'base64'), accounts: accounts.map((a) => ({ address: a.pubkey, role: roles[`${a.isSigner}${a.isWritable}`] })),
});
const post = async (path, body) => {
  const answer = await patient(`${process.env.MINTLAKE_SWAP}${path}`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });
  const text = await answer.text();
  assert.equal(answer.status, 200, text);
  return JSON.parse(text);
};

// made compares the bytes of one direction, and returns the transaction of kit.
async function made(inputMint, outputMint, amount) {
  const ask = new URLSearchParams({ inputMint, outputMint, amount, slippageBps: '300' });
  const quoteResponse = await (await patient(`${process.env.MINTLAKE_SWAP}/swap/v1/quote?${ask}`)).json();
  const swap = { quoteResponse, userPublicKey: wallet.address, transactionVersion: '1', prioritizationFeeLamports: 4321 };
  for (let attempt = 0; ; attempt++) { // another state may give another amount of the transaction
    const ours = await post('/swap/v1/swap', swap);
    const parts = await post('/swap/v1/swap-instructions', swap);
    assert.deepEqual(parts.computeBudgetInstructions, [], 'version 1 has them in its config');
    const wire = Buffer.from(ours.swapTransaction, 'base64');
    assert.equal(wire[0], 0x81);
    const decoded = kit.getTransactionDecoder().decode(wire);
    const { lifetimeToken } = kit.getCompiledTransactionMessageDecoder().decode(decoded.messageBytes);
    const message = kit.pipe(
      kit.createTransactionMessage({ version: 1 }),
      (m) => kit.setTransactionMessageFeePayer(wallet.address, m),
      (m) => kit.setTransactionMessageLifetimeUsingBlockhash({ blockhash: lifetimeToken, lastValidBlockHeight: BigInt(ours.lastValidBlockHeight) }, m),
      (m) => kit.setTransactionMessageConfig({ computeUnitLimit: ours.computeUnitLimit, priorityFeeLamports: 4321n, loadedAccountsDataSizeLimit: 64 << 20 }, m),
      (m) => kit.appendTransactionMessageInstructions([...parts.setupInstructions, parts.swapInstruction, parts.cleanupInstruction].filter(Boolean).map(theirs), m),
    );
    const same = kit.compileTransaction(message);
    const [a, b] = [decoded, same].map((t) => canonical(Buffer.from(t.messageBytes)));
    if (a !== b && attempt < 5) continue;
    assert.equal(a, b);
    return { transaction: decoded, quote: quoteResponse };
  }
}

// canonical writes a message of version 1 with its accounts by address: kit sorts those of one role by address, and we by their first use.
function canonical(bytes) {
  const { header, configMask, configValues, instructionHeaders, instructionPayloads, staticAccounts, lifetimeToken, ...rest } = kit.getCompiledTransactionMessageDecoder().decode(bytes);
  const role = (i) => (i < header.numSignerAccounts ? (i < header.numSignerAccounts - header.numReadonlySignerAccounts ? 'sw' : 's') : i < staticAccounts.length - header.numReadonlyNonSignerAccounts ? 'w' : 'r');
  const accounts = staticAccounts.map((address, i) => `${address} ${role(i)}`);
  const instructions = instructionHeaders.map((h, i) => [staticAccounts[h.programAccountIndex],
    instructionPayloads[i].instructionAccountIndices.map((n) => accounts[n]), Buffer.from(instructionPayloads[i].instructionData).toString('hex')]);
  return JSON.stringify([bytes.length, accounts[0], [...accounts].sort(), header, configMask, configValues, instructions, lifetimeToken, Object.keys(rest).sort()],
    (_, v) => (typeof v === 'bigint' ? `${v}` : v));
}

const balance = async () => {
  const { value } = await rpc.getTokenAccountsByOwner(wallet.address, { mint: kit.address(USDC) }, { encoding: 'jsonParsed' }).send();
  return value.length ? BigInt(value[0].account.data.parsed.info.tokenAmount.amount) : 0n;
};
const { transaction, quote } = await made(SOL, USDC, '1500000000');
const signed = await kit.signTransaction([wallet.keyPair], transaction);
const signature = await rpc.sendTransaction(kit.getBase64EncodedWireTransaction(signed), { encoding: 'base64', skipPreflight: true }).send();
const landed = await until(90, 'swap', () => rpc.getTransaction(signature, { maxSupportedTransactionVersion: 1, encoding: 'json', commitment: 'confirmed' }).send());
assert.equal(landed.version, 1);
assert.equal(landed.meta.err, null, JSON.stringify(landed.meta.logMessages));
assert.equal(landed.meta.fee, 5000n + 4321n);
const got = await balance();
assert.ok(got >= BigInt(quote.otherAmountThreshold), `${got} of ${quote.outAmount}`);
await made(USDC, SOL, String(got / 2n));
done('version 1');
