// How complete and how fresh the node is: slots with their gaps, lag by reader and freshness of the
// last hour, the root.
import { useEffect, useState } from "preact/hooks";
import type { Status, StatusPast } from "../api";
import { absolute, count } from "../format";
import { useGet, useTitle } from "../hooks";
import { Line } from "../parts/line";
import { Address, Ago, Problem, Section } from "../parts/small";
import { unready } from "../parts/status-line";
import { Figure } from "./token/head";

const every = 2000;
const hour = 3_600_000;

interface Look {
  at: number;
  p50: number | null;
  p99: number | null;
  lag: number | null;
}

/** useLooks gathers the last hour of what the status said: the node's, then what this page saw. */
function useLooks(status: Status | undefined): Look[] {
  const [looks, setLooks] = useState<Look[]>([]);
  const past = useGet<StatusPast>("/status/past").data?.looks ?? [];
  useEffect(() => {
    if (!status) return;
    const look = { at: status.pipeline.measured_at_ms, p50: status.freshness.p50_ms, p99: status.freshness.p99_ms, lag: status.pipeline.lag_records };
    setLooks((before) => (before.at(-1)?.at === look.at ? before : [...before, look].filter(recent)));
  }, [status]);
  const since = looks[0]?.at ?? Infinity;
  const before = past.filter((look) => look.at_ms < since).map((look) => ({ at: look.at_ms, p50: look.p50_ms, p99: look.p99_ms, lag: look.lag_records }));
  return [...before, ...looks].filter(recent);
}

const recent = (look: Look) => look.at >= Date.now() - hour;

const milliseconds = (n: number) => (n < 1000 ? `${Math.round(n)} ms` : `${(n / 1000).toFixed(1)} s`);
const clock = (ms: number) => new Date(ms).toLocaleTimeString("en-GB");

export function CoveragePage() {
  const { data: status, error } = useGet<Status>("/status", every);
  const looks = useLooks(status);
  useTitle("Coverage and freshness");
  if (!status) {
    return (
      <>
        <h1 class="hidden">Coverage and freshness</h1>
        {error ? <Problem>{error}</Problem> : <p class="empty">…</p>}
      </>
    );
  }
  const drawn = (field: "p50" | "p99" | "lag") => looks.flatMap((look) => (look[field] === null ? [] : [{ x: look.at, y: look[field] }]));
  return (
    <>
      <div class="title">
        <h1>Coverage and freshness</h1>
        <span class={status.ready ? "live on" : "live"}>{status.ready ? "ready" : unready(status)}</span>
      </div>
      {error && <Problem>{error}</Problem>}
      {status.reasons.map((reason) => (
        <Problem key={reason}>{reason}</Problem>
      ))}
      <Slots status={status} />
      <Section title="Freshness" aside={<small>from reaching Mintlake to being visible here, of the last five minutes</small>}>
        <dl class="figures">
          <Figure name="p50">{status.freshness.p50_ms === null ? "–" : milliseconds(status.freshness.p50_ms)}</Figure>
          <Figure name="p99">{status.freshness.p99_ms === null ? "–" : milliseconds(status.freshness.p99_ms)}</Figure>
          <Figure name="Events">{count(status.freshness.count)}</Figure>
        </dl>
        <Line points={drawn("p50")} name="p50" label="p50 of the last hour" text={milliseconds} where={clock} />
        <Line points={drawn("p99")} name="p99" label="p99 of the last hour" text={milliseconds} where={clock} />
      </Section>
      <Lag status={status} drawn={drawn("lag")} />
      {status.documents && <Documents documents={status.documents} />}
      <Backends status={status} />
    </>
  );
}

