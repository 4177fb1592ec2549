// The globe, by a graphics card.

import { colour, isDark, onTheme, style } from "../colours";
import { h } from "../dom";
import { Camera, matrix } from "./camera";
import type { Vec } from "./geometry";
import { Positions, program, rgb } from "./gl";
import { paint } from "./land";
import { node, type Scene, type View } from "./scene";
import type { Sight } from "./sight";

const SPHERE = `
in vec3 position; in vec2 on; uniform mat4 camera; uniform vec3 sun; out vec2 at; out float light;
void main() { at = on; light = dot(position, sun); gl_Position = camera * vec4(position, 1.0); }`;
const GROUND = `
in vec2 at; in float light; uniform sampler2D land; uniform float night; out vec4 colour;
void main() { vec3 day = texture(land, at).rgb; colour = vec4(day * mix(1.0, smoothstep(-0.12, 0.12, light) * 0.55 + 0.45, night), 1.0); }`;
const PLAIN = `
in vec3 position; uniform mat4 camera; uniform float size;
void main() { gl_Position = camera * vec4(position, 1.0); gl_PointSize = size; }`;
const INK = `uniform vec4 ink; out vec4 colour; void main() { colour = ink; }`;
const DISC = `
uniform vec4 ink; out vec4 colour;
void main() { float r = length(gl_PointCoord - 0.5); if (r > 0.5) discard; colour = ink; }`;

/** Parts of the sphere along a meridian, half of those around. */
const PARTS = 48;
/** Positions on the ground are lifted, so that nothing of the ground covers them. */
const LIFT = 1.002;

export class Globe implements View {
  readonly element: HTMLCanvasElement;
  private readonly gl: WebGL2RenderingContext;
  private readonly camera: Camera;
  private readonly sphere: WebGLProgram;
  private readonly lines: WebGLProgram;
  private readonly discs: WebGLProgram;
  private readonly ball: { array: WebGLVertexArrayObject; count: number };
  private readonly nodes: Positions;
  private readonly paths: Positions;
  private readonly indices: WebGLBuffer;
  private readonly forget: () => void;
  private links: Uint32Array | null = null;
  /** How it was seen when it was drawn last. */
  private seen: Sight | null = null;

  constructor(changed: () => void) {
    this.element = h("canvas", { class: "globe", tabindex: 0, role: "img", "aria-label": "Globe with the satellites; arrow keys turn it, + and - come nearer and go away" });
    const gl = this.element.getContext("webgl2", { antialias: true, alpha: false, powerPreference: "low-power" });
    if (!gl) throw new Error("this browser has no WebGL: the map needs none");
    this.gl = gl;
    this.camera = new Camera(this.element, changed);
    this.sphere = program(gl, SPHERE, GROUND);
    this.lines = program(gl, PLAIN, INK);
    this.discs = program(gl, PLAIN, DISC);
    this.ball = ball(gl);
    this.nodes = new Positions(gl);
    this.paths = new Positions(gl);
    this.indices = gl.createBuffer();
    gl.bindTexture(gl.TEXTURE_2D, gl.createTexture());
    this.ground();
    this.forget = onTheme(() => {
      this.ground();
      changed();
    });
  }

  /** It will not be seen again: the graphics card has its memory back. */
  close(): void {
    this.forget();
    this.gl.getExtension("WEBGL_lose_context")?.loseContext();
  }

