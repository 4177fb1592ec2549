// The numbers of a sky beside its picture, told a few times a second: each text that changes costs a layout.

import { h, put } from "../dom";
import { delay, or } from "../format";
import type { Model } from "./model";
import type { Scene } from "./scene";

const NAMES = ["one-way delay", "hops", "handovers so far", "satellites"] as const;

export class Figures {
  readonly element: HTMLElement;
  readonly way = h("p", { class: "hint note way" });
  private readonly values = NAMES.map(() => h("dd"));

  constructor() {
    this.element = h("dl", { class: "figures" }, ...NAMES.map((name, n) => h("div", {}, h("dt", { text: name }), this.values[n])));
  }

  tell({ course, name }: Told, { route, satellites }: Scene, clock: number): void {
    const handovers = course.handovers.filter((one) => one.time_s <= clock && one.to !== null).length;
    const hops = route.length > 1 ? String(route.length - 1) : "–";
    const texts = [or(course.at(clock)?.delay_s, delay), hops, String(handovers), String(satellites)];
    this.values.forEach((value, n) => put(value, texts[n] ?? ""));
    put(this.way, route.length > 1 ? route.map(name).join(" → ") : "There is no route now.");
  }
}

interface Told {
  course: NonNullable<Model["course"]>;
  name: (number: number) => string;
}
