// A figure of a paper, drawn again, and what the paper says of it, judged.

import { colour } from "../colours";
import { h, svg } from "../dom";
import { si } from "../format";
import type { Figure, Point } from "./told";

const [WIDTH, HEIGHT, LEFT, BELOW, ABOVE] = [520, 260, 64, 40, 10];

export function figure(of: Figure): HTMLElement {
  const points = of.points.filter((point) => point.metric === of.metric);
  const variants = [...new Set(points.map((point) => point.variant))];
  const claims = of.claims.map(({ text, holds, measured, informative, bound }) =>
    h(
      "li",
      {},
      h("strong", {
        class: informative || holds === null ? "faint" : holds ? "good" : "bad",
        text: holds === null ? "not judged" : informative ? "noted" : `${holds ? "holds" : "does not hold"}${bound === "ours" ? " (bound of our own)" : ""}`,
      }),
      ` ${text}`,
      h("span", { class: "hint", text: ` (${measured})` }),
    ),
  );
  const key = variants.map((name, n) => {
    const dot = h("span", { class: "dot" });
    dot.style.background = colour(n);
    return h("span", { class: "check" }, dot, name);
  });
  return h(
    "section",
    { class: "card", "aria-label": `${of.id}, figure ${of.figure}` },
    h("h2", { text: `${of.id}, figure ${of.figure}: ${of.title}` }),
    h("div", { class: "chips" }, ...key),
    plot(of, points, variants) as unknown as HTMLElement,
    h("ul", { class: "claims" }, ...claims),
  );
}

function plot(of: Figure, points: Point[], variants: string[]): SVGSVGElement {
  const xs = points.map((point) => point.x);
  const [first, last] = [Math.min(...xs), Math.max(...xs)];
  const most = Math.max(...points.map((point) => point.mean + point.ci95), Number.MIN_VALUE);
  const least = Math.min(0, ...points.map((point) => point.mean - point.ci95));
  const x = (value: number) => LEFT + ((value - first) / (last - first || 1)) * (WIDTH - LEFT - 16);
  const y = (value: number) => HEIGHT - BELOW - ((value - least) / (most - least)) * (HEIGHT - BELOW - ABOVE);
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${of.title}: ${of.metric} against ${of.x_label}`, class: "figure" });
  for (let n = 0; n <= 4; n++) {
    const [value, place] = [least + ((most - least) * n) / 4, first + ((last - first) * n) / 4];
    picture.append(svg("path", { d: `M${LEFT} ${y(value)}H${WIDTH - 16}`, class: "line" }), svg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, si(value, "").trim()));
    picture.append(svg("text", { x: x(place), y: HEIGHT - BELOW + 16, "text-anchor": "middle" }, si(place, "").trim()));
  }
  picture.append(svg("text", { x: (LEFT + WIDTH) / 2, y: HEIGHT - 6, "text-anchor": "middle" }, of.x_label));
  variants.forEach((variant, n) => {
    const own = points.filter((point) => point.variant === variant).sort((a, b) => a.x - b.x);
    const ink = colour(n);
    picture.append(svg("path", { d: own.map((point, m) => `${m ? "L" : "M"}${x(point.x)} ${y(point.mean)}`).join(""), fill: "none", stroke: ink, "stroke-width": 1.5 }));
    for (const point of own) {
      const [above, under] = [y(point.mean + point.ci95), y(point.mean - point.ci95)];
      picture.append(svg("path", { d: `M${x(point.x)} ${above}V${under}`, stroke: ink }), svg("circle", { cx: x(point.x), cy: y(point.mean), r: 2.5, fill: ink }));
    }
  });
  return picture;
}
