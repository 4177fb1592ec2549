// Run: a scenario while it goes.

import type { About, Lists } from "../api";
import { once } from "../api";
import { Chart } from "../chart";
import { copy, field, h, options, put, table } from "../dom";
import { drawn } from "../drawn";
import { said } from "../editor";
import { bytes, delay, moment, or, percent, rate } from "../format";
import type { Shown } from "../main";
import { Scenario } from "../scenario";
import * as state from "../state";
import { Chips } from "../chips";
import { command, python } from "./copies";
import { named, ofFlows, queues, type Take, together } from "./curves";
import { Packets } from "./packets";
import { type Run, Runs } from "./runs";
import type { Flow } from "./series";

const SPEEDS = [["1", "1 ×"], ["10", "10 ×"], ["100", "100 ×"], ["max", "as fast as it goes"]] as const;
/** Simulated seconds of a step. */
const STEP_S = 0.1;
/** Time between two looks at what is told in words while samples come. */
const TOLD_MS = 250;

/** A chart, and what it shows of a run. */
interface Shows {
  chart: Chart;
  take: Take;
  /** The last moment that it has. */
  until: number | null;
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
  /** What is to be drawn: parts in the order of their turns. */
  private readonly stale = new Set<Shows | "words">();
  /** When the words were told last. */
  private told = 0;
  private drawing = false;
  /** So much was marked in the scenario as wrong in these runs. */
  private marked = 0;
  private readonly seed = h("input", { type: "number", min: 0, step: 1, value: state.get("seed", "1") });
  private readonly speed = h("select", {}, ...options(SPEEDS, state.get("speed", "10")));
  private readonly chips: Chips;
  private readonly start = h("button", { type: "button", class: "main", text: "Run", on: { click: () => void this.scenario.settled(() => this.begin(false)) } });
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
    const inFlight = { label: "in flight", take: (flow: Flow) => flow.inFlight };
    this.charts = [
      { chart: chart("Goodput", rate), take: ofFlows((flow) => flow.goodput), until: null },
      { chart: chart("Round trip, smoothed", delay), take: ofFlows((flow) => flow.srtt), until: null },
      { chart: chart("Congestion window, and bytes in flight (dashed)", bytes), take: ofFlows((flow) => flow.cwnd, inFlight), until: null },
      { chart: chart("Queueing delay: round trip above its minimum", delay), take: ofFlows((flow) => flow.queueing), until: null },
      { chart: chart("Queues: bytes that wait for a link", bytes), take: queues, until: null },
    ];
    const names = lists.variants.map((entry) => entry.name).filter((name) => !/[A-Z]/.test(name));
    this.chips = new Chips("Variants", names, state.get("variants"), 4, "as the scenario says");
    this.speed.addEventListener("change", () => this.quicken());
    const copies = h(
      "div",
      { class: "row" },
      ...([["TOML", () => scenario.text], ["command", () => command(this.choices())], ["Python", () => python(this.choices())]] as const).map(([name, what]) => {
        const button: HTMLButtonElement = h("button", { type: "button", class: "quiet", text: `Copy ${name}`, on: { click: () => void scenario.settled(() => void copy(what(), button)) } });
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
      scenario.notice,
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
    if (!this.runs?.goOn) return void this.scenario.settled(() => this.begin(true));
    this.paused = true;
    this.runs.say({ do: "step", seconds: STEP_S });
    this.changed();
  }

  private quicken(): void {
    state.set({ speed: this.speed.value });
    this.runs?.say({ do: "speed", factor: this.factor });
  }

  private changed(): void {
    for (const part of ["words", ...this.charts] as const) this.stale.add(part);
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => this.picture());
  }

  /** Draws one part in each picture of the browser, in turn: all in one would hold it up. */
  private picture(): void {
    const wait = this.runs?.goOn === true && performance.now() - this.told < TOLD_MS;
    const next = [...this.stale].find((part) => part !== "words" || !wait);
    if (next !== undefined) {
      // Whatever comes meanwhile stands behind the others.
      this.stale.delete(next);
      if (next === "words") this.draw();
      else this.curves(next);
    }
    this.drawing = this.stale.size > 0;
    if (this.drawing) requestAnimationFrame(() => this.picture());
  }

  private curves(shows: Shows): void {
    const { lines, times, columns } = together(this.runs?.all ?? [], shows.take);
    shows.chart.show(lines, times, columns);
    const until = times.at(-1) ?? null;
    if (columns.length > 0 && until !== shows.until) drawn("run");
    shows.until = until;
  }

  private draw(): void {
    this.told = performance.now();
    const runs = this.runs;
    if (!runs) return;
    const goesOn = runs.goOn;
    this.pause.disabled = this.stop.disabled = !goesOn;
    put(this.pause, this.paused && goesOn ? "Go on" : "Pause");
    put(this.start, goesOn ? "Run again" : "Run");
    const wrong = runs.all.flatMap((run) => (run.wrong ? [run.wrong] : []));
    // What is typed meanwhile is marked by whoever checks it.
    if (wrong.length !== this.marked) this.scenario.mark(wrong);
    this.marked = wrong.length;
    this.packets.show(runs.all.flatMap((run) => (run.series ? [run.series] : [])));
    const at = runs.all.reduce<number | null>((most, { series }) => (series && (series.now ?? -1) > (most ?? -1) ? series.now : most), null);
    const began = runs.all.find((run) => run.series)?.series?.began;
    if (wrong.length > 0) put(this.now, wrong.map(said).join("\n"));
    else if (began && at !== null) {
      const how = goesOn ? (this.paused ? "paused at" : "at") : "ended after";
      put(this.now, `${began.scenario}, seed ${began.seed}: ${how} ${moment(at)} of simulated time`);
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

/** What a flow is called. */
function name(run: Run, flow: string, runs: number): string {
  const several = (run.series?.flows.length ?? 1) > 1;
  if (runs === 1) return flow;
  return several ? `${named(run)}, ${flow}` : named(run);
}
