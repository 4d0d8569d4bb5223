// The fields of a schema, as a list in a list.
import { type Document, type Schema, bounds, kind, whole } from "./document";

/** deepest bounds how far a schema is shown: one may contain itself. */
const deepest = 6;

/** inner is the schema whose fields a value has: of a list those of its items, else of the alternatives the first that has any. */
function inner(document: Document, schema: Schema, depth: number): Schema | undefined {
  const own = whole(document, schema);
  if (depth > deepest) return undefined;
  if (own.properties) return own;
  if (own.items) return inner(document, own.items, depth + 1);
  const parts = own.allOf ?? own.anyOf ?? own.oneOf ?? [];
  if (own.allOf) {
    const all = parts.flatMap((part) => inner(document, part, depth + 1) ?? []);
    return { properties: Object.assign({}, ...all.map((part) => part.properties)), required: [...(own.required ?? []), ...all.flatMap((part) => part.required ?? [])] };
  }
  return parts.map((part) => inner(document, part, depth + 1)).find(Boolean);
}

export function Fields({ document, schema, depth = 0 }: { document: Document; schema: Schema; depth?: number }) {
  const own = inner(document, schema, depth);
  if (!own?.properties || depth > deepest) return depth === 0 ? <p>{kind(schema) || "Any JSON."}</p> : null;
  return (
    <div class={depth === 0 ? "fields" : undefined}>
      <ul>
        {Object.entries(own.properties).map(([name, property]) => {
          const value = whole(document, property);
          return (
            <li key={name}>
              <code>{name}</code>{" "}
              <small>{[kind(property), bounds(value), own.required?.includes(name) ? "" : "may be absent"].filter(Boolean).join("; ")}</small>
              {value.description && <> {value.description}</>}
              <Fields document={document} schema={property} depth={depth + 1} />
            </li>
          );
        })}
      </ul>
    </div>
  );
}
