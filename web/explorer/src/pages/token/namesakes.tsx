// Who else uses the symbol, as the eye reads it.
import type { Page, Token } from "../../api";
import { count, quoted } from "../../format";
import { useGet } from "../../hooks";
import { Problem, Section } from "../../parts/small";
import { TokenList } from "../../parts/token-list";

export function Namesakes({ token }: { token: Token }) {
  const evidence = token.evidence;
  const others = (evidence?.sharing ?? 0) - 1;
  const query = new URLSearchParams({ q: token.symbol, limit: "50", evidence: "true", market: "true" });
  const { data, error } = useGet<Page>(others > 0 ? `/tokens?${query}` : null);
  if (others <= 0) return null;
  const found = (data?.items ?? []).filter((item) => item.evidence?.skeleton === evidence?.skeleton && item.mint !== token.mint);
  return (
    <Section title={`Others that look like ${quoted(token.symbol)}`} aside={<small>{count(others)} in the registry</small>}>
      {error && <Problem>{error}</Problem>}
      {found.length > 0 && <TokenList items={found.slice(0, 10)} label={`Tokens whose symbol looks like ${quoted(token.symbol)}`} />}
      {data && found.length < others && (
        <p class="found">
          {found.length === 0 ? "They are written otherwise, and a search for the symbol does not find them." : `The ${Math.min(found.length, 10)} that a search finds first. `}
          {found.length > 0 && <a href={`/?${new URLSearchParams({ q: token.symbol })}`}>All matches</a>}
        </p>
      )}
    </Section>
  );
}
