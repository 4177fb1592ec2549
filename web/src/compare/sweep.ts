// A result of a sweep: a matrix of its cells, and the runs behind one.

import { json, changed } from "../api";
import { field, h, options, table } from "../dom";
import { said } from "../editor";
import { bytes, delay, digits, or, percent, rate } from "../format";
import * as state from "../state";
import { shade } from "./shade";
import type { Estimate } from "./told";

interface Measure {
  name: string;
  unit: string | null;
  about: string;
}

interface Cell {
  values: string[];
  variant: string | null;
  first_run: number;
  last_run: number;
  runs: number;
  measure: Estimate | null;
}

interface Result {
  sweep: { scenario?: string; text?: string; flows?: string[] } | null;
  version: string;
  axes: { key: string; unit: string | null }[];
  cells: Cell[];
  measures: Measure[];
}

interface Run {
  run: number;
  seed: number;
  measured: Record<string, number | boolean | null>;
}

/** What a cell is told apart by: a key of the scenario, or the variant. */
interface Axis {
  name: string;
  unit: string | null;
  /** The values, in the order in which they come. */
  values: string[];
  of: (cell: Cell) => string;
}

const USUAL = "goodput_bps";
/** Measures of the runs of a cell that are shown. */
const SHOWN = ["goodput_bps", "queueing_delay_s", "connection_time_s", "retransmitted_segments", "timeouts", "complete"];

/** A value in its unit. */
function told(value: number, unit: string | null): string {
  if (unit === "bit/s") return rate(value);
  if (unit === "s") return delay(value);
  if (unit === "B") return bytes(value);
  if (unit === "%") return percent(value / 100);
  if (Number.isInteger(value)) return String(value);
  return digits(value);
}

export class Sweeps {
  /** Where one is chosen; hidden where there are none. */
  readonly choice = h("div", { class: "scenario", hidden: true });
  readonly element = h("div", { class: "results", hidden: true });
  private readonly name = h("select", { on: { change: () => void this.open() } });
  private readonly measure = h("select", { on: { change: () => void this.open() } });
  private readonly trouble = h("p", { class: "wrong", role: "alert" });
  private readonly runs = h("section", { class: "card", hidden: true, "aria-live": "polite" });
  private fixed: Record<string, string> = Object.fromEntries(new URLSearchParams(state.get("fixed")));
  private across = state.get("across");
  private down = state.get("down");
  /** What was asked for last: answers of before come too late. */
  private asked = 0;

  constructor(
    private readonly folder: string | null,
    private readonly shown: () => void,
  ) {
    this.choice.append(field("Result of a sweep", this.name), field("Measure", this.measure), this.trouble);
  }

  /** Looks for results. */
  async find(): Promise<void> {
    if (this.folder === null) return;
    const { files } = await json<{ files: { name: string; bytes: number }[] }>("results").catch((error: Error) => {
      this.choice.hidden = false;
      this.trouble.textContent = error.message;
      return { files: [] };
    });
    if (files.length === 0) return;
    this.choice.hidden = false;
    this.name.replaceChildren(...options([["", "none"], ...files.map(({ name, bytes: size }): [string, string] => [name, `${name}, ${bytes(size)}`])], state.get("result")));
    this.measure.replaceChildren(...options([[USUAL, USUAL]], USUAL));
    if (this.name.value !== "") await this.open();
  }

  /** Whether one is shown. */
  get isOpen(): boolean {
    return this.name.value !== "";
  }

  close(): void {
    this.asked++;
    this.name.value = "";
    this.element.hidden = true;
    state.set({ result: null, measure: null, across: null, down: null, fixed: null });
  }

