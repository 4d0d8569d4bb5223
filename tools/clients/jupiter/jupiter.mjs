// A hundred random swaps with Jupiter's client: quoted, built, signed, sent, and looked at where the money went.
import { Configuration, SwapApi } from '@jup-ag/api';
import {
  AddressLookupTableAccount, Connection, Keypair, LAMPORTS_PER_SOL, PublicKey, SystemProgram, Transaction, TransactionInstruction, TransactionMessage,
  VersionedTransaction, sendAndConfirmTransaction,
} from '@solana/web3.js';
import { createAssociatedTokenAccountIdempotentInstruction, createCloseAccountInstruction, createSyncNativeInstruction, getAssociatedTokenAddressSync } from '@solana/spl-token';
import { assert, done, patient, rpcURL, within } from './check.mjs';
import { SOL, order, parameters, question, random } from './draw.mjs';

const swaps = Number(process.env.SWAPS ?? 100);
const connection = new Connection(rpcURL, 'confirmed');
const api = new SwapApi(new Configuration({ basePath: `${process.env.MINTLAKE_SWAP}/swap/v1`, fetchApi: patient }));
const seen = { landed: 0, exact: 0, none: 0, outdated: 0, dust: 0, moved: 0, hops: 0, splits: 0 };
// How many swaps landed by call, by mode and by parameter, and the pairs that they were of.
const by = {};
const count = (name) => { by[name] = (by[name] ?? 0) + 1; };
const pairs = new Set();

const labels = await api.programIdToLabelGet();
assert.ok(Object.values(labels).includes('Raydium CP'), JSON.stringify(labels));

// Tokens that have a pool with SOL.
const swapAPI = (path) => patient(`${process.env.MINTLAKE_SWAP}${path}`).then((answer) => answer.json());
const { items } = await (await patient(`${process.env.MINTLAKE_API}/tokens?limit=100`)).json();
const listed = (await Promise.all(items.map(async ({ mint }) => {
  const { pools } = await swapAPI(`/api/v2/pools?mint=${mint}&with=${SOL}`);
  return pools?.some((p) => !p.refused) ? [{ mint, owner: (await connection.getAccountInfo(new PublicKey(mint)))?.owner }] : [];
}))).flat();
const mints = listed.filter((m) => m.owner).map((m) => m.mint);
const programOf = new Map(listed.map((m) => [m.mint, m.owner]));
programOf.set(SOL, (await connection.getAccountInfo(new PublicKey(SOL))).owner);
assert.ok(mints.length > 3, `${mints.length} tokens have pools with SOL`);
const ata = (owner, mint) => getAssociatedTokenAddressSync(new PublicKey(mint), owner, true, programOf.get(mint));

async function airdrop(key) {
  const signature = await connection.requestAirdrop(key, 500 * LAMPORTS_PER_SOL);
  await within(90, 'airdrop', connection.confirmTransaction({ signature, ...(await connection.getLatestBlockhash()) }));
}

// client is one wallet that swaps, with a payer, a friend who is paid in its place, and a platform.
class Client {
  constructor(seed) {
    this.r = random(seed);
    [this.user, this.payer, this.friend, this.platform] = [1, 2, 3, 4].map((n) => Keypair.fromSeed(new Uint8Array(32).fill(seed * 8 + n)));
    this.held = new Map();
  }

  async start() {
    await Promise.all([this.user, this.payer].map((k) => airdrop(k.publicKey)));
  }

  async run(...instructions) {
    return within(90, 'setup', sendAndConfirmTransaction(connection, new Transaction().add(...instructions), [this.user]));
  }

  async account(owner, mint) {
    const address = ata(owner, mint);
    if (!(await connection.getAccountInfo(address))) {
      await this.run(createAssociatedTokenAccountIdempotentInstruction(this.user.publicKey, address, owner, new PublicKey(mint), programOf.get(mint)));
    }
    return address;
  }

