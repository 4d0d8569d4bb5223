// Lists the instructions that the programs' published clients know, with the bytes each begins with.
import { createRequire } from "node:module";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const require = createRequire(import.meta.url);
const here = dirname(fileURLToPath(import.meta.url));
const folder = (name) => join(here, "node_modules", ...name.split("/"));
const version = (name) => JSON.parse(readFileSync(join(folder(name), "package.json"), "utf8")).version;

// identified reads a generated identify function: a chain of conditions on the data's first bytes, each returning an enumerated name.
function identified(name, identify, enumeration, program) {
  const list = [];
  for (const [, condition, number] of identify.toString().matchAll(/if \(([\s\S]*?)\) \{\s*return (\d+)/g)) {
    const bytes = [...condition.matchAll(/new Uint8Array\(\[([\d, ]+)\]\)|\.encode\((\d+)\)/g)].flatMap((m) => (m[1] ?? m[2]).split(",").map(Number));
    if (bytes.length === 0) throw new Error(`${name}: cannot read ${condition}`);
    list.push({ name: enumeration[number], prefix: Buffer.from(bytes).toString("hex") });
  }
  const names = Object.keys(enumeration).filter((k) => Number.isNaN(Number(k)));
  if (list.length !== names.length) throw new Error(`${name}: ${list.length} of ${names.length} instructions read`);
  return { program, package: name, version: version(name), instructions: list };
}

// metaplex joins the client's instructions (each version of an instruction is one of its own there) with the program's enumeration, which has
// those too that no client writes any more.
function metaplex() {
  const name = "@metaplex-foundation/mpl-token-metadata", list = [];
  const generated = join(folder(name), "dist/src/generated/instructions");
  for (const file of readdirSync(generated).filter((f) => f.endsWith(".js") && f !== "index.js").sort()) {
    const text = readFileSync(join(generated, file), "utf8");
    const bytes = [...text.matchAll(/\b(?:discriminator|\w+Discriminator): (\d+)\b/g)].map((m) => Number(m[1]));
    if (bytes.length < 1 || bytes.length > 2) throw new Error(`${file}: cannot read discriminators`);
    list.push({ name: file[0].toUpperCase() + file.slice(1, -3), prefix: Buffer.from(bytes).toString("hex") });
  }
  const idl = JSON.parse(readFileSync(join(here, "metaplex-instructions.json"), "utf8"));
  const known = new Set(list.map((i) => i.prefix.slice(0, 2)));
  idl.instructions.forEach((instruction, number) => {
    const prefix = Buffer.from([number]).toString("hex");
    if (!known.has(prefix)) list.push({ name: instruction, prefix });
    known.delete(prefix);
  });
  if (known.size > 0) throw new Error("metaplex-instructions.json lacks instructions that the client has");
  list.sort((a, b) => (a.prefix < b.prefix ? -1 : 1));
  return { program: "metaqbxxUerdq28cj1RbAWkYQm3ybzjb6a8bt518x1s", package: name, version: `${version(name)}, IDL ${idl.version}`, instructions: list };
}

export function interfaces() {
  const token = require("@solana-program/token"), token2022 = require("@solana-program/token-2022");
  return [
    identified("@solana-program/token", token.identifyTokenInstruction, token.TokenInstruction, token.TOKEN_PROGRAM_ADDRESS),
    identified("@solana-program/token-2022", token2022.identifyToken2022Instruction, token2022.Token2022Instruction, token2022.TOKEN_2022_PROGRAM_ADDRESS),
    metaplex(),
  ];
}