  private async open(): Promise<void> {
    const name = this.name.value;
    if (name === "") return this.close();
    const measure = this.measure.options.length > 1 ? this.measure.value : state.get("measure", USUAL);
    state.set({ result: name, measure: measure === USUAL ? null : measure });
    this.trouble.textContent = "";
    const asked = ++this.asked;
    try {
      const result = await json<Result>(`result?${new URLSearchParams({ name, measure })}`);
      if (asked !== this.asked) return;
      this.measure.replaceChildren(...options(result.measures.map((one): [string, string] => [one.name, `${one.name}: ${one.about}`]), measure));
      this.runs.hidden = true;
      this.show(result);
      this.shown();
    } catch (error) {
      if (asked === this.asked) this.trouble.textContent = (error as Error).message;
    }
  }

  private show(result: Result): void {
    const axes = axesOf(result);
    const several = axes.filter(({ values }) => values.length > 1);
    const names = several.map((axis) => axis.name);
    if (!names.includes(this.across)) this.across = names.find((one) => one !== "variant") ?? names[0] ?? "";
    if (!names.includes(this.down) || this.down === this.across) this.down = (names.includes("variant") && this.across !== "variant" ? "variant" : names.find((one) => one !== this.across)) ?? "";
    const across = several.find((axis) => axis.name === this.across);
    const down = several.find((axis) => axis.name === this.down);
    const others = several.filter((axis) => axis !== across && axis !== down);
    const again = () => this.show(result);
    const choose = (label: string, values: string[], chosen: string, take: (value: string) => void, unit: string | null = null) => {
      const select: HTMLSelectElement = h("select", { on: { change: () => (take(select.value), again()) } }, ...options(values.map((value): [string, string] => [value, `${value}${unit ? ` ${unit}` : ""}`]), chosen));
      return field(label, select);
    };
    const fixed = others.map((axis) => {
      const value = axis.values.includes(this.fixed[axis.name] ?? "") ? (this.fixed[axis.name] as string) : (axis.values[0] as string);
      this.fixed[axis.name] = value;
      return choose(axis.name, axis.values, value, (chosen) => (this.fixed[axis.name] = chosen), axis.unit);
    });
    state.set({ across: this.across, down: this.down, fixed: new URLSearchParams(others.map((axis) => [axis.name, this.fixed[axis.name] ?? ""])).toString() });
    const controls =
      names.length < 2
        ? []
        : [choose("Across", names, this.across, (name) => ([this.across, this.down] = name === this.down ? [name, this.across] : [name, this.down])), choose("Down", names.filter((name) => name !== this.across), this.down, (name) => (this.down = name)), ...fixed];
    const cells = result.cells.filter((cell) => others.every((axis) => axis.of(cell) === this.fixed[axis.name]));
    const { scenario } = result.sweep ?? {};
    this.element.hidden = false;
    this.element.replaceChildren(
      h(
        "section",
        { class: "card" },
        h("h2", { text: `${scenario ?? this.name.value}: ${this.measure.value}, means over the seeds` }),
        h("div", { class: "row" }, ...controls),
        h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Matrix of the sweep" }, this.matrix(result, cells, across, down)),
        h("p", { class: "hint", text: `Press a cell for its runs. Run by version ${result.version}.` }),
      ),
      this.runs,
    );
  }

  private matrix(result: Result, cells: Cell[], across: Axis | undefined, down: Axis | undefined): HTMLElement {
    const unit = result.measures.find(({ name }) => name === this.measure.value)?.unit ?? null;
    const means = cells.flatMap(({ measure }) => (measure ? [measure.mean] : []));
    const [least, most] = [Math.min(...means), Math.max(...means)];
    const columns = across?.values ?? [""];
    const rows = down?.values ?? [""];
    const heading = (axis: Axis | undefined, value: string) => (axis ? `${value}${axis.unit ? ` ${axis.unit}` : ""}` : "");
    const at = (row: string, column: string) => cells.find((cell) => (!across || across.of(cell) === column) && (!down || down.of(cell) === row));
    const one = (row: string, column: string) => {
      const cell = at(row, column);
      if (!cell) return h("td", { text: "–" });
      const { measure } = cell;
      const value = or(measure, ({ mean }) => told(mean, unit));
      const spread = measure?.ci95 ? ` ± ${told(measure.ci95, unit)}` : "";
      const where = [heading(down, row), heading(across, column)].filter(Boolean).join(", ");
      const button = h("button", { type: "button", class: "cell", "aria-label": `${where}: ${value}${spread}. Show its runs.`, text: value, title: `${value}${spread}, ${cell.runs} runs`, on: { click: () => void this.reveal(result, cell, where) } });
      if (measure) shade(button, most > least ? (measure.mean - least) / (most - least) : 0);
      return h("td", {}, button);
    };
    const head = h("tr", {}, h("th", { scope: "col", text: [down?.name, across?.name].filter(Boolean).join(" \\ ") }), ...columns.map((column) => h("th", { scope: "col", text: heading(across, column) })));
    const body = rows.map((row) => h("tr", {}, h("th", { scope: "row", text: heading(down, row) }), ...columns.map((column) => one(row, column))));
    return h("table", { class: "matrix" }, h("caption", { class: "unseen", text: `${this.measure.value} by ${[down?.name, across?.name].filter(Boolean).join(" and ")}` }), h("thead", {}, head), h("tbody", {}, ...body));
  }

