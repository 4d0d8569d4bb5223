// Makes keys, ciphertexts and zero-knowledge proofs. Only `npm run draw` loads it: what it makes is recorded, see draws.mjs.
import { createHash } from "node:crypto";
import { RistrettoPoint as Point } from "@noble/curves/ed25519";
import sdk from "@solana/zk-sdk/node";

const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n; // of the ristretto group
const LO_BITS = 16n; // amounts go as a low part of 16 bits and a high part of 32
const ONE_IN_BASIS_POINTS = 10_000n;
const SCALAR_AT = 4; // where the SDK's memory keeps an opening's scalar behind its handle's address: a borrow flag of four bytes comes first

const sha = (text) => createHash("sha256").update("mintlake fixture " + text).digest();

// key is an ElGamal pair and an AES key that depend on the name only.
export function key(name) {
  const secret = sha("elgamal " + name);
  secret[31] &= 0x0f; // below the group's order
  const pair = sdk.ElGamalKeypair.fromSecretKey(sdk.ElGamalSecretKey.fromBytes(secret));
  return { pair, pubkey: pair.pubkey(), aes: sdk.AeKey.fromBytes(sha("aes " + name).subarray(0, 16)) };
}

const point = (bytes) => Point.fromHex(Buffer.from(bytes).toString("hex"));
const times = (p, n) => (n === 0n ? Point.ZERO : p.multiply(n));
const halves = (ciphertext) => [point(ciphertext.subarray(0, 32)), point(ciphertext.subarray(32, 64))];
const joined = (a, b) => Buffer.concat([a.toRawBytes(), b.toRawBytes()]);
const split = (amount) => [amount & (2n ** LO_BITS - 1n), amount >> LO_BITS];

// part is the ciphertext under one of the keys of a grouped ciphertext: the commitment, then that key's handle.
const part = (grouped, index) => Buffer.concat([grouped.subarray(0, 32), grouped.subarray(32 * (index + 1), 32 * (index + 2))]);

// added is the ciphertext plus (or minus) one given in two parts.
function added(ciphertext, lo, hi, sign) {
  const [was, low, high] = [ciphertext, lo, hi].map(halves);
  return sdk.ElGamalCiphertext.fromBytes(joined(...[0, 1].map((i) => {
    const sum = low[i].add(times(high[i], 2n ** LO_BITS));
    return sign > 0 ? was[i].add(sum) : was[i].subtract(sum);
  })));
}

// The SDK has no arithmetic on openings, and the fee's proofs need it: the scalars are read and written where its memory holds them.
const memory = (opening) => new Uint8Array(sdk.__wasm.memory.buffer, opening.__wbg_ptr + SCALAR_AT, 32);
const scalar = (opening) => BigInt("0x" + Buffer.from(memory(opening)).reverse().toString("hex"));

function opening(value) {
  const made = new sdk.PedersenOpening(), reduced = ((value % ORDER) + ORDER) % ORDER;
  memory(made).set(Buffer.from(reduced.toString(16).padStart(64, "0"), "hex").reverse());
  return made;
}

const copy = (o) => opening(scalar(o)); // lists of openings are consumed
const range = (Proof, list) => new Proof(
  list.map((e) => e.commitment ?? sdk.PedersenCommitment.from(e.amount, e.opening)), BigUint64Array.from(list.map((e) => e.amount)),
  Uint8Array.from(list.map((e) => e.bits)), list.map((e) => copy(e.opening)),
).toBytes();

export const amount = (owner, n) => ({ decryptable: owner.aes.encrypt(n).toBytes() });
export const configure = (owner) => ({ pubkeyValidity: new sdk.PubkeyValidityProofData(owner.pair).toBytes(), ...amount(owner, 0n) });
export const empty = (owner, available) => ({ zeroCiphertext: new sdk.ZeroCiphertextProofData(owner.pair, sdk.ElGamalCiphertext.fromBytes(available)).toBytes() });

// same proves that a new ciphertext under another key holds what the ciphertext holds.
export function same(owner, ciphertext, other, n) {
  const random = new sdk.PedersenOpening();
  return {
    ciphertextEquality: new sdk.CiphertextCiphertextEqualityProofData(owner.pair, other.pubkey, sdk.ElGamalCiphertext.fromBytes(ciphertext), other.pubkey.encryptWith(n, random), random, n).toBytes(),
    ...amount(other, n),
  };
}

const equality = (owner, ciphertext, random, n) =>
  new sdk.CiphertextCommitmentEqualityProofData(owner.pair, ciphertext, sdk.PedersenCommitment.from(n, random), random, n).toBytes();

