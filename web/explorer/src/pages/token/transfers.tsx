// How the token moved, newest first.
import type { Token, Transfer, Transfers } from "../../api";
import { TransfersTable } from "../../parts/balances";
import { usePages } from "../../parts/pages";
import { More, Problem, Section } from "../../parts/small";

export function TransfersCard({ base, token }: { base: string; token: Token }) {
  const { items, answer, error, more } = usePages<Transfer, Transfers>(`${base}/transfers?limit=20`);
  return (
    <Section title="Transfers">
      {error && <Problem>{error}</Problem>}
      {answer && items.length === 0 && <p class="empty">Nothing has moved that Mintlake keeps.</p>}
      {items.length > 0 && <TransfersTable items={items} token={token} name="Transfers" />}
      <More of={more}>Older</More>
    </Section>
  );
}
