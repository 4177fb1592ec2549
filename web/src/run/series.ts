// What is known of a run: samples in columns, as they come.

import type { Column } from "../chart";

export interface Began {
  kind: "began";
  scenario: string;
  description: string;
  seed: number;
  duration_s: number;
  sample_every_s: number;
  nodes: string[];
  flows: { name: string; protocol: string; from: string; to: string }[];
  links: { name: string; from: string; to: string }[];
  variant: string | null;
}

export interface Packet {
  time_s: number;
  direction: number;
  /** Numbers of the nodes that sent it and that it is for. */
  from: number;
  to: number;
  bytes: number;
  source_port?: number;
  destination_port?: number;
  seq?: number;
  length?: number;
  ack?: number | null;
}

export interface Samples {
  kind: "samples";
  time_s: number[];
  flows: FlowSamples[];
  packets?: Packet[];
}

interface FlowSamples {
  cwnd_bytes: Column;
  ssthresh_bytes: Column;
  srtt_s: Column;
  in_flight_bytes: Column;
  delivered_bytes: Column;
  route_delay_s: Column;
  phase: string;
  activity: string;
  limited_by: string;
}

export interface FlowSummary {
  name: string;
  protocol: string;
  controller: string;
  complete: boolean;
  failure: string | null;
  delivered_bytes: number;
  first_byte_after: number | null;
  connection_time: number | null;
  effective_throughput: number;
  total_overhead: number;
  source: { retransmitted_segments: number; timeouts: number; reductions: number };
}

export interface Ended {
  kind: "ended";
  summary: { simulated_seconds: number; events: number; packet_hops: number; flows: FlowSummary[] };
  limits: (string | null)[];
  cut: boolean;
}

export type Told = Began | Samples | Ended;

/** Samples over which a rate is taken. */
const OVER = 5;
/** More moments than this are thinned. */
const MOST = 60_000;

/** The columns of one flow. */
export class Flow {
  readonly cwnd: Column = [];
  readonly inFlight: Column = [];
  readonly srtt: Column = [];
  readonly queueing: Column = [];
  readonly goodput: Column = [];
  readonly routeDelay: Column = [];
  private readonly delivered: Column = [];
  private least = Number.POSITIVE_INFINITY;
  phase = "";
  limitedBy = "";

  constructor(readonly name: string) {}

  push(time: number[], samples: FlowSamples, n: number): void {
    const at = time.length - 1;
    const srtt = samples.srtt_s[n] ?? null;
    this.cwnd.push(samples.cwnd_bytes[n] ?? null);
    this.inFlight.push(samples.in_flight_bytes[n] ?? null);
    this.srtt.push(srtt);
    this.routeDelay.push(samples.route_delay_s[n] ?? null);
    if (srtt !== null) this.least = Math.min(this.least, srtt);
    // As `compare` has it: the smoothed round-trip time above its minimum.
    this.queueing.push(srtt === null ? null : srtt - this.least);
    this.delivered.push(samples.delivered_bytes[n] ?? null);
    this.goodput.push(this.rate(time, at));
    this.phase = samples.phase;
    this.limitedBy = samples.limited_by;
  }

  /** What arrived over the last samples, in bits per second. */
  private rate(time: number[], at: number): number | null {
    const before = Math.max(0, at - OVER);
    const [now, then] = [this.delivered[at] ?? null, this.delivered[before] ?? null];
    const seconds = (time[at] as number) - (time[before] as number);
    return now === null || then === null || seconds <= 0 ? null : (8 * (now - then)) / seconds;
  }

  columns(): Column[] {
    return [this.cwnd, this.inFlight, this.srtt, this.queueing, this.goodput, this.routeDelay, this.delivered];
  }
}

/** One run of the page. */
export class Series {
  readonly time: number[] = [];
  readonly flows: Flow[];
  readonly packets: Packet[] = [];
  private every = 1;
  private seen = 0;

  constructor(readonly began: Began) {
    this.flows = began.flows.map((flow) => new Flow(flow.name));
  }

  push(samples: Samples): void {
    this.packets.push(...(samples.packets ?? []));
    samples.time_s.forEach((time, n) => {
      if (this.seen++ % this.every !== 0) return;
      this.time.push(time);
      this.flows.forEach((flow, number) => {
        const of = samples.flows[number];
        if (of) flow.push(this.time, of, n);
      });
    });
    if (this.time.length > MOST) this.thin();
  }

  /** Forgets every second moment, from now on too. */
  private thin(): void {
    this.every *= 2;
    for (const column of [this.time, ...this.flows.flatMap((flow) => flow.columns())] as Column[]) {
      let kept = 0;
      column.forEach((value, n) => {
        if (n % 2 === 0) column[kept++] = value;
      });
      column.length = kept;
    }
  }
}
