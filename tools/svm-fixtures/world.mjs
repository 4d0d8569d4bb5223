// A LiteSVM in which nothing is left to chance: keys come from names, slots and times from a counter. What is sent through it is
// recorded in the shape of getTransaction, with the bytes of every mint that the transaction changed.
import { createHash } from "node:crypto";
import { LiteSVM, FailedTransactionMetadata } from "litesvm";
import {
  appendTransactionMessageInstructions, compileTransaction, createKeyPairFromPrivateKeyBytes, createNoopSigner, createTransactionMessage,
  getAddressFromPublicKey, getBase58Decoder, getBase58Encoder, getTransactionEncoder, lamports, setTransactionMessageFeePayer,
  setTransactionMessageLifetimeUsingBlockhash, signTransaction,
} from "@solana/kit";

export const TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA";
export const TOKEN_2022 = "TokenzQdBNbLqP5VEhdkAS6EPFLC1PHnBqCXEpPxuEb";
const METAPLEX = "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s";
const METADATA_V1 = 4; // Key::MetadataV1
const base58 = getBase58Decoder();
const sha = (text) => createHash("sha256").update("mintlake fixture " + text).digest();
const TOKEN_PROGRAMS = new Set([TOKEN, TOKEN_2022]);
const FIRST_SLOT = 400_000_000n;
const SLOTS_PER_EPOCH = 432_000n;
const FIRST_TIME = 1_760_000_000n;

// Key offsets of the programs' accounts.
const ACCOUNT_LENGTH = 165, MINT_LENGTH = 82, TYPE_AT = 165, TYPE_MINT = 1, TYPE_ACCOUNT = 2;

const isMint = (a) => a.data.length === MINT_LENGTH || (a.data.length > TYPE_AT && a.data.length !== 355 && a.data[TYPE_AT] === TYPE_MINT);
const isTokenAccount = (a) => a.data.length === ACCOUNT_LENGTH || (a.data.length > TYPE_AT && a.data.length !== 355 && a.data[TYPE_AT] === TYPE_ACCOUNT);

export class World {
  #svm = new LiteSVM().withTransactionHistory(0n).withBlockhashCheck(false).withLogBytesLimit(undefined);
  #pairs = new Map();
  #count = 0n;
  #epoch = FIRST_SLOT / SLOTS_PER_EPOCH;
  steps = [];
  names = {};

  static async create(name) {
    const world = new World();
    world.name = name;
    world.payer = await world.key("payer");
    world.fund(world.payer.address, 1_000_000_000_000n);
    return world;
  }

  // key is a signer that depends on the scenario and the name only.
  async key(name) {
    const pair = await createKeyPairFromPrivateKeyBytes(new Uint8Array(sha(`${this.name} ${name}`)));
    const address = await getAddressFromPublicKey(pair.publicKey);
    this.#pairs.set(address, pair);
    this.names[address] = name;
    return createNoopSigner(address);
  }

  // address is one that nobody has the key of.
  address(name) {
    const address = base58.decode(sha(`${this.name} address ${name}`));
    this.names[address] = name;
    return address;
  }

  // at32 is the address that 32 bytes of another meaning, a public key of ElGamal, say, are written as.
  at32(name, bytes) {
    const address = base58.decode(bytes);
    this.names[address] = name;
    return address;
  }

  fund(address, amount) {
    this.#svm.setAccount({ address, lamports: lamports(amount), programAddress: "11111111111111111111111111111111", executable: false, data: new Uint8Array(0), space: 0n });
  }

  remove(address) { this.fund(address, 0n); }

  // put makes an account without a transaction.
  put(address, programAddress, data) {
    this.#svm.setAccount({ address, lamports: lamports(this.rent(data.length)), programAddress, executable: false, data, space: BigInt(data.length) });
  }

