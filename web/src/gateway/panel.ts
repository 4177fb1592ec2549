// One gateway: its peers, its flows and the last hour.

import { json } from "../api";
import { Chart, type Column, type Line } from "../chart";
import { colour } from "../colours";
import { h, table } from "../dom";
import { bytes, delay, moment, or, percent, rate, time } from "../format";
import type { Flow, History, Now, Peer, Status } from "./told";

/** Seconds over which rates are taken. */
const OVER = 3;
/** Flows that are shown, those that carry most first. */
const FLOWS = 50;

export class Panel {
  readonly element: HTMLElement;
  private readonly title = h("h2");
  private readonly state = h("p", { class: "note", role: "status" });
  private readonly peers = h("div");
  private readonly flows = h("div");
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
      h("div", { class: "charts" }, this.rates.element, this.trips.element, this.losses.element, this.repairs.element),
      h("section", { class: "card" }, h("h2", { text: "Peers" }), this.peers),
      h("section", { class: "card" }, h("h2", { text: "Flows, those that carry most first" }), this.flows),
    );
  }

  async show(now: Now): Promise<void> {
    const { status } = now;
    this.title.textContent = now.address;
    this.state.classList.toggle("bad", status === null);
    this.state.textContent = status === null ? (now.error ?? "It was not asked yet.") : summary(status);
    if (status) {
      this.peers.replaceChildren(table("Peers", PEERS, status.peers.map(peer)));
      this.flows.replaceChildren(this.tableOf(status, now.time_s));
    }
    this.draw(await json<History>(`gateways/${this.number}/history`));
  }

  private tableOf(status: Status, at: number): HTMLElement {
    const { before } = this;
    const seconds = before ? at - before.at : 0;
    const carried = (flow: Flow) => {
      const known = before?.flows.get(flow.number);
      const of = (now: number, then: number) => (8 * (now - then)) / (known ? seconds : flow.age_seconds || 1);
      return { out: of(flow.sent_bytes, known?.sent_bytes ?? 0), into: of(flow.received_bytes, known?.received_bytes ?? 0) };
    };
    const rows = status.flows.map((flow) => ({ flow, ...carried(flow) })).sort((a, b) => b.out + b.into - a.out - a.into);
    if (!before || seconds >= 1) this.before = { at, flows: new Map(status.flows.map((flow) => [flow.number, flow])) };
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
    return table("Flows", ["client", "destination", "peer", "age", "out", "in", "bytes", "RTT", "cwnd", "in flight", "retransmitted"], cells);
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

/** Rates, in bits per second, of bytes that are counted; nothing over a restart, where counts begin anew. */
function derived(x: number[], counts: Column): Column {
  return counts.map((now, n) => {
    const [before, then] = [counts[n - OVER] ?? null, x[n - OVER]];
    if (now === null || before === null || then === undefined || now < before) return null;
    return (8 * (now - before)) / ((x[n] as number) - then);
  });
}

/** How far values are above the least of them. */
function above(values: Column): Column {
  const known = values.filter((value): value is number => value !== null);
  const least = known.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  return values.map((value) => (value === null ? null : value - least));
}
