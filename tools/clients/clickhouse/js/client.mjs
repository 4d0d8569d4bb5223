// @clickhouse/client against the embedded ClickHouse.
import assert from "node:assert/strict";
import { ClickHouseLogLevel, createClient } from "@clickhouse/client";

const url = process.env.MINTLAKE_CLICKHOUSE;
const table = "default.client_js";
const log = { level: ClickHouseLogLevel.OFF }; // errors that are wanted

const client = createClient({ url, database: "mintlake", compression: { request: true, response: true }, log });
assert.equal((await client.ping()).success, true);

const counted = await client.query({ query: "SELECT count() AS n FROM tokens", format: "JSONEachRow" });
assert.ok(Number((await counted.json())[0].n) > 0);
const found = await client.query({
  query: "SELECT mint, symbol FROM tokens WHERE symbol != {none:String} LIMIT 2",
  query_params: { none: "" },
  format: "JSON",
});
assert.equal((await found.json()).data.length, 2);

await client.command({ query: `CREATE OR REPLACE TABLE ${table} (n UInt32, s String) ENGINE = MergeTree ORDER BY n` });
const values = Array.from({ length: 10000 }, (_, n) => ({ n, s: `row\n\n${n}` }));
await client.insert({ table, values, format: "JSONEachRow" });

// A large result as a stream.
const stream = await client.query({ query: `SELECT n FROM ${table} CROSS JOIN numbers(50) AS more`, format: "JSONEachRow" });
let rows = 0;
for await (const block of stream.stream()) rows += block.length;
assert.equal(rows, 500000);

const settings = await client.query({
  query: "SELECT getSetting('max_block_size') AS v",
  clickhouse_settings: { max_block_size: "123" },
  format: "JSONEachRow",
});
assert.equal(Number((await settings.json())[0].v), 123);

await assert.rejects(client.query({ query: "SELECT * FROM no_such_table" }), (error) => error.code === "60");

const mine = createClient({ url, session_id: "client-js", log });
await mine.command({ query: "CREATE TEMPORARY TABLE mine (n UInt8)" });
await mine.insert({ table: "mine", values: [{ n: 1 }, { n: 2 }], format: "JSONEachRow" });
const sum = await mine.query({ query: "SELECT sum(n) AS n FROM mine", format: "JSONEachRow" });
assert.equal(Number((await sum.json())[0].n), 3);
await assert.rejects(client.query({ query: "SELECT * FROM mine" }), (error) => error.code === "60");

await client.command({ query: `DROP TABLE ${table}` });
await mine.close();
await client.close();
console.log("@clickhouse/client: queries, inserts, streams, settings, sessions");
