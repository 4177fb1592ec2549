// Completion of scenario files from their JSON Schema.

import type { Completion, CompletionContext, CompletionResult, CompletionSource } from "@codemirror/autocomplete";

export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
  enum?: unknown[];
  const?: unknown;
  type?: string | string[];
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  items?: Schema;
}

/** The schemas that one may stand for. */
function variants(root: Schema, schema: Schema): Schema[] {
  const name = schema.$ref?.replace("#/$defs/", "");
  const named = name === undefined ? undefined : root.$defs?.[name];
  const inner = [...(schema.anyOf ?? []), ...(schema.oneOf ?? []), ...(schema.allOf ?? []), ...(named ? [named] : [])];
  return [schema, ...inner.flatMap((one) => variants(root, one))];
}

/** The schemas of a key below some. */
function below(root: Schema, schemas: Schema[], key: string): Schema[] {
  return schemas.flatMap((schema) => {
    const named = schema.properties?.[key];
    const any = typeof schema.additionalProperties === "object" ? schema.additionalProperties : undefined;
    const items = schema.items;
    const found = named ?? any ?? items;
    return found ? variants(root, found) : [];
  });
}

function at(root: Schema, path: readonly string[]): Schema[] {
  return path.reduce((schemas, key) => below(root, schemas, key), variants(root, root));
}

const parts = (key: string): string[] =>
  key
    .split(".")
    .map((part) => part.trim().replaceAll(/^"|"$/g, ""))
    .filter(Boolean);

/** The table in which a line stands. */
function tableOf(lines: readonly string[]): string[] {
  const header = lines.findLast((line) => line.trim().startsWith("["));
  return header === undefined ? [] : parts(header.trim().replaceAll(/^\[+|\].*$/g, ""));
}

function keys(root: Schema, path: readonly string[]): Completion[] {
  const found = new Map<string, Completion>();
  for (const schema of at(root, path)) {
    for (const [key, inner] of Object.entries(schema.properties ?? {})) {
      const info = variants(root, inner).find((one) => one.description)?.description;
      found.set(key, { label: key, type: "property", apply: `${key} = `, ...(info ? { info } : {}) });
    }
  }
  return [...found.values()];
}

function tables(root: Schema, path: readonly string[]): Completion[] {
  const isTable = (schema: Schema) => variants(root, schema).some((one) => one.properties || one.additionalProperties);
  const found = at(root, path).flatMap((schema) => Object.entries(schema.properties ?? {}));
  return found.filter(([, schema]) => isTable(schema)).map(([label, schema]) => ({ label, type: "class", ...(schema.description ? { info: schema.description } : {}) }));
}

function values(root: Schema, path: readonly string[]): Completion[] {
  const found = new Map<string, Completion>();
  const add = (value: unknown, info?: string) => found.set(String(value), { label: JSON.stringify(value), type: "enum", ...(info ? { info } : {}) });
  for (const schema of at(root, path)) {
    schema.enum?.forEach((value) => add(value));
    if (schema.const !== undefined) add(schema.const, schema.description);
    if (schema.type === "boolean") [true, false].forEach((value) => add(value));
  }
  return [...found.values()];
}

/** The names that a key may be, and whether it may be something else; nothing where no such key is known. */
export function choices(root: Schema, path: readonly string[]): { values: string[]; isOpen: boolean; info: string } | null {
  const found = at(root, path);
  if (found.length === 0) return null;
  const texts = found.flatMap((schema) => [...(schema.enum ?? []), ...(schema.const === undefined ? [] : [schema.const])]).filter((value) => typeof value === "string");
  const isFree = ({ enum: some, const: one, type }: Schema) => !some && one === undefined && [type].flat().some((name) => name === "string" || name === "number" || name === "integer");
  return { values: texts, isOpen: texts.length === 0 || found.some(isFree), info: found.find((schema) => schema.description)?.description ?? "" };
}

/** What can stand at the cursor. */
export function completion(root: Schema): CompletionSource {
  return (context: CompletionContext): CompletionResult | null => {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const above = context.state.doc.sliceString(0, line.from).split("\n");
    const result = (length: number, options: Completion[]) => (options.length > 0 ? { from: context.pos - length, options } : null);
    const header = /^\s*\[+([\w.\-"]*)$/.exec(before);
    if (header) {
      const typed = (header[1] ?? "").split(".");
      const last = typed.pop() ?? "";
      return result(last.length, tables(root, typed));
    }
    const value = /^\s*([\w.\-"]+)\s*=\s*("?[\w-]*)$/.exec(before);
    if (value) {
      const found = result((value[2] ?? "").length, values(root, [...tableOf(above), ...parts(value[1] ?? "")]));
      // The editor closes quotes by itself.
      const closed = (value[2] ?? "").startsWith('"') && context.state.sliceDoc(context.pos, context.pos + 1) === '"';
      return found && closed ? { ...found, to: context.pos + 1 } : found;
    }
    const key = /^\s*([\w.\-]*)$/.exec(before);
    if (key && (context.explicit || key[1])) {
      const typed = (key[1] ?? "").split(".");
      const last = typed.pop() ?? "";
      return result(last.length, keys(root, [...tableOf(above), ...typed]));
    }
    return null;
  };
}
