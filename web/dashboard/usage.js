import { call } from './api.js';
import { bytes, choice, h, number, table } from './dom.js';

const periods = { '1h': ['1h', 'minute', 60], '24h': ['24h', 'hour', 3600], '7d': ['168h', 'hour', 3600], '30d': ['720h', 'day', 86400] };
const figures = { requests: 'Requests', refused: 'Refused', bytes: 'Bytes', units: 'Units', streams: 'Streams', addresses: 'Addresses' };
const wanted = { period: '24h', figure: 'requests' };
const colours = 6;

const format = (figure, n) => (figure === 'bytes' ? bytes(n) : number(n));

// chart draws bars, one a step of time, with the largest keys apart and the others as one.
function chart(answer, figure, step) {
  const label = (row) => `${row.product} ${row.key}`;
  const totals = new Map();
  for (const row of answer.rows) totals.set(label(row), (totals.get(label(row)) || 0) + row[figure]);
  const named = [...totals].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  const series = named.length > colours ? [...named.slice(0, colours - 1), 'others'] : named;
  const of = (row) => Math.max(0, series.indexOf(label(row)) === -1 ? series.length - 1 : series.indexOf(label(row)));
  const first = Math.floor(Date.parse(answer.from) / 1000 / step) * step;
  const steps = Math.max(1, Math.ceil((Date.parse(answer.to) / 1000 - first) / step));
  const sums = Array.from({ length: steps }, () => new Array(series.length).fill(0));
  for (const row of answer.rows) {
    const at = Math.floor((Date.parse(row.time) / 1000 - first) / step);
    if (at >= 0 && at < steps) sums[at][of(row)] += row[figure];
  }
  const top = Math.max(1, ...sums.map((s) => s.reduce((a, b) => a + b, 0)));
  const [width, height] = [720, 200];
  const bar = width / steps;
  const when = (i) => new Date((first + i * step) * 1000).toLocaleString(undefined, step === 86400 ? { month: 'short', day: 'numeric' } : { weekday: 'short', hour: '2-digit', minute: '2-digit' });
  const bars = sums.map((parts, i) => {
    let y = height;
    return h('g', {}, h('title', {}, `${when(i)}\n${series.map((name, s) => (parts[s] ? `${name}: ${format(figure, parts[s])}` : null)).filter(Boolean).join('\n') || 'nothing'}`),
      h('rect', { x: i * bar, y: 0, width: bar, height, class: 'hit' }),
      parts.map((value, s) => {
        const part = (value / top) * (height - 10);
        y -= part;
        return part > 0 ? h('rect', { x: i * bar + 0.5, y, width: Math.max(0.5, bar - 1), height: part, class: `series${s}` }) : null;
      }));
  });
  return h('figure', {},
    h('figcaption', {}, `${figures[figure]}, at most ${format(figure, top)} a ${{ 60: 'minute', 3600: 'hour', 86400: 'day' }[step]}`),
    h('svg', { viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': `${figures[figure]} over time; the table below has the numbers` },
      h('line', { x1: 0, y1: height, x2: width, y2: height }), bars),
    h('p', { class: 'axis' }, h('small', {}, when(0)), h('small', {}, when(steps - 1))),
    h('p', { class: 'legend' }, series.map((name, s) => h('span', {}, h('i', { class: `series${s}` }), name))));
}

export async function usage(page) {
  const [from, by, step] = periods[wanted.period];
  const change = (name) => (event) => {
    wanted[name] = event.target.value;
    usage(page);
  };
  const head = h('div', { class: 'head' }, h('h1', {}, 'Usage'),
    choice('Time', 'period', [['1h', 'last hour'], ['24h', 'last day'], ['7d', 'last 7 days'], ['30d', 'last 30 days']], wanted.period, change('period')),
    choice('Figure', 'figure', Object.entries(figures), wanted.figure, change('figure')));
  try {
    const [timeline, totals] = await Promise.all([call('GET', `/usage?by=${by},key&from=${from}`), call('GET', `/usage?by=key,method&from=${from}`)]);
    page.replaceChildren(head, chart(timeline, wanted.figure, step),
      timeline.more ? h('p', { class: 'problem' }, 'There are more rows than one answer has: the chart is not whole.') : '',
      table('Usage by key and method', [['Key'], ['Method'], ['Requests', 'number'], ['Refused', 'number'], ['Bytes', 'number'], ['Units', 'number'], ['Streams', 'number'], ['Addresses', 'number']],
        totals.rows.sort((a, b) => b.requests - a.requests).map((r) => [h('b', {}, `${r.product} ${r.key}`), r.method, number(r.requests), number(r.refused), bytes(r.bytes), number(r.units), number(r.streams), number(r.addresses)]),
        'Nothing was used in this time.'));
  } catch (error) {
    if (error.constructor !== Error) throw error;
    page.replaceChildren(head, h('p', { class: 'problem' }, error.message));
  }
}
