// The main values of a scenario as a form beside its text. The text stays what counts: the server puts a value into it, as `--set`
// does, and keeps the comments.

import { parse } from "smol-toml";
import { changed } from "./api";
import { h, options, put } from "./dom";
import { choices, type Schema } from "./run/completion";

/** What there is of each link, of the ways of one that are different, and of each flow. */
const LINK = ["rate", "delay", "loss", "queue"];
const WAYS = ["forward", "return"];
const FLOW = ["protocol", "size"];

/** A value of the form. */
interface Value {
  /** Whose it is: a heading. */
  group: string;
  path: string[];
  /** What the text has; nothing where it has none. */
  text: string | null;
}

type Table = Record<string, unknown>;

/** A value and the elements that show it. */
interface Shown {
  value: Value;
  control: HTMLInputElement | HTMLSelectElement;
  wrong: HTMLElement;
  /** What was shown last: another value in the control is somebody's who types. */
  put: string;
}

/** How often a value is put into a text that changes meanwhile. */
const TRIES = 5;

export class Form {
  readonly element: HTMLDetailsElement;
  private readonly fields = h("div", { class: "values" });
  private shown: Shown[] = [];
  private text = "";
  /** What goes on: one change after the other, as each begins from the text that the one before made. */
  private work: Promise<void> = Promise.resolve();

  constructor(
    private readonly schema: Schema,
    private readonly now: () => string,
    private readonly taken: (text: string) => void,
  ) {
    this.element = h("details", { class: "form" }, h("summary", { text: "Main values as a form" }), this.fields);
    // What is closed need not be there.
    this.element.addEventListener("toggle", () => this.show(this.text));
  }

  /** Waits until what was typed in fields is in the text. */
  settled(): Promise<void> {
    return this.work;
  }

  /** Shows what a text has. Fields stay where they are while the same values are there: whoever types keeps the place. */
  show(text: string): void {
    this.text = text;
    if (!this.element.open) return;
    const values = valuesOf(text)?.filter(({ path }) => choices(this.schema, path) !== null) ?? null;
    if (values === null) {
      this.shown = [];
      this.fields.replaceChildren(h("p", { class: "hint", text: "The form comes back when the text is TOML again." }));
      return;
    }
    const same = values.length === this.shown.length && values.every((value, n) => key(value) === key((this.shown[n] as Shown).value));
    if (!same) return this.build(values);
    values.forEach((value, n) => {
      const shown = this.shown[n] as Shown;
      const { control, wrong } = shown;
      const text = value.text ?? "";
      shown.value = value;
      if (control.value === text) tell(control, wrong, "");
      // What somebody types stays until it is taken.
      else if (control.value === shown.put) control.value = text;
      else return;
      shown.put = text;
    });
  }

  private build(values: Value[]): void {
    const groups = new Map<string, HTMLElement[]>();
    this.shown = values.map((value, n) => {
      const known = choices(this.schema, value.path) ?? { values: [], isOpen: true, info: "" };
      const name = value.path.slice(2).join(" ") || (value.path[0] as string);
      const id = `value-${n}`;
      const common = { id, "aria-describedby": `${id}-wrong`, title: known.info };
      const names = [...new Set(known.values)];
      const list = known.isOpen && names.length > 0 ? h("datalist", { id: `${id}-names` }, ...options(names)) : null;
      const control = known.isOpen
        ? h("input", { ...common, value: value.text ?? "", placeholder: "none", autocomplete: "off", spellcheck: "false", list: list?.id })
        : h("select", common, h("option", { value: "", text: "–" }), ...options(names, value.text ?? ""));
      const wrong = h("span", { class: "wrong hint", id: `${id}-wrong`, "aria-live": "polite" });
      const shown = { value, control, wrong, put: value.text ?? "" };
      control.addEventListener("change", () => {
        this.work = this.work.then(() => this.take(shown));
      });
      groups.set(value.group, [...(groups.get(value.group) ?? []), h("div", { class: "field" }, h("label", { for: id, text: name }), control, list, wrong)]);
      return shown;
    });
    this.fields.replaceChildren(...[...groups].map(([group, fields]) => h("fieldset", {}, h("legend", { text: group }), ...fields)));
  }

  /** Puts what was typed into the text, or tells at the field what is wrong with it. */
  private async take(shown: Shown): Promise<void> {
    const { value, control, wrong } = shown;
    const typed = control.value.trim();
    if (typed === (value.text ?? "")) return tell(control, wrong, "");
    if (typed === "") return tell(control, wrong, "To leave it out, delete its line in the text.");
    for (let n = 0; n < TRIES; n++) {
      const before = this.now();
      let text: string;
      try {
        text = await changed(before, [`${key(value)}=${typed}`]);
      } catch (error) {
        return tell(control, wrong, (error as Error).message.replace(/^--set .*?`: /, ""));
      }
      // Somebody has typed in the text meanwhile: the value goes into what is there now.
      if (this.now() !== before) continue;
      tell(control, wrong, "");
      shown.put = control.value;
      return this.taken(text);
    }
    tell(control, wrong, "The text changed all the time: press Enter here again.");
  }
}

/** Says at a field what is wrong with it; nothing is. */
function tell(control: HTMLElement, wrong: HTMLElement, message: string): void {
  put(wrong, message);
  if (message === "") control.removeAttribute("aria-invalid");
  else control.setAttribute("aria-invalid", "true");
}

/** As `--set` names it. */
function key({ path }: Value): string {
  return path.join(".");
}

/** The main values of a text; nothing if it is no TOML. */
function valuesOf(text: string): Value[] | null {
  let file: Table;
  try {
    file = parse(text, { integersAsBigInt: true }) as Table;
  } catch {
    return null;
  }
  const values: Value[] = [{ group: "Run", path: ["duration"], text: told(file["duration"]) }];
  const add = (group: string, path: string[], table: Table, keys: string[], all: boolean) => {
    for (const name of keys) {
      // A table in its place, such as a queue with a discipline, is left to the text.
      if (isTable(table[name]) || Array.isArray(table[name]) || (!all && table[name] === undefined)) continue;
      values.push({ group, path: [...path, name], text: told(table[name]) });
    }
  };
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

function told(value: unknown): string | null {
  return value === undefined ? null : String(value);
}
