// From where the globe is seen.

import type { Vec } from "./geometry";
import { Sight } from "./sight";

const FIELD = 0.62;

export class Camera {
  longitude = -38;
  latitude = 35;
  distance = 4.2;

  constructor(element: HTMLElement, changed: () => void) {
    let last: [number, number] | null = null;
    element.addEventListener("pointerdown", (event) => {
      element.setPointerCapture(event.pointerId);
      last = [event.clientX, event.clientY];
    });
    element.addEventListener("pointermove", (event) => {
      if (!last || event.buttons === 0) return;
      const degrees = (0.22 * (this.distance - 1)) / 2;
      this.turn(-(event.clientX - last[0]) * degrees, (event.clientY - last[1]) * degrees);
      last = [event.clientX, event.clientY];
      changed();
    });
    element.addEventListener("pointerup", () => (last = null));
    element.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoom(Math.exp(event.deltaY * 0.001));
        changed();
      },
      { passive: false },
    );
    element.addEventListener("keydown", (event) => {
      const turns: Record<string, [number, number]> = { ArrowLeft: [-5, 0], ArrowRight: [5, 0], ArrowUp: [0, 5], ArrowDown: [0, -5] };
      const turn = turns[event.key];
      if (turn) this.turn(...turn);
      else if (event.key === "+" || event.key === "=") this.zoom(0.9);
      else if (event.key === "-") this.zoom(1.1);
      else return;
      event.preventDefault();
      changed();
    });
  }

  turn(east: number, north: number): void {
    this.longitude = ((this.longitude + east + 540) % 360) - 180;
    this.latitude = Math.max(-89, Math.min(89, this.latitude + north));
  }

  zoom(factor: number): void {
    this.distance = Math.max(1.3, Math.min(12, this.distance * factor));
  }

  /** How a picture of this size sees the globe. */
  sight(width: number, height: number): Sight {
    const [lon, lat] = [(this.longitude * Math.PI) / 180, (this.latitude * Math.PI) / 180];
    const forward: Vec = [Math.cos(lat) * Math.cos(lon), Math.cos(lat) * Math.sin(lon), Math.sin(lat)];
    const right: Vec = [-Math.sin(lon), Math.cos(lon), 0];
    const up: Vec = [-Math.sin(lat) * Math.cos(lon), -Math.sin(lat) * Math.sin(lon), Math.cos(lat)];
    const tall = 1 / Math.tan(FIELD / 2) / Math.max(1, height / width);
    return new Sight(right, up, forward, this.distance, tall, width, height);
  }
}

/** The matrix that brings the frame of the Earth onto the screen, by columns. */
export function matrix({ right, up, forward, distance, focal, width, height }: Sight): Float32Array {
  const [near, far] = [0.05, 30];
  const [wide, tall] = [(2 * focal) / width, (2 * focal) / height];
  const [depth, shift] = [-(far + near) / (far - near), (-2 * far * near) / (far - near)];
  const out = new Float32Array(16);
  for (let axis = 0; axis < 3; axis++) {
    out[4 * axis] = (right[axis] as number) * wide;
    out[4 * axis + 1] = (up[axis] as number) * tall;
    out[4 * axis + 2] = (forward[axis] as number) * depth;
    out[4 * axis + 3] = -(forward[axis] as number);
  }
  out[14] = -distance * depth + shift;
  out[15] = distance;
  return out;
}
