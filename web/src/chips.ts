// A few names out of many.

import { h } from "./dom";

let count = 0;

export class Chips {
  readonly element: HTMLElement;
  private names: string[];
  private readonly list = h("div", { class: "chips" });
  private readonly input: HTMLInputElement;

  constructor(
    label: string,
    known: string[],
    chosen: string,
    private readonly most: number,
    private readonly none: string,
  ) {
    this.names = chosen.split(",").filter(Boolean).slice(0, most);
    const id = `chips-${count++}`;
    this.input = h("input", { id, list: `${id}-known`, placeholder: `add a variant, at most ${most}`, autocomplete: "off", on: { change: () => this.add() } });
    const known_ = h("datalist", { id: `${id}-known` }, ...known.map((value) => h("option", { value })));
    this.element = h("div", { class: "field" }, h("label", { for: id, text: label }), this.list, this.input, known_);
    this.draw();
  }

  get chosen(): string[] {
    return [...this.names];
  }

  private add(): void {
    const name = this.input.value.trim();
    if (name === "") return;
    // Names are made of parts, so that more are right than are listed: what is wrong is told by the run.
    if (!this.names.includes(name) && this.names.length < this.most) this.names.push(name);
    this.input.value = "";
    this.draw();
  }

  private draw(): void {
    const chip = (name: string) =>
      h(
        "span",
        { class: "chip" },
        name,
        h("button", {
          type: "button",
          "aria-label": `Leave out ${name}`,
          text: "×",
          on: {
            click: () => {
              this.names = this.names.filter((other) => other !== name);
              this.draw();
              this.input.focus();
            },
          },
        }),
      );
    this.list.replaceChildren(...(this.names.length > 0 ? this.names.map(chip) : [h("span", { class: "hint", text: this.none })]));
    this.input.disabled = this.names.length >= this.most;
  }
}
