// The ground of the globe, pixel by pixel: the land, and the shade of the night on it. What it costs depends on what changed: the
// size and the distance, the direction it is seen from, or the sun alone.

import { h } from "../dom";
import type { Vec } from "./geometry";
import { flat } from "./graphics";
import { paint } from "./land";
import { mixed } from "./pixels";
import { dot, type Sight } from "./sight";

const [WIDE, TALL] = [2048, 1024];
/** Steps of the shade between day and night. */
const STEPS = 64;
/** Where the sun stands so high, as the sine of its elevation, it is day; so far below the horizon it is night. */
const TWILIGHT = 0.12;
/** What is left of the light at night. */
const NIGHT = 0.45;

export class Ground {
  private land = new Uint32Array(0);
  /** How far along the line of sight the ground is at each pixel; nothing where there is none. */
  private far = new Float32Array(0);
  /** The ground by day. */
  private day = new Uint32Array(0);
  private seen: Sight | null = null;

  /** The colours have changed. */
  repaint(): void {
    const canvas = h("canvas", { width: WIDE, height: TALL });
    paint(canvas, 1.5);
    const context = flat(canvas);
    if (context) this.land = new Uint32Array(context.getImageData(0, 0, WIDE, TALL).data.buffer);
    this.seen = null;
  }

  /** Writes the ground over a picture of one colour. */
  draw(sight: Sight, sun: Vec | null, back: number, out: Uint32Array): void {
    if (this.land.length === 0) this.repaint();
    const { seen } = this;
    const { width, height, distance, focal } = sight;
    const sized = seen !== null && seen.width === width && seen.height === height && seen.distance === distance;
    if (!sized) this.measure(sight);
    if (!sized || sight.forward.some((part, axis) => part !== seen.forward[axis])) this.look(sight);
    this.seen = sight;
    out.fill(back);
    const { day, far } = this;
    const [east, north, towards] = sun ? [dot(sight.right, sun), dot(sight.up, sun), dot(sight.forward, sun)] : [0, 0, 0];
    const edge = focal / Math.sqrt(distance * distance - 1);
    for (let row = 0; row < height; row++) {
      const b = (height / 2 - row - 0.5) / focal;
      for (let column = 0, at = row * width; column < width; column++, at++) {
        const t = far[at] as number;
        if (t === 0) continue;
        const a = (column + 0.5 - width / 2) / focal;
        let word = day[at] as number;
        if (sun) word = scaled(word, SHADES[shade(t * (a * east + b * north) + (distance - t) * towards)] as number);
        // The edge is smooth.
        const share = edge - Math.hypot(a, b) * focal + 0.5;
        out[at] = share < 1 ? mixed(back, word, share) : word;
      }
    }
  }

  /** Finds where the lines of sight meet the ground. */
  private measure({ width, height, distance, focal }: Sight): void {
    this.far = new Float32Array(width * height);
    this.day = new Uint32Array(width * height);
    const most = (1 / Math.sqrt(distance * distance - 1) + 0.5 / focal) ** 2;
    for (let row = 0; row < height; row++) {
      for (let column = 0; column < width; column++) {
        const q = ((column + 0.5 - width / 2) ** 2 + (row + 0.5 - height / 2) ** 2) / (focal * focal);
        if (q >= most) continue;
        // Half a pixel beyond the edge there is what is at the edge.
        const root = Math.sqrt(Math.max(0, distance * distance - (1 + q) * (distance * distance - 1)));
        this.far[row * width + column] = (distance - root) / (1 + q);
      }
    }
  }

  /** Takes the land that is seen at each pixel. */
  private look({ width, height, distance, focal, right, up, forward }: Sight): void {
    const { far, day } = this;
    for (let row = 0; row < height; row++) {
      const b = (height / 2 - row - 0.5) / focal;
      for (let column = 0, at = row * width; column < width; column++, at++) {
        const t = far[at] as number;
        if (t === 0) continue;
        const [e, n, f] = [(t * (column + 0.5 - width / 2)) / focal, t * b, distance - t];
        const x = e * right[0] + n * up[0] + f * forward[0];
        const y = e * right[1] + n * up[1] + f * forward[1];
        const z = e * right[2] + n * up[2] + f * forward[2];
        day[at] = this.colour((Math.atan2(y, x) / (2 * Math.PI) + 0.5) * WIDE, (0.5 - Math.atan2(z, Math.sqrt(x * x + y * y)) / Math.PI) * TALL);
      }
    }
  }

  /** The colour between the four pixels of the land around a place. */
  private colour(u: number, v: number): number {
    const { land } = this;
    const [left, top] = [Math.floor(u - 0.5), Math.max(0, Math.min(TALL - 2, Math.floor(v - 0.5)))];
    const [p, q] = [u - 0.5 - left, Math.max(0, Math.min(1, v - 0.5 - top))];
    const [first, second] = [((left + WIDE) % WIDE) + top * WIDE, ((left + 1 + WIDE) % WIDE) + top * WIDE];
    const [a, b] = [land[first] as number, land[second] as number];
    const [c, d] = [land[first + WIDE] as number, land[second + WIDE] as number];
    // Most of the Earth has one colour around.
    if (a === b && a === c && a === d) return a;
    return mixed(mixed(a, b, p), mixed(c, d, p), q);
  }
}

/** How light it is at each step from night to day, of 256. */
const SHADES = Uint16Array.from({ length: STEPS + 1 }, (_, n) => {
  const s = n / STEPS;
  return Math.round(256 * (s * s * (3 - 2 * s) * (1 - NIGHT) + NIGHT));
});

/** The step of the shade where the sun stands so high. */
function shade(light: number): number {
  return Math.max(0, Math.min(STEPS, ((light + TWILIGHT) * (STEPS / (2 * TWILIGHT))) | 0));
}

/** A colour, darker by a share of 256. */
function scaled(word: number, of: number): number {
  const pair = ((word & 0xff00ff) * of) >>> 8;
  const green = ((word & 0xff00) * of) >>> 8;
  return (0xff000000 | (pair & 0xff00ff) | (green & 0xff00)) >>> 0;
}
