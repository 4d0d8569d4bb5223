// A form that sends a request of a person's own.
import { useState } from "preact/hooks";
import { json as shown } from "../src/format";
import type { Call } from "./document";
import { type Answer, type Values, command, send } from "./request";

export function Try({ base, call, values: first, body: begun, withKey }: { base: string; call: Call; values: Values; body: string | undefined; withKey: boolean }) {
  const [values, setValues] = useState(first);
  const [body, setBody] = useState(begun);
  const [key, setKey] = useState("");
  const [answer, setAnswer] = useState<Answer>();
  const [busy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    setBusy(true);
    setAnswer(await send(base, call, values, body, key).catch(() => ({ status: "No answer", text: "The server does not answer, or does not let this page ask." })));
    setBusy(false);
  };
  return (
    <form class="try" onSubmit={submit}>
      {(call.parameters ?? []).map(({ name, in: place, required }) => (
        <label key={name}>
          <code>{name}</code>
          <input
            autocomplete="off"
            spellcheck={false}
            required={required || place === "path"}
            value={values[name] ?? ""}
            onInput={(event) => setValues({ ...values, [name]: event.currentTarget.value })}
          />
        </label>
      ))}
      {body !== undefined && (
        <label>
          <span>Body</span>
          <textarea rows={6} spellcheck={false} value={body} onInput={(event) => setBody(event.currentTarget.value)} />
        </label>
      )}
      {withKey && (
        <label>
          <span>Key, if the server asks for one</span>
          <input type="password" autocomplete="off" value={key} onInput={(event) => setKey(event.currentTarget.value)} />
        </label>
      )}
      <pre tabIndex={0}>
        <code>{command(base, call, values, body, withKey)}</code>
      </pre>
      <button disabled={busy}>Send</button>
      <div role="status">
        {answer && <b class="status">{answer.status}</b>}
      </div>
      {answer && (
        <pre tabIndex={0} class="answer">
          <code>{pretty(answer.text)}</code>
        </pre>
      )}
    </form>
  );
}

/** pretty lays JSON out; all else stays, with the characters escaped that reorder others. */
function pretty(text: string): string {
  try {
    return shown(JSON.parse(text) as unknown);
  } catch {
    return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, "");
  }
}
