// Sky: a constellation and a route as time goes by.

import type uPlot from "uplot";
import type { About, Lists, Wrong } from "../api";
import { once, written } from "../api";
import { Chart } from "../chart";
import { colour } from "../colours";
import { copy, field, h, options, put } from "../dom";
import { drawn } from "../drawn";
import { said } from "../editor";
import { delay, time } from "../format";
import type { Shown } from "../main";
import { quoted } from "../run/copies";
import * as state from "../state";
import { Figures } from "./figures";
import { Globe } from "./globe";
import { isEmulated } from "./graphics";
import { FlatMap } from "./map";
import { type Asked, Model } from "./model";
import { Names } from "./names";
import { PlainGlobe } from "./plainglobe";
import type { Layers, Scene, View } from "./scene";

const SPEEDS = [["1", "1 ×"], ["10", "10 ×"], ["60", "60 ×"], ["300", "300 ×"]] as const;
const LENGTHS = [["900", "15 min"], ["3600", "1 h"], ["21600", "6 h"], ["86400", "1 d"]] as const;
const LAYERS: readonly (readonly [keyof Layers, string])[] = [
  ["satellites", "satellites"],
  ["links", "links"],
  ["stations", "gateways"],
  ["footprints", "footprints"],
  ["night", "day and night"],
];
const HIDDEN = "hide";
/** Seconds between two checks of links, as in the command. */
const UPDATE_S = 10;
/** Most bytes of element sets: what the server takes at once, and some room. */
const MOST_BYTES = 2_000_000;
const NAMES = { czml: "CZML", geojson: "GeoJSON" };
/** Time between two looks at the numbers. */
const TOLD_MS = 250;

export async function sky(about: About): Promise<Shown> {
  const tab = new Tab(about, await once<Lists>("list"));
  return { element: tab.element, seen: (seen) => tab.seen(seen), close: () => tab.close() };
}

class Tab {
  readonly element: HTMLElement;
  model: Model | null = null;
  view: View;
  private globe: Globe | PlainGlobe | null = null;
  private readonly flat = new FlatMap(() => this.touch());
  scene: Scene | null = null;
  private clock = Math.max(0, state.number("t", 0));
  private last = 0;
  /** The time of the run that was drawn last. */
  private shown = -1;
  /** When the numbers were told last. */
  private told = 0;
  private written = 0;
  private later = 0;
  private playing = !matchMedia("(prefers-reduced-motion: reduce)").matches;
  private visible = false;
  private stale = true;
  private elements: string | undefined;
  private readonly constellation: HTMLSelectElement;
  private readonly from: HTMLInputElement;
  private readonly to: HTMLInputElement;
  private readonly length = h("select", {}, ...options(LENGTHS, state.get("length", "3600")));
  private readonly mask = h("input", { type: "number", min: 0, max: 90, step: 1, placeholder: "its own", value: state.get("mask") });
  private readonly file = h("input", { type: "file", accept: ".txt,.tle,.xml,.csv,.json,text/plain", on: { change: () => void this.load() } });
  private readonly speed = h("select", { "aria-label": "Speed" }, ...options(SPEEDS, state.get("rate", "60")));
  private readonly play = h("button", { type: "button", class: "main", on: { click: () => this.turn() } });
  private readonly slider = h("input", { type: "range", min: 0, max: 3600, step: 1, value: this.clock, "aria-label": "Time of the run", on: { input: () => this.seek(Number(this.slider.value)) } });
  private readonly date = h("output", { class: "date" });
  private readonly trouble = h("p", { class: "wrong", role: "alert" });
  private readonly stage = h("div", { class: "space" });
  private readonly names = new Names(this.stage, () => this);
  private readonly figures = new Figures();
  private readonly chart: Chart;
  private readonly layers: Layers;

