import { call } from './api.js';
import { ago, choice, dialog, field, form, h, table, tell, time } from './dom.js';

const path = (key, action = '') => `/v1/keys/${key.product}/${encodeURIComponent(key.name)}${action}`;
const list = (text) => text.split(/[\s,]+/).filter(Boolean);

function rules(r) {
  const parts = [];
  const add = (name, value) => value && value.length !== 0 && parts.push(`${name} ${Array.isArray(value) ? value.join(', ') : value}`);
  add('until', r.expires_at && time(r.expires_at));
  add('origins', r.origins);
  add('from', r.addresses);
  add('methods', r.methods);
  add('requests/s', r.requests_per_second);
  add('streams', r.streams);
  add('addresses', r.stream_addresses);
  return parts.join(' · ') || 'no restrictions';
}

// local is a time as datetime-local inputs have it.
function local(text) {
  if (!text) return '';
  const at = new Date(text);
  return new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}

// valuesOf returns the rules as the fields of a form have them.
function valuesOf(r) {
  return {
    expires_at: local(r.expires_at),
    origins: (r.origins || []).join(', '), addresses: (r.addresses || []).join(', '), methods: (r.methods || []).join(', '),
    requests_per_second: r.requests_per_second || '', streams: r.streams || '', stream_addresses: r.stream_addresses || '',
  };
}

function ruleFields(r = {}) {
  const values = valuesOf(r);
  const of = (name, more) => ({ name, value: values[name], ...more });
  const count = { type: 'number', min: 0 };
  return [
    field('Expires', of('expires_at', { type: 'datetime-local' }), 'empty: never'),
    field('Origins', of('origins'), 'https://app.example, *.app.example; empty: any'),
    field('IP addresses', of('addresses'), '203.0.113.0/24; empty: any'),
    field('Methods', of('methods'), 'get*, sendTransaction; empty: all'),
    h('div', { class: 'row' },
      field('Requests a second', of('requests_per_second', count)),
      field('Streams', of('streams', count)),
      field('Addresses a stream', of('stream_addresses', count))),
  ];
}

function rulesOf(v) {
  return {
    expires_at: v.expires_at ? new Date(v.expires_at).toISOString().replace(/\.\d+/, '') : '',
    origins: list(v.origins), addresses: list(v.addresses), methods: list(v.methods),
    requests_per_second: Number(v.requests_per_second), streams: Number(v.streams), stream_addresses: Number(v.stream_addresses),
  };
}

// changed returns the rules that the form has changed: what is not sent stays, though somebody may
// have changed it since the page was loaded.
function changed(before, v) {
  const was = rulesOf(valuesOf(before));
  return Object.fromEntries(Object.entries(rulesOf(v)).filter(([name, value]) => String(value) !== String(was[name])));
}

// shown puts a key into the dialog: the only time that it can be seen.
function shown(issued, close) {
  const text = h('code', { class: 'secret', id: 'secret' }, issued.key);
  const copy = h('button', {
    type: 'button',
    onclick: async () => {
      try {
        await navigator.clipboard.writeText(issued.key);
        copy.textContent = 'Copied';
      } catch {
        getSelection().selectAllChildren(text);
      }
    },
  }, 'Copy');
  document.getElementById('dialog').replaceChildren(
    h('h2', { id: 'dialog-title' }, `Key of ${issued.product} ${issued.name}`),
    h('p', {}, 'It is shown this once. Mintlake keeps only its hash.'), text,
    h('p', { class: 'buttons' }, copy, h('button', { type: 'button', class: 'main', onclick: close }, 'I have it')));
}

function create() {
  return dialog('New key', (close) => form([
    h('div', { class: 'row' },
      choice('Product', 'product', [['rpc', 'rpc'], ['swap', 'swap']], 'rpc'),
      field('Name', { name: 'name', required: true, maxlength: 64 }), field('Environment', { name: 'environment', maxlength: 16 }, 'live, test; part of the key')),
    ...ruleFields(),
  ], 'Create', async (v) => {
    const issued = await call('POST', '/v1/keys', { product: v.product, name: v.name, environment: v.environment, ...rulesOf(v) });
    shown(issued, close);
  }, close));
}

function restrict(key) {
  return dialog(`Restrict ${key.product} ${key.name}`, (close) => form(ruleFields(key.rules), 'Save', async (v) => {
    await call('PATCH', path(key), changed(key.rules, v));
    tell(`${key.name} is restricted`);
    close();
  }, close));
}

function rotate(key) {
  return dialog(`Rotate ${key.product} ${key.name}`, (close) => form([
    h('p', {}, 'The key gets a new secret. The earlier one works on for a time, so that clients can change.'),
    choice('The earlier secret works for', 'grace', [['168h', '7 more days'], ['24h', '1 more day'], ['1h', '1 more hour'], ['0s', 'no longer']], '168h'),
  ], 'Rotate', async (v) => shown(await call('POST', path(key, '/rotate'), { grace: v.grace }), close), close));
}

function revoke(key) {
  return dialog(`Revoke ${key.product} ${key.name}`, (close) => form([
    h('p', {}, 'The key ends now and for ever, with all its secrets and open streams. Its name is not given again.'),
    field('Why', { name: 'reason' }, 'for the log of changes'),
  ], 'Revoke', async (v) => {
    await call('POST', path(key, '/revoke'), { reason: v.reason });
    tell(`${key.name} is revoked`);
    close();
  }, close, true));
}

export async function keys(page) {
  const all = [];
  for (let after = ''; ;) {
    const answer = await call('GET', `/v1/keys?after=${encodeURIComponent(after)}`);
    all.push(...answer.keys);
    if (!answer.next || all.length >= 5000) break;
    after = answer.next;
  }
  const again = (action) => async () => {
    await action();
    await keys(page);
  };
  const ended = (key) => ['revoked', 'expired'].includes(key.state);
  all.sort((a, b) => ended(a) - ended(b));
  page.replaceChildren(
    h('div', { class: 'head' }, h('h1', {}, 'Keys'), h('button', { type: 'button', class: 'main', onclick: again(create) }, 'New key')),
    table('API keys', [['Key'], ['State'], ['Secrets'], ['May'], ['', 'actions']], all.map((key) => {
      const button = (text, action, kind) => h('button', { type: 'button', class: kind, 'aria-label': `${text} ${key.product} ${key.name}`, onclick: again(() => action(key)) }, text);
      return [
        h('div', {}, h('b', {}, key.name), ' ', h('small', {}, [key.product, key.environment].filter(Boolean).join(' · '))),
        h('span', { class: `state ${key.state}` }, key.state),
        h('div', {}, (key.secrets || []).map((s) => h('div', {}, h('code', {}, `${s.prefix}…`), s.ends_at && h('small', {}, ` until ${time(s.ends_at)}`)))),
        h('small', {}, rules(key.rules)),
        key.state === 'configured' ? h('small', {}, 'of the configuration') : key.state === 'revoked'
          ? h('small', {}, 'by ', h('bdi', {}, key.revoked_by), ' ', ago(key.revoked_at), ' ', h('bdi', {}, key.revoke_reason || ''))
          : h('div', { class: 'buttons' }, button('Restrict', restrict), button('Rotate', rotate), button('Revoke', revoke, 'danger')),
      ];
    }), 'There are no keys yet.'));
}
