// Run: a scenario while it goes.

import uPlot from "uplot";
import type { About, Lists } from "../api";
import { once } from "../api";
import { Chart, type Column, type Line } from "../chart";
import { colour } from "../colours";
import { copy, field, h, options, table } from "../dom";
import { said } from "../editor";
import { bytes, delay, moment, or, percent, rate } from "../format";
import type { Shown } from "../main";
import { Scenario } from "../scenario";
import * as state from "../state";
import { Chips } from "../chips";
import { command, python } from "./copies";
import { Packets } from "./packets";
import { type Run, Runs } from "./runs";
import type { Flow } from "./series";

const SPEEDS = [["1", "1 ×"], ["10", "10 ×"], ["100", "100 ×"], ["max", "as fast as it goes"]] as const;
/** Simulated seconds of a step. */
const STEP_S = 0.1;
/** Time between two drawings while samples come. */
const DRAWN_MS = 60;

/** A curve: what it shows of a flow, and what that is called. */
interface Shows {
  chart: Chart;
  take: (flow: Flow) => Column;
  also?: { label: string; take: (flow: Flow) => Column };
}

export async function run(_about: About): Promise<Shown> {
  const [scenario, lists] = await Promise.all([Scenario.open(), once<Lists>("list")]);
  const tab = new Tab(scenario, lists);
  return { element: tab.element, seen: (seen) => tab.seen(seen), close: () => tab.close() };
}

class Tab {
  readonly element: HTMLElement;
  private runs: Runs | null = null;
  private paused = false;
  /** Something has changed since it was drawn, and a drawing goes on. */
  private stale = false;
  private drawing = false;
  /** So much was marked in the scenario as wrong in these runs. */
  private marked = 0;
  private readonly seed = h("input", { type: "number", min: 0, step: 1, value: state.get("seed", "1") });
  private readonly speed = h("select", {}, ...options(SPEEDS, state.get("speed", "10")));
  private readonly chips: Chips;
  private readonly start = h("button", { type: "button", class: "main", text: "Run", on: { click: () => this.begin(false) } });
  private readonly pause = h("button", { type: "button", text: "Pause", disabled: true, on: { click: () => this.turn() } });
  private readonly step = h("button", { type: "button", text: "Step 0.1 s", on: { click: () => this.stepOn() } });
  private readonly stop = h("button", { type: "button", text: "Stop", disabled: true, on: { click: () => this.end() } });
  private readonly now = h("p", { class: "note", role: "status", "aria-live": "polite", text: "Nothing has run yet." });
  private readonly outcome = h("section", { class: "card", hidden: true, "aria-label": "Outcome" });
  private readonly packets = new Packets();
  private readonly charts: Shows[];

  constructor(
    private readonly scenario: Scenario,
    lists: Lists,
  ) {
    const chart = (title: string, value: (value: number) => string, least = 0) => new Chart({ title, value, at: moment, sync: "run", least });
    this.charts = [
      { chart: chart("Goodput", rate), take: (flow) => flow.goodput },
      { chart: chart("Round trip, smoothed", delay), take: (flow) => flow.srtt },
      { chart: chart("Congestion window, and bytes in flight (dashed)", bytes), take: (flow) => flow.cwnd, also: { label: "in flight", take: (flow) => flow.inFlight } },
      { chart: chart("Queueing delay: round trip above its minimum", delay), take: (flow) => flow.queueing },
    ];
    const names = lists.variants.map((entry) => entry.name).filter((name) => !/[A-Z]/.test(name));
    this.chips = new Chips("Variants", names, state.get("variants"), 4, "as the scenario says");
    this.speed.addEventListener("change", () => this.quicken());
    const copies = h(
      "div",
      { class: "row" },
      ...([["TOML", () => scenario.text], ["command", () => command(this.choices())], ["Python", () => python(this.choices())]] as const).map(([name, what]) => {
        const button: HTMLButtonElement = h("button", { type: "button", class: "quiet", text: `Copy ${name}`, on: { click: () => void copy(what(), button) } });
        return button;
      }),
    );
    const side = h(
      "form",
      { class: "side", "aria-label": "What runs", on: { submit: (event) => event.preventDefault() } },
      scenario.element,
      this.chips.element,
      h("div", { class: "row" }, field("Seed", this.seed), field("Simulated time runs", this.speed)),
      this.packets.choice,
      h("div", { class: "row" }, this.start, this.pause, this.step, this.stop),
      copies,
    );
    const stage = h("section", { class: "stage", tabindex: 0, "aria-label": "The run" }, this.now, h("div", { class: "charts" }, ...this.charts.map(({ chart }) => chart.element)), this.packets.element, this.outcome);
    this.element = h("div", { class: "split" }, side, stage);
    this.charts.forEach(({ chart }) => chart.show([], [], []));
  }

  close(): void {
    this.runs?.stop();
    this.packets.close();
    this.charts.forEach(({ chart }) => chart.close());
    this.scenario.close();
  }

  /** A run whose tab is left goes on; where there was none, one begins: a page shows something at once. */
  seen(seen: boolean): void {
    if (seen && this.runs === null) this.begin(false);
  }

  /** Simulated seconds in a second; nothing for as many as can be. */
  private get factor(): number | null {
    return this.speed.value === "max" ? null : Number(this.speed.value);
  }

  private choices() {
    const variants = this.chips.chosen;
    return { source: this.scenario.source, text: this.scenario.text, seed: Number(this.seed.value), variants };
  }

