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
  /** The bytes that wait for each direction of a link; nothing where nobody knows. */
  queues: Column[];
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
/** More moments than this are thinned: a chart has no more pixels. */
export const MOST = 2000;

/** The columns of one flow. */
export class Flow {
  readonly cwnd: Column = [];
  readonly inFlight: Column = [];
  readonly srtt: Column = [];
  readonly queueing: Column = [];
  readonly goodput: Column = [];
  /** The last samples, those that no chart has included: when, and how much had arrived. */
  private readonly last: (readonly [number, number | null])[] = [];
  private least = Number.POSITIVE_INFINITY;

  constructor(readonly name: string) {}

  /** Takes note of a sample, whether it is kept or not. */
  see(time: number, samples: FlowSamples, n: number): void {
    this.least = Math.min(this.least, samples.srtt_s[n] ?? Number.POSITIVE_INFINITY);
    this.last.push([time, samples.delivered_bytes[n] ?? null]);
    if (this.last.length > OVER + 1) this.last.shift();
  }

  /** Keeps the sample that was seen last. */
  keep(samples: FlowSamples, n: number): void {
    const srtt = samples.srtt_s[n] ?? null;
    this.cwnd.push(samples.cwnd_bytes[n] ?? null);
    this.inFlight.push(samples.in_flight_bytes[n] ?? null);
    this.srtt.push(srtt);
    // As `compare` has it: the smoothed round-trip time above its minimum.
    this.queueing.push(srtt === null ? null : srtt - this.least);
    this.goodput.push(this.rate());
  }

  /** What arrived over the last samples, in bits per second. */
  private rate(): number | null {
    const [[before, then], [at, now]] = [this.last[0] ?? [0, null], this.last.at(-1) ?? [0, null]];
    return now === null || then === null || at <= before ? null : (8 * (now - then)) / (at - before);
  }

  columns(): Column[] {
    return [this.cwnd, this.inFlight, this.srtt, this.queueing, this.goodput];
  }
}

/** One run of the page. */
export class Series {
  /** The moments that are kept: all of them at first, then fewer, evenly taken. */
  readonly time: number[] = [];
  readonly flows: Flow[];
  readonly packets: Packet[] = [];
  /** The bytes that wait for each direction of a link. */
  readonly queues: Column[] = [];
  /** Whether anything has waited there so far. */
  readonly waited: boolean[] = [];
  /** The time of the last moment. */
  now: number | null = null;
  private every = 1;
  private seen = 0;

  constructor(readonly began: Began) {
    this.flows = began.flows.map((flow) => new Flow(flow.name));
  }

  push(samples: Samples): void {
    for (const packet of samples.packets ?? []) this.packets.push(packet);
    samples.time_s.forEach((time, n) => {
      const isKept = this.seen++ % this.every === 0;
      this.now = time;
      if (isKept) this.time.push(time);
      this.flows.forEach((flow, number) => {
        const of = samples.flows[number];
        if (!of) return;
        flow.see(time, of, n);
        if (isKept) flow.keep(of, n);
      });
      samples.queues.forEach((queue, number) => {
        const waiting = queue[n] ?? null;
        this.waited[number] ||= (waiting ?? 0) > 0;
        if (isKept) (this.queues[number] ??= []).push(waiting);
      });
      if (this.time.length > MOST) this.thin();
    });
  }

  /** Forgets every second moment, from now on too. */
  private thin(): void {
    this.every *= 2;
    for (const column of [this.time, ...this.queues, ...this.flows.flatMap((flow) => flow.columns())] as Column[]) {
      let kept = 0;
      for (let n = 0; n < column.length; n += 2) column[kept++] = column[n];
      column.length = kept;
    }
  }
}
