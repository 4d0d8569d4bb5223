// Replays a sample of the demo chain in LiteSVM and compares what happens with what the chain says.
//
// In: a JSON Lines file (argument 1) written by testworld/chain's TestLiteSVMAgrees:
//   {"t":"account",…}  an account that exists before the first transaction
//   {"t":"slot",slot,time}  the clock moves on
//   {"t":"tx",…}  a whole transaction whose programs LiteSVM has: error, inner instructions and every account after it must agree
//   {"t":"steps",…}  a transaction that calls programs LiteSVM lacks: their System, token and associated-token calls one by one
// Out: one JSON object with counts and the first mismatches; exit code 1 when there are any.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);
const { LiteSVM, FailedTransactionMetadata, Rent } = require("litesvm");
const { getTransactionDecoder, lamports } = require("@solana/kit");

const svm = new LiteSVM().withSigverify(false).withBlockhashCheck(false).withTransactionHistory(0n).withLogBytesLimit(undefined);
svm.setRent(new Rent(5080n, 1, 50)); // that of the test world, which is mainnet's
const decoder = getTransactionDecoder();
const result = { transactions: 0, steps: 0, accounts: 0, inner: 0, failed: 0, units: {}, mismatches: [] };
const hex = (b) => Buffer.from(b).toString("hex");
const bytes = (s) => Buffer.from(s ?? "", "base64");

function mismatch(id, what, want, got) {
  if (result.mismatches.length < 12) result.mismatches.push({ id, what, want, got });
  else process.exitCode = 1;
}

function put(a) {
  const data = bytes(a.data);
  svm.setAccount({ address: a.key, lamports: lamports(BigInt(a.lamports)), programAddress: a.owner, executable: false, data, space: BigInt(data.length) });
}

function compare(id, a) {
  result.accounts++;
  const got = svm.getAccount(a.key);
  if (!got.exists || got.lamports === 0n) {
    if (a.lamports !== "0") mismatch(id, `account ${a.key} missing`, a.lamports, "absent");
    return;
  }
  const want = bytes(a.data);
  if (Buffer.compare(want, Buffer.from(got.data)) !== 0) mismatch(id, `data of ${a.key}`, hex(want), hex(got.data));
  if (got.lamports !== BigInt(a.lamports)) mismatch(id, `lamports of ${a.key}`, a.lamports, String(got.lamports));
  if (got.programAddress !== a.owner) mismatch(id, `owner of ${a.key}`, a.owner, got.programAddress);
}

// describe turns an error into "index:kind" with kind the custom code or LiteSVM's number of the variant.
function describe(err) {
  if (typeof err?.index === "number" || typeof err?.index === "bigint") {
    const inner = err.err();
    return `${err.index}:${typeof inner === "object" && inner !== null && "code" in inner ? "custom " + inner.code : "plain " + inner}`;
  }
  return `transaction ${err}`;
}

function send(wire) {
  return svm.sendTransaction(decoder.decode(bytes(wire)));
}

function runWhole(line) {
  result.transactions++;
  const r = send(line.wire);
  const failed = r instanceof FailedTransactionMetadata;
  const meta = failed ? r.meta() : r;
  const err = failed ? describe(r.err()) : "";
  if (failed) result.failed++;
  if (err !== line.err) mismatch(line.id, "error", line.err, err + "\n" + meta.logs().join("\n"));
  const got = meta.innerInstructions().map((list) => list.map((i) => `${i.stackHeight()} ${i.instruction().programIdIndex()} ${hex(i.instruction().accounts())} ${hex(i.instruction().data())}`));
  const want = line.inner ?? [];
  const n = Math.max(got.length, want.length);
  for (let i = 0; i < n; i++) {
    const g = got[i] ?? [], w = want[i] ?? [];
    result.inner += w.length;
    if (JSON.stringify(g) !== JSON.stringify(w)) mismatch(line.id, `inner instructions of ${i}`, w, g);
  }
  const key = line.kind ?? "other";
  const u = (result.units[key] ??= { n: 0, demo: 0, real: 0 });
  u.n++; u.demo += line.units; u.real += Number(meta.computeUnitsConsumed());
  for (const a of line.post) compare(line.id, a);
}

function runSteps(line) {
  (line.wires ?? []).forEach((wire, i) => {
    result.steps++;
    const r = send(wire);
    if (r instanceof FailedTransactionMetadata) mismatch(line.id, `step ${i}`, "success", describe(r.err()) + "\n" + r.meta().logs().join("\n"));
  });
  for (const a of line.post) {
    if (line.compare.includes(a.key)) compare(line.id, a);
    put(a); // the rest (fees, foreign programs' accounts) is taken over
  }
}

for (const text of readFileSync(process.argv[2], "utf8").split("\n")) {
  if (!text) continue;
  const line = JSON.parse(text);
  switch (line.t) {
    case "account": put(line); break;
    case "slot": {
      svm.warpToSlot(BigInt(line.slot));
      const c = svm.getClock();
      c.unixTimestamp = BigInt(line.time);
      c.epoch = BigInt(line.slot) / 432000n;
      svm.setClock(c);
      break;
    }
    case "tx": runWhole(line); break;
    case "steps": runSteps(line); break;
    case "sync": for (const a of line.post) put(a); break;
    default: throw new Error(`unknown line ${line.t}`);
  }
}
if (result.mismatches.length > 0) process.exitCode = 1;
console.log(JSON.stringify(result));
