// Quotes a pool with the SDK of its venue: node quotes.mjs, with the question as JSON on standard
// input. Prints the amounts bought and the nanoseconds of a quote. The folder in the environment
// variable SDK_MODULES has the packages. Decoding the accounts is not timed. A quote that does not
// end within its time limit is refused.
import { createRequire } from 'node:module'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInThisContext } from 'node:vm'

const require = createRequire(join(process.env.SDK_MODULES, 'package.json'))
const BN = require('bn.js')
const { Connection } = require('@solana/web3.js')

const question = JSON.parse(readFileSync(0, 'utf8'))
const account = (key) => Buffer.from(question.accounts[key], 'base64')
const amountOf = (key) => new BN(account(key).readBigUInt64LE(64).toString())
const supplyOf = (key) => account(key).readBigUInt64LE(36)

const MILLISECONDS_PER_QUOTE = 2000

// Reads the ticks of a Whirlpool's tick array: a fixed one, or a dynamic one, which has bytes for
// initialized ticks only.
function whirlpoolTicks(d) {
  const dynamic = d.length !== 9988
  const ticks = []
  for (let at = dynamic ? 60 : 12; ticks.length < 88; at += dynamic && d[at] === 0 ? 1 : 113) {
    const initialized = d[at] !== 0
    const wide = (from) => (initialized ? d.readBigUInt64LE(from) | (d.readBigUInt64LE(from + 8) << 64n) : 0n)
    ticks.push({
      initialized, liquidityNet: BigInt.asIntN(128, wide(at + 1)), liquidityGross: wide(at + 17), feeGrowthOutsideA: 0n, feeGrowthOutsideB: 0n,
      rewardGrowthsOutside: [0n, 0n, 0n],
    })
  }
  return { startTickIndex: d.readInt32LE(8), ticks }
}

// The accounts of the question that begin with a discriminator, in hexadecimal digits.
const those = (...discriminators) =>
  Object.keys(question.accounts).filter((key) => discriminators.includes(account(key).subarray(0, 8).toString('hex')))

