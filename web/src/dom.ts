// Elements without a framework.

export type Child = Node | string | null | undefined | false;

type Handlers = { [K in keyof HTMLElementEventMap]?: (event: HTMLElementEventMap[K]) => void };

export interface Props {
  class?: string;
  text?: string;
  on?: Handlers;
  // Attributes; `true` is an attribute without a value, and what is not there is left out.
  [attribute: string]: string | number | boolean | Handlers | undefined;
}

/** An element with attributes, handlers and children. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  props: Props = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") {
      for (const [event, handler] of Object.entries(value as Handlers)) {
        element.addEventListener(event, handler as EventListener);
      }
    } else if (name === "text") {
      element.textContent = String(value);
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value !== undefined) {
      element.setAttribute(name, String(value));
    }
  }
  element.append(...children.filter((child): child is Node | string => !!child));
  return element;
}

/** Puts a text into an element, which is drawn again only if that is another one. */
export function put(element: HTMLElement, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

/** Makes these the children of an element. Those that stay in their order are not touched: one of them may have the focus. */
export function arrange(element: Element, children: readonly Element[]): void {
  const stay = new Set(children);
  for (const child of [...element.children]) if (!stay.has(child)) child.remove();
  children.forEach((child, n) => {
    const there = element.children[n] ?? null;
    if (there !== child) element.insertBefore(child, there);
  });
}

const SVG = "http://www.w3.org/2000/svg";

/** An element of a picture. */
export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | number> = {},
  ...children: (Node | string)[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  element.append(...children);
  return element;
}

/** A field with its label above it. */
export function field(label: string, control: HTMLElement, hint = ""): HTMLElement {
  const id = control.id || `field-${label.toLowerCase().replaceAll(/[^a-z]+/g, "-")}-${count++}`;
  control.id = id;
  const note = hint ? h("span", { class: "hint", text: hint, id: `${id}-hint` }) : null;
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: id, text: label }), control, note);
}
let count = 0;

/** Choices of a select. */
export function options(names: readonly (string | readonly [string, string])[], chosen?: string): HTMLOptionElement[] {
  return names.map((name) => {
    const [value, text] = typeof name === "string" ? [name, name] : name;
    return h("option", { value, text, selected: value === chosen });
  });
}

/** A table whose columns behind the first are numbers. */
export function table(caption: string, head: readonly string[], rows: readonly (readonly Child[])[]): HTMLElement {
  const made = new Table(caption, head);
  made.show(rows);
  return made.element;
}

/** Such a table whose rows change: where it is scrolled to, and who has the focus, stay. */
export class Table {
  readonly element: HTMLElement;
  private readonly body = h("tbody");

  constructor(caption: string, head: readonly string[]) {
    this.element = h(
      "div",
      { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
      h("table", {}, h("caption", { class: "unseen", text: caption }), h("thead", {}, h("tr", {}, ...head.map((text) => h("th", { scope: "col", text })))), this.body),
    );
  }

  show(rows: readonly (readonly Child[])[]): void {
    const cell = (child: Child, n: number) => h(n === 0 ? "th" : "td", { scope: n === 0 ? "row" : undefined }, child);
    this.body.replaceChildren(...rows.map((row) => h("tr", {}, ...row.map(cell))));
  }
}

/** Copies a text, and says so on the button that was pressed. */
export async function copy(text: string, button: HTMLElement): Promise<void> {
  const before = button.dataset["label"] ?? button.textContent ?? "";
  button.dataset["label"] = before;
  button.textContent = (await copied(text)) ? "Copied" : "Not copied";
  setTimeout(() => (button.textContent = before), 1200);
}

/** Copies a text; also where the page is no secure context, as at an address of another host. */
async function copied(text: string): Promise<boolean> {
  if (navigator.clipboard) return navigator.clipboard.writeText(text).then(() => true, () => false);
  const area = h("textarea", { class: "unseen", "aria-hidden": "true" });
  area.value = text;
  document.body.append(area);
  area.select();
  const done = document.execCommand("copy");
  area.remove();
  return done;
}
