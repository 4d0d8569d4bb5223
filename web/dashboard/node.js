import { call } from './api.js';
import { bytes, h, milliseconds, number, table, tell, time, dialog, form } from './dom.js';

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
      (node.streams?.list || []).map((c) => [h('b', {}, c.key), c.form, time(c.since), number(c.waiting), number(c.buffer), c.waiting ? `${number(c.lag_slots)} slots` : '0', number(c.filters), number(c.addresses)]),
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

export async function deadLetters(page) {
  const { dead_letters: letters } = await call('GET', '/v1/dead-letters?limit=200');
  page.replaceChildren(h('h1', {}, 'Dead letters'), table('Dead letters', [['When', 'when'], ['Room'], ['Record'], ['Reason'], ['Size', 'number'], ['', 'actions']],
    letters.reverse().map((l) => [time(l.at), l.source, l.record ? h('code', {}, `${l.record.topic}/${l.record.partition}@${l.record.offset}`) : h('code', {}, l.key), l.reason, bytes(l.value_bytes),
      l.record ? h('button', { type: 'button', 'aria-label': `Replay ${l.partition}/${l.offset}`, onclick: () => replay(l, () => deadLetters(page)) }, 'Replay') : h('small', {}, 'was no record')]),
    'There are no dead letters.'));
}
