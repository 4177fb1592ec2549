// Names over a view: those of both ends, and of what is pointed at.

import { h, put } from "../dom";
import type { Model } from "./model";
import { node, pick, type Scene, type View } from "./scene";

export class Names {
  readonly elements: HTMLElement[];
  private readonly tip = h("div", { class: "tip", hidden: true });
  private readonly labels = [0, 1].map(() => h("div", { class: "name-of", hidden: true }));

  constructor(
    private readonly stage: HTMLElement,
    private readonly seen: () => { view: View; scene: Scene | null; model: Model | null },
  ) {
    this.elements = [...this.labels, this.tip];
    stage.addEventListener("pointermove", (event) => this.point(event));
    stage.addEventListener("pointerleave", () => (this.tip.hidden = true));
  }

  /** Writes the names of both ends beside them. What is as before is not touched: it would be drawn again. */
  write(view: View, scene: Scene): void {
    this.labels.forEach((label, n) => {
      const at = view.project(node(scene, scene.satellites + n));
      if (label.hidden !== (at === null)) label.hidden = at === null;
      put(label, scene.stations[n]?.name ?? "");
      if (!at) return;
      const moved = `translate(${Math.round(at[0] + 8)}px, ${Math.round(at[1] - 10)}px)`;
      if (label.style.transform !== moved) label.style.transform = moved;
    });
  }

  /** Names what is pointed at. */
  private point(event: PointerEvent): void {
    const { scene, model, view } = this.seen();
    const { left, top } = this.stage.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const number = scene ? pick(view, scene, x, y) : null;
    this.tip.hidden = number === null;
    if (number === null || !model) return;
    put(this.tip, model.name(number));
    this.tip.style.left = `${x + 12}px`;
    this.tip.style.top = `${y + 12}px`;
  }
}
