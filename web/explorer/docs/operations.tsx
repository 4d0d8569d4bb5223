// The operations of an OpenAPI document: what each takes, what it answers here, and a form that
// sends it.
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { cancelled, get, post, words } from "../src/api";
import { json as shown } from "../src/format";
import { useGet } from "../src/hooks";
import { type Call, type Document, bounds, calls, json, kind, swapAddress, whole } from "./document";
import { Fields } from "./fields";
import { type Known, bodyOf, command, examples, known, pathOf } from "./request";
import { Try } from "./try";

const documents = { token: "/openapi.json", swap: "/explorer/docs/swap.json" };

export function Operations({ of }: { of: "token" | "swap" }) {
  const { data: document, error } = useGet<Document>(documents[of]);
  const [here, setHere] = useState<Known | undefined>(of === "token" ? undefined : {});
  useEffect(() => {
    if (of === "token") known().then(setHere, () => setHere({}));
  }, []);
  const groups = useMemo(() => (document ? [...calls(document)] : []), [document]);
  useEffect(() => {
    if (here && location.hash) window.document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, [here, groups]);
  if (!document || !here) return <p role="status">{error ?? "Loading…"}</p>;
  const base = of === "token" ? location.origin : swapAddress;
  return (
    <>
      <Prose text={document.info.description} />
      <p>
        {base ? <>At <code>{base}</code>.</> : "This node names no swap API: the setting api.swap_url does."} As a document for programs: <a href={of === "token" || !base ? documents[of] : `${base}/openapi.json`}>OpenAPI</a>.
      </p>
      <nav class="within" aria-label="Operations">
        <ul>
          {groups.flatMap(([, all]) => all.map((call) => <li key={call.operationId}><a href={`#${call.operationId}`}>{call.summary}</a></li>))}
        </ul>
      </nav>
      {groups.map(([tag, all]) => (
        <section key={tag}>
          <h2>{tag.charAt(0).toUpperCase() + tag.slice(1)}</h2>
          {all.map((call) => (
            <Section key={call.operationId} document={document} call={call} base={base} here={here} withKey={of === "swap"} />
          ))}
        </section>
      ))}
    </>
  );
}

/** Prose is a text of the document, in which backticks mark code. */
export function Prose({ text }: { text: string }) {
  return <p>{text.split("`").map((part, n) => (n % 2 ? <code>{part}</code> : part))}</p>;
}

/** useSeen tells when a part of the page comes near the window, and stays true. */
function useSeen() {
  const ref = useRef<HTMLElement>(null);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    const watch = new IntersectionObserver((entries) => entries.some((entry) => entry.isIntersecting) && setSeen(true), { rootMargin: "200px" });
    watch.observe(ref.current!);
    return () => watch.disconnect();
  }, []);
  return { ref, seen };
}

function Section({ document, call, base, here, withKey }: { document: Document; call: Call; base: string; here: Known; withKey: boolean }) {
  const { ref, seen } = useSeen();
  const values = useMemo(() => examples(call, here), [call, here]);
  const body = bodyOf(call, here);
  const answer = json(document, call);
  const asks = call.requestBody?.content["application/json"]?.schema;
  return (
    <section class="operation" id={call.operationId} ref={ref} aria-label={call.summary}>
      <h3>{call.summary}</h3>
      <p>
        <span class="method">{call.method.toUpperCase()}</span> <code>{call.path}</code>
      </p>
      {call.description && <Prose text={call.description} />}
      <Parameters document={document} call={call} />
      {asks && <Folded title="Fields of the request"><Fields document={document} schema={asks} /></Folded>}
      <h4>Example</h4>
      <pre tabIndex={0}>
        <code>{command(base, call, values, body, withKey)}</code>
      </pre>
      {!withKey && answer && call.path !== "/openapi.json" && <Example path={seen ? pathOf(call, values) : null} body={body} missing={missing(call, here)} />}
      {base && !call.path.endsWith("/stream") && <Folded title="Try it"><Try base={base} call={call} values={values} body={body} withKey={withKey} /></Folded>}
      {answer?.schema && <Folded title="Fields of the answer"><Fields document={document} schema={answer.schema} /></Folded>}
      <Folded title="Statuses">
        <ul>
          {Object.entries(call.responses).map(([status, response]) => (
            <li key={status}>
              <b>{status}</b> {whole(document, response).description}
            </li>
          ))}
        </ul>
      </Folded>
    </section>
  );
}

/** missing is what this node has not, without which an operation has no example. */
function missing(call: Call, here: Known): string | undefined {
  const what = { mint: "token", owner: "holder", pool: "pool" };
  const needed = call.parameters?.find(({ name, in: place }) => place === "path" && name in what && !here[name as keyof Known]);
  return needed && `This node has no ${what[needed.name as keyof Known]} to show.`;
}

/** Folded shows its content when a person opens it, and makes it only then. */
function Folded({ title, children }: { title: string; children: ComponentChildren }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {open && children}
    </details>
  );
}

function Parameters({ document, call }: { document: Document; call: Call }) {
  if (!call.parameters?.length) return null;
  return (
    <div class="scroll" tabIndex={0} role="region" aria-label={`Parameters: ${call.summary}`}>
      <table>
        <thead>
          <tr>
            <th scope="col">Parameter</th>
            <th scope="col">Value</th>
            <th scope="col">What</th>
          </tr>
        </thead>
        <tbody>
          {call.parameters.map((parameter) => (
            <tr key={parameter.name}>
              <th scope="row">
                <code>{parameter.name}</code>
                {parameter.required && <small> required</small>}
              </th>
              <td>{[kind(parameter.schema), bounds(whole(document, parameter.schema ?? {}))].filter(Boolean).join("; ")}</td>
              <td>{parameter.description}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** few cuts long lists and texts: an example shows what an answer looks like. */
function few(value: unknown): unknown {
  if (typeof value === "string") return value.slice(0, 300);
  if (Array.isArray(value)) return value.slice(0, 2).map(few);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, few(inner)]));
}

/** Example is this node's own answer, asked for when it comes near the window. */
function Example({ path, body, missing }: { path: string | null; body: string | undefined; missing: string | undefined }) {
  const [text, setText] = useState("");
  useEffect(() => {
    if (path === null || missing) return;
    const abort = new AbortController();
    (body === undefined ? get<unknown>(path, abort.signal) : post<unknown>(path, JSON.parse(body), abort.signal)).then(
      (answer) => setText(shown(few(answer))),
      (error: unknown) => {
        if (!cancelled(error)) setText(words(error));
      },
    );
    return () => abort.abort();
  }, [path]);
  return (
    <>
      <h4>This node’s answer, cut short</h4>
      {missing ? <p>{missing}</p> : (
        <pre tabIndex={0} class="answer">
          <code>{text || "…"}</code>
        </pre>
      )}
    </>
  );
}
