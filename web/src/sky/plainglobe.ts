// The globe where there is no graphics card: thousands of lines and points as pixels, and the few curves over them as a picture.

import { colour, isDark, onTheme, style } from "../colours";
import { h } from "../dom";
import { Camera } from "./camera";
import type { Vec } from "./geometry";
import { density, flat } from "./graphics";
import { Ground } from "./ground";
import { Pixels, word } from "./pixels";
import { node, type Scene, type View } from "./scene";
import type { Sight } from "./sight";

/** The sun goes so far, as a chord, before night is drawn anew: half a pixel of a globe of 400. */
const SUN_MOVES = 0.0025;
/** Positions on the ground are lifted, so that nothing of the ground covers them. */
const LIFT = 1.002;
/** Between two satellites that are seen nothing of a link this long, squared, is hidden. */
const SHORT = 0.1;

export class PlainGlobe implements View {
  readonly element: HTMLCanvasElement;
  /** It will not be seen again. */
  readonly close: () => void;
  private readonly camera: Camera;
  private readonly ground = new Ground();
  private pixels = new Pixels(1, 1);
  /** How it was seen when it was drawn last, and what of it `pixels` have behind them. */
  private seen: Sight | null = null;
  private behind: Sight | null = null;
  private sun: Vec | null = null;
  private night = false;
  /** x and y of each node in the picture, far beside it where the Earth hides the node. */
  private places = new Float32Array(0);
  private hidden = new Uint8Array(0);

  constructor(changed: () => void) {
    this.element = h("canvas", { class: "globe", tabindex: 0, role: "img", "aria-label": "Globe with the satellites; arrow keys turn it, + and - come nearer and go away" });
    this.camera = new Camera(this.element, changed);
    this.close = onTheme(() => {
      this.ground.repaint();
      this.behind = null;
      changed();
    });
  }

  draw(scene: Scene): void {
    const { element, camera } = this;
    const scale = density();
    const [width, height] = [Math.round(element.clientWidth * scale), Math.round(element.clientHeight * scale)];
    const context = flat(element);
    if (!context || width === 0 || height === 0) return;
    if (element.width !== width || element.height !== height) [element.width, element.height] = [width, height];
    const sight = camera.sight(width, height);
    this.paint(scene, sight);
    this.locate(scene, sight);
    const { pixels } = this;
    pixels.clear();
    if (scene.layers.links) this.links(scene, sight);
    if (scene.layers.satellites) pixels.squares(this.places, scene.satellites, Math.round(2 * scale), style("satellite"));
    pixels.put(context, 0, 0);
    this.curves(context, scene, sight, scale);
    // Pointing counts in pixels of the page.
    this.seen = scale === 1 ? sight : camera.sight(element.clientWidth, element.clientHeight);
  }

  project(at: Vec): [number, number] | null {
    return this.seen && !this.seen.isHidden(at) ? this.seen.place(at) : null;
  }

  /** Draws what is behind everything, if it has changed: the ground, and the night on it. */
  private paint(scene: Scene, sight: Sight): void {
    const { width, height } = sight;
    if (this.pixels.wide !== width || this.pixels.tall !== height) {
      this.pixels = new Pixels(width, height);
      this.behind = null;
    }
    const { behind, sun, night } = this;
    const same = behind !== null && behind.distance === sight.distance && behind.forward.every((part, axis) => part === sight.forward[axis]);
    const moved = sun === null || Math.hypot(sun[0] - scene.sun[0], sun[1] - scene.sun[1], sun[2] - scene.sun[2]) > SUN_MOVES;
    if (same && night === scene.layers.night && !(night && moved)) return;
    this.ground.draw(sight, scene.layers.night ? scene.sun : null, word(style("back")), this.pixels.back);
    this.pixels.tint(style("link"), isDark() ? 0.24 : 0.28);
    [this.behind, this.sun, this.night] = [sight, scene.sun, scene.layers.night];
  }