  // prepare makes the accounts that an order names. It returns the request's members, and the account whose balance must grow.
  async prepare(q, o) {
    const members = { ...o, userPublicKey: this.user.publicKey.toBase58() };
    let target = { lamports: q.outputMint === SOL, key: q.outputMint === SOL ? this.user.publicKey : ata(this.user.publicKey, q.outputMint) };
    if (o.payer) members.payer = this.payer.publicKey.toBase58();
    if (o.feeAccount) members.feeAccount = (await this.account(this.platform.publicKey, q.outputMint)).toBase58();
    const wrapped = ata(this.user.publicKey, SOL);
    let open = await connection.getAccountInfo(wrapped);
    if (o.nativeDestinationAccount) {
      if (open) { // refused as long as it is open: see TestMoneyGoesWhereItIsSent
        await this.run(createCloseAccountInstruction(wrapped, this.user.publicKey, this.user.publicKey));
        open = null;
      }
      target = { lamports: true, key: this.friend.publicKey };
      members.nativeDestinationAccount = this.friend.publicKey.toBase58();
    } else if (o.destinationTokenAccount) {
      target = { lamports: false, key: await this.account(this.friend.publicKey, q.outputMint) };
      members.destinationTokenAccount = target.key.toBase58();
    } else if (q.outputMint === SOL && (o.wrapAndUnwrapSol === false || (open && (o.payer || !o.skipUserAccountsRpcCalls)))) {
      target = { lamports: false, key: wrapped };
    }
    if (o.wrapAndUnwrapSol === false && q.inputMint === SOL) {
      await this.account(this.user.publicKey, SOL);
      await this.run(SystemProgram.transfer({ fromPubkey: this.user.publicKey, toPubkey: wrapped, lamports: q.amount }), createSyncNativeInstruction(wrapped));
    }
    return { members, target };
  }

  // build asks for the transaction, or for the instructions and makes it.
  async build(members, quoteResponse) {
    const swapRequest = { ...members, quoteResponse };
    if (this.r.chance(2)) {
      const { swapTransaction, lastValidBlockHeight } = await api.swapPost({ swapRequest });
      return { call: 'swap', transaction: VersionedTransaction.deserialize(Buffer.from(swapTransaction, 'base64')), lastValidBlockHeight };
    }
    const parts = await api.swapInstructionsPost({ swapRequest });
    const { blockhash, lastValidBlockHeight } = await connection.getLatestBlockhash();
    const instructions = [...parts.computeBudgetInstructions, ...parts.setupInstructions, parts.swapInstruction, parts.cleanupInstruction, ...parts.otherInstructions]
      .filter(Boolean)
      .map((i) => new TransactionInstruction({
        programId: new PublicKey(i.programId), data: Buffer.from(i.data, 'base64'),
        keys: i.accounts.map((a) => ({ pubkey: new PublicKey(a.pubkey), isSigner: a.isSigner, isWritable: a.isWritable })),
      }));
    const tables = await Promise.all(parts.addressLookupTableAddresses.map(async (address) => {
      const key = new PublicKey(address);
      return new AddressLookupTableAccount({ key, state: AddressLookupTableAccount.deserialize((await connection.getAccountInfo(key)).data) });
    }));
    const message = new TransactionMessage({ payerKey: members.payer ? this.payer.publicKey : this.user.publicKey, recentBlockhash: blockhash, instructions });
    return { call: 'swap-instructions', transaction: new VersionedTransaction(members.asLegacyTransaction ? message.compileToLegacyMessage() : message.compileToV0Message(tables)), lastValidBlockHeight };
  }

