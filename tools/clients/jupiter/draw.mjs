// What a swap of the suite asks for, drawn from a seed.
export const SOL = 'So11111111111111111111111111111111111111112';

// Those of a quote and of its transaction that are drawn. Amount, pair, slippage and user are always given.
export const parameters = [
  'dexes', 'excludeDexes', 'onlyDirectRoutes', 'restrictIntermediateTokens', 'maxAccounts', 'asLegacyTransaction', 'platformFeeBps', 'instructionVersion',
  'prioritizationFeeLamports', 'computeUnitPriceMicroLamports', 'dynamicComputeUnitLimit', 'skipUserAccountsRpcCalls', 'payer', 'destinationTokenAccount',
  'nativeDestinationAccount', 'wrapAndUnwrapSol', 'feeAccount',
];

// random is mulberry32: the same seed draws the same numbers.
export function random(seed) {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return { below: (n) => Math.floor(next() * n), chance: (n) => Math.floor(next() * n) === 0, pick: (list) => list[Math.floor(next() * list.length)] };
}

// question draws the parameters of a quote.
export function question(r, inputMint, outputMint, held) {
  const q = { inputMint, outputMint, amount: inputMint === SOL ? 10_000_000 + r.below(3_000_000_000) : Math.max(1000, Math.floor(held / (2 + r.below(6)))), slippageBps: 500 };
  if (r.chance(4)) q.swapMode = 'ExactIn';
  if (r.chance(5)) q.dexes = ['Raydium CP', 'Raydium', 'Meteora DAMM v2', 'Pump.fun Amm'].filter(() => !r.chance(4));
  if (q.dexes?.length === 0) delete q.dexes;
  if (r.chance(5)) q.excludeDexes = ['Nowhere Swap', r.pick(['Raydium', 'Pump.fun', 'Another'])];
  if (r.chance(5)) q.onlyDirectRoutes = true;
  if (r.chance(5)) q.restrictIntermediateTokens = r.chance(2);
  if (r.chance(6)) q.maxAccounts = r.pick([40, 64, 70, 128]);
  if (r.chance(6)) q.asLegacyTransaction = true;
  if (r.chance(5)) q.platformFeeBps = 1 + r.below(100);
  if (r.chance(8)) q.instructionVersion = r.pick(['V1', 'V2']);
  return q;
}

// order draws the parameters of the transaction, of which accounts are made elsewhere.
export function order(r, q) {
  const o = {};
  if (q.asLegacyTransaction) o.asLegacyTransaction = true;
  switch (r.below(6)) {
    case 0: o.prioritizationFeeLamports = { priorityLevelWithMaxLamports: { priorityLevel: r.pick(['medium', 'high', 'veryHigh']), maxLamports: 1 + r.below(100_000), global: r.chance(2) } }; break;
    case 1: o.prioritizationFeeLamports = { jitoTipLamports: 1_000_000 + r.below(1000) }; break;
    case 2: o.computeUnitPriceMicroLamports = r.below(50_000); break;
  }
  if (r.chance(3)) o.dynamicComputeUnitLimit = true;
  if (r.chance(6)) o.skipUserAccountsRpcCalls = true;
  if (r.chance(4)) o.payer = true;
  if (r.chance(4) && !q.platformFeeBps) o.destinationTokenAccount = true;
  else if (q.outputMint === SOL && r.chance(2)) o.nativeDestinationAccount = true;
  if (!o.nativeDestinationAccount && (q.inputMint === SOL || q.outputMint === SOL) && r.chance(5)) o.wrapAndUnwrapSol = false;
  if (q.platformFeeBps) o.feeAccount = true;
  return o;
}
