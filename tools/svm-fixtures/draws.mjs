// Proofs and ciphertexts are drawn at random. What was drawn once is in draws.json and replayed, so that each generation gives the same fixtures;
// with DRAW=1 (`npm run draw`) all of it is made anew.
import { readFileSync, writeFileSync } from "node:fs";

const FILE = new URL("draws.json", import.meta.url);
const fresh = process.env.DRAW === "1";
const recorded = fresh ? {} : JSON.parse(readFileSync(FILE, "utf8"));
const zk = fresh ? await import("./zk.mjs") : null;
export const PROOF_PROGRAM = "ZkE1Gama1Proof11111111111111111111111111111";

// What verifies each kind of proof (ProofInstruction of the program), and the length of what it leaves in a context account behind the 33 bytes
// of authority and kind.
const PROOFS = {
  zeroCiphertext: [1, 96], ciphertextEquality: [2, 192], commitmentEquality: [3, 128], pubkeyValidity: [4, 32], percentage: [5, 104], range64: [6, 264],
  range128: [7, 264], range256: [8, 264], validity2: [10, 256], validity3: [12, 352],
};
const READONLY = 0, WRITABLE = 1;

// draw gives what make drew: byte strings by name. Under the same name it gives the same again.
export function draw(world, name, make) {
  const id = `${world.name} ${name}`;
  if (fresh && !recorded[id]) recorded[id] = Object.fromEntries(Object.entries(make(zk)).map(([k, v]) => [k, Buffer.from(v).toString("base64")]));
  if (!recorded[id]) throw new Error(`draws.json lacks ${id}: npm run draw`);
  return Object.fromEntries(Object.entries(recorded[id]).map(([k, v]) => [k, new Uint8Array(Buffer.from(v, "base64"))]));
}

export function save() {
  if (fresh) writeFileSync(FILE, JSON.stringify(recorded, null, 1) + "\n");
}

// inline verifies a proof that the instruction carries itself.
export function inline(drawn, kind) {
  return { programAddress: PROOF_PROGRAM, accounts: [], data: Uint8Array.from([PROOFS[kind][0], ...drawn[kind]]) };
}

// contexts verifies proofs that lie in accounts, and keeps what they prove in context accounts: the instructions, and those accounts by kind.
export function contexts(world, name, drawn) {
  const instructions = [], at = {};
  for (const kind of Object.keys(drawn).filter((k) => PROOFS[k])) {
    const [number, length] = PROOFS[kind], record = world.address(`${name}: ${kind} proof`);
    at[kind] = world.address(`${name}: ${kind} context`);
    world.put(record, "11111111111111111111111111111111", drawn[kind]);
    world.put(at[kind], PROOF_PROGRAM, new Uint8Array(33 + length));
    instructions.push({
      programAddress: PROOF_PROGRAM, data: Uint8Array.from([number, 0, 0, 0, 0]), // the offset in the account
      accounts: [{ address: record, role: READONLY }, { address: at[kind], role: WRITABLE }, { address: world.payer.address, role: READONLY }],
    });
  }
  return { instructions, at };
}

// extension is the value of a Token-2022 extension of an account, from one byte to another.
export function extension(world, address, type, from, to) {
  const data = Buffer.from(world.account(address).data);
  for (let at = 166; at + 4 <= data.length; at += 4 + data.readUInt16LE(at + 2)) {
    if (data.readUInt16LE(at) === type) return data.subarray(at + 4 + from, at + 4 + to);
  }
  throw new Error(`${world.names[address]} has no extension ${type}`);
}