  async swap() {
    const holding = [...this.held].filter(([, amount]) => amount > 10_000).map(([mint]) => mint);
    const inputMint = holding.length && this.r.chance(2) ? this.r.pick(holding) : SOL;
    const outputMint = inputMint !== SOL && this.r.chance(2) ? SOL : this.r.pick(mints.filter((m) => m !== inputMint));
    const q = question(this.r, inputMint, outputMint, this.held.get(inputMint) ?? 0);
    const o = order(this.r, q);
    let quote, out;
    try {
      quote = await api.quoteGet(q);
      if (this.r.chance(4) && !q.dexes) { // the same trade, asked for by what comes out
        quote = await api.quoteGet({ ...q, swapMode: 'ExactOut', amount: Math.max(1, Math.floor(Number(quote.outAmount) / 2)) });
      }
      const prepared = await this.prepare(quote.swapMode === 'ExactOut' ? { ...q, amount: Number(quote.otherAmountThreshold) } : q, o);
      out = { ...prepared, ...(await this.build(prepared.members, quote)) };
    } catch (reason) {
      if (!reason.response) throw reason;
      const body = await reason.response.json();
      if (reason.response.status === 404) return seen.none++;
      if (reason.response.status === 409) return seen.outdated++;
      // A new account must get its rent: of a token that is worth little, less is bought.
      if (o.nativeDestinationAccount && /must buy at least \d+ lamports/.test(body.message)) return seen.dust++;
      throw new Error(`${JSON.stringify(q)} ${JSON.stringify(o)}: ${reason.response.status} ${JSON.stringify(body)}`);
    }
    check(q, quote);
    await this.land(q, o, quote, out);
  }

  async land(q, o, quote, { call, target, transaction, lastValidBlockHeight }) {
    const signers = [this.user, ...(o.payer ? [this.payer] : [])];
    transaction.sign(signers);
    const asked = JSON.stringify({ q, o, quote });
    const signature = await connection.sendTransaction(transaction, { skipPreflight: true });
    const { err } = (await within(90, 'swap', connection.confirmTransaction({ signature, blockhash: transaction.message.recentBlockhash, lastValidBlockHeight }))).value;
    const landed = await connection.getTransaction(signature, { maxSupportedTransactionVersion: 0, commitment: 'confirmed' });
    if (err) { // others may have moved the price by more than the slippage
      assert.ok(landed.meta.logMessages.some((l) => /slippage|ExceededSlippage|TooLittle|TooMuch/i.test(l)) || /Custom/.test(JSON.stringify(err)), `${JSON.stringify(err)} ${asked} ${landed.meta.logMessages.join('\n')}`);
      return seen.moved++;
    }
    const keys = landed.transaction.message.getAccountKeys({ accountKeysFromLookups: landed.meta.loadedAddresses });
    const all = [...Array(keys.length).keys()].map((i) => keys.get(i).toBase58());
    const tokens = (list, key) => BigInt(list.find((b) => all[b.accountIndex] === key)?.uiTokenAmount.amount ?? 0);
    const grown = (key) => tokens(landed.meta.postTokenBalances, key) - tokens(landed.meta.preTokenBalances, key);
    const lamports = (key) => (all.includes(key) ? BigInt(landed.meta.postBalances[all.indexOf(key)] - landed.meta.preBalances[all.indexOf(key)]) : 0n);
    const to = target.key.toBase58();
    let got = target.lamports ? lamports(to) : grown(to);
    const user = this.user.publicKey.toBase58();
    if (target.lamports && to === user) { // who also paid for other things
      if (!o.payer) got += BigInt(landed.meta.fee);
      if (o.prioritizationFeeLamports?.jitoTipLamports) got += BigInt(o.prioritizationFeeLamports.jitoTipLamports);
    }
    const least = BigInt(quote.swapMode === 'ExactOut' ? quote.outAmount : quote.otherAmountThreshold);
    // Rents of the user's own accounts are paid out of the SOL that he buys.
    const rents = target.lamports && to === user ? 5_000_000n : 0n;
    assert.ok(got + rents >= least, `${got} of ${least} arrived: ${asked}`);
    if (got === BigInt(quote.outAmount)) seen.exact++;
    if (o.payer) {
      assert.equal(all[0], this.payer.publicKey.toBase58());
      assert.ok(lamports(all[0]) <= -BigInt(landed.meta.fee), asked);
    }
    if (q.platformFeeBps && quote.platformFee) {
      // A part of what the route gave when the transaction was built: up to the slippage another one than quoted.
      const [paid, quoted] = [grown(ata(this.platform.publicKey, q.outputMint).toBase58()), BigInt(quote.platformFee.amount)];
      assert.ok(paid * 100n >= quoted * 95n && paid * 95n <= quoted * 100n, `${paid} ${asked}`);
    }
    if (quote.inputMint !== SOL) {
      assert.ok(-grown(ata(this.user.publicKey, q.inputMint).toBase58()) <= BigInt(quote.swapMode === 'ExactOut' ? quote.otherAmountThreshold : quote.inAmount), asked);
    }
    for (const b of landed.meta.postTokenBalances) if (b.owner === user && b.mint !== SOL) this.held.set(b.mint, Number(b.uiTokenAmount.amount));
    seen.landed++;
    pairs.add(`${q.inputMint} ${q.outputMint}`);
    for (const name of new Set([call, quote.swapMode, ...Object.keys(q), ...Object.keys(o)])) count(name);
    if (quote.routePlan.some((s) => s.swapInfo.inputMint !== q.inputMint)) seen.hops++;
    if (quote.routePlan.filter((s) => s.swapInfo.inputMint === q.inputMint).length > 1) seen.splits++;
  }
}

