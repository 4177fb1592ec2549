// The few things that are needed of WebGL.

export function program(gl: WebGL2RenderingContext, vertex: string, fragment: string): WebGLProgram {
  const made = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]] as const) {
    const shader = gl.createShader(kind) as WebGLShader;
    gl.shaderSource(shader, `#version 300 es\nprecision mediump float;\n${source}`);
    gl.compileShader(shader);
    if (!gl.getShaderParameter(shader, gl.COMPILE_STATUS)) throw new Error(gl.getShaderInfoLog(shader) ?? "no shader");
    gl.attachShader(made, shader);
  }
  // The position is in the same place everywhere.
  gl.bindAttribLocation(made, 0, "position");
  gl.linkProgram(made);
  if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made) ?? "no program");
  return made;
}

/** A vertex array of positions that are written anew for each picture. */
export class Positions {
  readonly array: WebGLVertexArrayObject;
  private readonly buffer: WebGLBuffer;
  private room = 0;

  constructor(private readonly gl: WebGL2RenderingContext) {
    this.array = gl.createVertexArray();
    this.buffer = gl.createBuffer();
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 3, gl.FLOAT, false, 0, 0);
  }

  write(values: Float32Array): void {
    const { gl } = this;
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    if (values.byteLength > this.room) {
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.DYNAMIC_DRAW);
      this.room = values.byteLength;
    } else gl.bufferSubData(gl.ARRAY_BUFFER, 0, values);
  }
}

/** Red, green and blue of a colour as the style writes it, from 0 to 1. */
export function rgb(colour: string): [number, number, number] {
  const hex = /^#(..)(..)(..)$/.exec(colour);
  if (!hex) return [0.5, 0.5, 0.5];
  return [1, 2, 3].map((n) => Number.parseInt(hex[n] as string, 16) / 255) as [number, number, number];
}
