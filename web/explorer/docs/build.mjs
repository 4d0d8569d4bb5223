// Writes the pages of /docs into ../dist/docs, from the page that Vite built there and the pages of
// docs/. They need no script to be read.
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { render } from "./markdown.mjs";
import { groups } from "./pages.mjs";

const pages = fileURLToPath(new URL("../../../docs/", import.meta.url));
const out = fileURLToPath(new URL("../../dist/docs/", import.meta.url));
const frame = readFileSync(join(out, "index.html"), "utf8");
const served = groups.flatMap((group) => group.pages.map(({ name }) => name));

const menu = (current) =>
  groups
    .map(({ title, pages }, n) => {
      const links = pages.map(({ name, title: text }) => `<li><a href="/docs?page=${name}"${name === current ? ' aria-current="page"' : ""}>${text}</a></li>`);
      return `<p id="group-${n}">${title}</p><ul aria-labelledby="group-${n}">${links.join("")}</ul>`;
    })
    .join("\n");

/** written is a page of docs/; documented is one that the script fills in. */
const written = (name) => {
  const { html, headings } = render(readFileSync(join(pages, `${name}.md`), "utf8"), served);
  if (headings.length < 3) return html;
  const list = headings.map(({ id, inner }) => `<li><a href="#${id}">${inner}</a></li>`).join("");
  return html.replace("</h1>\n", `</h1>\n<nav class="within" aria-label="On this page"><ul>${list}</ul></nav>\n`);
};
const documented = (title, document) => `<h1>${title}</h1><div id="operations" data-document="${document}"><p>Loading. Without scripts: <a href="/docs?plain">the token API as a plain page</a>.</p></div>`;

for (const { name, title, document } of groups.flatMap((group) => group.pages)) {
  const content = document ? documented(title, document) : written(name);
  const page = { title: `${title} · Mintlake`, menu: menu(name), content };
  writeFileSync(join(out, `${name}.html`), frame.replace(/<!-- (title|menu|content) -->/g, (_, part) => page[part]));
}
rmSync(join(out, "index.html"));
