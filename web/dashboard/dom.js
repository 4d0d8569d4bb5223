// plain takes out of a text what would change the text beside it: control characters, those that
// turn the direction of writing around, and more than three marks upon a letter.
export const plain = (text) => text.replace(/[\u202a-\u202e\u2066-\u2069]/g, '').replace(/[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029]/g, ' ').replace(/(\p{M}{3})\p{M}+/gu, '$1');

// h makes an element. Children are text or nodes: text is never read as HTML.
export function h(tag, attributes = {}, ...children) {
  const svg = ['svg', 'rect', 'line', 'text', 'title', 'g'].includes(tag);
  const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child != null).map((child) => (child instanceof Node ? child : plain(String(child)))));
  return element;
}

// table makes a table that becomes a list of cards on a phone: each cell names its column.
export function table(caption, columns, rows, empty, name) {
  if (rows.length === 0) return h('p', { class: 'empty' }, empty);
  return h('table', { class: name },
    h('caption', { class: 'hidden' }, caption),
    h('thead', {}, h('tr', {}, columns.map(([name, kind]) => h('th', { scope: 'col', class: kind }, name)))),
    h('tbody', {}, rows.map((cells) => h('tr', {}, cells.map((cell, i) =>
      h('td', { class: columns[i][1], 'data-name': columns[i][0] }, cell instanceof Node ? cell : h('bdi', {}, cell)))))));
}

export const number = (n) => Number(n).toLocaleString('en-US');

export function bytes(n) {
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
  return `${i === 0 ? n : n.toFixed(1)} ${units[i]}`;
}

export function milliseconds(seconds) {
  return seconds == null ? '–' : `${(seconds * 1000).toFixed(seconds < 0.1 ? 1 : 0)} ms`;
}

// time writes a time that is to come.
export function time(text) {
  return text ? new Date(text).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' }) : '–';
}

const steps = [[60, 's'], [60, 'min'], [24, 'h'], [365, 'd'], [Infinity, 'y']];

// since writes a time of the past as the explorer does: 3 min ago.
function since(at) {
  let value = (Date.now() - at) / 1000;
  if (value < 5) return 'now';
  for (const [size, unit] of steps) {
    if (value < size) return `${Math.floor(value)} ${unit} ago`;
    value /= size;
  }
}

// ago is a time as seen from now, in full in its tooltip.
export function ago(text) {
  if (!text) return '–';
  const at = new Date(text);
  return h('time', { datetime: at.toISOString(), title: at.toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' }) }, since(at));
}

setInterval(() => {
  for (const shown of document.querySelectorAll('time[datetime]')) shown.textContent = since(new Date(shown.dateTime));
}, 10_000);

// dialog shows what build returns and resolves when it closes.
export function dialog(title, build) {
  const box = document.getElementById('dialog');
  const close = () => box.close();
  box.replaceChildren(h('h2', { id: 'dialog-title' }, title), ...[build(close)].flat());
  box.showModal();
  return new Promise((resolve) => box.addEventListener('close', () => {
    box.replaceChildren(); // a key that was shown is gone from the page
    resolve();
  }, { once: true }));
}

export function tell(text) {
  document.getElementById('told').textContent = text;
}

// form calls send with the fields' values; what goes wrong is told above its buttons.
export function form(fields, action, send, close, danger = false) {
  const problem = h('p', { class: 'problem', role: 'alert', hidden: true });
  const go = h('button', { type: 'submit', class: danger ? 'danger' : 'main' }, action);
  return h('form', {
    onsubmit: async (event) => {
      event.preventDefault();
      go.disabled = true;
      problem.hidden = true;
      try {
        await send(Object.fromEntries(new FormData(event.target)));
      } catch (error) {
        problem.textContent = error.message;
        problem.hidden = false;
      }
      go.disabled = false;
    },
  }, ...fields, problem, h('p', { class: 'buttons' }, close && h('button', { type: 'button', class: 'plain', onclick: close }, 'Cancel'), go));
}

export function field(label, attributes, hint) {
  return h('label', {}, h('span', {}, label), h('input', { autocomplete: 'off', spellcheck: 'false', ...attributes }), hint && h('small', {}, hint));
}

export function choice(label, name, options, chosen, onchange) {
  return h('label', {}, h('span', {}, label), h('select', { name, ...(onchange && { onchange }) },
    options.map(([value, text]) => h('option', { value, selected: value === chosen }, text))));
}
