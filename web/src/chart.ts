// A chart of series over time, with the colours of the page.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { onTheme, style } from "./colours";
import { h } from "./dom";

export interface Line {
  label: string;
  colour: () => string;
  dashed?: boolean;
}

export type Column = (number | null | undefined)[];

export interface ChartOptions {
  title: string;
  /** What stands at the lower axis. */
  x?: string;
  /** A value of the left axis, with its unit. */
  value: (value: number) => string;
  /** A value of the lower axis. */
  at?: (value: number) => string;
  height?: number;
  /** Charts of one name have one cursor. */
  sync?: string;
  /** Draws something over it. */
  draw?: (plot: uPlot) => void;
  /** Called where somebody presses. */
  pressed?: (x: number) => void;
  /** The least upper end of the left axis. */
  least?: number;
}

/** More points than this of a line are not seen. */
const POINTS = 2000;

export class Chart {
  readonly element: HTMLElement;
  private readonly room: HTMLElement;
  private plot: uPlot | null = null;
  private lines: Line[] = [];
  private data: uPlot.AlignedData = [[]];
  private readonly line = h("div", { class: "now", hidden: true });
  private marked: number | null = null;
  private readonly sizes = new ResizeObserver(() => this.fit());
  private readonly forget: () => void;

  constructor(private readonly options: ChartOptions) {
    this.room = h("div", { class: "plot" });
    this.element = h(
      "figure",
      { class: "chart", role: "group", "aria-label": options.title },
      h("figcaption", { text: options.title }),
      this.room,
    );
    this.sizes.observe(this.room);
    this.forget = onTheme(() => this.build());
  }

  close(): void {
    this.forget();
    this.sizes.disconnect();
    this.plot?.destroy();
    this.plot = null;
  }

  /** Shows other series. */
  show(lines: Line[], x: number[], columns: Column[]): void {
    const same = lines.length === this.lines.length && lines.every((line, n) => line.label === this.lines[n]?.label);
    this.lines = lines;
    this.data = thin(x, columns);
    if (same && this.plot) this.plot.setData(this.data);
    else this.build();
    if (this.marked !== null) this.mark(this.marked);
  }

  /** Puts a mark at a value of the lower axis, without drawing anything else again. */
  mark(x: number): void {
    this.marked = x;
    if (!this.plot) return;
    this.line.hidden = false;
    this.line.style.transform = `translateX(${this.plot.valToPos(x, "x")}px)`;
  }

  private fit(): void {
    const { clientWidth: width } = this.room;
    if (width === 0) return;
    if (!this.plot) this.build();
    else if (this.plot.width !== width) this.plot.setSize({ width, height: this.options.height ?? 160 });
    if (this.marked !== null) this.mark(this.marked);
  }

  private build(): void {
    const width = this.room.clientWidth;
    this.plot?.destroy();
    this.plot = null;
    if (width === 0) return;
    const { value, at, height = 160, sync, draw, pressed, x = "time, s", least = 0 } = this.options;
    const ink = style("faint");
    const axis = { stroke: ink, grid: { stroke: style("grid"), width: 1 }, ticks: { stroke: style("grid"), width: 1 }, font: "11px system-ui, sans-serif" };
    this.plot = inMemory(() => new uPlot(
      {
        width,
        height,
        legend: { live: true },
        cursor: { y: false, ...(sync ? { sync: { key: sync } } : {}), drag: { x: !pressed, y: false } },
        scales: { x: { time: false }, y: { range: (_, low, high) => [Math.min(0, low ?? 0), Math.max(high ?? 0, least) * 1.05 || 1] } },
        axes: [
          { ...axis, size: 28, ...(at ? { values: (_, ticks) => ticks.map(at) } : {}) },
          { ...axis, size: 76, values: (_, ticks) => ticks.map((tick) => (tick === null ? "" : value(tick))) },
        ],
        series: [
          { label: x, value: (_, seen) => (seen === null ? "–" : (at ?? String)(seen)) },
          ...this.lines.map((line) => ({
            label: line.label,
            stroke: line.colour(),
            width: 1.5,
            ...(line.dashed ? { dash: [5, 4] } : {}),
            points: { show: false },
            value: (_: uPlot, seen: number | null) => (seen === null ? "–" : value(seen)),
          })),
        ],
        hooks: {
          ...(draw ? { draw: [draw] } : {}),
          ...(pressed ? { ready: [(plot: uPlot) => press(plot, pressed)] } : {}),
        },
      },
      this.data,
      this.room,
    ));
    this.plot.over.append(this.line);
  }
}

/**
 * Makes a chart whose canvas the processor draws. Curves are quick to draw for it, and slow for a graphics card that a program stands in
 * for. uPlot has no option for that: what it asks its canvas for is amended while it is made.
 */
function inMemory(make: () => uPlot): uPlot {
  const own = HTMLCanvasElement.prototype.getContext;
  HTMLCanvasElement.prototype.getContext = function (this: HTMLCanvasElement, kind: string) {
    return own.call(this, kind, { willReadFrequently: true });
  } as typeof own;
  try {
    return make();
  } finally {
    HTMLCanvasElement.prototype.getContext = own;
  }
}

/** Tells where somebody presses or draws along. */
function press(plot: uPlot, pressed: (x: number) => void): void {
  const tell = (event: PointerEvent) => {
    if (event.buttons === 0) return;
    const { left } = plot.over.getBoundingClientRect();
    pressed(plot.posToVal(event.clientX - left, "x"));
  };
  plot.over.addEventListener("pointerdown", tell);
  plot.over.addEventListener("pointermove", tell);
}

/** So many points as can be seen, evenly taken. */
function thin(x: number[], columns: Column[]): uPlot.AlignedData {
  const step = Math.ceil(x.length / POINTS);
  if (step <= 1) return [x, ...columns] as uPlot.AlignedData;
  // The last one is now.
  const some = <T>(all: T[]) => all.filter((_, n) => n % step === 0 || n === all.length - 1);
  return [some(x), ...columns.map(some)] as uPlot.AlignedData;
}
