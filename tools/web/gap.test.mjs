// A node of its own, with slots that were left out on purpose, and limits that nobody else uses up.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, clean, get, open, picture, until } from "./browser.mjs";

const surfaces = ["api", "rpc", "stream", "swap", "metrics", "kafka", "clickhouse"];
// What the tests are told of the first node is no setting of this one.
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !["MINTLAKE_API", "MINTLAKE_RPC", "MINTLAKE_SWAP"].includes(name)));
let folder, node, at, hole;

/** up runs a node over a range of the demo chain's slots, and returns its address. */
async function up(from, to) {
  const flags = surfaces.flatMap((surface) => [`--${surface}-addr`, "127.0.0.1:0"]);
  const source = `rpc+${process.env.MINTLAKE_RPC}?from=${from}&to=${to}`;
  node = spawn(process.env.MINTLAKE, ["up", "--data-dir", folder, "--rooms", "ingest,enrich,api", "--source", source, "--rpc-upstream", process.env.MINTLAKE_RPC, "--enrich-offchain=false", ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...environment, MINTLAKE_LOG_LEVEL: "error" },
  });
  let said = "";
  node.stdout.on("data", (data) => (said += data));
  const address = await until("the address of the second node", () => /^addresses .*\bapi=(\S+)/m.exec(said)?.[1]);
  await until("its blocks", async () => {
    const status = await get("/status", address).catch(() => undefined);
    return status?.source.done && status.coverage.to_slot >= to - 3;
  });
  return address;
}

async function stop() {
  if (!node || node.exitCode !== null) return;
  node.kill("SIGINT");
  await once(node, "exit");
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "mintlake-gap-"));
  const { coverage } = await until("a hundred slots", async () => {
    const status = await get("/status");
    return status.coverage.to_slot - status.coverage.from_slot > 100 && status;
  });
  const first = coverage.to_slot - 95;
  hole = [first + 31, first + 60];
  await up(first, hole[0] - 1);
  await stop();
  at = await up(hole[1] + 1, first + 90);
});
after(async () => {
  await browser.close();
  await stop();
  await rm(folder, { recursive: true, force: true });
});

test("coverage shows the gap", () =>
  open("/", async (page) => {
    const { coverage } = await get("/status", at);
    assert.equal(coverage.gap_count, 1, JSON.stringify(coverage));
    const [{ from_slot: from, to_slot: to }] = coverage.gaps;
    assert.ok(from >= hole[0] - 3 && to <= hole[1] + 3 && to - from > 15, `${from} to ${to} of ${hole}`); // some slots have no block anyway
    await page.click("nav a:has-text('Coverage')");
    const gap = await page.waitForSelector("svg.slots rect.gap");
    assert.match(await page.textContent("main"), /1 gap/);
    const inWords = [from, to].map((slot) => slot.toLocaleString("en-US"));
    assert.equal((await gap.$eval("title", (title) => title.textContent)).trim(), inWords.join(" to "));
    const slots = coverage.to_slot - coverage.from_slot + 1;
    const [line, box] = [await page.locator("svg.slots").boundingBox(), await gap.boundingBox()];
    assert.ok(Math.abs(box.width / line.width - (to - from + 1) / slots) < 0.02, "it is as wide as it should be");
    assert.ok(Math.abs((box.x - line.x) / line.width - (from - coverage.from_slot) / slots) < 0.02, "and where it should be");
    await page.click("summary:has-text('Gaps')");
    await page.waitForSelector(`details li:has-text('${inWords[0]}')`);
    await page.click("summary:has-text('Gaps')");
    await clean(page);
    await picture(page, "explorer-coverage");
  }, { at }));

test("thirty queries, typed by a person, meet the limit and show no error", () =>
  open("/", async (page) => {
    const { items } = await get("/tokens?limit=200&fields=name", at);
    const words = items.map(({ name }) => name.split(" ")[0].toLowerCase()).filter((word) => /^[a-z]{4,8}$/.test(word)).slice(0, 30);
    while (words.length < 30) words.push(["wrapped", "usdc", "lake", "bonk", "frog"][words.length % 5]);
    let refused = 0;
    page.on("response", (response) => (refused += response.status() === 429));
    const calm = async () => {
      assert.equal(await page.locator(".problem").count(), 0);
      assert.doesNotMatch(await page.textContent(".hits"), /requests within a minute|does not answer|server answers/);
    };
    await page.focus("#q");
    for (const word of words) {
      await page.fill("#q", "");
      await page.keyboard.type(word, { delay: 170 }); // each letter is asked for
      await calm();
      await page.waitForTimeout(300); // a person looks
      await calm();
    }
    assert.ok(refused > 0, "the limit refused some of them");
    await page.waitForFunction(() => document.querySelector("#hits li") || document.querySelector(".hits p")?.textContent === "No token matches.", null, { timeout: 90_000 });
    await calm();
  }, { at, expected: /status of 429/ }));
