// The scenario of Run or Compare: one from the gallery, or what became of it.

import { check, type Entry, type Lists, once, text, type Wrong } from "./api";
import { field, h, options } from "./dom";
import { Form } from "./form";
import { Editor, said } from "./editor";
import { completion, type Schema } from "./run/completion";
import * as state from "./state";

const USUAL = "geo";

/** A choice of scenarios and an editor. */
export class Scenario {
  readonly element: HTMLElement;
  private readonly editor: Editor;
  private readonly form: Form;
  private readonly gallery: HTMLSelectElement;
  private readonly summary = h("p", { class: "faint note" });
  private readonly trouble = h("p", { class: "wrong", role: "status" });
  private asked = 0;

  private constructor(
    private readonly entries: Entry[],
    schema: Schema,
    private name: string,
    private original: string,
  ) {
    this.editor = new Editor("Scenario, in TOML", (text) => void this.edited(text), completion(schema));
    this.gallery = h("select", { on: { change: () => void this.choose(this.gallery.value) } }, ...options(entries.map((entry) => entry.name), name));
    this.form = new Form(
      schema,
      () => this.editor.text,
      (text) => {
        this.editor.text = text;
        void this.edited(text);
      },
    );
    this.element = h("div", { class: "scenario" }, field("Scenario", this.gallery), this.summary, this.form.element, this.editor.element, this.trouble);
    this.put(original);
    this.describe();
  }

  static async open(): Promise<Scenario> {
    const [lists, schema] = await Promise.all([once<Lists>("list"), once<Schema>("schema")]);
    const asked = state.get("scenario", USUAL);
    const name = lists.scenarios.find((entry) => entry.name === asked)?.name ?? USUAL;
    const scenario = new Scenario(lists.scenarios, schema, name, await text(`scenario/${name}`));
    const typed = state.get("toml");
    const changed = typed === "" ? null : await state.unpacked(typed);
    if (changed !== null) {
      scenario.put(changed);
      void scenario.edited(changed);
    }
    return scenario;
  }

  close(): void {
    this.editor.close();
  }

  get text(): string {
    return this.editor.text;
  }

  /** Waits until what was typed in the form is in the text. */
  settled(): Promise<void> {
    return this.form.settled();
  }

  /** What the command line calls it: the name in the gallery, or a file that is to be written first. */
  get source(): string {
    return this.text === this.original ? this.name : "my.toml";
  }

  /** Shows what the server found wrong with it. */
  mark(wrong: readonly Wrong[]): void {
    this.editor.mark(wrong);
    this.trouble.textContent = wrong.map(said).join("\n");
  }

  private put(text: string): void {
    this.editor.text = text;
    this.form.show(text);
  }

  private describe(): void {
    this.summary.textContent = this.entries.find((entry) => entry.name === this.name)?.summary ?? "";
  }

  private async choose(name: string): Promise<void> {
    const asked = ++this.asked;
    try {
      const original = await text(`scenario/${name}`);
      if (asked !== this.asked) return;
      [this.name, this.original] = [name, original];
    } catch (error) {
      this.trouble.textContent = (error as Error).message;
      this.gallery.value = this.name;
      return;
    }
    this.put(this.original);
    this.describe();
    this.mark([]);
    state.set({ scenario: name, toml: null });
  }

  private async edited(text: string): Promise<void> {
    const asked = ++this.asked;
    this.form.show(text);
    const packed = text === this.original ? null : await state.packed(text);
    if (asked !== this.asked) return;
    state.set({ scenario: this.name, toml: packed });
    const wrong = await check("scenario", text).catch((error: Error) => [{ message: error.message, line: null, key: null }]);
    if (asked === this.asked) this.mark(wrong);
  }
}