  draw(scene: Scene): void {
    const { gl, element } = this;
    const scale = Math.min(devicePixelRatio, 2);
    const [width, height] = [Math.round(element.clientWidth * scale), Math.round(element.clientHeight * scale)];
    if (width === 0 || height === 0) return;
    if (element.width !== width || element.height !== height) [element.width, element.height] = [width, height];
    gl.viewport(0, 0, width, height);
    const [red, green, blue] = rgb(style("back"));
    gl.clearColor(red, green, blue, 1);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA);
    // In pixels of the page.
    this.seen = this.camera.sight(element.clientWidth, element.clientHeight);
    const camera = matrix(this.seen);
    gl.useProgram(this.sphere);
    gl.uniformMatrix4fv(gl.getUniformLocation(this.sphere, "camera"), false, camera);
    gl.uniform3fv(gl.getUniformLocation(this.sphere, "sun"), scene.sun as unknown as number[]);
    gl.uniform1f(gl.getUniformLocation(this.sphere, "night"), scene.layers.night ? 1 : 0);
    gl.bindVertexArray(this.ball.array);
    gl.drawElements(gl.TRIANGLES, this.ball.count, gl.UNSIGNED_SHORT, 0);
    this.nodes.write(scene.nodes);
    this.use(this.lines, camera, style("link"), isDark() ? 0.16 : 0.2);
    if (scene.layers.links) this.drawLinks(scene.links);
    if (scene.layers.footprints) {
      for (const edge of scene.footprints) this.path(edge.map((at) => at.map((value) => value * LIFT)), camera, colour(1), 0.9, 1);
    }
    gl.bindVertexArray(this.nodes.array);
    if (scene.layers.satellites) this.points(camera, 0, scene.satellites, style("satellite"), 3 * scale);
    if (scene.layers.stations) this.points(camera, scene.satellites + 2, scene.stations.length - 2, colour(2), 4 * scale);
    this.route(scene, camera, scale);
  }

  project(at: Vec): [number, number] | null {
    return this.seen && !this.seen.isHidden(at) ? this.seen.place(at) : null;
  }

  private route(scene: Scene, camera: Float32Array, scale: number): void {
    const { gl } = this;
    const places = scene.route.map((number) => [...node(scene, number)]);
    if (places.length > 1) {
      // Lines have a width of one in WebGL: a wide one is several beside each other.
      for (const shift of [-1, 0, 1]) this.path(places, camera, colour(1), 1, 1, (shift * scale) / this.element.width);
    }
    gl.bindVertexArray(this.nodes.array);
    for (const number of scene.route.filter((number) => number < scene.satellites)) this.points(camera, number, 1, colour(1), 8 * scale);
    this.points(camera, scene.satellites, 2, colour(3), 9 * scale);
  }

  private points(camera: Float32Array, first: number, count: number, ink: string, size: number): void {
    if (count <= 0) return;
    const { gl } = this;
    this.use(this.discs, camera, ink, 1);
    gl.uniform1f(gl.getUniformLocation(this.discs, "size"), size);
    gl.drawArrays(gl.POINTS, first, count);
  }

  private path(places: readonly (readonly number[])[], camera: Float32Array, ink: string, alpha: number, size: number, shift = 0): void {
    const { gl } = this;
    this.paths.write(new Float32Array(places.flat()));
    const moved = camera.slice();
    for (let n = 0; n < 4; n++) moved[4 * n] = (moved[4 * n] as number) + shift * (moved[4 * n + 3] as number);
    for (let n = 0; n < 4; n++) moved[4 * n + 1] = (moved[4 * n + 1] as number) + shift * (moved[4 * n + 3] as number);
    this.use(this.lines, moved, ink, alpha);
    gl.uniform1f(gl.getUniformLocation(this.lines, "size"), size);
    gl.drawArrays(gl.LINE_STRIP, 0, places.length);
  }

  private drawLinks(links: Uint32Array): void {
    const { gl } = this;
    gl.bindVertexArray(this.nodes.array);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, this.indices);
    if (links !== this.links) {
      gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, links, gl.DYNAMIC_DRAW);
      this.links = links;
    }
    gl.drawElements(gl.LINES, links.length, gl.UNSIGNED_INT, 0);
  }

  private use(which: WebGLProgram, camera: Float32Array, ink: string, alpha: number): void {
    const { gl } = this;
    gl.useProgram(which);
    gl.uniformMatrix4fv(gl.getUniformLocation(which, "camera"), false, camera);
    gl.uniform4f(gl.getUniformLocation(which, "ink"), ...rgb(ink), alpha);
  }

  /** The picture that lies on the sphere. */
  private ground(): void {
    const { gl } = this;
    const canvas = h("canvas", { width: 2048, height: 1024 });
    paint(canvas, 1.5);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA, gl.RGBA, gl.UNSIGNED_BYTE, canvas);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_MIN_FILTER, gl.LINEAR);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_S, gl.REPEAT);
    gl.texParameteri(gl.TEXTURE_2D, gl.TEXTURE_WRAP_T, gl.CLAMP_TO_EDGE);
  }
}

/** A sphere of triangles, with the place of each corner on the map. */
function ball(gl: WebGL2RenderingContext): { array: WebGLVertexArrayObject; count: number } {
  const [around, along] = [2 * PARTS, PARTS];
  const corners: number[] = [];
  const triangles: number[] = [];
  for (let row = 0; row <= along; row++) {
    for (let column = 0; column <= around; column++) {
      const [u, v] = [column / around, row / along];
      const [lon, lat] = [(u - 0.5) * 2 * Math.PI, (0.5 - v) * Math.PI];
      corners.push(Math.cos(lat) * Math.cos(lon), Math.cos(lat) * Math.sin(lon), Math.sin(lat), u, v);
      const here = row * (around + 1) + column;
      if (row < along && column < around) triangles.push(here, here + around + 1, here + 1, here + 1, here + around + 1, here + around + 2);
    }
  }
  const array = gl.createVertexArray();
  gl.bindVertexArray(array);
  gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(corners), gl.STATIC_DRAW);
  gl.enableVertexAttribArray(0);
  gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 20, 0);
  gl.enableVertexAttribArray(1);
  gl.vertexAttribPointer(1, 2, gl.FLOAT, false, 20, 12);
  gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
  gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, new Uint16Array(triangles), gl.STATIC_DRAW);
  return { array, count: triangles.length };
}
