// Puts the page of /docs into ../dist/docs: its own two files, and Scalar's standalone bundle.
// The bundle is taken from its package alone: installed as a dependency it brings a thousand others
// that are in the bundle already. The package is held to the hash that is written here.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, constants } from "node:zlib";

const renderer = {
  name: "@scalar/api-reference",
  version: "1.72.1",
  integrity: "sha512-XpEJ0rfc/cXbCrR+iC4kK0o/WwX2dTtGQbT049OlPKAHD6IMIFdTeGz2r+M27P2EDWKyUITRm/NzlP8z2pw/Ow==",
};

const here = fileURLToPath(new URL(".", import.meta.url));
const out = fileURLToPath(new URL("../../dist/docs/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "mintlake-docs-"));
try {
  const packed = execFileSync("npm", ["pack", `${renderer.name}@${renderer.version}`, "--silent", "--pack-destination", folder], { encoding: "utf8" }).trim();
  const file = join(folder, packed.split("\n").pop());
  const hash = "sha512-" + createHash("sha512").update(readFileSync(file)).digest("base64");
  if (hash !== renderer.integrity) throw new Error(`${renderer.name}@${renderer.version} has the hash ${hash}, want ${renderer.integrity}`);
  execFileSync("tar", ["-xzf", file, "-C", folder, "package/dist/browser/standalone.js"]);
  const bundle = readFileSync(join(folder, "package/dist/browser/standalone.js"));
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, `scalar-${renderer.version}.js`), bundle);
  // 4 MB: compressed once, not for each who asks
  writeFileSync(join(out, `scalar-${renderer.version}.js.br`), brotliCompressSync(bundle, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
  copyFileSync(join(here, "start.js"), join(out, "start.js"));
  writeFileSync(join(out, "index.html"), readFileSync(join(here, "index.html"), "utf8").replace("SCALAR_VERSION", renderer.version));
} finally {
  rmSync(folder, { recursive: true });
}
