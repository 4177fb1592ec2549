// The scenario of Run or Compare: one from the gallery, or what became of it.

import { check, type Entry, type Lists, once, text, type Wrong } from "./api";
import { field, h, options, put } from "./dom";
import { Form } from "./form/form";
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
  /** What whoever wants to run it should know; it stands at the buttons for that. */
  readonly notice = h("p", { class: "note", role: "status" });
  /** The last choice in the gallery, and the last text that was looked at: answers for others come too late. */
  private chosen = 0;
  private edits = 0;
  /** So many wait until the form is in the text. */
  private waiting = 0;
  private closed = false;

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

  /** The address and the editor are another's from now on, whatever answers come. */
  close(): void {
    this.closed = true;
    this.form.close();
    this.editor.close();
  }

  get text(): string {
    return this.editor.text;
  }

  /** Does something with the scenario that is meant: what was typed in the form is in the text by then, or nothing is done. */
  async settled(then: () => void): Promise<void> {
    if (this.form.waits) put(this.notice, "Waits until what was typed in the form is in the text …");
    this.waiting++;
    const refused = await this.form.settled();
    this.waiting--;
    if (this.closed) return;
    put(this.notice, refused === null ? "" : `Nothing was begun: what is in the field “${refused.title}” is not in the text.`);
    if (refused === null) then();
    else this.form.reveal(refused);
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

  /** Shows another scenario. */
  private put(text: string): void {
    this.edits++;
    this.editor.text = text;
    this.form.begin(text);
  }

  private describe(): void {
    this.summary.textContent = this.entries.find((entry) => entry.name === this.name)?.summary ?? "";
  }

  private async choose(name: string): Promise<void> {
    const asked = ++this.chosen;
    const isLate = () => this.closed || asked !== this.chosen;
    try {
      const original = await text(`scenario/${name}`);
      if (isLate()) return;
      [this.name, this.original] = [name, original];
    } catch (error) {
      if (isLate()) return;
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
    const asked = ++this.edits;
    const isLate = () => this.closed || asked !== this.edits;
    this.form.show(text);
    if (this.waiting === 0) put(this.notice, "");
    const packed = text === this.original ? null : await state.packed(text);
    if (isLate()) return;
    state.set({ scenario: this.name, toml: packed });
    const wrong = await check("scenario", text).catch((error: Error) => [{ message: error.message, line: null, key: null }]);
    if (!isLate()) this.mark(wrong);
  }
}
