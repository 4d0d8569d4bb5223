// What holds for a page that shows texts of strangers, whatever they wrote.
import assert from "node:assert/strict";

/** watch gathers what a text did that was read as code: calls of pwned(), dialogs, and what the content security policy had to stop. */
export async function watch(context) {
  const seen = [];
  await context.exposeFunction("pwned", () => seen.push("the script of a text ran"));
  await context.addInitScript(() =>
    addEventListener("securitypolicyviolation", (event) => console.error(`the policy had to stop ${event.violatedDirective}: ${event.blockedURI} ${event.sample}`)),
  );
  context.on("page", (page) => {
    if (context.pages().length > 1) page.opener().then((opener) => opener && seen.push(`a window opened: ${page.url()}`));
    page.on("dialog", (dialog) => {
      seen.push(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  });
  return seen;
}

/** judge holds the page to the rules below. what names the page for the failure; elsewhere are the origins that the page itself links to. */
export async function judge(page, what, { elsewhere = [] } = {}) {
  const found = [];
  for (const rule of [markup, links, attributes, layout, order]) found.push(...(await page.evaluate(rule, elsewhere)));
  assert.deepEqual(found.slice(0, 8), [], what);
}

/** markup: no text became any. Rules run in the page and return what is wrong with it. */
function markup() {
  const wrong = [];
  const kinds = "iframe, object, embed, base, meta[http-equiv], video, audio, math, marquee, xss, plaintext, svg script, svg a, svg animate, [srcdoc], dialog[open]:not(#dialog)";
  for (const element of document.querySelectorAll(kinds)) wrong.push(`markup: ${element.outerHTML.slice(0, 300)}`);
  for (const { src } of document.scripts) if (new URL(src || "x:", location.href).origin !== location.origin) wrong.push(`the script ${src}`);
  for (const element of document.querySelectorAll("*")) {
    for (const { name } of element.attributes) if (name.startsWith("on")) wrong.push(`the handler ${name}: ${element.outerHTML.slice(0, 300)}`);
  }
  return wrong;
}

/** links lead to pages, tell to which, and what they open does not reach back. */
function links(elsewhere) {
  const wrong = [];
  for (const link of document.querySelectorAll("a[href], area[href], form[action]")) {
    const url = new URL(link.href ?? link.action, location.href);
    if (url.origin === location.origin || elsewhere.includes(url.origin)) continue;
    const tell = (text) => wrong.push(`a link ${text}: ${link.outerHTML.slice(0, 300)}`);
    if (!/^https?:$/.test(url.protocol)) tell(`with ${url.protocol}`);
    if (!/\bnoopener\b/.test(link.rel)) tell("without noopener");
    if (url.username || url.password) tell("that pretends to lead elsewhere");
    if (!link.textContent.includes(url.host)) tell(`that does not tell its host ${url.host}`);
  }
  return wrong;
}

/** attributes: the title, and the texts of attributes, are one line that reorders nothing. */
function attributes() {
  const wrong = [];
  const control = /[\0-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e]/;
  const balanced = (text) => {
    let depth = 0;
    for (const sign of text) {
      if (/[\u2066-\u2068]/.test(sign)) depth++;
      if (sign === "\u2069" && --depth < 0) return false;
    }
    return depth === 0;
  };
  if (document.title.length > 150) wrong.push(`the title has ${document.title.length} characters`);
  const texts = [...document.querySelectorAll("[title], [aria-label], [alt]")].flatMap((element) => ["title", "aria-label", "alt"].map((name) => element.getAttribute(name)));
  for (const text of [document.title, ...texts]) {
    if (text === null) continue;
    if (control.test(text)) wrong.push(`a control character in ${JSON.stringify(text.slice(0, 300))}`);
    if (!balanced(text)) wrong.push(`unbalanced isolates in ${JSON.stringify(text.slice(0, 300))}`);
    if (text.length > 3000) wrong.push(`${text.length} characters in an attribute`);
  }
  return wrong;
}

/** layout: no page is wider than its window. */
function layout() {
  const { scrollWidth } = document.scrollingElement;
  if (scrollWidth <= innerWidth) return [];
  const wide = [...document.querySelectorAll("body *")].filter((element) => element.getBoundingClientRect().right > innerWidth + 1);
  return [`${scrollWidth} pixels wide, of ${innerWidth}: ${wide.at(-1)?.outerHTML.slice(0, 300)}`];
}

/** order: what stands beside a text keeps its place. Its letters go from left to right, and so do the parts of a line. */
function order() {
  const wrong = [];
  const range = document.createRange();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const text = node.data;
    if (!/[a-zA-Z]/.test(text) || /[^\x20-\x7e·–…→↗≥✕⇄“”]/.test(text) || node.parentElement.closest("bdi, pre, script, style, textarea")) continue;
    let last;
    for (let at = 0; at < Math.min(text.length, 60); at++) {
      range.setStart(node, at);
      range.setEnd(node, at + 1);
      const box = range.getClientRects()[0];
      if (!box || box.width === 0) continue;
      if (last && Math.abs(box.top - last.top) < 2 && box.left < last.left - 1) {
        wrong.push(`reordered letters in ${JSON.stringify(text.slice(0, 60))}: ${node.parentElement.outerHTML.slice(0, 300)}`);
        break;
      }
      last = box;
    }
  }
  const boxes = (node) => {
    if (!node) return [];
    range.selectNode(node);
    return [...range.getClientRects()].filter(({ width }) => width > 0);
  };
  for (const text of document.querySelectorAll("bdi")) {
    const [before, own, after] = [boxes(text.previousSibling).at(-1), text.getBoundingClientRect(), boxes(text.nextSibling)[0]];
    if (own.width === 0) continue;
    const sameLine = (box) => box && Math.abs(box.bottom - own.bottom) < 3;
    if (sameLine(before) && before.left > own.left + 1) wrong.push(`what stood before it stands behind it: ${text.parentElement.outerHTML.slice(0, 300)}`);
    if (sameLine(after) && after.left < own.left - 1) wrong.push(`what stood behind it stands before it: ${text.parentElement.outerHTML.slice(0, 300)}`);
  }
  return wrong;
}

/**
 * inked says how many pixels outside of an element's box the texts inside draw upon: those that change when the element is hidden, in a
 * frame of 60 pixels around it.
 */
export async function inked(page, element) {
  const box = await element.boundingBox();
  const size = page.viewportSize();
  const clip = { x: Math.max(0, box.x - 60), y: Math.max(0, box.y - 60) };
  clip.width = Math.min(size.width, box.x + box.width + 60) - clip.x;
  clip.height = Math.min(size.height, box.y + box.height + 60) - clip.y;
  const shot = async () => (await page.screenshot({ clip, animations: "disabled" })).toString("base64");
  const whole = await shot();
  await element.evaluate((node) => (node.style.visibility = "hidden"));
  const without = await shot();
  await element.evaluate((node) => (node.style.visibility = ""));
  return page.evaluate(compare, { whole, without, inside: { left: box.x - clip.x, top: box.y - clip.y, right: box.x + box.width - clip.x, bottom: box.y + box.height - clip.y } });
}

/** compare runs in a page and counts the pixels that differ outside of a box. */
async function compare({ whole, without, inside }) {
  const [a, b] = await Promise.all(
    [whole, without].map(async (base64) => {
      const bitmap = await createImageBitmap(new Blob([Uint8Array.from(atob(base64), (sign) => sign.charCodeAt(0))], { type: "image/png" }));
      const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
      const context = canvas.getContext("2d");
      context.drawImage(bitmap, 0, 0);
      return context.getImageData(0, 0, bitmap.width, bitmap.height);
    }),
  );
  let count = 0;
  for (let at = 0; at < a.data.length; at += 4) {
    const [x, y] = [(at / 4) % a.width, Math.floor(at / 4 / a.width)];
    if (x >= inside.left - 1 && x <= inside.right + 1 && y >= inside.top - 1 && y <= inside.bottom + 1) continue;
    if ([0, 1, 2].some((part) => Math.abs(a.data[at + part] - b.data[at + part]) > 40)) count++;
  }
  return count;
}
