// What others can do to those who hold the token: a sentence for each authority, extension and oddity.
import type { ComponentChildren } from "preact";
import type { Evidence, Token } from "../../api";
import { absolute, multipliers } from "../../format";
import { Address, Section } from "../../parts/small";

type Tone = "danger" | "warn" | "calm";
type Signal = Evidence["signals"][number];

/** sentences of signals that are no authority. The rules behind the signals are in docs/evidence.md. */
const sentences: Partial<Record<Signal, [Tone, string]>> = {
  permanent_delegate: ["danger", "A permanent delegate can move or burn anybody's tokens without being asked."],
  pausable: ["danger", "All transfers can be paused by one key."],
  non_transferable: ["danger", "It cannot be transferred: what is held stays where it is."],
  transfer_hook: ["warn", "A program named by the mint runs at each transfer, and can refuse it."],
  transfer_fee: ["warn", "A part of each transfer can be kept as a fee; the fee can be changed."],
  default_account_state: ["warn", "New accounts may start frozen, until somebody thaws them."],
  permissioned_burn: ["warn", "Burning needs somebody's permission."],
  mint_close_authority: ["warn", "The mint account can be closed once its supply is zero, and made anew with other rules."],
  thin_market: ["warn", "Its pools hold too little, or too few trade it, for its price to mean much."],
  interest_bearing: ["calm", "Shown amounts grow by an interest rate; no tokens are made by it."],
  confidential_transfer: ["calm", "Amounts of transfers can be hidden."],
  url_in_name: ["danger", "Its symbol or name holds a web address, as baits do."],
  mixed_scripts: ["danger", "Its symbol or name mixes letters of several scripts."],
  invisible_characters: ["danger", "Its symbol or name holds characters that do not show."],
};

export function Powers({ token }: { token: Token }) {
  // Without a supply the mint account was never read: then a missing authority says nothing.
  const read = token.supply != null;
  const items: { tone: Tone; text: ComponentChildren }[] = [
    authority(token.mint_authority, read, "can make more of it at any time.", "Nobody can make more of it.", "Who can make more of it is not known."),
    authority(token.freeze_authority, read, "can freeze anybody's account.", "Nobody can freeze an account.", "Who can freeze accounts is not known."),
  ];
  if (token.update_authority) {
    items.push({ tone: "warn", text: <><Address value={token.update_authority} what="the update authority" /> can change its name, symbol and logo, as far as the metadata is mutable.</> });
  }
  for (const signal of token.evidence?.signals ?? []) {
    const sentence = signal === "scaled_ui_amount" ? scaled(token) : sentences[signal];
    if (sentence) items.push({ tone: sentence[0], text: sentence[1] });
  }
  const order: Tone[] = ["danger", "warn", "calm"];
  items.sort((a, b) => order.indexOf(a.tone) - order.indexOf(b.tone));
  return (
    <Section title="What others can do">
      <ul class="powers">
        {items.map(({ tone, text }) => (
          <li class={tone}>
            <b>{{ danger: "Danger", warn: "Note", calm: "Fine" }[tone]}</b> <span>{text}</span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** scaled says by which number shown amounts are multiplied, as far as it is known. */
function scaled(token: Token): [Tone, string] {
  const { now, next, at } = multipliers(token);
  const present = now == null ? "a number" : String(now);
  const coming = next != null && at != null ? `, from ${absolute(at)} on by ${next}` : "";
  return ["warn", `Shown amounts are multiplied by ${present}${coming}; one key can change that. Prices here are of raw amounts.`];
}

function authority(key: string | null | undefined, read: boolean, can: string, nobody: string, unknown: string): { tone: Tone; text: ComponentChildren } {
  if (key) return { tone: "warn", text: <><Address value={key} what="the authority" /> {can}</> };
  return read ? { tone: "calm", text: nobody } : { tone: "warn", text: unknown };
}
