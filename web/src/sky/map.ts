// The flat map, equirectangular.

import { colour, onTheme, style } from "../colours";
import { h } from "../dom";
import { below, circle, type Vec } from "./geometry";
import { density, flat } from "./graphics";
import { paint } from "./land";
import { Pixels } from "./pixels";
import { node, type Scene, type View } from "./scene";

/** The sun goes so far, as a chord, before night is drawn anew: half a pixel of a map of 1,300. */
const SUN_MOVES = 0.0025;

type Place = [number, number];

export class FlatMap implements View {
  readonly element: HTMLCanvasElement;
  /** It will not be seen again. */
  readonly close: () => void;
  private readonly land = h("canvas");
  private readonly behind = h("canvas");
  private pixels = new Pixels(1, 1);
  /** The sun for which `pixels` has what is behind; nothing where it has to be drawn anew. */
  private sun: Vec | null = null;
  private night = false;
  /** x and y of each node on the map. */
  private places = new Float32Array(0);

  constructor(changed: () => void) {
    this.element = h("canvas", { class: "map", role: "img", "aria-label": "Map with the satellites" });
    this.close = onTheme(() => {
      this.land.width = 0;
      changed();
    });
  }

  draw(scene: Scene): void {
    const scale = density();
    const { element } = this;
    const [width, height] = [Math.round(element.clientWidth * scale), Math.round(element.clientHeight * scale)];
    const context = flat(element);
    if (!context || width === 0 || height === 0) return;
    if (element.width !== width || element.height !== height) [element.width, element.height] = [width, height];
    const { left, top, wide, tall } = room(width, height);
    this.ground(scene, wide, tall, scale);
    this.locate(scene, wide, tall);
    context.fillStyle = style("back");
    context.fillRect(0, 0, width, height);
    const { pixels, places } = this;
    pixels.clear();
    if (scene.layers.links) this.links(scene.links, wide);
    if (scene.layers.satellites) pixels.squares(places, scene.satellites, Math.round(2 * scale), style("satellite"));
    pixels.put(context, left, top);

    context.save();
    context.beginPath();
    context.rect(left, top, wide, tall);
    context.clip();
    context.translate(left, top);
    const xy = (at: Vec): Place => on(below(at), wide, tall);
    const stroke = (way: Place[], ink: string, line: number) => {
      context.strokeStyle = ink;
      context.lineWidth = line * scale;
      context.beginPath();
      way.slice(1).forEach((to, n) => {
        for (const [x, y, toX, toY] of shorter(way[n] as Place, to, wide)) {
          context.moveTo(x, y);
          context.lineTo(toX, toY);
        }
      });
      context.stroke();
    };
    const dots = (first: number, count: number, ink: string, size: number) => {
      context.fillStyle = ink;
      for (let n = first; n < first + count; n++) {
        const [x, y] = xy(node(scene, n));
        context.fillRect(x - size / 2, y - size / 2, size, size);
      }
    };
    if (scene.layers.footprints) for (const edge of scene.footprints) stroke(edge.map(xy), colour(1), 1);
    if (scene.layers.stations) dots(scene.satellites + 2, scene.stations.length - 2, colour(2), 4 * scale);
    stroke(
      scene.route.map((number) => xy(node(scene, number))),
      colour(1),
      2,
    );
    for (const number of scene.route.filter((number) => number < scene.satellites)) dots(number, 1, colour(1), 6 * scale);
    dots(scene.satellites, 2, colour(3), 8 * scale);
    context.restore();
  }

  project(at: Vec): [number, number] {
    const { left, top, wide, tall } = room(this.element.clientWidth, this.element.clientHeight);
    const [x, y] = on(below(at), wide, tall);
    return [left + x, top + y];
  }

  /** Draws what is behind everything, if it has changed: land, and where the sun is below the horizon. */
  private ground(scene: Scene, wide: number, tall: number, scale: number): void {
    if (this.land.width !== wide || this.land.height !== tall) {
      for (const canvas of [this.land, this.behind]) [canvas.width, canvas.height] = [wide, tall];
      paint(this.land, scale);
      this.pixels = new Pixels(wide, tall);
      this.sun = null;
    }
    const { sun, night } = this;
    const moved = sun === null || Math.hypot(sun[0] - scene.sun[0], sun[1] - scene.sun[1], sun[2] - scene.sun[2]) > SUN_MOVES;
    if (!(night !== scene.layers.night || sun === null || (night && moved))) return;
    const context = flat(this.behind);
    if (!context) return;
    context.drawImage(this.land, 0, 0);
    if (scene.layers.night) shade(context, scene.sun, wide, tall);
    this.pixels.behind(context);
    this.pixels.tint(style("link"), 0.25);
    [this.sun, this.night] = [scene.sun, scene.layers.night];
  }

  /** Finds where the nodes are. */
  private locate(scene: Scene, wide: number, tall: number): void {
    const count = scene.nodes.length / 3;
    if (this.places.length !== 2 * count) this.places = new Float32Array(2 * count);
    const { nodes } = scene;
    for (let n = 0; n < count; n++) {
      const [x, y, z] = [nodes[3 * n] as number, nodes[3 * n + 1] as number, nodes[3 * n + 2] as number];
      this.places[2 * n] = (Math.atan2(y, x) / (2 * Math.PI) + 0.5) * wide;
      this.places[2 * n + 1] = (0.5 - Math.atan2(z, Math.hypot(x, y)) / Math.PI) * tall;
    }
  }

  private links(links: Uint32Array, wide: number): void {
    const { pixels, places } = this;
    const at = (number: number): Place => [places[2 * number] as number, places[2 * number + 1] as number];
    for (let n = 0; n < links.length; n += 2) {
      for (const [x, y, toX, toY] of shorter(at(links[n] as number), at(links[n + 1] as number), wide)) pixels.line(x, y, toX, toY);
    }
  }
}

/** The shorter way round, which may lead over both edges: then there are two lines. */
function shorter(from: Place, to: Place, wide: number): (readonly [number, number, number, number])[] {
  const turn = to[0] - from[0] > wide / 2 ? wide : from[0] - to[0] > wide / 2 ? -wide : 0;
  const first = [from[0], from[1], to[0] - turn, to[1]] as const;
  return turn === 0 ? [first] : [first, [from[0] + turn, from[1], to[0], to[1]]];
}

/** Where longitude and latitude are on the map. */
function on([east, north]: Place, wide: number, tall: number): Place {
  return [((east + 180) / 360) * wide, ((90 - north) / 180) * tall];
}

/** Darkens what has the sun below the horizon. */
function shade(context: CanvasRenderingContext2D, sun: Vec, wide: number, tall: number): void {
  const edge = circle(sun, Math.PI / 2, 120).map((at) => on(below(at), wide, tall));
  edge.sort((a, b) => a[0] - b[0]);
  const dark = sun[2] > 0 ? tall : 0;
  context.fillStyle = style("night");
  context.beginPath();
  context.moveTo(0, dark);
  context.lineTo(0, (edge[0] as Place)[1]);
  edge.forEach((place) => context.lineTo(...place));
  context.lineTo(wide, (edge.at(-1) as Place)[1]);
  context.lineTo(wide, dark);
  context.fill();
}

/** The largest map of two by one. */
function room(width: number, height: number): { left: number; top: number; wide: number; tall: number } {
  const wide = Math.floor(Math.min(width, 2 * height));
  const tall = Math.floor(wide / 2);
  return { left: Math.floor((width - wide) / 2), top: Math.floor((height - tall) / 2), wide, tall };
}
