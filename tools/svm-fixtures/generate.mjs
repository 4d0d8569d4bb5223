// Writes the fixtures into the folder named by the first argument: one file a scenario, one step a line; and interfaces.json. metaplex.json is
// written only where the environment names the program's file, MPL_TOKEN_METADATA, see README.md; else it stays.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { interfaces } from "./interfaces.mjs";
import { save } from "./draws.mjs";
import { TOKEN, TOKEN_2022 } from "./world.mjs";
import * as confidential from "./scenarios/confidential.mjs";
import * as extensions from "./scenarios/extensions.mjs";
import { metaplex } from "./scenarios/metaplex.mjs";
import { token } from "./scenarios/token.mjs";

const out = process.argv[2];
for (const file of readdirSync(out)) if (file.endsWith(".json") && file !== "metaplex.json") rmSync(join(out, file));

const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))); // keys are made in parallel
const lines = (list) => list.map((item) => JSON.stringify(item)).join(",\n");

const worlds = [await token("spl-token", TOKEN), await token("token-2022", TOKEN_2022)];
for (const scenario of [...Object.values(extensions), ...Object.values(confidential)]) worlds.push(await scenario());
save();
if (process.env.MPL_TOKEN_METADATA) worlds.push(await metaplex(readFileSync(process.env.MPL_TOKEN_METADATA)));
for (const world of worlds) {
  writeFileSync(join(out, `${world.name}.json`), `{"names":${JSON.stringify(sorted(world.names))},"steps":[\n${lines(world.steps)}\n]}\n`);
}
const programs = interfaces().map(({ instructions, ...head }) => `${JSON.stringify(head).slice(0, -1)},"instructions":[\n${lines(instructions)}\n]}`);
writeFileSync(join(out, "interfaces.json"), `[\n${programs.join(",\n")}\n]\n`);
