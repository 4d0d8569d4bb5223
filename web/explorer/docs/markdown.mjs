// Makes HTML of a page of docs/, when the explorer is built. The pages are our own; still no HTML
// of theirs goes through but anchors and comments.
import { Marked } from "marked";

const escape = (text) => text.replace(/[&<>"]/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[sign]);

/** anchor is the one that GitHub gives a heading. */
const anchor = (text) => text.toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").replaceAll(" ", "-");

/**
 * leads is where a link of a page leads: to a page that /docs has too, into the page itself, to
 * another host, or nowhere. Other pages of docs/ are not served.
 */
function leads(href, served) {
  if (/^(https?:|#)/.test(href)) return href;
  const [, name, place = ""] = /^(?:\.\.\/docs\/)?([a-z-]+)\.md(#.*)?$/.exec(href) ?? [];
  return served.includes(name) ? `/docs?page=${name}${place}` : undefined;
}

/** render returns the HTML of a page, and its headings of the second level. */
export function render(text, served) {
  const seen = new Map();
  const headings = [];
  let tables = 0;
  const renderer = {
    heading({ tokens, depth, text: raw }) {
      const known = seen.get(anchor(raw)) ?? 0;
      seen.set(anchor(raw), known + 1);
      const id = anchor(raw) + (known > 0 ? `-${known}` : "");
      const inner = this.parser.parseInline(tokens);
      if (depth === 2) headings.push({ id, inner: inner.replace(/<\/?a\b[^>]*>/g, "") });
      return `<h${depth} id="${escape(id)}">${inner}</h${depth}>\n`;
    },
    code: ({ text: code }) => `<pre tabindex="0"><code>${escape(code)}</code></pre>\n`,
    table({ header, rows }) {
      const row = (cells, name) => `<tr>${cells.map(({ tokens, text: own }) => (own === "" ? "<td></td>" : `<${name}>${this.parser.parseInline(tokens)}</${name}>`)).join("")}</tr>`;
      const head = header.some(({ text: own }) => own !== "") ? `<thead>${row(header, "th")}</thead>` : "";
      return `<div class="scroll" tabindex="0" role="region" aria-label="Table ${++tables}"><table>${head}<tbody>${rows.map((cells) => row(cells, "td")).join("\n")}</tbody></table></div>\n`;
    },
    link({ href, tokens }) {
      const inner = this.parser.parseInline(tokens);
      const target = leads(href, served);
      if (target === undefined) return inner;
      return `<a href="${escape(target)}"${/^https?:/.test(target) ? ' rel="noopener noreferrer"' : ""}>${inner}</a>`;
    },
    image: () => "",
    html: ({ text: markup }) => (/^(<a id="[\w-]+">(<\/a>)?|<\/a>|<!--.*-->)\s*$/s.test(markup) ? markup : escape(markup)),
  };
  const html = new Marked({ renderer }).parse(text);
  return { html, headings };
}