  /** Shows the runs of a cell. */
  private async reveal(result: Result, cell: Cell, where: string): Promise<void> {
    this.runs.hidden = false;
    this.runs.replaceChildren(h("p", { text: "Reading …" }));
    const asked = ++this.asked;
    try {
      const wanted = { name: this.name.value, first: String(cell.first_run), last: String(cell.last_run) };
      const { runs } = await json<{ runs: Run[] }>(`result/runs?${new URLSearchParams(wanted)}`);
      if (asked !== this.asked) return;
      const measures = result.measures.filter(({ name }) => name === this.measure.value || SHOWN.includes(name));
      const value = (run: Run, { name, unit }: Measure) => {
        const known = run.measured[name];
        return typeof known === "number" ? told(known, unit) : known === null || known === undefined ? "–" : known ? "yes" : "no";
      };
      // A run of the page has its variant in all flows: it is the same one only where the sweep had.
      const text = cell.variant === null || (result.sweep?.flows ?? []).length === 0 ? result.sweep?.text : undefined;
      const watch = (run: Run) => h("button", { type: "button", class: "quiet", text: "Watch", "aria-label": `Watch the run with seed ${run.seed}`, on: { click: () => void this.watch(text as string, result, cell, run) } });
      const rows = runs.map((run) => [String(run.seed), ...measures.map((measure) => value(run, measure)), text === undefined ? "" : watch(run)]);
      this.runs.replaceChildren(h("h2", { text: where === "" ? "Runs" : `Runs: ${where}` }), table("Runs of the cell", ["seed", ...measures.map(({ name }) => name), ""], rows));
      this.runs.scrollIntoView({ block: "nearest" });
    } catch (error) {
      if (asked === this.asked) this.runs.replaceChildren(h("p", { class: "wrong", role: "alert", text: (error as Error).message }));
    }
  }

  /** Shows a run in the tab of runs. */
  private async watch(text: string, result: Result, cell: Cell, run: Run): Promise<void> {
    const changes = result.axes.map(({ key, unit }, n) => `${key}=${cell.values[n]}${unit ? ` ${unit}` : ""}`);
    try {
      const answer = await changed(text, changes);
      if ("wrong" in answer) throw new Error(said(answer.wrong));
      state.set({ tab: "run", toml: await state.packed(answer.scenario), variants: cell.variant, seed: run.seed, result: null, measure: null });
      dispatchEvent(new HashChangeEvent("hashchange"));
    } catch (error) {
      this.trouble.textContent = (error as Error).message;
    }
  }
}

/** What cells are told apart by. */
function axesOf({ axes, cells }: Result): Axis[] {
  const keys = axes.map(({ key, unit }, n) => ({ name: key, unit, of: (cell: Cell) => cell.values[n] ?? "" }));
  const all = [...keys, { name: "variant", unit: null, of: (cell: Cell) => cell.variant ?? "" }];
  return all.map((axis) => ({ ...axis, values: [...new Set(cells.map(axis.of))] }));
}
