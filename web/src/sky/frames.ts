// Positions: those that the engine computed a minute apart, and cubic curves between them. The curves are right within ten
// metres, as a test of the server holds.

/** Seconds between two frames. */
export const APART_S = 60;
/** Frames that are kept. */
const KEPT = 64;

interface Frame {
  /** x, y, z in km and the velocity in km/s of each satellite, in the frame that turns with the Earth. */
  values: Float32Array;
}

export class Frames {
  private readonly frames = new Map<number, Frame>();
  private readonly awaited = new Set<number>();

  constructor(
    readonly satellites: number,
    private readonly ask: (at: number[]) => void,
  ) {}

  take(buffer: ArrayBuffer): void {
    const time = new DataView(buffer).getFloat64(0, true);
    const number = Math.round(time / APART_S);
    this.awaited.delete(number);
    this.frames.set(number, { values: new Float32Array(buffer, 8) });
    for (const old of this.frames.keys()) {
      if (this.frames.size <= KEPT) break;
      this.frames.delete(old);
    }
  }

  /** Asks for what is needed at a time and soon after it. */
  want(time: number, ahead: number): void {
    const first = Math.floor(time / APART_S);
    const missing: number[] = [];
    for (let number = first; number <= first + 1 + ahead; number++) {
      if (!this.frames.has(number) && !this.awaited.has(number)) missing.push(number);
    }
    if (missing.length === 0 || this.awaited.size > 8) return;
    const some = missing.slice(0, 4);
    some.forEach((number) => this.awaited.add(number));
    this.ask(some.map((number) => number * APART_S));
  }

  /** Writes the positions at a time in Earth radii; false where they are not known yet. */
  at(time: number, radius: number, out: Float32Array): boolean {
    const number = Math.floor(time / APART_S);
    const [before, after] = [this.frames.get(number), this.frames.get(number + 1)];
    if (!before || !after) return false;
    const s = time / APART_S - number;
    const [s2, s3] = [s * s, s * s * s];
    const [a, b] = [2 * s3 - 3 * s2 + 1, 3 * s2 - 2 * s3];
    const [c, d] = [(s3 - 2 * s2 + s) * APART_S, (s3 - s2) * APART_S];
    const [p, q] = [before.values, after.values];
    for (let n = 0; n < this.satellites; n++) {
      for (let axis = 0; axis < 3; axis++) {
        const i = 6 * n + axis;
        out[3 * n + axis] = (a * (p[i] as number) + b * (q[i] as number) + c * (p[i + 3] as number) + d * (q[i + 3] as number)) / radius;
      }
    }
    return true;
  }
}
