// Ranked bars with their intervals.

import { colour } from "../colours";
import { svg } from "../dom";
import { rate } from "../format";
import type { Comparison, Estimate } from "./told";

const ROW = 28;
const LEFT = 190;
const RIGHT = 150;
const WIDTH = 860;

/** Goodputs with the 95 % intervals of their means; what is pressed is told. */
export function bars(comparison: Comparison, pressed: (variant: string) => void): SVGSVGElement {
  const { rows } = comparison;
  const most = Math.max(...rows.map(({ goodput }) => goodput.mean + (goodput.ci95 ?? 0)), 1);
  const x = (value: number) => LEFT + (Math.max(0, value) / most) * (WIDTH - LEFT - RIGHT);
  const height = rows.length * ROW + 8;
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${height}`, role: "group", "aria-label": "Goodput of each variant, the best first", class: "bars" });
  rows.forEach((row, n) => {
    const y = 4 + n * ROW;
    const { goodput } = row;
    const text = `${rate(goodput.mean)}${interval(goodput)}`;
    const bar = svg(
      "g",
      { tabindex: 0, role: "button", "aria-label": `${row.variant}: ${text}. Show its runs.` },
      svg("rect", { x: 0, y, width: WIDTH, height: ROW, class: "over" }),
      svg("text", { x: LEFT - 12, y: y + 18, "text-anchor": "end" }, row.variant),
      svg("rect", { x: LEFT, y: y + 6, width: Math.max(1, x(goodput.mean) - LEFT), height: ROW - 12, rx: 2, fill: colour(0) }),
    );
    if (goodput.ci95) bar.append(whisker(x(goodput.mean - goodput.ci95), x(goodput.mean + goodput.ci95), y + ROW / 2));
    bar.append(svg("text", { x: x(goodput.mean + (goodput.ci95 ?? 0)) + 8, y: y + 18, class: "value" }, text));
    const press = () => pressed(row.variant);
    bar.addEventListener("click", press);
    bar.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      press();
    });
    picture.append(bar);
  });
  return picture;
}

/** The interval behind a mean, where there is one. */
export function interval({ mean, ci95 }: Estimate): string {
  if (!ci95) return "";
  const share = mean === 0 ? 0 : (100 * ci95) / Math.abs(mean);
  return ` ± ${share.toFixed(share < 10 ? 1 : 0)} %`;
}

function whisker(from: number, to: number, y: number): SVGPathElement {
  return svg("path", { d: `M${from} ${y - 4}v8M${from} ${y}H${to}M${to} ${y - 4}v8`, class: "whisker" });
}