  rent(length) { return this.#svm.minimumBalanceForRentExemption(BigInt(length)); }

  account(address) {
    const a = this.#svm.getAccount(address);
    return a.exists && a.lamports > 0n ? a : null;
  }

  addProgram(address, code) { this.#svm.addProgram(address, code); }

  nextEpoch() { this.#epoch += 1n; }

  now() { return FIRST_TIME + this.#count; }

  #tick() {
    this.#count += 1n;
    const slot = FIRST_SLOT + this.#count + (this.#epoch - FIRST_SLOT / SLOTS_PER_EPOCH) * SLOTS_PER_EPOCH;
    this.#svm.warpToSlot(slot);
    const clock = this.#svm.getClock();
    clock.unixTimestamp = this.now();
    clock.epoch = this.#epoch;
    this.#svm.setClock(clock);
    return slot;
  }

  #balances(keys) {
    return keys.map((k) => Number(this.#svm.getBalance(k) ?? 0n));
  }

  #tokenBalances(keys) {
    const out = [];
    keys.forEach((key, accountIndex) => {
      const a = this.account(key);
      if (!a || !TOKEN_PROGRAMS.has(a.programAddress) || !isTokenAccount(a)) return;
      const data = Buffer.from(a.data);
      if (data[108] === 0) return;
      const mint = base58.decode(data.subarray(0, 32));
      const m = this.account(mint);
      if (!m || !isMint(m)) return; // a node, too, leaves out accounts whose mint is gone
      out.push({
        accountIndex, mint, owner: base58.decode(data.subarray(32, 64)), programId: a.programAddress,
        uiTokenAmount: { amount: data.readBigUInt64LE(64).toString(), decimals: m.data[44] },
      });
    });
    return out;
  }

  // #mints are the mint accounts, and the accounts that Metaplex calls metadata.
  #mints(keys) {
    const out = new Map();
    for (const key of keys) {
      const a = this.account(key);
      if (a && ((TOKEN_PROGRAMS.has(a.programAddress) && isMint(a)) || (a.programAddress === METAPLEX && a.data[0] === METADATA_V1))) out.set(key, { owner: a.programAddress, data: Buffer.from(a.data).toString("base64") });
    }
    return out;
  }

  // step sends one transaction and records it. fails says that it must fail.
  async step(name, instructions, { fails = false } = {}) {
    const slot = this.#tick();
    const message = appendTransactionMessageInstructions(instructions, setTransactionMessageLifetimeUsingBlockhash(
      { blockhash: base58.decode(sha(`${this.name} block ${slot}`)), lastValidBlockHeight: slot },
      setTransactionMessageFeePayer(this.payer.address, createTransactionMessage({ version: 0 })),
    ));
    const unsigned = compileTransaction(message);
    const signed = await signTransaction(Object.keys(unsigned.signatures).map((address) => this.#pairs.get(address)), unsigned);
    const wire = Buffer.from(getTransactionEncoder().encode(signed));
    const keys = staticKeys(Buffer.from(signed.messageBytes));
    const before = this.#mints(keys), preBalances = this.#balances(keys), preTokenBalances = this.#tokenBalances(keys);
    const result = this.#svm.sendTransaction(signed);
    const failed = result instanceof FailedTransactionMetadata;
    const meta = failed ? result.meta() : result;
    if (failed !== fails) throw new Error(`${this.name}, ${name}: ${failed ? result.err() : "succeeded"}\n${meta.logs().join("\n")}`);
    const after = this.#mints(keys), mints = {};
    for (const [key, mint] of after) if (before.get(key)?.data !== mint.data) mints[key] = mint;
    for (const key of before.keys()) if (!after.has(key)) mints[key] = null;
    this.steps.push({
      name, mints,
      transaction: {
        slot: Number(slot), blockTime: Number(this.now()), version: 0, transaction: [wire.toString("base64"), "base64"],
        meta: {
          err: failed ? describe(result.err()) : null, fee: 5000 * Object.keys(unsigned.signatures).length,
          preBalances, postBalances: this.#balances(keys), preTokenBalances, postTokenBalances: this.#tokenBalances(keys),
          innerInstructions: innerInstructions(meta), loadedAddresses: { writable: [], readonly: [] },
        },
      },
    });
    return meta;
  }
}

function innerInstructions(meta) {
  return meta.innerInstructions().map((list, index) => ({
    index,
    instructions: list.map((i) => ({
      programIdIndex: i.instruction().programIdIndex(), accounts: [...i.instruction().accounts()],
      data: base58.decode(i.instruction().data()), stackHeight: i.stackHeight(),
    })),
  })).filter((group) => group.instructions.length > 0);
}

// describe writes an instruction's error as a node does, as far as it is a program's own.
function describe(error) {
  const inner = error.err();
  if (typeof inner !== "object" || !("code" in inner)) throw new Error(`a failure of another kind: ${inner}`);
  return { InstructionError: [Number(error.index), { Custom: Number(inner.code) }] };
}

// staticKeys reads the account keys of a v0 message: version, three counts, a short vector of keys.
function staticKeys(message) {
  const count = message[4];
  return Array.from({ length: count }, (_, i) => base58.decode(message.subarray(5 + 32 * i, 37 + 32 * i)));
}

// bytes is an address as its 32 bytes.
export const bytes = (address) => getBase58Encoder().encode(address);