  constructor(about: About, lists: Lists) {
    const known = lists.constellations.map((entry) => entry.name);
    this.constellation = h("select", { on: { change: () => this.ask() } }, ...options(known, state.get("sky", "starlink")));
    const cities = h("datalist", { id: "cities" }, ...about.places.map(({ name }) => h("option", { value: name })));
    const end = (key: string, usual: string) => h("input", { list: "cities", autocomplete: "off", value: state.get(key, usual), on: { change: () => this.ask() } });
    [this.from, this.to] = [end("from", "London"), end("to", "New York")];
    const hidden = state.get(HIDDEN).split(",");
    this.layers = Object.fromEntries(LAYERS.map(([name]) => [name, !hidden.includes(name)])) as unknown as Layers;
    const boxes = LAYERS.map(([name, label]) => {
      const box: HTMLInputElement = h("input", { type: "checkbox", checked: this.layers[name], on: { change: () => this.toggle(name, box.checked) } });
      return h("label", { class: "check" }, box, label);
    });
    this.view = this.chosen();
    const views = (["globe", "map"] as const).map((name) => {
      const radio = h("input", { type: "radio", name: "view", value: name, checked: (name === "map") === this.isFlat(), on: { change: () => this.turnTo(name) } });
      return h("label", { class: "check" }, radio, name);
    });
    this.length.addEventListener("change", () => this.ask());
    this.mask.addEventListener("change", () => this.ask());
    this.speed.addEventListener("change", () => state.set({ rate: this.speed.value }));
    this.chart = new Chart({ title: "One-way delay of the route; ticks below are handovers", value: delay, at: time, height: 132, draw: (plot) => this.handovers(plot), pressed: (at) => this.seek(at) });
    const command: HTMLButtonElement = h("button", { type: "button", class: "quiet", text: "Copy command", on: { click: () => void copy(this.command(), command) } });
    const side = h(
      "form",
      { class: "side", "aria-label": "What is seen", on: { submit: (event) => event.preventDefault() } },
      field("Constellation", this.constellation),
      h("div", { class: "row" }, field("From", this.from), field("To", this.to)),
      h("div", { class: "row" }, field("Time", this.length), field("Lowest elevation, degrees", this.mask)),
      field("Element sets in its place", this.file, "TLE or OMM; they stay on this host"),
      cities,
      h("fieldset", {}, h("legend", { text: "View" }), ...views),
      h("fieldset", {}, h("legend", { text: "Layers" }), ...boxes),
      this.trouble,
      this.figures.element,
      this.figures.way,
      h("div", { class: "row" }, ...(["czml", "geojson"] as const).map((kind) => h("button", { type: "button", class: "quiet", text: `Save ${NAMES[kind]}`, on: { click: () => void this.save(kind) } })), command),
    );
    const bar = h("div", { class: "bar" }, this.play, this.slider, this.date, this.speed);
    this.element = h("div", { class: "split sky" }, side, h("section", { class: "stage", "aria-label": "The sky" }, this.stage, bar, this.chart.element));
    this.stage.append(this.view.element, ...this.names.elements);
    this.label();
    this.ask();
  }

  close(): void {
    this.visible = false;
    clearTimeout(this.later);
    this.model?.close();
    this.chart.close();
    this.globe?.close();
    this.flat.close();
  }

  seen(seen: boolean): void {
    this.visible = seen;
    this.last = 0;
    if (seen) requestAnimationFrame((now) => this.tick(now));
  }

  private isFlat(): boolean {
    return state.get("view") === "map";
  }

  /** The view that is chosen. There is one globe: each would take memory of the graphics card. */
  private chosen(): View {
    if (this.isFlat()) return this.flat;
    try {
      this.globe ??= isEmulated() ? new PlainGlobe(() => this.touch()) : new Globe(() => this.touch());
      return this.globe;
    } catch (error) {
      this.trouble.textContent = (error as Error).message;
      return this.flat;
    }
  }

  private turnTo(name: "globe" | "map"): void {
    state.set({ view: name === "map" ? "map" : null });
    const view = this.chosen();
    this.view.element.replaceWith(view.element);
    this.view = view;
    this.touch();
  }

  private toggle(name: keyof Layers, shown: boolean): void {
    this.layers[name] = shown;
    const hidden = LAYERS.map(([layer]) => layer).filter((layer) => !this.layers[layer]);
    state.set({ [HIDDEN]: hidden.join(",") });
    this.touch();
  }

  private async load(): Promise<void> {
    const file = this.file.files?.[0];
    if (file && file.size > MOST_BYTES) {
      this.trouble.textContent = `${file.name}: it is longer than ${MOST_BYTES / 1e6} MB`;
      return;
    }
    this.elements = await file?.text();
    this.ask();
  }

  /** Asks for another sky. */
  private ask(): void {
    this.model?.close();
    this.trouble.textContent = "";
    const [duration, mask] = [Number(this.length.value), this.mask.value];
    state.set({ sky: this.constellation.value, from: this.from.value, to: this.to.value, length: this.length.value, mask });
    // A sample for each pixel or so of the curve.
    const step = Math.max(1, Math.round(duration / 1200));
    const asked: Asked = {
      constellation: this.elements === undefined ? this.constellation.value : (this.file.files?.[0]?.name ?? "element sets"),
      from: this.from.value,
      to: this.to.value,
      duration_s: duration,
      step_s: step,
      update_interval_s: UPDATE_S,
      ...(mask === "" ? {} : { elevation_mask_deg: Number(mask) }),
      ...(this.elements === undefined ? {} : { elements: this.elements }),
    };
    this.slider.max = String(duration);
    this.clock = Math.min(this.clock, duration);
    const changed = () => {
      this.curve();
      this.touch();
    };
    this.scene = null;
    this.model = new Model(asked, changed, (wrong: Wrong) => (this.trouble.textContent = said(wrong)));
  }

