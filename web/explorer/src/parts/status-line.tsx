import type { Status } from "../api";
import { count } from "../format";
import { useGet } from "../hooks";

/** unready is why a node is not ready, in a word or two. */
export const unready = (status: Status) => (status.reasons.length > 0 ? "not ready" : "loading");

/** StatusLine is how the node is, in a line. */
export function StatusLine() {
  const { data, error } = useGet<Status>("/status", 5000);
  if (!data) return <p class="status">{error ?? "…"}</p>;
  const lag = data.pipeline.lag_records;
  const fresh = data.freshness.p99_ms;
  return (
    <p class={error || !data.ready ? "status bad" : "status"}>
      {error ? `${error} ` : !data.ready && `${unready(data)} · `}
      {count(data.registry.tokens)} tokens · slot {count(data.source.slot)} · lag {lag === null ? "unknown" : count(lag)}
      {fresh !== null && ` · fresh within ${count(fresh)} ms`}
    </p>
  );
}
