// One gateway: its peers, its flows and the last hour.

import { json } from "../api";
import { Chart, type Column, type Line } from "../chart";
import { colour } from "../colours";
import { h, Table } from "../dom";
import { bytes, delay, moment, or, percent, rate, time } from "../format";
import type { Flow, History, Now, Peer, PeerHistory, Status } from "./told";

/** Seconds over which rates are taken. */
const OVER = 3;
/** Looks that are kept: an hour of them. */
const LOOKS = 3600;
/** Flows that are shown, those that carry most first. */
const FLOWS = 50;

export class Panel {
  readonly element: HTMLElement;
  private readonly title = h("h2");
  /** Whether it answers: told aloud when it changes. */
  private readonly state = h("p", { class: "note", role: "status" });
  private readonly details = h("p", { class: "note" });
  private readonly peers = new Table("Peers", PEERS);
  private readonly flows = new Table("Flows", FLOW);
  private history: History = { time_s: [], sent_bytes: [], received_bytes: [], open: [], peers: {} };
  private readonly rates: Chart;
  private readonly trips: Chart;
  private readonly losses: Chart;
  private readonly repairs: Chart;
  private before: { at: number; flows: Map<number, Flow> } | null = null;

  constructor(private readonly number: number) {
    const chart = (title: string, value: (value: number) => string) => new Chart({ title, value, at: moment, x: "time since the watch began", sync: `gateway-${number}`, height: 130 });
    this.rates = chart("Carried", rate);
    this.trips = chart("Round trip, and queueing delay (dashed): round trip above its minimum", delay);
    this.losses = chart("Datagrams lost", percent);
    this.repairs = chart("Sent because of losses, and parity (dashed)", rate);
    this.element = h(
      "section",
      { class: "gateway" },
      this.title,
      this.state,
      this.details,
      h("div", { class: "charts" }, this.rates.element, this.trips.element, this.losses.element, this.repairs.element),
      h("section", { class: "card" }, h("h2", { text: "Peers" }), this.peers.element),
      h("section", { class: "card" }, h("h2", { text: "Flows, those that carry most first" }), this.flows.element),
    );
  }

  close(): void {
    [this.rates, this.trips, this.losses, this.repairs].forEach((chart) => chart.close());
  }

  /** Nothing is known of it now. */
  lose(why: string): void {
    this.say(why, true);
    this.details.textContent = "";
  }

  async show(now: Now): Promise<void> {
    const { status } = now;
    this.title.textContent = now.address;
    this.say(status === null ? (now.error ?? "It was not asked yet.") : "It answers.", status === null);
    this.details.textContent = status === null ? "" : summary(status);
    if (status) {
      this.peers.show(status.peers.map(peer));
      this.showFlows(status, now.time_s);
    }
    const since = this.history.time_s.at(-1) ?? -1;
    this.history = joined(this.history, await json<History>(`gateways/${this.number}/history?since=${since}`));
    this.draw(this.history);
  }

  private say(what: string, isBad: boolean): void {
    this.state.classList.toggle("bad", isBad);
    if (this.state.textContent !== what) this.state.textContent = what;
  }

  private showFlows(status: Status, at: number): void {
    const { before } = this;
    // It was not asked since.
    if (before && at <= before.at) return;
    const seconds = before ? at - before.at : 0;
    const carried = (flow: Flow) => {
      const known = before?.flows.get(flow.number);
      // Numbers of flows come again after a restart.
      const same = known !== undefined && flow.sent_bytes >= known.sent_bytes && flow.received_bytes >= known.received_bytes;
      const of = (now: number, then: number | undefined) => (8 * (now - (same ? (then ?? 0) : 0))) / (same ? seconds : flow.age_seconds || 1);
      return { out: of(flow.sent_bytes, known?.sent_bytes), into: of(flow.received_bytes, known?.received_bytes) };
    };
    const rows = status.flows.map((flow) => ({ flow, ...carried(flow) })).sort((a, b) => b.out + b.into - a.out - a.into);
    this.before = { at, flows: new Map(status.flows.map((flow) => [flow.number, flow])) };
    const cells = rows.slice(0, FLOWS).map(({ flow, out, into }) => [
      flow.client,
      flow.destination,
      flow.direct ? "direct" : flow.peer,
      time(flow.age_seconds),
      rate(out),
      rate(into),
      bytes(flow.sent_bytes + flow.received_bytes),
      or(flow.connection?.srtt_seconds, delay),
      or(flow.connection?.cwnd_bytes, bytes),
      or(flow.connection?.in_flight_bytes, bytes),
      or(flow.connection?.retransmitted_segments, String),
    ]);
    this.flows.show(cells);
  }

