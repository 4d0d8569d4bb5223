// Serves one LiteSVM over stdin and stdout, for tests that are a chain (internal/testkit/svmtest).
//
// In: JSON Lines. Out: one JSON line for each, in order.
//   {"t":"program",key,file}        loads a program, or exchanges it
//   {"t":"set",accounts}            puts accounts
//   {"t":"clock",slot,epoch,time}   moves the clock
//   {"t":"run",wire}                runs a transaction and keeps what it changes
// The answer to a transaction: err ("" or a text), logs, units, inner (a list for each outer instruction), accounts (all of the transaction, after
// it, in the order of the runtime, those of lookup tables too; one that does not exist has no owner).
import { createInterface } from "node:readline";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { LiteSVM, FailedTransactionMetadata } = require("litesvm");
const { getTransactionDecoder, getAddressDecoder, getCompiledTransactionMessageDecoder, lamports } = require("@solana/kit");

const svm = new LiteSVM().withSigverify(false).withBlockhashCheck(false).withTransactionHistory(0n).withLogBytesLimit(undefined);
const decoder = getTransactionDecoder();
const messages = getCompiledTransactionMessageDecoder();
const addresses = getAddressDecoder();
const bytes = (s) => Buffer.from(s ?? "", "base64");
const text = (b) => Buffer.from(b ?? []).toString("base64");

function put(a) {
  const data = bytes(a.data);
  svm.setAccount({ address: a.key, lamports: lamports(BigInt(a.lamports)), programAddress: a.owner, executable: false, data, space: BigInt(data.length) });
}

function read(key) {
  const got = svm.getAccount(key);
  if (!got.exists || got.lamports === 0n) return { key };
  return { key, owner: got.programAddress, lamports: String(got.lamports), data: got.executable ? "" : text(got.data) };
}

// keysOf returns the keys of a message in the runtime's order: its own, those loaded from tables to be written, those loaded to be read.
function keysOf(message) {
  const lookups = message.addressTableLookups ?? [];
  const entries = (lookup, indexes) => {
    const data = svm.getAccount(lookup.lookupTableAddress).data;
    return [...indexes].map((i) => addresses.decode(data.slice(56 + 32 * i, 88 + 32 * i)));
  };
  return [
    ...message.staticAccounts,
    ...lookups.flatMap((l) => entries(l, l.writableIndexes)),
    ...lookups.flatMap((l) => entries(l, l.readonlyIndexes)),
  ];
}

function run(wire) {
  const tx = decoder.decode(bytes(wire));
  const keys = keysOf(messages.decode(tx.messageBytes));
  const r = svm.sendTransaction(tx);
  const failed = r instanceof FailedTransactionMetadata;
  const meta = failed ? r.meta() : r;
  const inner = meta.innerInstructions().map((list) => list.map((i) => {
    const call = i.instruction();
    return { height: i.stackHeight(), program: call.programIdIndex(), accounts: [...call.accounts()], data: text(call.data()) };
  }));
  const accounts = keys.map(read);
  return { err: failed ? String(r.err()) : "", logs: meta.logs(), units: Number(meta.computeUnitsConsumed()), inner, accounts };
}

for await (const row of createInterface({ input: process.stdin })) {
  const line = JSON.parse(row);
  let answer = {};
  switch (line.t) {
    case "program": svm.addProgramFromFile(line.key, line.file); break;
    case "set": line.accounts.forEach(put); break;
    case "clock": {
      const clock = svm.getClock();
      clock.slot = BigInt(line.slot);
      clock.epoch = BigInt(line.epoch);
      clock.unixTimestamp = BigInt(line.time);
      svm.setClock(clock);
      break;
    }
    case "run": answer = run(line.wire); break;
    default: throw new Error(`unknown line ${line.t}`);
  }
  process.stdout.write(JSON.stringify(answer) + "\n");
}
