// What draws here: a graphics card, or the processor in its place.

import * as state from "../state";

/** Names of renderers that are programs. */
const PROGRAMS = /swiftshader|llvmpipe|softpipe|software|basic render/i;

let emulated: boolean | null = null;

/** Whether there is no graphics card. The address may say otherwise: `graphics=card` or `graphics=none`. */
export function isEmulated(): boolean {
  const said = state.get("graphics");
  if (said === "card" || said === "none") return said === "none";
  if (emulated === null) {
    const name = renderer();
    emulated = name === null || PROGRAMS.test(name);
  }
  return emulated;
}

/** What WebGL says that it is drawn by; nothing where it is not there. */
function renderer(): string | null {
  const gl = document.createElement("canvas").getContext("webgl2");
  if (!gl) return null;
  const more = gl.getExtension("WEBGL_debug_renderer_info");
  const name = gl.getParameter(more ? more.UNMASKED_RENDERER_WEBGL : gl.RENDERER) as string;
  gl.getExtension("WEBGL_lose_context")?.loseContext();
  return name;
}

/** Pixels of a picture for a pixel of the page, along a side. A processor draws no more than it has to. */
export function density(): number {
  return isEmulated() ? 1 : Math.min(devicePixelRatio, 2);
}

/**
 * What draws on a canvas whose pixels are written by the processor: it stays in memory, so that none goes to a card and back. It is not
 * `desynchronized`: on a card that is a program Chromium then has 59 pictures a second, and shows none of them.
 */
export function flat(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
  return canvas.getContext("2d", { alpha: false, willReadFrequently: true });
}
