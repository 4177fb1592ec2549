// How the route goes on: what the server has told of it so far.

import type { Course as Part, Handover, Sample, Sky } from "./told";

export class Course {
  readonly samples: Sample[] = [];
  readonly handovers: Handover[] = [];
  readonly times: number[] = [];
  readonly delays: (number | null)[] = [];
  isWhole = false;
  private readonly changes: Part["isls"] = [];
  private readonly up = new Set<number>();
  private linksAt = 0;
  private done = 0;
  private links: Uint32Array;

  constructor(private readonly sky: Sky) {
    this.links = Uint32Array.from(sky.isls);
    this.start();
  }

  take(part: Part): void {
    this.samples.push(...part.samples);
    this.times.push(...part.samples.map((sample) => sample.time_s));
    this.delays.push(...part.samples.map((sample) => sample.delay_s));
    this.handovers.push(...part.handovers);
    this.changes.push(...part.isls);
    this.isWhole = part.is_last;
  }

  /** The route at a time; nothing where it is not known yet. The last sample holds until the end. */
  at(time: number): Sample | null {
    const number = Math.floor(time / this.sky.step_s);
    return this.samples[number] ?? (this.isWhole ? (this.samples.at(-1) ?? null) : null);
  }

  /** The links between satellites at a time: two numbers each. The array is another one only when they are others. */
  linksOf(time: number): Uint32Array {
    let changed = time < this.linksAt;
    if (changed) this.start();
    for (let next = this.changes[this.done]; next && next.time_s <= time; next = this.changes[++this.done]) {
      const key = this.key(next.a, next.b);
      if (next.up) this.up.add(key);
      else this.up.delete(key);
      changed = true;
    }
    this.linksAt = time;
    if (changed) this.links = Uint32Array.from([...this.up].flatMap((key) => [Math.floor(key / this.count), key % this.count]));
    return this.links;
  }

  private start(): void {
    this.up.clear();
    for (let n = 0; n < this.sky.isls.length; n += 2) this.up.add(this.key(this.sky.isls[n] as number, this.sky.isls[n + 1] as number));
    [this.done, this.linksAt] = [0, 0];
    this.links = Uint32Array.from(this.sky.isls);
  }

  private get count(): number {
    return this.sky.satellites.length;
  }

  private key(a: number, b: number): number {
    return Math.min(a, b) * this.count + Math.max(a, b);
  }
}