export function withdraw(owner, available, n, left) {
  const random = new sdk.PedersenOpening(), [c, handle] = halves(available);
  const rest = sdk.ElGamalCiphertext.fromBytes(joined(c.subtract(times(Point.BASE, n)), handle));
  return { commitmentEquality: equality(owner, rest, random, left), range64: range(sdk.BatchedRangeProofU64Data, [{ amount: left, opening: random, bits: 64 }]), ...amount(owner, left) };
}

// grouped encrypts an amount's two parts for three keys and proves it.
function grouped(keys, n) {
  const amounts = split(n), openings = amounts.map(() => new sdk.PedersenOpening()), [a, b, c] = keys.map((k) => k.pubkey);
  const cipher = amounts.map((part, i) => sdk.GroupedElGamalCiphertext3Handles.encryptWith(a, b, c, part, openings[i]));
  const bytes = cipher.map((g) => Buffer.from(g.toBytes()));
  const proof = new sdk.BatchedGroupedCiphertext3HandlesValidityProofData(a, b, c, cipher[0], cipher[1], amounts[0], amounts[1], openings[0], openings[1]);
  return { amounts, openings, bytes, recorded: { validity3: proof.toBytes(), auditorLo: part(bytes[0], 2), auditorHi: part(bytes[1], 2) } };
}

// move proves a confidential transfer, mint or burn of n: the balance is that of the key at index among keys, and is left after it.
export function move({ keys, index, sign, balance, n, left }) {
  const owner = keys[index], group = grouped(keys, n), random = new sdk.PedersenOpening();
  const rest = added(balance, part(group.bytes[0], index), part(group.bytes[1], index), sign);
  return {
    commitmentEquality: equality(owner, rest, random, left), ...group.recorded,
    range128: range(sdk.BatchedRangeProofU128Data, [
      { amount: left, opening: random, bits: 64 }, { amount: group.amounts[0], opening: group.openings[0], bits: 16 },
      { amount: group.amounts[1], opening: group.openings[1], bits: 32 }, { amount: 0n, opening: new sdk.PedersenOpening(), bits: 16 },
    ]),
    ...amount(owner, left),
  };
}

// moveWithFee is move for a transfer from keys[0] to keys[1] under a fee that the key collector may withdraw.
export function moveWithFee({ keys, collector, balance, n, left, basisPoints, maximum }) {
  const owner = keys[0], group = grouped(keys, n), random = new sdk.PedersenOpening();
  const fee = (n * basisPoints + ONE_IN_BASIS_POINTS - 1n) / ONE_IN_BASIS_POINTS, delta = fee * ONE_IN_BASIS_POINTS - n * basisPoints;
  const fees = split(fee), feeOpenings = fees.map(() => new sdk.PedersenOpening());
  const feeCipher = fees.map((f, i) => sdk.GroupedElGamalCiphertext2Handles.encryptWith(keys[1].pubkey, collector.pubkey, f, feeOpenings[i]));
  const whole = (openings) => (scalar(openings[0]) + (scalar(openings[1]) << LO_BITS)) % ORDER;
  const transferScalar = whole(group.openings), feeScalar = whole(feeOpenings), claimed = new sdk.PedersenOpening();
  const of = (value, s) => { const o = opening(s); return { amount: value, opening: o, commitment: sdk.PedersenCommitment.from(value, o) }; };
  const feeWhole = of(fee, feeScalar), net = of(n - fee, transferScalar - feeScalar), deltaWhole = of(delta, feeScalar * ONE_IN_BASIS_POINTS - transferScalar * basisPoints);
  const rest = added(balance, part(group.bytes[0], 0), part(group.bytes[1], 0), -1);
  const percentage = new sdk.PercentageWithCapProofData(
    feeWhole.commitment, feeWhole.opening, fee, deltaWhole.commitment, deltaWhole.opening, delta,
    sdk.PedersenCommitment.from(delta, claimed), claimed, maximum,
  );
  return {
    commitmentEquality: equality(owner, rest, random, left), ...group.recorded, percentage: percentage.toBytes(),
    validity2: new sdk.BatchedGroupedCiphertext2HandlesValidityProofData(keys[1].pubkey, collector.pubkey, feeCipher[0], feeCipher[1], fees[0], fees[1], feeOpenings[0], feeOpenings[1]).toBytes(),
    range256: range(sdk.BatchedRangeProofU256Data, [
      { amount: left, opening: random, bits: 64 }, { amount: group.amounts[0], opening: group.openings[0], bits: 16 },
      { amount: group.amounts[1], opening: group.openings[1], bits: 32 }, { amount: delta, opening: claimed, bits: 16 },
      { ...of(ONE_IN_BASIS_POINTS - 1n - delta, -scalar(claimed)), bits: 16 }, { amount: fees[0], opening: feeOpenings[0], bits: 16 },
      { amount: fees[1], opening: feeOpenings[1], bits: 32 }, { ...net, bits: 64 },
    ]),
    ...amount(owner, left),
  };
}