// Each venue returns a function from an amount to the amount bought; aToB: the first mint is sold.
const venues = {
  raydium_amm_v4(aToB) {
    const { default: Liquidity } = require('@raydium-io/raydium-sdk-v2/lib/raydium/liquidity/liquidity.js')
    const { liquidityStateV4Layout } = require('@raydium-io/raydium-sdk-v2')
    const pool = liquidityStateV4Layout.decode(account(question.pool))
    const poolInfo = {
      version: 4,
      mintA: { address: pool.baseMint.toBase58(), decimals: 6 }, mintB: { address: pool.quoteMint.toBase58(), decimals: 9 },
      baseReserve: amountOf(pool.baseVault.toBase58()).sub(pool.baseNeedTakePnl), quoteReserve: amountOf(pool.quoteVault.toBase58()).sub(pool.quoteNeedTakePnl),
    }
    const [mintIn, mintOut] = aToB ? [pool.baseMint, pool.quoteMint] : [pool.quoteMint, pool.baseMint]
    return (amountIn) => Liquidity.prototype.computeAmountOut.call({}, { poolInfo, amountIn, mintIn, mintOut, slippage: 0 }).amountOut
  },
  raydium_cpmm(aToB) {
    const { default: Cpmm } = require('@raydium-io/raydium-sdk-v2/lib/raydium/cpmm/cpmm.js')
    const { CpmmPoolInfoLayout, CpmmConfigInfoLayout } = require('@raydium-io/raydium-sdk-v2')
    const Decimal = require('decimal.js')
    const info = CpmmPoolInfoLayout.decode(account(question.pool))
    const reserve = (vault, ...fees) => fees.reduce((sum, fee) => sum.sub(fee), amountOf(vault.toBase58()))
    const baseReserve = reserve(info.vaultA, info.protocolFeesMintA, info.fundFeesMintA)
    const quoteReserve = reserve(info.vaultB, info.protocolFeesMintB, info.fundFeesMintB)
    const pool = {
      ...info, baseReserve, quoteReserve, configInfo: CpmmConfigInfoLayout.decode(account(info.configId.toBase58())),
      mintA: { address: info.mintA.toBase58() }, mintB: { address: info.mintB.toBase58() },
      poolPrice: new Decimal(quoteReserve.toString()).div(baseReserve.toString()),
    }
    const outputMint = aToB ? info.mintB : info.mintA
    return (amountIn) => Cpmm.prototype.computeSwapAmount.call({}, { pool, amountIn, outputMint, slippage: 0 }).amountOut
  },
  meteora_damm_v2(aToB) {
    const { CpAmm, SwapMode } = require('@meteora-ag/cp-amm-sdk')
    const sdk = new CpAmm(new Connection('http://127.0.0.1:1'))
    const poolState = sdk._program.coder.accounts.decode('pool', account(question.pool))
    const currentPoint = new BN(poolState.activationType === 0 ? question.slot : question.time)
    const inputTokenMint = aToB ? poolState.tokenAMint : poolState.tokenBMint
    return (amountIn) => sdk.getQuote2({
      inputTokenMint, slippage: 0, currentPoint, poolState, tokenADecimal: 6, tokenBDecimal: 9, hasReferral: false, swapMode: SwapMode.ExactIn, amountIn,
    }).outputAmount
  },
  pumpswap(aToB) {
    const { buyQuoteInput, sellBaseInput, PUMP_AMM_SDK, GLOBAL_CONFIG_PDA, PUMP_AMM_FEE_CONFIG_PDA } = require('@pump-fun/pump-swap-sdk')
    const at = (key) => ({ data: account(key.toBase58()) })
    const pool = PUMP_AMM_SDK.decodePool({ data: account(question.pool) })
    const globalConfig = PUMP_AMM_SDK.decodeGlobalConfig(at(GLOBAL_CONFIG_PDA))
    const feeConfig = PUMP_AMM_SDK.decodeFeeConfig(at(PUMP_AMM_FEE_CONFIG_PDA))
    const common = {
      slippage: 0, baseReserve: amountOf(pool.poolBaseTokenAccount.toBase58()), quoteReserve: amountOf(pool.poolQuoteTokenAccount.toBase58()),
      virtualQuoteReserves: pool.virtualQuoteReserves, globalConfig, feeConfig, baseMintAccount: { supply: supplyOf(pool.baseMint.toBase58()) },
      baseMint: pool.baseMint, quoteMint: pool.quoteMint, coinCreator: pool.coinCreator, creator: pool.creator, isMayhemMode: pool.isMayhemMode,
    }
    return aToB ? (base) => sellBaseInput({ ...common, base }).uiQuote : (quote) => buyQuoteInput({ ...common, quote }).base
  },
  meteora_damm_v1(aToB) {
    const { calculateSwapQuote, AmmIdl, VaultIdl, PROGRAM_ID } = require('@meteora-ag/dynamic-amm-sdk')
    const { Program } = createRequire(require.resolve('@meteora-ag/dynamic-amm-sdk'))('@coral-xyz/anchor')
    const { PublicKey } = require('@solana/web3.js')
    const coder = (idl) => new Program(idl, new PublicKey(PROGRAM_ID), { connection: new Connection('http://127.0.0.1:1') }).coder.accounts
    const poolState = coder(AmmIdl).decode('pool', account(question.pool))
    const vault = (key) => coder(VaultIdl).decode('vault', account(key.toBase58()))
    const [vaultA, vaultB] = [vault(poolState.aVault), vault(poolState.bVault)]
    const supply = (key) => new BN(supplyOf(key.toBase58()).toString())
    const params = {
      poolState, vaultA, vaultB, poolVaultALp: amountOf(poolState.aVaultLp.toBase58()), poolVaultBLp: amountOf(poolState.bVaultLp.toBase58()),
      vaultALpSupply: supply(vaultA.lpMint), vaultBLpSupply: supply(vaultB.lpMint),
      vaultAReserve: amountOf(vaultA.tokenVault.toBase58()), vaultBReserve: amountOf(vaultB.tokenVault.toBase58()),
      currentTime: question.time, currentSlot: question.slot,
      depegAccounts: new Map(Object.keys(question.accounts).map((key) => [key, { data: account(key) }])),
    }
    const mint = aToB ? poolState.tokenAMint : poolState.tokenBMint
    return (amount) => calculateSwapQuote(mint, amount, params).amountOut
  },
  meteora_dbc(aToB) {
    const { swapQuoteExactIn, createDbcProgram } = require('@meteora-ag/dynamic-bonding-curve-sdk')
    const coder = createDbcProgram(new Connection('http://127.0.0.1:1')).program.coder.accounts
    const pool = coder.decode('virtualPool', account(question.pool))
    const config = coder.decode('poolConfig', account((pool.poolState ?? pool).config.toBase58()))
    const point = new BN(config.activationType === 0 ? question.slot : question.time)
    return (amount) => swapQuoteExactIn(pool, config, aToB, amount, 0, false, point, false).outputAmount
  },
  raydium_launchlab(aToB) {
    const { Curve, LaunchpadPool, LaunchpadConfig, PlatformConfig } = require('@raydium-io/raydium-sdk-v2')
    const poolInfo = LaunchpadPool.decode(account(question.pool))
    const { curveType, tradeFeeRate } = LaunchpadConfig.decode(account(poolInfo.configId.toBase58()))
    const { feeRate, creatorFeeRate } = PlatformConfig.decode(account(poolInfo.platformId.toBase58()))
    const common = {
      poolInfo, curveType, protocolFeeRate: tradeFeeRate, platformFeeRate: feeRate, creatorFeeRate, shareFeeRate: new BN(0), transferFeeConfigA: undefined, slot: question.slot,
    }
    const amountOf = (side) => side.amount ?? side
    return aToB ? (amountA) => amountOf(Curve.sellExactIn({ ...common, amountA }).amountB) : (amountB) => amountOf(Curve.buyExactIn({ ...common, amountB }).amountA)
  },
  raydium_clmm(aToB) {
    const { swapInternal } = require('@raydium-io/raydium-sdk-v2/lib/raydium/clmm/libraries/swapSimulator.js')
    const { PoolInfoLayout, ClmmConfigLayout, TickArrayLayout } = require('@raydium-io/raydium-sdk-v2')
    const { PublicKey } = require('@solana/web3.js')
    const poolInfo = PoolInfoLayout.decode(account(question.pool))
    const configInfo = ClmmConfigLayout.decode(account(poolInfo.configId.toBase58()))
    // It takes the arrays as they come: those from the price on, in the direction.
    const tickArrays = those('c09b55cd31f9812a')
      .map((key) => ({ address: new PublicKey(key), value: TickArrayLayout.decode(account(key)) }))
      .sort((a, b) => (aToB ? b.value.startTickIndex - a.value.startTickIndex : a.value.startTickIndex - b.value.startTickIndex))
      .filter(({ value: { startTickIndex: start } }) => (aToB ? start <= poolInfo.tickCurrent : start + 60 * poolInfo.tickSpacing > poolInfo.tickCurrent))
    const empty = () => Array.from({ length: 14 }, () => Array.from({ length: 8 }, () => new BN(0)))
    const common = {
      programId: new PublicKey('CAMMCzo5YL8w4VFF8KVHrK22GGUsp5VTaW7grrKgrWqK'), poolId: new PublicKey(question.pool), poolInfo, tickArrays, configInfo,
      tickarrayBitmapExtension: { poolId: new PublicKey(question.pool), positiveTickArrayBitmap: empty(), negativeTickArrayBitmap: empty() },
      sqrtPriceLimitX64: aToB ? new BN('4295048017') : new BN('79226673521066979257578248090'), zeroForOne: aToB, isBaseInput: true,
      blockTimestamp: question.time, includeExtraTickArrays: false,
    }
    return (amountSpecified) => swapInternal({ ...common, amountSpecified }).amountCalculated
  },
  orca_whirlpool(aToB) {
    const { swapQuoteByInputToken } = require('@orca-so/whirlpools-core')
    const d = account(question.pool)
    const wide = (at) => d.readBigUInt64LE(at) | (d.readBigUInt64LE(at + 8) << 64n)
    const tickSpacing = d.readUInt16LE(41)
    const pool = {
      feeTierIndexSeed: new Uint8Array(d.subarray(43, 45)), tickSpacing, feeRate: d.readUInt16LE(45), protocolFeeRate: 0, liquidity: wide(49), sqrtPrice: wide(65),
      tickCurrentIndex: d.readInt32LE(81), feeGrowthGlobalA: 0n, feeGrowthGlobalB: 0n, rewardLastUpdatedTimestamp: 0n,
      rewardInfos: Array.from({ length: 3 }, () => ({ emissionsPerSecondX64: 0n, growthGlobalX64: 0n })),
    }
    const held = those('4561bdbe6e0742bb', '11d8f68ee1c7da38').map((key) => whirlpoolTicks(account(key)))
    const width = 88 * tickSpacing
    const none = { initialized: false, liquidityNet: 0n, liquidityGross: 0n, feeGrowthOutsideA: 0n, feeGrowthOutsideB: 0n, rewardGrowthsOutside: [0n, 0n, 0n] }
    const arrays = [-2, -1, 0, 1, 2].map((n) => {
      const startTickIndex = (Math.floor(pool.tickCurrentIndex / width) + n) * width
      return held.find((a) => a.startTickIndex === startTickIndex) ?? { startTickIndex, ticks: Array.from({ length: 88 }, () => none) }
    })
    return (amountIn) => swapQuoteByInputToken(amountIn.big, aToB, 0, pool, null, arrays, BigInt(question.time)).tokenEstOut
  },
  meteora_dlmm(aToB) {
    const DLMM = require('@meteora-ag/dlmm') // the class, with all else that is exported on it
    const { createProgram, decodeAccount } = DLMM
    const { PublicKey } = require('@solana/web3.js')
    const program = createProgram(new Connection('http://127.0.0.1:1'))
    const binArrays = those('5c8e5cdc059446b5').map((key) => ({ publicKey: new PublicKey(key), account: decodeAccount(program, 'binArray', account(key)) }))
    const plain = { mint: { tlvData: Buffer.alloc(0) } }
    const pool = {
      lbPair: decodeAccount(program, 'lbPair', account(question.pool)), tokenX: plain, tokenY: plain, binArrayBitmapExtension: null, clock: { epoch: new BN(926) },
    }
    return (amountIn) => DLMM.prototype.swapQuote.call(pool, amountIn, aToB, new BN(0), binArrays).outAmount
  },
}

const answers = []
const amounts = question.amounts.map((a) => Object.assign(new BN(a), { big: BigInt(a) }))
let count = 0
let elapsed = 0n
for (const aToB of [true, false]) {
  const quote = venues[question.venue](aToB)
  answers.push(amounts.map((a) => {
    try {
      globalThis.ask = () => quote(a).toString()
      return runInThisContext('ask()', { timeout: MILLISECONDS_PER_QUOTE })
    } catch (e) {
      return `refused: ${e.message}`
    }
  }))
  if (answers.at(-1).some((a) => a.startsWith('refused'))) continue // Go tells it
  const run = (milliseconds) => { // in rounds over all amounts
    const began = process.hrtime.bigint()
    let n = 0
    let took = 0n
    do {
      for (const a of amounts) quote(a)
      n += amounts.length
      took = process.hrtime.bigint() - began
    } while (took < BigInt(milliseconds) * 1_000_000n)
    return [n, took]
  }
  run(500) // the compiler has seen it then
  const [n, took] = run(1500)
  count += n
  elapsed += took
}
console.log(JSON.stringify({ answers, nanoseconds: Number(elapsed) / count }))
