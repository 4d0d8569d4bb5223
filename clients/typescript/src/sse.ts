// Server-Sent Events (https://html.spec.whatwg.org/multipage/server-sent-events.html).

export interface ServerSentEvent {
  event: string;
  data: string;
  id?: string;
  retry?: number;
}

/** Trying again would be of no use. */
export class NotAFeed extends Error {}

/** Bounds an event in characters; a row has some thousand. */
const longest = 4_000_000;

/** The events of a response, until it ends. alive is called for each piece that comes. */
export async function* events(response: Response, alive: () => void): AsyncGenerator<ServerSentEvent> {
  if (!response.body || !(response.headers.get("Content-Type") ?? "").startsWith("text/event-stream")) {
    throw new NotAFeed("the answer is no event stream: this is no token API of Mintlake");
  }
  const reader = response.body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "";
  let event: ServerSentEvent = { event: "", data: "" };
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      rest += value;
      const lines = rest.split(/\r?\n/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          yield event;
          event = { event: "", data: "" };
          continue;
        }
        const [, name, text = ""] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
        if (name === "event") event.event = text;
        else if (name === "data") event.data += (event.data === "" ? "" : "\n") + text;
        else if (name === "id") event.id = text;
        else if (name === "retry" && /^\d+$/.test(text)) event.retry = Number(text);
      }
      if (rest.length + event.data.length > longest) throw new NotAFeed("an event of the feed is too long");
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
