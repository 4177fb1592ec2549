// Compare: which variant does best in a scenario, and whether the papers' figures come out again.

import { type About, type Lists, LOST, once, Talk } from "../api";
import { Chips } from "../chips";
import { copy, field, h, options, table } from "../dom";
import { said } from "../editor";
import { delay, or, percent, rate } from "../format";
import type { Shown } from "../main";
import { quoted } from "../run/copies";
import { Scenario } from "../scenario";
import * as state from "../state";
import { bars, interval } from "./bars";
import { figure } from "./figure";
import { Sweeps } from "./sweep";
import type { Comparison, Estimate, Run, Told } from "./told";

/** A scenario as it was compared. */
interface Compared {
  source: string;
  text: string;
}

const SEEDS = ["1", "2", "5", "10", "20", "50"];
const MOST_VARIANTS = 24;

export async function compare(about: About): Promise<Shown> {
  const [scenario, lists] = await Promise.all([Scenario.open(), once<Lists>("list")]);
  const tab = new Tab(scenario, lists, about);
  return { element: tab.element, seen: (seen) => tab.seen(seen), close: () => tab.close() };
}

class Tab {
  readonly element: HTMLElement;
  private talk: Talk<Told> | null = null;
  /** What was asked for has come. */
  private done = false;
  /** What is compared. */
  private compares: Compared = { source: "", text: "" };
  private readonly chips: Chips;
  private readonly seeds = h("select", {}, ...options(SEEDS, state.get("seeds", "5")));
  private readonly experiment: HTMLSelectElement;
  private readonly reps = h("select", {}, ...options([["own", "the experiment's own"], "1", "2", "5", "10"], state.get("reps", "2")));
  private readonly stop = h("button", { type: "button", text: "Stop", disabled: true, on: { click: () => this.end("Stopped.") } });
  private readonly bar = h("progress", { max: 1, value: 0, hidden: true, "aria-label": "Runs that are done" });
  private readonly now = h("p", { class: "note", role: "status", "aria-live": "polite" });
  private readonly results = h("div", { class: "results" });
  private readonly sweeps: Sweeps;

  constructor(
    private readonly scenario: Scenario,
    lists: Lists,
    about: About,
  ) {
    this.sweeps = new Sweeps(about.folder, () => {
      this.end("");
      this.results.replaceChildren();
    });
    const names = lists.variants.map((entry) => entry.name).filter((name) => !/[A-Z]/.test(name));
    this.chips = new Chips("Variants", names, state.get("compared"), MOST_VARIANTS, `the usual ones: ${about.variants.slice(0, 4).join(", ")}, …`);
    const experiments = lists.experiments.map((entry): [string, string] => [entry.name, `${entry.name}: ${entry.summary}`]);
    this.experiment = h("select", {}, ...options(experiments, state.get("experiment", "E1")));
    const command: HTMLButtonElement = h("button", { type: "button", class: "quiet", text: "Copy command", on: { click: () => void scenario.settled(() => void copy(this.command(), command)) } });
    const side = h(
      "form",
      { class: "side", "aria-label": "What is compared", on: { submit: (event) => event.preventDefault() } },
      scenario.element,
      this.chips.element,
      field("Seeds of each", this.seeds),
      h("div", { class: "row" }, h("button", { type: "button", class: "main", text: "Compare", on: { click: () => void scenario.settled(() => this.compare()) } }), this.stop, command),
      scenario.notice,
      h("hr", { class: "between" }),
      field("Figure of a paper", this.experiment),
      field("Seeds of each point", this.reps),
      h("div", { class: "row" }, h("button", { type: "button", text: "Reproduce", on: { click: () => this.reproduce() } })),
      h("hr", { class: "between" }),
      this.sweeps.choice,
    );
    this.element = h("div", { class: "split" }, side, h("section", { class: "stage", tabindex: 0, "aria-label": "What came out" }, this.now, this.bar, this.results, this.sweeps.element));
  }

  close(): void {
    this.talk?.close();
    this.scenario.close();
  }

  /** A page shows something at once. */
  seen(seen: boolean): void {
    if (!seen || this.talk !== null || this.sweeps.isOpen) return;
    void this.sweeps.find().then(() => {
      if (this.talk !== null || this.sweeps.isOpen) return;
      if (state.get("shows") === "paper") this.reproduce();
      else this.compare();
    });
  }

  private command(): string {
    const variants = this.chips.chosen.length > 0 ? ` --variants ${quoted(this.chips.chosen.join(","))}` : "";
    return `bentpipe compare ${quoted(this.scenario.source)}${variants} --reps ${this.seeds.value}`;
  }

  private compare(): void {
    const variants = this.chips.chosen;
    state.set({ compared: variants.join(","), seeds: this.seeds.value, shows: null });
    this.compares = { source: this.scenario.source, text: this.scenario.text };
    this.scenario.mark([]);
    this.ask({ what: "compare", scenario: this.scenario.text, variants, reps: Number(this.seeds.value) });
  }

  private reproduce(): void {
    state.set({ experiment: this.experiment.value, reps: this.reps.value, shows: "paper" });
    const reps = this.reps.value === "own" ? {} : { reps: Number(this.reps.value) };
    this.ask({ what: "reproduce", experiment: this.experiment.value, ...reps });
  }

