import { call } from './api.js';
import { ago, bytes, dialog, form, h, milliseconds, number, table, tell } from './dom.js';

const orDash = (value, show = number) => (value == null ? '–' : show(value));
const conditions = { well: 'well', behind: 'behind', in_trouble: 'breaker open', ahead: 'ahead of all' };

export async function upstreams(page) {
  const node = await call('GET', '/v1/node');
  page.replaceChildren(h('h1', {}, 'Upstreams'), table('JSON-RPC upstreams',
    [['Upstream'], ['Condition'], ['Processed', 'number'], ['Confirmed', 'number'], ['Finalized', 'number'], ['Lag', 'number'], ['Errors', 'number'], ['p50', 'number'], ['p95', 'number'], ['p99', 'number']],
    node.upstreams.map((u) => [h('b', {}, u.name), h('span', { class: `state ${u.condition}` }, conditions[u.condition] || u.condition),
      orDash(u.slots.processed), orDash(u.slots.confirmed), orDash(u.slots.finalized), orDash(u.lag_slots), `${(100 * (u.error_ratio || 0)).toFixed(1)} %`,
      milliseconds(u.seconds['0.5']), milliseconds(u.seconds['0.95']), milliseconds(u.seconds['0.99'])]),
    'No upstream is configured: start Mintlake with --rpc-upstream.'));
}

export async function streams(page) {
  const node = await call('GET', '/v1/node');
  page.replaceChildren(h('h1', {}, 'Streams'),
    h('p', {}, node.streams ? `${number(node.streams.clients)} clients${node.streams.slot ? `, at slot ${number(node.streams.slot)}` : ''}. The furthest behind come first.` : 'This process serves no stream.'),
    table('Clients of the stream', [['Key'], ['Form'], ['Since'], ['Waiting', 'number'], ['Buffer', 'number'], ['Lag', 'number'], ['Filters', 'number'], ['Addresses', 'number']],
      (node.streams?.list || []).map((c) => [h('b', {}, c.key), c.form, ago(c.since), number(c.waiting), number(c.buffer), c.waiting ? `${number(c.lag_slots)} slots` : '0', number(c.filters), number(c.addresses)]),
      'Nobody is connected.'));
}

export async function pipeline(page) {
  const { figures: f } = await call('GET', '/v1/node');
  const card = (name, value, hint, bad) => h('div', { class: bad ? 'card bad' : 'card' }, h('small', {}, name), h('b', {}, value), h('small', {}, hint));
  page.replaceChildren(h('h1', {}, 'Pipeline'), h('div', { class: 'cards' },
    card('Slot', orDash(f.ingest_slot), 'highest that ingest wrote'),
    card('Coverage', f.coverage_gaps == null ? '–' : f.coverage_gaps === 0 ? 'no gaps' : `${number(f.coverage_gaps)} gaps`, 'runs of slots that were never ingested', f.coverage_gaps > 0),
    card('Behind', orDash(f.pipeline_lag_records), 'records that a reader has yet to finish'),
    card('Enrichment queue', f.enrichment_queue_records == null ? '–' : `${number(f.enrichment_queue_records)} requests`, 'asked for and not yet read'),
    card('Oldest request', f.enrichment_queue_age_seconds == null ? '–' : `${Math.round(f.enrichment_queue_age_seconds)} s`, 'in work at enrichment', f.enrichment_queue_age_seconds > 600)),
  h('p', {}, h('small', {}, 'A dash: no room of this process knows it.')));
}

function replay(letter, again) {
  return dialog('Replay a record', (close) => form([
    h('p', {}, `${letter.record.topic}, partition ${letter.record.partition}, offset ${number(letter.record.offset)}, is written to the end of its topic again. What rooms stored of it before does not change.`),
    h('p', {}, h('small', {}, h('bdi', {}, letter.reason))),
  ], 'Replay', async () => {
    await call('POST', `/v1/dead-letters/${letter.partition}/${letter.offset}/replay`, {});
    tell('The record is written again.');
    close();
    await again();
  }, close));
}

// kindOf is what dead letters have in common that one cause made: the room, where the record lies,
// and the reason but for its numbers and addresses.
function kindOf(letter) {
  const varies = /\d{4}-\d\d-\d\dT[\d:.]+Z?|\b[1-9A-HJ-NP-Za-km-z]{32,}\b|\d+(?:[.:]\d+)*/g; // times, keys, numbers and addresses
  const reason = letter.reason.replace(varies, '…');
  return { room: letter.source, topic: letter.record?.topic ?? 'no record', reason };
}

const nameOf = (kind) => JSON.stringify([kind.room, kind.topic, kind.reason]);

// kindsOf are the kinds of letters, which come newest first, those with the most letters first.
function kindsOf(letters) {
  const kinds = new Map();
  for (const letter of letters) {
    const kind = kindOf(letter);
    const name = nameOf(kind);
    if (!kinds.has(name)) kinds.set(name, { ...kind, name, letters: [] });
    kinds.get(name).letters.push(letter);
  }
  return [...kinds.values()].sort((a, b) => b.letters.length - a.letters.length);
}

let chosen = ''; // name of the kind whose letters are listed; empty for all

export async function deadLetters(page) {
  const { dead_letters: letters } = await call('GET', '/v1/dead-letters?limit=200');
  const kinds = kindsOf(letters.sort((a, b) => Date.parse(b.at) - Date.parse(a.at)));
  const again = () => deadLetters(page);
  const draw = () => {
    if (!kinds.some(({ name }) => name === chosen)) chosen = '';
    const listed = kinds.find(({ name }) => name === chosen)?.letters ?? letters;
    const choose = (name) => () => {
      chosen = name;
      draw();
      page.querySelector('h2')?.focus();
    };
    page.replaceChildren(h('h1', {}, 'Dead letters'),
      table('Dead letters by kind', [['Room'], ['Of'], ['Reason'], ['Letters', 'number'], ['Latest', 'when'], ['', 'actions']],
        kinds.map((kind) => [kind.room, h('code', {}, kind.topic), kind.reason, number(kind.letters.length), ago(kind.letters[0].at),
          h('button', { type: 'button', class: 'plain', 'aria-pressed': String(kind.name === chosen), 'aria-label': `List kind ${kinds.indexOf(kind) + 1}`, onclick: choose(kind.name === chosen ? '' : kind.name) }, kind.name === chosen ? 'List all' : 'List')]),
        'There are no dead letters.', 'kinds'),
      listed.length === 0 ? '' : h('h2', { tabindex: -1 }, chosen ? `Of this kind: ${number(listed.length)}` : `Of all kinds: the last ${number(listed.length)}`),
      listed.length === 0 ? '' : table('Dead letters', [['When', 'when'], ['Room'], ['Record'], ['Reason'], ['Size', 'number'], ['', 'actions']],
        listed.map((l) => [ago(l.at), l.source, h('code', {}, l.record ? `${l.record.topic}/${l.record.partition}@${l.record.offset}` : l.key), l.reason, bytes(l.value_bytes),
          l.record ? h('button', { type: 'button', 'aria-label': `Replay ${l.partition}/${l.offset}`, onclick: () => replay(l, again) }, 'Replay') : h('small', {}, 'was no record')]),
        '', 'letters'));
  };
  draw();
}
