// An OpenAPI document, as far as the pages show it.

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  default?: unknown;
  minimum?: number;
  maximum?: number;
}

export interface Parameter {
  name: string;
  in: "path" | "query" | "header";
  required?: boolean;
  description?: string;
  schema?: Schema;
  example?: unknown;
}

type Content = Record<string, { schema?: Schema; example?: unknown }>;

export interface Operation {
  operationId: string;
  summary: string;
  description?: string;
  tags: string[];
  parameters?: Parameter[];
  requestBody?: { content: Content };
  responses: Record<string, { $ref?: string; description?: string; content?: Content }>;
}

export interface Document {
  info: { title: string; description: string };
  paths: Record<string, Record<string, Operation>>;
  components: Record<string, Record<string, unknown>>;
}

/** Call is an operation with its place. */
export interface Call extends Operation {
  method: "get" | "post";
  path: string;
}

/** swapAddress is where a browser finds the swap API; empty where this node names none. */
export const swapAddress = document.querySelector<HTMLMetaElement>("meta[name=mintlake-swap]")?.content ?? "";

/** whole replaces a reference by what it names; what stands beside the reference counts. */
export function whole<T extends object>(document: Document, value: T): T {
  const [, kind, name] = /^#\/components\/(\w+)\/(\w+)$/.exec((value as { $ref?: string }).$ref ?? "") ?? [];
  if (!kind || !name) return value;
  return { ...(document.components[kind]?.[name] as T), ...value, $ref: undefined };
}

/** named is the name of a schema that a reference names. */
const named = (schema: Schema) => schema.$ref?.split("/").pop();

/** kind says in words what a value may be. */
export function kind(schema: Schema | undefined): string {
  if (!schema) return "";
  const name = named(schema);
  if (name) return name;
  const several = schema.anyOf ?? schema.oneOf ?? schema.allOf;
  if (several && !schema.type) return several.map(kind).filter(Boolean).join(" or ");
  if (schema.type === "array") return `list of ${kind(schema.items) || "values"}`;
  return [schema.type ?? []].flat().join(" or ");
}

/** bounds says what else holds for a value. */
export function bounds({ minimum, maximum, default: usual, enum: values }: Schema): string {
  const parts: string[] = [];
  if (minimum !== undefined) parts.push(maximum !== undefined ? `${minimum} to ${maximum}` : `from ${minimum}`);
  else if (maximum !== undefined) parts.push(`up to ${maximum}`);
  if (values) parts.push(`one of ${values.map(String).join(", ")}`);
  if (usual !== undefined && usual !== "") parts.push(`default ${String(usual)}`);
  return parts.join("; ");
}

/** calls are the operations of a document by their tag, in its order. */
export function calls(document: Document): Map<string, Call[]> {
  const all = new Map<string, Call[]>();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const method of ["get", "post"] as const) {
      const operation = methods[method];
      if (!operation) continue;
      const tag = operation.tags[0] ?? "";
      const parameters = operation.parameters?.map((parameter) => whole(document, parameter));
      all.set(tag, [...(all.get(tag) ?? []), { ...operation, parameters, method, path }]);
    }
  }
  return all;
}

/** json is what an operation answers, if that is JSON. */
export const json = (document: Document, call: Call) => whole(document, call.responses["200"] ?? {}).content?.["application/json"];