  private draw(history: History): void {
    const { time_s: x } = history;
    const speeds = (counts: Column) => derived(x, counts);
    const two: Line[] = ["out", "in"].map((label, n) => ({ label, colour: () => colour(n) }));
    this.rates.show(two, x, [speeds(history.sent_bytes), speeds(history.received_bytes)]);
    const peers = Object.entries(history.peers);
    const lines = (dashed?: string): Line[] => peers.map(([name], n) => ({ label: dashed ? `${name}, ${dashed}` : name, colour: () => colour(n), ...(dashed ? { dashed: true } : {}) }));
    const trips = peers.map(([, peer]) => peer.srtt_s);
    this.trips.show([...lines(), ...lines("queueing")], x, [...trips, ...trips.map(above)]);
    this.losses.show(lines(), x, peers.map(([, peer]) => peer.loss_ratio));
    const of = (take: "retransmitted_bytes" | "parity_bytes") => peers.map(([, peer]) => speeds(peer[take]));
    this.repairs.show([...lines(), ...lines("parity")], x, [...of("retransmitted_bytes"), ...of("parity_bytes")]);
  }
}

const FLOW = ["client", "destination", "peer", "age", "out", "in", "bytes", "RTT", "cwnd", "in flight", "retransmitted"];
const PEERS = ["peer", "address", "state", "RTT", "loss", "connections", "held", "rate", "sent", "received", "retransmitted", "parity"];

function peer(peer: Peer): (string | Node)[] {
  const ways = [peer.up ? "up" : "down", peer.link > 1 ? `link ${peer.link}` : "", peer.outer === "tcp" ? "TCP" : ""].filter(Boolean).join(", ");
  const found = peer.rate_bits_per_second === null ? or(peer.capacity_bits_per_second, (bps) => `~${rate(bps)}`) : rate(peer.rate_bits_per_second);
  return [
    peer.name,
    or(peer.address, String),
    h("span", { class: peer.up ? "good" : "bad", text: ways }),
    or(peer.srtt_seconds, delay),
    or(peer.loss_ratio, percent),
    String(peer.connections),
    bytes(peer.held_bytes),
    found,
    bytes(peer.sent_bytes),
    bytes(peer.received_bytes),
    bytes(peer.retransmitted_bytes),
    bytes(peer.parity_bytes),
  ];
}

function summary({ role, uptime_seconds, link_rate_bits_per_second, totals, links }: Status): string {
  const link = link_rate_bits_per_second === null ? "a shared link" : `a link of ${rate(link_rate_bits_per_second)}`;
  const caps = links.map((one) => `; link ${one.link}: ${bytes(one.month_bytes)} of ${bytes(one.cap_bytes)}${one.closed ? ", closed" : ""}`).join("");
  return `${role}, up ${time(uptime_seconds)}; ${link}; ${totals.open} flows open, ${totals.flows} so far, ${totals.refused} refused, ${totals.cut} cut off${caps}`;
}

/** What was known, and what has come since: an hour of it. */
function joined(known: History, more: History): History {
  const count = known.time_s.length;
  const join = (before: Column | undefined, after: Column | undefined) => [...(before ?? Array<null>(count).fill(null)), ...(after ?? Array<null>(more.time_s.length).fill(null))].slice(-LOOKS);
  const names = [...new Set([...Object.keys(known.peers), ...Object.keys(more.peers)])];
  const peer = (name: string) => {
    const [before, after] = [known.peers[name], more.peers[name]];
    const of = (column: keyof PeerHistory) => join(before?.[column], after?.[column]);
    return { sent_bytes: of("sent_bytes"), received_bytes: of("received_bytes"), retransmitted_bytes: of("retransmitted_bytes"), parity_bytes: of("parity_bytes"), held_bytes: of("held_bytes"), srtt_s: of("srtt_s"), loss_ratio: of("loss_ratio") };
  };
  return {
    time_s: [...known.time_s, ...more.time_s].slice(-LOOKS),
    sent_bytes: join(known.sent_bytes, more.sent_bytes),
    received_bytes: join(known.received_bytes, more.received_bytes),
    open: join(known.open, more.open),
    peers: Object.fromEntries(names.map((name) => [name, peer(name)])),
  };
}

/** Rates, in bits per second, of bytes that are counted; nothing over a restart, where counts begin anew. */
function derived(x: number[], counts: Column): Column {
  return counts.map((now, n) => {
    const [before, then] = [counts[n - OVER] ?? null, x[n - OVER]];
    if (now === null || now === undefined || before === null || then === undefined || now < before) return null;
    return (8 * (now - before)) / ((x[n] as number) - then);
  });
}

/** How far values are above the least of them. */
function above(values: Column): Column {
  const known = values.filter((value): value is number => typeof value === "number");
  const least = known.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  return values.map((value) => (typeof value === "number" ? value - least : null));
}
