// One value of the form: a control, and what is wrong with what was typed in it.

import { h, options, put } from "../dom";
import type { choices } from "../run/completion";
import { key, type Value } from "./values";

export class Field {
  readonly element: HTMLElement;
  readonly key: string;
  /** What it is called outside of its group. */
  readonly title: string;
  private readonly control: HTMLInputElement | HTMLSelectElement;
  private readonly wrong: HTMLElement;
  /** A choice for what the text has and no scenario can. */
  private readonly other = h("option");
  /** What was shown or sent last: another value in the control is somebody's who types. */
  private put = "";
  private text = "";

  constructor(value: Value, known: NonNullable<ReturnType<typeof choices>>, ask: (field: Field) => void) {
    const label = value.path.slice(2).join(" ") || (value.path[0] as string);
    this.key = key(value);
    this.title = `${value.group}, ${label}`;
    const id = `value-${count++}`;
    const common = { id, "aria-describedby": `${id}-wrong`, title: known.info };
    const names = [...new Set(known.values)];
    const list = known.isOpen && names.length > 0 ? h("datalist", { id: `${id}-names` }, ...options(names)) : null;
    this.control = known.isOpen
      ? h("input", { ...common, placeholder: "none", autocomplete: "off", spellcheck: "false", list: list?.id })
      : h("select", common, h("option", { value: "", text: "–" }), ...options(names));
    this.wrong = h("span", { class: "wrong hint", id: `${id}-wrong`, "aria-live": "polite" });
    this.element = h("div", { class: "field" }, h("label", { for: id, text: label }), this.control, list, this.wrong);
    this.control.addEventListener("change", () => ask(this));
    // What was refused may be right now; a browser tells no change of what stayed as it was.
    this.control.addEventListener("keydown", (event) => {
      if ((event as KeyboardEvent).key === "Enter" && this.isRefused) ask(this);
    });
  }

  /** Shows what the text has. What somebody types stays until it is taken. */
  show({ text }: Value): void {
    this.text = text ?? "";
    if (this.control.value === this.text) this.tell("");
    else if (this.control.value !== this.put) return;
    this.assign(this.text);
  }

  get typed(): string {
    return this.control.value;
  }

  get isInText(): boolean {
    return this.typed.trim() === this.text;
  }

  /** What was typed is not in the text, and why is told. */
  get isRefused(): boolean {
    return this.control.hasAttribute("aria-invalid");
  }

  /** The text has this now that was typed. What is typed since is another value. */
  taken(typed: string): void {
    this.put = typed;
    this.tell("");
  }

  /** Says what is wrong with it; nothing is. */
  tell(message: string): void {
    put(this.wrong, message);
    if (message === "") this.control.removeAttribute("aria-invalid");
    else this.control.setAttribute("aria-invalid", "true");
  }

  set isBusy(busy: boolean) {
    if (busy) this.control.setAttribute("aria-busy", "true");
    else this.control.removeAttribute("aria-busy");
  }

  focus(): void {
    this.control.focus();
  }

  private assign(text: string): void {
    if (this.control instanceof HTMLSelectElement) {
      this.other.remove();
      if (![...this.control.options].some(({ value }) => value === text)) {
        this.other.value = this.other.text = text;
        this.control.append(this.other);
      }
    }
    this.control.value = text;
    // A control may show another one, such as none of the ends of lines.
    this.put = this.control.value;
  }
}
let count = 0;
