// How the globe is seen from somewhere: where places are in a picture, and what the Earth hides. The Earth has radius 1 here.

import type { Vec } from "./geometry";

/** Halvings that find where a line goes behind the Earth: a hundredth of a line is less than a pixel. */
const HALVINGS = 7;
/** What lies on the ground is not below it, whatever rounding makes of it. */
const GROUND = 0.996;

/** A line in a picture: both its ends. */
export type Piece = [number, number, number, number];

export class Sight {
  /** Pixels of a length of 1 at a distance of 1. */
  readonly focal: number;

  constructor(
    readonly right: Vec,
    readonly up: Vec,
    readonly forward: Vec,
    readonly distance: number,
    tall: number,
    readonly width: number,
    readonly height: number,
  ) {
    this.focal = (tall * height) / 2;
  }

  /** Where a place is, hidden or not. */
  place(at: Vec): [number, number] {
    const { right, up, forward, focal } = this;
    const scale = focal / (this.distance - dot(forward, at));
    return [this.width / 2 + dot(right, at) * scale, this.height / 2 - dot(up, at) * scale];
  }

  /** Whether the Earth is before a place, or around it. The hidden places are a convex body. */
  isHidden([x, y, z]: Vec): boolean {
    const { forward: f, distance } = this;
    const along = f[0] * x + f[1] * y + f[2] * z;
    const square = x * x + y * y + z * z;
    if (square < GROUND) return true;
    // Behind the plane of the horizon, and within the cone that touches the Earth there.
    return along * distance < 1 && (square - along * along) * (distance * distance - 1) < (distance - along) ** 2;
  }

  /** The pieces of a straight line that are seen. */
  seen(from: Vec, to: Vec): Piece[] {
    const [a, b] = [this.isHidden(from), this.isHidden(to)];
    if (a && b) return [];
    if (a) return [[...this.place(this.edge(to, from)), ...this.place(to)]];
    if (b) return [[...this.place(from), ...this.place(this.edge(from, to))]];
    const middle = between(from, to, 0.5);
    if (!this.isHidden(middle)) return [[...this.place(from), ...this.place(to)]];
    return [...this.seen(from, middle), ...this.seen(middle, to)];
  }

  /** The last place of a line that is seen, from one that is. */
  private edge(from: Vec, to: Vec): Vec {
    let [seen, hidden] = [0, 1];
    for (let n = 0; n < HALVINGS; n++) {
      const middle = (seen + hidden) / 2;
      if (this.isHidden(between(from, to, middle))) hidden = middle;
      else seen = middle;
    }
    return between(from, to, seen);
  }
}

export function dot(a: Vec, b: Vec): number {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

function between(a: Vec, b: Vec, share: number): Vec {
  return [a[0] + share * (b[0] - a[0]), a[1] + share * (b[1] - a[1]), a[2] + share * (b[2] - a[2])];
}