  /** The command that computes the same; element sets have to be in a file of their name. */
  private command(): string {
    const { asked } = this.model ?? {};
    if (!asked) return "";
    const mask = asked.elevation_mask_deg === undefined ? "" : ` --mask ${asked.elevation_mask_deg}`;
    const orbit = `bentpipe orbit ${quoted(asked.constellation)} --from ${quoted(asked.from)} --to ${quoted(asked.to)}${mask} --step '${asked.step_s} s'`;
    // GeoJSON shows the first sample: what is shown here.
    return `${orbit} --duration '${asked.duration_s} s' --czml sky.czml\n${orbit} --first '${Math.round(this.clock)} s' --duration '${asked.step_s} s' --geojson sky.geojson`;
  }

  /** Saves what the server writes: CZML of all the time, GeoJSON of what is shown. */
  private async save(kind: keyof typeof NAMES): Promise<void> {
    if (!this.model) return;
    try {
      const file = await written(`sky/${kind}`, { sky: this.model.asked, at_s: this.clock });
      const link = h("a", { href: URL.createObjectURL(file), download: `sky.${kind}` });
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (error) {
      this.trouble.textContent = (error as Error).message;
    }
  }

  private turn(): void {
    this.playing = !this.playing;
    if (!this.playing) state.set({ t: Math.round(this.clock) });
    this.label();
    this.touch();
  }

  private label(): void {
    this.play.textContent = this.playing ? "Pause" : "Play";
  }

  private seek(at: number): void {
    this.clock = Math.max(0, Math.min(Number(this.slider.max), at));
    // Browsers take no more than some addresses a second.
    clearTimeout(this.written);
    this.written = window.setTimeout(() => state.set({ t: Math.round(this.clock) }), 200);
    this.touch();
  }

  private touch(): void {
    this.stale = true;
  }

  private tick(now: number): void {
    if (!this.visible) return;
    requestAnimationFrame((next) => this.tick(next));
    const seconds = this.last === 0 ? 0 : Math.min(0.25, (now - this.last) / 1000);
    this.last = now;
    const speed = Number(this.speed.value);
    // Time goes on only as far as the route is known, and stands while positions are awaited.
    const known = this.model?.course?.samples.at(-1)?.time_s ?? 0;
    if (this.playing && this.scene) {
      const before = this.clock;
      this.clock = Math.max(this.clock, Math.min(known, this.clock + seconds * speed));
      if (this.clock >= Number(this.slider.max)) this.clock = 0;
      // To draw the same again would take from the server what it needs to go on.
      if (this.clock !== before) this.touch();
    }
    if (!this.stale) return;
    const scene = this.model?.scene(this.clock, speed, this.layers) ?? null;
    this.scene = scene ?? this.scene;
    if (!scene) return;
    this.stale = false;
    this.view.draw(scene);
    if (this.shown !== this.clock) drawn("sky");
    this.shown = this.clock;
    this.names.write(this.view, scene);
    this.tell(scene);
  }

  private tell(scene: Scene): void {
    const now = performance.now();
    if (now - this.told < TOLD_MS) {
      // What is drawn last is told as well.
      clearTimeout(this.later);
      this.later = window.setTimeout(() => this.touch(), TOLD_MS);
      return;
    }
    this.told = now;
    const { model } = this;
    if (!model?.sky || !model.course) return;
    this.slider.value = String(this.clock);
    this.slider.setAttribute("aria-valuetext", time(this.clock));
    const date = model.sky.start === null ? "" : `${model.civil(this.clock).toISOString().slice(0, 19)}Z`;
    put(this.date, `${time(this.clock)} ${date}`);
    this.figures.tell({ course: model.course, name: (number) => model.name(number) }, scene, this.clock);
    this.chart.mark(this.clock);
  }

  private curve(): void {
    const course = this.model?.course;
    if (course) this.chart.show([{ label: "delay", colour: () => colour(0) }], course.times, [course.delays]);
  }

  /** Ticks of the handovers. */
  private handovers(plot: uPlot): void {
    const { ctx, bbox } = plot;
    const at = (seconds: number) => plot.valToPos(seconds, "x", true);
    ctx.save();
    for (const handover of this.model?.course?.handovers ?? []) {
      // Those of the first end stand above those of the second.
      const height = bbox.height * 0.09;
      const top = bbox.top + bbox.height - height * (handover.station === 0 ? 2.1 : 1);
      ctx.fillStyle = colour(handover.station === 0 ? 1 : 2);
      ctx.fillRect(at(handover.time_s), top, Math.max(1, devicePixelRatio), height);
    }
    ctx.restore();
  }
}