// check holds a quote to what was asked for.
function check(q, quote) {
  assert.equal(quote.inputMint, q.inputMint);
  assert.equal(quote.outputMint, q.outputMint);
  assert.equal(quote.slippageBps, 500);
  for (const mint of new Set(quote.routePlan.map((s) => s.swapInfo.inputMint))) {
    const steps = quote.routePlan.filter((s) => s.swapInfo.inputMint === mint);
    assert.equal(steps.reduce((sum, s) => sum + s.percent, 0), 100, JSON.stringify(quote));
  }
  for (const { swapInfo } of quote.routePlan) {
    if (q.dexes) assert.ok(q.dexes.includes(swapInfo.label), JSON.stringify([q, quote]));
    assert.ok(!q.excludeDexes?.includes(swapInfo.label), JSON.stringify([q, quote]));
  }
  if (q.onlyDirectRoutes) assert.ok(quote.routePlan.every((s) => s.swapInfo.inputMint === q.inputMint && s.swapInfo.outputMint === q.outputMint));
}

// What Jupiter's API takes as a number cannot come from this client; what it refuses is refused.
const first = await api.quoteGet({ inputMint: SOL, outputMint: mints[0], amount: 100_000_000 });
assert.equal(first.slippageBps, 50);
for (const bad of [{ dynamicSlippage: true }, { trackingAccount: SOL }, { blockhashSlotsToExpiry: 5 }, { destinationTokenAccount: SOL }]) {
  const reason = await api.swapPost({ swapRequest: { userPublicKey: Keypair.generate().publicKey.toBase58(), quoteResponse: first, ...bad } }).then(() => null, (r) => r);
  assert.equal(reason?.response?.status, 400, JSON.stringify(bad));
  assert.ok((await reason.response.json()).message.match(new RegExp(Object.keys(bad)[0].replace('destinationTokenAccount', 'destination')))), JSON.stringify(bad);
}

const clients = [1, 2, 3, 4, 5].map((seed) => new Client(seed));
await Promise.all(clients.map((c) => c.start()));
let left = swaps * 3;
await Promise.all(clients.map(async (c) => {
  while (seen.landed < swaps && left-- > 0) await c.swap();
}));
console.log(JSON.stringify({ ...seen, pairs: pairs.size, by }));
assert.ok(seen.landed >= swaps, `only ${seen.landed} landed`);
for (const name of ['swap', 'swap-instructions', 'ExactIn', 'ExactOut', ...parameters]) assert.ok(by[name] > 0, `no swap with ${name} landed`);
assert.ok(seen.exact > seen.landed / 4 && seen.hops > 0, JSON.stringify(seen));
done('jupiter');