/** Slots draws the slots as a line, with what is missing in it. */
function Slots({ status }: { status: Status }) {
  const { from_slot: from, to_slot: to, complete_to_slot: complete, gaps, gap_count: gapCount } = status.coverage;
  if (from === null || to === null) return <Section title="Slots"><p class="empty">No slot was read yet.</p></Section>;
  const wide = to - from + 1;
  const missing = gaps.reduce((sum, gap) => sum + gap.to_slot - gap.from_slot + 1, 0);
  return (
    <Section title="Slots" aside={<small>{gapCount === 0 ? "nothing is missing" : `${count(gapCount)} ${gapCount === 1 ? "gap" : "gaps"}`}</small>}>
      <svg class="slots" viewBox="0 0 1000 24" preserveAspectRatio="none" role="img" aria-label={`Slots ${count(from)} to ${count(to)}, ${gapCount === 0 ? "without a gap" : `${count(gapCount)} gaps`}`}>
        <rect width="1000" height="24" fill="var(--up-soft)" />
        {gaps.map((gap) => (
          // A gap of one slot among millions is drawn wide enough to be seen.
          <rect key={gap.from_slot} class="gap" x={((gap.from_slot - from) / wide) * 1000} width={Math.max(((gap.to_slot - gap.from_slot + 1) / wide) * 1000, 3)} height="24" fill="var(--down)">
            <title>
              {count(gap.from_slot)} to {count(gap.to_slot)}
            </title>
          </rect>
        ))}
      </svg>
      <p class="ends">
        <span>{count(from)}</span>
        <span>{count(to)}</span>
      </p>
      <dl class="figures">
        <Figure name="Complete up to">{complete === null ? "–" : count(complete)}</Figure>
        <Figure name="Slots missing">{gapCount > gaps.length ? `${count(missing)} or more` : count(missing)}</Figure>
        <Figure name="Blocks">{count(status.source.blocks)}</Figure>
        <Figure name="Transactions">{count(status.source.transactions)}</Figure>
        <Figure name="Source">{status.source.kind ?? "–"}</Figure>
      </dl>
      {gaps.length > 0 && (
        <details>
          <summary>Gaps</summary>
          <ul>
            {gaps.map((gap) => (
              <li key={gap.from_slot}>
                {count(gap.from_slot)} to {count(gap.to_slot)} ({count(gap.to_slot - gap.from_slot + 1)})
              </li>
            ))}
          </ul>
        </details>
      )}
    </Section>
  );
}

function Lag({ status, drawn }: { status: Status; drawn: { x: number; y: number }[] }) {
  const { pipeline } = status;
  const lag = (n: number | null) => (n === null ? "unknown" : count(n));
  return (
    <Section title="Lag" aside={<small>records that a reader has yet to finish</small>}>
      {pipeline.error && <Problem>{pipeline.error}</Problem>}
      <dl class="figures">
        <Figure name="Any reader">{lag(pipeline.lag_records)}</Figure>
        <Figure name="Projector">{lag(pipeline.projector_lag)}</Figure>
        <Figure name="Enrichment">{lag(pipeline.enrich_lag)}</Figure>
        <Figure name="This node">{lag(pipeline.api_lag)}</Figure>
      </dl>
      <Line points={drawn} name="Lag" label="Lag of the last hour" text={(n) => count(Math.round(n))} where={clock} />
      <div class="scroll" tabIndex={0} role="region" aria-label="Lag by topic">
        <table>
          <thead>
            <tr>
              <th scope="col">Topic</th>
              <th scope="col" class="number">Records</th>
              <th scope="col" class="number">Projector</th>
              <th scope="col" class="number">Enrichment</th>
              <th scope="col" class="number">This node</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(pipeline.topics).map(([name, topic]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="number">{count(topic.records)}</td>
                <td class="number">{count(topic.projector_lag)}</td>
                <td class="number">{count(topic.enrich_lag)}</td>
                <td class="number">{count(topic.api_lag)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Section>
  );
}

function Documents({ documents }: { documents: NonNullable<Status["documents"]> }) {
  const { left, hosts, per_second: rate, left_seconds: seconds } = documents;
  return (
    <Section title="Documents" aside={<small>of tokens that were bootstrapped and have none yet</small>}>
      <dl class="figures">
        <Figure name="Left">{count(left)}</Figure>
        <Figure name="Hosts">{count(hosts)}</Figure>
        <Figure name="A second">{rate < 10 ? rate.toFixed(1) : count(Math.round(rate))}</Figure>
        <Figure name="Time left">{seconds === null ? "not known" : duration(seconds)}</Figure>
      </dl>
    </Section>
  );
}

// duration is a time in its largest unit that fits twice.
function duration(seconds: number): string {
  for (const [unit, size] of [["days", 86_400], ["hours", 3_600], ["minutes", 60]] as const) {
    if (seconds >= 2 * size) return `${count(Math.round(seconds / size))} ${unit}`;
  }
  return `${count(seconds)} seconds`;
}

function Backends({ status }: { status: Status }) {
  const backends = [["Kafka", status.kafka], ["ClickHouse", status.clickhouse]] as const;
  return (
    <Section title="Root and backends">
      <dl class="figures">
        <Figure name={status.root.slot === null ? "Root, none yet" : `Root at slot ${count(status.root.slot)}`}>{status.root.hash ? <Address value={status.root.hash} what="the root" /> : "–"}</Figure>
        {backends.map(([name, health]) => (
          <Figure key={name} name={name}>
            {!health || health.ok === null ? "not known" : health.ok ? "answers" : (health.error ?? "does not answer")}
            {health?.since_ms != null && <small title={absolute(health.since_ms)}> since <Ago ms={health.since_ms} /></small>}
          </Figure>
        ))}
      </dl>
    </Section>
  );
}
