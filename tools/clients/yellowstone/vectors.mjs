// Prints filters that @triton-one/yellowstone-grpc builds, as JSON: what gateway/stream/testdata/cuckoo.json holds.
//
//   tools/clients/run.sh writes them anew and compares (SUITES=yellowstone); to record: node vectors.mjs > cuckoo.json
import { createHash } from "node:crypto";
import {
  CompressedAccountFilterSet,
  SubscribeRequest,
  TokenAccountExpansionControlFlag,
} from "@triton-one/yellowstone-grpc";

// key is address number n: the same in each run.
const key = (n) => createHash("sha256").update(`address ${n}`).digest();

const cases = [
  { name: "empty", capacity: 10, inserted: 0 },
  { name: "one", capacity: 1, inserted: 1 },
  { name: "loose", capacity: 1000, inserted: 100 },
  { name: "full", capacity: 60, inserted: 60 },
  { name: "removed", capacity: 40, inserted: 30, removed: 10 },
  { name: "changed owners", capacity: 100, inserted: 80, tokenAccounts: TokenAccountExpansionControlFlag.BALANCE_CHANGED },
  { name: "all owners", capacity: 100, inserted: 80, tokenAccounts: TokenAccountExpansionControlFlag.ALL },
];

const out = cases.map(({ name, capacity, inserted, removed = 0, tokenAccounts }) => {
  const set = new CompressedAccountFilterSet(capacity);
  for (let n = 0; n < inserted; n++) set.insert(key(n));
  for (let n = 0; n < removed; n++) set.remove(key(n));
  const request = {
    accounts: {}, slots: {}, transactions: {}, transactionsStatus: {}, blocks: {}, blocksMeta: {}, entry: {}, accountsDataSlice: [],
  };
  request.transactions.mine = { ...set.toTransactionFilter(), vote: false, tokenAccounts };
  return {
    name, capacity, inserted, removed, tokenAccounts: tokenAccounts ?? -1,
    request: Buffer.from(SubscribeRequest.encode(request).finish()).toString("base64"),
  };
});
console.log(JSON.stringify(out, null, 1));
