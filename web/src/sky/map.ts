// The flat map, equirectangular.

import { colour, onTheme, style } from "../colours";
import { h } from "../dom";
import { below, circle, type Vec } from "./geometry";
import { paint } from "./land";
import { node, type Scene, type View } from "./scene";

export class FlatMap implements View {
  readonly element: HTMLCanvasElement;
  private readonly ground = h("canvas");

  constructor(changed: () => void) {
    this.element = h("canvas", { class: "map", role: "img", "aria-label": "Map with the satellites" });
    onTheme(() => {
      this.ground.width = 0;
      changed();
    });
  }

  draw(scene: Scene): void {
    const scale = Math.min(devicePixelRatio, 2);
    const { element } = this;
    const [width, height] = [Math.round(element.clientWidth * scale), Math.round(element.clientHeight * scale)];
    const context = element.getContext("2d");
    if (!context || width === 0 || height === 0) return;
    if (element.width !== width || element.height !== height) [element.width, element.height] = [width, height];
    const { left, top, wide, tall } = room(width, height);
    if (this.ground.width !== wide) {
      [this.ground.width, this.ground.height] = [wide, tall];
      paint(this.ground, scale);
    }
    context.fillStyle = style("back");
    context.fillRect(0, 0, width, height);
    context.drawImage(this.ground, left, top);
    const xy = ([east, north]: [number, number]): [number, number] => [left + ((east + 180) / 360) * wide, top + ((90 - north) / 180) * tall];
    const at = (number: number) => xy(below(node(scene, number)));
    context.save();
    context.beginPath();
    context.rect(left, top, wide, tall);
    context.clip();
    if (scene.layers.night) this.night(context, scene, xy, [left, top, wide, tall]);
    const draw = (from: [number, number], to: [number, number]) => {
      // The shorter way round, which may lead over both edges.
      const turn = to[0] - from[0] > wide / 2 ? wide : from[0] - to[0] > wide / 2 ? -wide : 0;
      context.moveTo(...from);
      context.lineTo(to[0] - turn, to[1]);
      if (turn === 0) return;
      context.moveTo(from[0] + turn, from[1]);
      context.lineTo(...to);
    };
    if (scene.layers.links) {
      const places = Array.from({ length: scene.satellites }, (_, n) => at(n));
      context.strokeStyle = style("link");
      context.globalAlpha = 0.25;
      context.lineWidth = 1;
      context.beginPath();
      for (let n = 0; n < scene.links.length; n += 2) draw(places[scene.links[n] as number] as [number, number], places[scene.links[n + 1] as number] as [number, number]);
      context.stroke();
      context.globalAlpha = 1;
    }
    const stroke = (places: [number, number][], ink: string, line: number) => {
      context.strokeStyle = ink;
      context.lineWidth = line * scale;
      context.beginPath();
      places.slice(1).forEach((place, n) => draw(places[n] as [number, number], place));
      context.stroke();
    };
    if (scene.layers.footprints) for (const edge of scene.footprints) stroke(edge.map((place) => xy(below(place))), colour(1), 1);
    const dots = (first: number, count: number, ink: string, size: number) => {
      context.fillStyle = ink;
      for (let n = first; n < first + count; n++) {
        const [x, y] = at(n);
        context.fillRect(x - size / 2, y - size / 2, size, size);
      }
    };
    if (scene.layers.satellites) dots(0, scene.satellites, style("satellite"), 2 * scale);
    if (scene.layers.stations) dots(scene.satellites + 2, scene.stations.length - 2, colour(2), 4 * scale);
    stroke(scene.route.map(at), colour(1), 2);
    for (const number of scene.route.filter((number) => number < scene.satellites)) dots(number, 1, colour(1), 6 * scale);
    dots(scene.satellites, 2, colour(3), 8 * scale);
    context.restore();
  }

  project(at: Vec): [number, number] {
    const { left, top, wide, tall } = room(this.element.clientWidth, this.element.clientHeight);
    const [east, north] = below(at);
    return [left + ((east + 180) / 360) * wide, top + ((90 - north) / 180) * tall];
  }

  /** Where the sun is below the horizon. */
  private night(context: CanvasRenderingContext2D, scene: Scene, xy: (at: [number, number]) => [number, number], [left, top, wide, tall]: [number, number, number, number]): void {
    const edge = circle(scene.sun, Math.PI / 2, 120).map(below);
    edge.sort((a, b) => a[0] - b[0]);
    const dark = scene.sun[2] > 0 ? top + tall : top;
    context.fillStyle = style("night");
    context.beginPath();
    context.moveTo(left, dark);
    context.lineTo(left, xy(edge[0] as [number, number])[1]);
    edge.forEach((place) => context.lineTo(...xy(place)));
    context.lineTo(left + wide, xy(edge.at(-1) as [number, number])[1]);
    context.lineTo(left + wide, dark);
    context.fill();
  }
}

/** The largest map of two by one. */
function room(width: number, height: number): { left: number; top: number; wide: number; tall: number } {
  const wide = Math.floor(Math.min(width, 2 * height));
  const tall = Math.floor(wide / 2);
  return { left: Math.floor((width - wide) / 2), top: Math.floor((height - tall) / 2), wide, tall };
}
