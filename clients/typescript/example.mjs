import { Mintlake } from "@mintlake/client";

const mintlake = new Mintlake({ url: process.env.MINTLAKE_URL ?? "http://127.0.0.1:8080" });

const { items } = await mintlake.search({ q: "usdc", limit: 5 });
console.log(items[0].symbol, items[0].mint);

const token = await mintlake.token(items[0].mint);
console.log("supply", token.supply);

// New and changed tokens as they come. Store each cursor to go on from there after a restart.
for await (const event of mintlake.follow()) {
  if (event.event === "new" || event.event === "changed") {
    console.log(event.event, event.token.symbol);
    break;
  }
}