  private begin(paused: boolean): void {
    this.runs?.stop();
    this.paused = paused;
    this.outcome.hidden = true;
    const { seed, variants, text } = this.choices();
    const { window } = this.packets;
    state.set({ seed, variants: variants.join(","), speed: this.speed.value, packets: window ? `${window.from_s}-${window.until_s}` : null });
    this.scenario.mark([]);
    this.marked = 0;
    this.packets.clear();
    this.runs = new Runs(
      {
        scenario: text,
        seed: Number.isSafeInteger(seed) && seed >= 0 ? seed : null,
        variants: variants.length > 0 ? variants : [null],
        speed: this.factor,
        paused,
        packets: this.packets.window,
      },
      () => this.changed(),
    );
    this.changed();
  }

  private end(): void {
    this.runs?.stop();
    this.changed();
  }

  private turn(): void {
    this.paused = !this.paused;
    this.runs?.say({ do: this.paused ? "pause" : "resume" });
    this.changed();
  }

  private stepOn(): void {
    if (!this.runs?.goOn) return this.begin(true);
    this.paused = true;
    this.runs.say({ do: "step", seconds: STEP_S });
    this.changed();
  }

  private quicken(): void {
    state.set({ speed: this.speed.value });
    this.runs?.say({ do: "speed", factor: this.factor });
  }

  private changed(): void {
    this.stale = true;
    if (this.drawing) return;
    this.drawing = true;
    setTimeout(() => this.round(), DRAWN_MS);
  }

  /** Draws everything, a chart in each picture of the browser: all in one would hold it up. */
  private round(): void {
    this.stale = false;
    const parts = [() => this.draw(), ...this.charts.map((shows) => () => this.curves(shows))];
    const next = () => {
      parts.shift()?.();
      if (parts.length > 0) return void requestAnimationFrame(next);
      this.drawing = false;
      if (this.stale) this.changed();
    };
    requestAnimationFrame(next);
  }

  private curves({ chart, take, also }: Shows): void {
    const all = this.runs?.all ?? [];
    const lines: Line[] = [];
    const tables = all.flatMap((run, n): uPlot.AlignedData[] => {
      const { series } = run;
      if (!series || series.time.length === 0) return [];
      const columns: Column[] = [];
      series.flows.forEach((flow, m) => {
        const [label, number] = [name(run, flow.name, all.length), n * series.flows.length + m];
        lines.push({ label, colour: () => colour(number) });
        columns.push(take(flow));
        if (!also) return;
        lines.push({ label: `${label}, ${also.label}`, colour: () => colour(number), dashed: true });
        columns.push(also.take(flow));
      });
      return [[series.time, ...columns]];
    });
    // Runs get on at paces of their own, and keep as many moments as they can: what they have is put together by time.
    const [times = [], ...columns] = tables.length > 1 ? uPlot.join(tables) : (tables[0] ?? [[]]);
    chart.show(lines, times as number[], columns as Column[]);
  }

  private draw(): void {
    const runs = this.runs;
    if (!runs) return;
    const goesOn = runs.goOn;
    this.pause.disabled = this.stop.disabled = !goesOn;
    this.pause.textContent = this.paused && goesOn ? "Go on" : "Pause";
    this.start.textContent = goesOn ? "Run again" : "Run";
    const wrong = runs.all.flatMap((run) => (run.wrong ? [run.wrong] : []));
    // What is typed meanwhile is marked by whoever checks it.
    if (wrong.length !== this.marked) this.scenario.mark(wrong);
    this.marked = wrong.length;
    this.packets.show(runs.all.flatMap((run) => (run.series ? [run.series] : [])));
    const at = longest(runs.all).at(-1);
    const began = runs.all.find((run) => run.series)?.series?.began;
    if (wrong.length > 0) this.now.textContent = wrong.map(said).join("\n");
    else if (began && at !== undefined) {
      const how = goesOn ? (this.paused ? "paused at" : "at") : "ended after";
      this.now.textContent = `${began.scenario}, seed ${began.seed}: ${how} ${moment(at)} of simulated time`;
    }
    // A time that goes on is not read out all the time.
    this.now.setAttribute("aria-live", goesOn && !this.paused ? "off" : "polite");
    this.now.classList.toggle("bad", wrong.length > 0);
    if (!goesOn && wrong.length === 0) this.tell(runs.all);
  }

  /** What became of it. */
  private tell(runs: Run[]): void {
    const rows = runs.flatMap((run) =>
      (run.ended?.summary.flows ?? []).map((flow, n) => [
        name(run, flow.name, runs.length),
        `${flow.protocol}${flow.controller ? `, ${flow.controller}` : ""}`,
        rate(flow.effective_throughput),
        or(flow.connection_time, delay),
        bytes(flow.delivered_bytes),
        percent(flow.total_overhead / 100),
        String(flow.source.retransmitted_segments),
        String(flow.source.timeouts),
        run.ended?.limits[n] ?? "–",
      ]),
    );
    this.outcome.hidden = rows.length === 0;
    const cut = runs.some((run) => run.ended?.cut) ? h("p", { class: "hint", text: "The run was ended at the longest time that this server simulates." }) : null;
    const head = ["flow", "protocol", "goodput", "time", "delivered", "overhead", "retransmitted", "timeouts", "limited by"];
    this.outcome.replaceChildren(h("h2", { text: "Outcome" }), table("Outcome of the run", head, rows), cut ?? "");
  }
}

/** The times of the run that has got furthest. */
function longest(runs: Run[]): number[] {
  return runs.reduce<number[]>((most, { series }) => (series && series.time.length > most.length ? series.time : most), []);
}

/** What a curve is called. */
function name(run: Run, flow: string, runs: number): string {
  const several = (run.series?.flows.length ?? 1) > 1;
  const variant = run.variant ?? "as written";
  if (runs === 1) return flow;
  return several ? `${variant}, ${flow}` : variant;
}

