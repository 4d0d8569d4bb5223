// Every field of a token with where its value came from, and the same as the API tells it.
import type { Origin, Token } from "../../api";
import { absolute, count, json, units } from "../../format";
import { useGet } from "../../hooks";
import { Address, Section, Text } from "../../parts/small";

/** value of a field for people. */
export function fieldText(field: string, value: unknown, decimals: number): string {
  if (value === null || value === undefined || value === "") return "none";
  if (field.endsWith("_at") && typeof value === "number") return absolute(value);
  if (field === "supply" && typeof value === "string") return units(value, decimals);
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "object") return Array.isArray(value) ? value.join(", ") : Object.entries(value).map(([name, text]) => `${name}: ${text}`).join(", ");
  return String(value);
}

const beside = new Set(["evidence", "market", "windows", "lists", "provenance", "match", "holders", "holders_change_24h", "top10_pct"]);

export function Facts({ base, token }: { base: string; token: Token }) {
  const { data } = useGet<Token>(`${base}?provenance=true`);
  const origins = (data?.provenance ?? {}) as Record<string, Origin>;
  const fields = Object.entries(token).filter(([name, value]) => !beside.has(name) && value !== null);
  return (
    <Section title="Facts and where they came from">
      <dl class="facts">
        {fields.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd title={name === "supply" ? `raw ${String(value)}` : undefined}>
              <Text of={fieldText(name, value, token.decimals)} most={5000} />
            </dd>
            <dd class="origin">{origins[name] && <From origin={origins[name]} />}</dd>
          </div>
        ))}
      </dl>
      <details>
        <summary>Raw JSON</summary>
        <pre tabIndex={0}>{json(token)}</pre>
      </details>
    </Section>
  );
}

function From({ origin }: { origin: Origin }) {
  return (
    <>
      {origin.instruction ?? origin.source.replace("_", " ")}
      {origin.slot > 0 && ` · slot ${count(origin.slot)}`}
      {origin.signature && (
        <>
          {" · "}
          <Address value={origin.signature} what="the signature" />
        </>
      )}
    </>
  );
}