  /** Finds where the nodes are. */
  private locate({ nodes }: Scene, { right, up, forward, distance, focal, width, height }: Sight): void {
    const count = nodes.length / 3;
    if (this.hidden.length !== count) [this.places, this.hidden] = [new Float32Array(2 * count), new Uint8Array(count)];
    const { places, hidden } = this;
    const cone = distance * distance - 1;
    for (let n = 0; n < count; n++) {
      const [x, y, z] = [nodes[3 * n] as number, nodes[3 * n + 1] as number, nodes[3 * n + 2] as number];
      const along = forward[0] * x + forward[1] * y + forward[2] * z;
      // As `Sight.isHidden` has it.
      const isHidden = along * distance < 1 && (x * x + y * y + z * z - along * along) * cone < (distance - along) ** 2;
      hidden[n] = isHidden ? 1 : 0;
      const scale = focal / (distance - along);
      places[2 * n] = isHidden ? -1e6 : width / 2 + (right[0] * x + right[1] * y + right[2] * z) * scale;
      places[2 * n + 1] = isHidden ? -1e6 : height / 2 - (up[0] * x + up[1] * y + up[2] * z) * scale;
    }
  }

  private links({ nodes, links }: Scene, sight: Sight): void {
    const { pixels, places, hidden } = this;
    const at = (n: number): Vec => [nodes[3 * n] as number, nodes[3 * n + 1] as number, nodes[3 * n + 2] as number];
    for (let n = 0; n < links.length; n += 2) {
      const [a, b] = [links[n] as number, links[n + 1] as number];
      const sum = (hidden[a] as number) + (hidden[b] as number);
      if (sum === 2) continue;
      const dx = (nodes[3 * a] as number) - (nodes[3 * b] as number);
      const dy = (nodes[3 * a + 1] as number) - (nodes[3 * b + 1] as number);
      const dz = (nodes[3 * a + 2] as number) - (nodes[3 * b + 2] as number);
      if (sum === 0 && dx * dx + dy * dy + dz * dz < SHORT) pixels.line(places[2 * a] as number, places[2 * a + 1] as number, places[2 * b] as number, places[2 * b + 1] as number);
      else for (const piece of sight.seen(at(a), at(b))) pixels.line(...piece);
    }
  }

  /** The curves and the marks, which are few. */
  private curves(context: CanvasRenderingContext2D, scene: Scene, sight: Sight, scale: number): void {
    const stroke = (way: Vec[], ink: string, line: number) => {
      context.strokeStyle = ink;
      context.lineWidth = line * scale;
      context.beginPath();
      way.slice(1).forEach((to, n) => {
        for (const [x, y, toX, toY] of sight.seen(way[n] as Vec, to)) {
          context.moveTo(x, y);
          context.lineTo(toX, toY);
        }
      });
      context.stroke();
    };
    const dots = (first: number, count: number, ink: string, size: number) => {
      context.fillStyle = ink;
      context.beginPath();
      for (let n = first; n < first + count; n++) {
        if (this.hidden[n] === 1) continue;
        const [x, y] = [this.places[2 * n] as number, this.places[2 * n + 1] as number];
        context.moveTo(x, y);
        context.arc(x, y, (size * scale) / 2, 0, 2 * Math.PI);
      }
      context.fill();
    };
    const lifted = ([x, y, z]: Vec): Vec => [x * LIFT, y * LIFT, z * LIFT];
    if (scene.layers.footprints) for (const edge of scene.footprints) stroke(edge.map(lifted), colour(1), 1);
    if (scene.layers.stations) dots(scene.satellites + 2, scene.stations.length - 2, colour(2), 4);
    stroke(
      scene.route.map((number) => node(scene, number)),
      colour(1),
      2.5,
    );
    for (const number of scene.route.filter((number) => number < scene.satellites)) dots(number, 1, colour(1), 8);
    dots(scene.satellites, 2, colour(3), 9);
  }
}
