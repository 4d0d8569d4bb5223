// Runs swaps on the venues' own programs in LiteSVM and compares what the user gets with the quotes.
//
// In: a JSON Lines file (argument 1) written by swap/venue/all's TestPrograms:
//   {"t":"program",key,file}  a program to load
//   {"t":"case",id,kind,slot,time,accounts,wire,before,watch}  a transaction: accounts are set before it; watch are accounts with the
//       amount (of a token account) or the lamports that they must hold after it
// Out: one JSON object with counts, the greatest compute units by kind and the first mismatches; exit code 1 when there are any.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { LiteSVM, FailedTransactionMetadata } = require("litesvm");
const { getTransactionDecoder, lamports } = require("@solana/kit");

const svm = new LiteSVM().withSigverify(false).withBlockhashCheck(false).withTransactionHistory(0n).withLogBytesLimit(undefined);
const decoder = getTransactionDecoder();
const result = { cases: 0, units: {}, mismatches: [], wrong: 0 };
const bytes = (s) => Buffer.from(s ?? "", "base64");

function put(a) {
  const data = bytes(a.data);
  svm.setAccount({ address: a.key, lamports: lamports(BigInt(a.lamports)), programAddress: a.owner, executable: false, data, space: BigInt(data.length) });
}

function mismatch(id, what, want, got) {
  result.wrong++;
  if (result.mismatches.length < 8) result.mismatches.push({ id, what, want: String(want), got: String(got) });
}

function run(line) {
  result.cases++;
  const clock = svm.getClock();
  clock.slot = BigInt(line.slot);
  clock.unixTimestamp = BigInt(line.time);
  clock.epoch = 2n;
  svm.setClock(clock);
  for (const a of line.accounts) put(a);
  const r = svm.sendTransaction(decoder.decode(bytes(line.wire)));
  if (r instanceof FailedTransactionMetadata) {
    mismatch(line.id, "error", "success", r.err() + "\n" + r.meta().logs().join("\n"));
    return;
  }
  const used = Number(r.computeUnitsConsumed());
  result.units[line.kind] = Math.max(result.units[line.kind] ?? 0, used);
  for (const w of line.watch) {
    const account = svm.getAccount(w.key);
    const got = w.token ? Buffer.from(account.data).readBigUInt64LE(64) : account.lamports;
    if (got !== BigInt(w.want)) mismatch(line.id, w.token ? "amount" : "lamports", w.want, got);
  }
}

for (const text of readFileSync(process.argv[2], "utf8").split("\n")) {
  if (!text) continue;
  const line = JSON.parse(text);
  if (line.t === "program") svm.addProgramFromFile(line.key, line.file);
  else if (line.t === "case") run(line);
  else throw new Error(`unknown line ${line.t}`);
}
if (result.wrong > 0) process.exitCode = 1;
console.log(JSON.stringify(result));
