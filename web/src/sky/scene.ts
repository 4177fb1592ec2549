// What is drawn of a sky at one time.

import type { Vec } from "./geometry";

export interface Scene {
  /** x, y, z of each satellite and then of each station, in Earth radii. */
  nodes: Float32Array;
  satellites: number;
  stations: { name: string; forwards: boolean }[];
  /** Links between satellites: two numbers each. */
  links: Uint32Array;
  route: readonly number[];
  /** The satellites at the ends of the route, and the edges of what sees them. */
  footprints: Vec[][];
  sun: Vec;
  layers: Layers;
}

export interface Layers {
  satellites: boolean;
  links: boolean;
  footprints: boolean;
  night: boolean;
  stations: boolean;
}

/** What draws scenes. */
export interface View {
  readonly element: HTMLElement;
  draw(scene: Scene): void;
  /** Where a place is on the element, as it was drawn last; nothing if the Earth hides it. */
  project(at: Vec): [number, number] | null;
}

/** Nearer than so many pixels something is pointed at. */
const NEAR = 12;

/** What is nearest to a point of a view: the number of a node. */
export function pick(view: View, scene: Scene, x: number, y: number): number | null {
  let best: number | null = null;
  let least = NEAR ** 2;
  for (let number = 0; number < scene.nodes.length / 3; number++) {
    const at = view.project(node(scene, number));
    if (!at) continue;
    const away = (at[0] - x) ** 2 + (at[1] - y) ** 2;
    if (away < least) [best, least] = [number, away];
  }
  return best;
}

export function node(scene: Scene, number: number): Vec {
  const { nodes } = scene;
  return [nodes[3 * number] as number, nodes[3 * number + 1] as number, nodes[3 * number + 2] as number];
}
