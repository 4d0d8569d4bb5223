// What the registry knows of who a token seems to be (docs/evidence.md), as one mark.
import type { Evidence, Token } from "../api";
import { count, quoted } from "../format";

type Tone = "danger" | "warn" | "calm";

const imitations = ["homoglyph", "copied_name", "copied_logo"] as const;

/** judge puts evidence into words. Most traded is not genuine: the words say what was seen and no more. */
export function judge(evidence: Evidence | null | undefined, symbol: string): { tone: Tone; label: string; text: string } | null {
  if (!evidence || evidence.sharing < 2) return null;
  const others = `${count(evidence.sharing)} tokens have a symbol that looks like ${quoted(symbol)}`;
  if (evidence.rank_by_volume === 1) {
    return { tone: "calm", label: `1st of ${count(evidence.sharing)}`, text: `${others}; this one is traded most.` };
  }
  const rank = `${others}; by volume this one is number ${evidence.rank_by_volume}.`;
  const seen = imitations.filter((signal) => evidence.signals.includes(signal));
  if (seen.length === 0) return { tone: "warn", label: "same symbol", text: rank };
  const why = {
    homoglyph: "its symbol or name is written with other characters that look the same",
    copied_name: "a token that is traded more has the same symbol and name",
    copied_logo: "another token showed the same logo first",
  };
  return { tone: "danger", label: "lookalike", text: `${rank} Take care: ${seen.map((signal) => why[signal]).join("; ")}.` };
}

/** Mark tells tokens of one name apart. */
export function Mark({ token }: { token: Token }) {
  const verdict = judge(token.evidence, token.symbol);
  if (!verdict) return null;
  return (
    <span class={`mark ${verdict.tone}`} title={verdict.text}>
      {verdict.label}
      <span class="hidden">: {verdict.text}</span>
    </span>
  );
}
