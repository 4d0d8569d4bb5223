// What is shown for a mint that the registry does not have: it can be asked for.
import { useState } from "preact/hooks";
import { type Batch, type MintState, post, words } from "../../api";
import { Copy, OnChain, Problem } from "../../parts/small";

/** waitMS is how long an answer waits for the chain's. */
const waitMS = 5_000;

/** found says what came of it, and what happens next. */
function found({ state, reason }: MintState): string {
  switch (reason) {
    case "no_address":
      return "This is no address: an address is 32 bytes in base58, some 44 letters and digits.";
    case "no_mint_there":
      return "The chain has no mint at this address. It is looked at again after an hour.";
    case "given_up":
      return "The chain was asked and did not answer. It can be asked again in ten minutes.";
    case "client_limit":
      return "You have asked for many addresses. More can be asked for in ten minutes.";
    case "queue_full":
      return "Too much is waiting already. Try again in a minute.";
  }
  return state === "ready" ? "It was found; the page comes." : "The chain is being asked. If there is a fungible token at this address, it shows here as soon as it was read.";
}

export function Unknown({ mint, onAsk }: { mint: string; onAsk: () => void }) {
  const [answer, setAnswer] = useState<{ text?: string; error?: string; busy?: boolean }>({});
  const ask = async () => {
    setAnswer({ busy: true });
    onAsk();
    try {
      const { states } = await post<Batch>("/tokens/batch?fields=mint", { mints: [mint], states: true, wait_ms: waitMS });
      setAnswer({ text: states?.[0] && found(states[0]) });
    } catch (error) {
      setAnswer({ error: words(error) });
    }
  };
  return (
    <section class="card">
      <h2>The registry does not have this mint.</h2>
      <p class="mint">
        <code>{mint}</code>
        <Copy text={mint} what="the mint" />
        <OnChain value={mint} what="the mint" />
      </p>
      <p>
        <button type="button" class="chip" onClick={ask} disabled={answer.busy}>
          Ask the chain
        </button>{" "}
        <a href={`/owner/${encodeURIComponent(mint)}`}>Look at it as a wallet</a>
      </p>
      <p aria-live="polite">{answer.busy ? "Asking…" : answer.text}</p>
      {answer.error && <Problem>{answer.error}</Problem>}
    </section>
  );
}
