// The main values of a scenario, as its text has them.

import { parse } from "smol-toml";

/** What there is of each link, of the ways of one that are different, and of each flow. */
const LINK = ["rate", "delay", "loss", "queue"];
const WAYS = ["forward", "return"];
const FLOW = ["protocol", "size"];

/** A value of the form. */
export interface Value {
  /** Whose it is: a heading. */
  group: string;
  path: string[];
  /** What the text has; nothing where it has none. */
  text: string | null;
}

type Table = Record<string, unknown>;

/** As `--set` names it. */
export function key({ path }: Value): string {
  return path.join(".");
}

/** The main values of a text; nothing if it is no TOML. */
export function valuesOf(text: string): Value[] | null {
  let file: Table;
  try {
    file = parse(text, { integersAsBigInt: true }) as Table;
  } catch {
    return null;
  }
  const values: Value[] = [];
  const add = (group: string, path: string[], table: Table, keys: string[], all: boolean) => {
    for (const name of keys) {
      const value = table[name];
      if (value === undefined ? !all : !isPlain(value)) continue;
      values.push({ group, path: [...path, name], text: value === undefined ? null : String(value) });
    }
  };
  add("Run", [], file, ["duration"], true);
  for (const [name, link] of tables(file["links"])) {
    add(`Link ${name}`, ["links", name], link, LINK, true);
    for (const way of WAYS) add(`Link ${name}`, ["links", name, way], isTable(link[way]) ? link[way] : {}, LINK, false);
  }
  for (const [name, flow] of tables(file["flows"])) add(`Flow ${name}`, ["flows", name], flow, FLOW, true);
  return values;
}

/** Names that `--set` can say. */
const SAYABLE = /^[^.=]+$/;

/** The tables of a table with such names. */
function tables(of: unknown): [string, Table][] {
  return Object.entries(isTable(of) ? of : {}).filter((entry): entry is [string, Table] => isTable(entry[1]) && SAYABLE.test(entry[0]));
}

function isTable(value: unknown): value is Table {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof Date);
}

/** Whether a field can have it. A table in its place, such as a queue with a discipline, is left to the text. */
function isPlain(value: unknown): boolean {
  return ["string", "number", "bigint", "boolean"].includes(typeof value);
}
