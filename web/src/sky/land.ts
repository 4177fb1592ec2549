// The land of the Earth: Natural Earth's at 1:110 million, in the public domain.

import source from "../../../crates/cli/data/land-110m.geojson?raw";
import { style } from "../colours";
import { flat } from "./graphics";

type Ring = [number, number][];

const LAND = (JSON.parse(source) as { geometry: { coordinates: Ring[][] } }).geometry.coordinates;

/** Draws the land on an equirectangular map. */
export function paint(canvas: HTMLCanvasElement, coastWidth: number): void {
  const context = flat(canvas);
  if (!context) return;
  const { width, height } = canvas;
  context.fillStyle = style("sea");
  context.fillRect(0, 0, width, height);
  context.fillStyle = style("land");
  context.strokeStyle = style("coast");
  context.lineWidth = coastWidth;
  context.beginPath();
  for (const ring of LAND.flat()) {
    ring.forEach(([east, north], n) => {
      const [x, y] = [((east + 180) / 360) * width, ((90 - north) / 180) * height];
      if (n === 0) context.moveTo(x, y);
      else context.lineTo(x, y);
    });
    context.closePath();
  }
  context.fill("evenodd");
  context.stroke();
}