  private ask(asked: unknown): void {
    this.talk?.close();
    this.sweeps.close();
    this.now.classList.remove("bad");
    this.now.textContent = "Running …";
    this.bar.hidden = false;
    this.bar.value = 0;
    this.stop.disabled = false;
    this.done = false;
    this.talk = new Talk<Told>("study", asked, {
      told: (message) => this.told(message),
      wrong: (wrong) => {
        this.scenario.mark([wrong]);
        this.now.classList.add("bad");
        this.end(said(wrong));
      },
      closed: (refused) => {
        if (refused || this.done) return this.end();
        this.now.classList.add("bad");
        this.end(LOST.message);
      },
    });
  }

  private end(why?: string): void {
    this.talk?.close();
    this.bar.hidden = true;
    this.stop.disabled = true;
    if (why !== undefined) this.now.textContent = why;
  }

  private told(message: Told): void {
    this.done = message.kind !== "progress";
    if (message.kind === "progress") {
      this.bar.max = message.total;
      this.bar.value = message.done;
      this.now.textContent = `${message.done} of ${message.total} runs`;
    } else if (message.kind === "compared") {
      this.compared(message);
    } else {
      const { experiments } = message.experiments;
      const judged = experiments.flatMap((one) => one.claims).filter((claim) => !claim.informative && claim.holds !== null);
      const said = (of: "paper" | "ours") => {
        const claims = judged.filter((claim) => claim.bound === of);
        return `${claims.filter((claim) => claim.holds).length} of ${claims.length}`;
      };
      const ours = judged.some((claim) => claim.bound === "ours") ? `, and ${said("ours")} with bounds of our own` : "";
      this.now.textContent = `${said("paper")} claims hold${ours}`;
      this.results.replaceChildren(h("div", { class: "charts" }, ...experiments.map(figure)));
    }
  }

  private compared({ comparison, runs: all, legend, left_out, cut }: Extract<Told, { kind: "compared" }>): void {
    const { replications, scenario, chance } = comparison;
    const runs = chance ? `${replications} seed${replications === 1 ? "" : "s"} of each variant` : "one run of each variant: there is no chance in it";
    this.now.textContent = `${scenario}: ${runs}. Press a bar for its runs.`;
    const { compares } = this;
    const behind = h("section", { class: "card", hidden: true, "aria-live": "polite" });
    const show = (variant: string) => {
      behind.hidden = false;
      behind.replaceChildren(h("h2", { text: `Runs: ${variant}` }), behindOf(compares, all.filter((run) => run.variant === variant)));
      behind.scrollIntoView({ block: "nearest" });
    };
    const said = [...left_out, ...(cut ? ["Runs end at the longest time that this server simulates."] : [])];
    const left = said.length > 0 ? h("p", { class: "hint", text: said.join("\n") }) : null;
    const known = legend.filter(({ summary }) => summary !== null).map(({ variant, summary }) => h("div", {}, h("dt", { text: variant }), h("dd", { text: summary ?? "" })));
    this.results.replaceChildren(
      h("section", { class: "card" }, h("h2", { text: "Goodput, with 95 % intervals" }), bars(comparison, show) as unknown as HTMLElement),
      behind,
      h("section", { class: "card" }, h("h2", { text: "All that was measured" }), measures(comparison), left),
      h("section", { class: "card" }, h("h2", { text: "Variants" }), h("dl", { class: "legend" }, ...known)),
    );
  }
}

/** The runs behind a bar, each of which can be watched. */
function behindOf(compares: Compared, runs: Run[]): HTMLElement {
  const watch = async ({ variant, seed }: Run) => {
    // What was compared may be another one than what stands in the editors now.
    const isOwn = compares.source !== "my.toml";
    state.set({ tab: "run", ...(isOwn ? { scenario: compares.source, toml: null } : { toml: await state.packed(compares.text) }), variants: variant, seed });
    dispatchEvent(new HashChangeEvent("hashchange"));
  };
  const rows = runs.map((run) => [
    String(run.seed),
    rate(run.goodput),
    or(run.queueing_delay, delay),
    or(run.connection_time, delay),
    String(run.retransmitted_segments),
    run.complete ? "yes" : "no",
    h("button", { type: "button", class: "quiet", text: "Watch", "aria-label": `Watch the run with seed ${run.seed}`, on: { click: () => void watch(run) } }),
  ]);
  return table("Runs of the variant", ["seed", "goodput", "queueing delay", "time", "retransmitted", "complete", ""], rows);
}

function measures({ rows, replications }: Comparison): HTMLElement {
  const head = ["variant", "goodput", "to the best, paired", "of the link", "overhead", "fairness", "queueing delay", "time", "complete", "limited by"];
  const with_ = (estimate: Estimate | null, text: (value: number) => string) => or(estimate, (known) => text(known.mean) + interval(known));
  const paired = ({ mean, ci95 }: Estimate) => (mean === 0 ? "–" : `${mean.toFixed(1)}${ci95 === null ? "" : ` ± ${ci95.toFixed(1)}`} %`);
  const mostly = (shares: Record<string, number> | null) => {
    const most = Object.entries(shares ?? {}).sort((a, b) => b[1] - a[1])[0];
    return most ? `${most[0]} ${percent(most[1])}` : "–";
  };
  const cells = rows.map((row) => [
    row.variant,
    with_(row.goodput, rate),
    paired(row.to_best),
    with_(row.utilisation, percent),
    with_(row.overhead, (value) => percent(value / 100)),
    or(row.fairness, ({ mean }) => mean.toFixed(3)),
    with_(row.queueing_delay, delay),
    with_(row.connection_time, delay),
    `${row.complete} of ${replications}`,
    mostly(row.limited_by),
  ]);
  return table("All that was measured", head, cells);
}
