// The main values of a scenario as a form beside its text. The text stays what counts: the server puts a value into it, as `--set`
// does, and keeps the comments.

import { changed, type Wrong } from "../api";
import { arrange, h } from "../dom";
import { said } from "../editor";
import { choices, type Schema } from "../run/completion";
import { Field } from "./field";
import { key, valuesOf } from "./values";

/** How often a value is put into a text that changes meanwhile. */
const TRIES = 5;
/** A server that does not answer within this time is not waited for. */
const ANSWERS_WITHIN_MS = 10_000;

export class Form {
  readonly element: HTMLDetailsElement;
  private readonly values = h("div", { class: "values" });
  private readonly hint = h("p", { class: "hint", text: "The form comes back when the text is TOML again." });
  /** By their keys. They stay while the text is no TOML, with what is typed in them. */
  private fields = new Map<string, Field>();
  private groups = new Map<string, HTMLElement>();
  private shown: Field[] = [];
  private text = "";
  /** What goes on: one change after the other, as each begins from the text that the one before made. */
  private work: Promise<void> = Promise.resolve();
  private waiting = 0;
  /** Ends with the scenario that is shown: what was typed for one is never put into another. */
  private life = new AbortController();

  constructor(
    private readonly schema: Schema,
    private readonly now: () => string,
    private readonly taken: (text: string) => void,
  ) {
    this.element = h("details", { class: "form" }, h("summary", { text: "Main values as a form" }), this.values);
    // What was never open need not be there.
    this.element.addEventListener("toggle", () => this.show(this.text));
  }

  /** Whether something that was typed is not in the text yet. */
  get waits(): boolean {
    return this.waiting > 0 || this.shown.some((field) => field.isRefused);
  }

  /** Waits until what was typed in fields is in the text; gives one where it is not. */
  async settled(): Promise<Field | null> {
    // What was refused may be right by now, or there is a server again.
    for (const field of this.shown) if (field.isRefused) this.ask(field);
    await this.work;
    return this.shown.find((field) => field.isRefused) ?? null;
  }

  /** Brings somebody to a field. */
  reveal(field: Field): void {
    this.element.open = true;
    field.focus();
  }

  /** Shows another scenario. */
  begin(text: string): void {
    this.close();
    this.life = new AbortController();
    this.fields.clear();
    this.groups.clear();
    this.shown = [];
    arrange(this.values, []);
    this.show(text);
  }

  /** Nothing more is put into the text. */
  close(): void {
    this.life.abort();
  }

  /** Shows what a text has. Fields stay where they are while the text has their values: whoever types keeps the place. */
  show(text: string): void {
    this.text = text;
    if (!this.element.open && this.fields.size === 0) return;
    const values = valuesOf(text);
    if (values === null) {
      this.shown = [];
      return arrange(this.values, [this.hint]);
    }
    const groups = new Map<string, HTMLElement[]>();
    this.shown = values.flatMap((value) => {
      const known = choices(this.schema, value.path);
      if (known === null) return [];
      const field = this.fields.get(key(value)) ?? new Field(value, known, (field) => this.ask(field));
      field.show(value);
      groups.set(value.group, [...(groups.get(value.group) ?? []), field.element]);
      return [field];
    });
    this.fields = new Map(this.shown.map((field) => [field.key, field]));
    this.groups = new Map(
      [...groups].map(([name, fields]) => {
        const group = this.groups.get(name) ?? h("fieldset", {}, h("legend", { text: name }));
        arrange(group, [group.firstElementChild as Element, ...fields]);
        return [name, group];
      }),
    );
    arrange(this.values, [...this.groups.values()]);
  }

  private ask(field: Field): void {
    const { signal } = this.life;
    this.waiting++;
    this.work = this.work.then(async () => {
      await this.take(field, signal);
      this.waiting--;
    });
  }

  /** Puts what was typed into the text, or tells at the field what is wrong with it. */
  private async take(field: Field, life: AbortSignal): Promise<void> {
    if (life.aborted || this.fields.get(field.key) !== field) return;
    if (field.isInText) return field.tell("");
    const { typed } = field;
    if (typed.trim() === "") return field.tell("To leave it out, delete its line in the text.");
    field.isBusy = true;
    const text = await this.changed(field, typed, life);
    field.isBusy = false;
    if (text === null) return;
    field.taken(typed);
    this.taken(text);
  }

  /** The text with a value in it; nothing where there is none, which is told. */
  private async changed(field: Field, typed: string, life: AbortSignal): Promise<string | null> {
    for (let n = 0; n < TRIES; n++) {
      const before = this.now();
      try {
        const answer = await changed(before, [`${field.key}=${typed.trim()}`], AbortSignal.any([life, AbortSignal.timeout(ANSWERS_WITHIN_MS)]));
        if (life.aborted) return null;
        // Somebody has typed in the text meanwhile: the value goes into what is there now.
        if (this.now() !== before) continue;
        if ("scenario" in answer) return answer.scenario;
        field.tell(at(field, answer.wrong));
      } catch (error) {
        if (!life.aborted) field.tell(why(error as Error));
      }
      return null;
    }
    field.tell("The text changed all the time: press Enter here again.");
    return null;
  }
}

/** What is wrong with the text with a value in it, as told at the field of that value. */
function at(field: Field, wrong: Wrong): string {
  // The line is that of a text which nobody sees.
  return wrong.key === field.key ? wrong.message : said(wrong.key === null ? wrong : { ...wrong, line: null });
}

function why({ name, message }: Error): string {
  return name === "TimeoutError" ? "The server has not answered for 10 s: press Enter here to try again." : message;
}
