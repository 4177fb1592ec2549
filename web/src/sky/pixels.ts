// A picture whose pixels are written one by one: thousands of thin lines cost a hundredth of what a path of them costs.

import { rgb } from "./gl";

/** A colour as a pixel has it, opaque. */
export function word(colour: string): number {
  const [red, green, blue] = rgb(colour).map((part) => Math.round(255 * part)) as [number, number, number];
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}

/** A colour between two. */
export function mixed(from: number, to: number, share: number): number {
  const of = Math.max(0, Math.min(256, Math.round(256 * share)));
  const pair = ((from & 0xff00ff) * (256 - of) + (to & 0xff00ff) * of) / 256;
  const green = ((from & 0xff00) * (256 - of) + (to & 0xff00) * of) / 256;
  return (0xff000000 | (pair & 0xff00ff) | (green & 0xff00)) >>> 0;
}

export class Pixels {
  private readonly image: ImageData;
  private readonly words: Uint32Array;
  /** What is behind lines; whoever has written it tells that by `tint`. */
  readonly back: Uint32Array;
  /** What is behind, with some of the colour of lines in it: where lines cross they are no darker. */
  private readonly tinted: Uint32Array;

  constructor(
    readonly wide: number,
    readonly tall: number,
  ) {
    this.image = new ImageData(wide, tall);
    this.words = new Uint32Array(this.image.data.buffer);
    this.back = new Uint32Array(wide * tall);
    this.tinted = new Uint32Array(wide * tall);
  }

  /** Takes what is behind lines. */
  behind(picture: CanvasRenderingContext2D): void {
    this.back.set(new Uint32Array(picture.getImageData(0, 0, this.wide, this.tall).data.buffer));
  }

  /** Takes the colour of lines. */
  tint(ink: string, alpha: number): void {
    const { back, tinted } = this;
    const colour = word(ink);
    // Neighbours are mostly alike.
    let [last, mix] = [0, 0];
    for (let n = 0; n < back.length; n++) {
      const behind = back[n] as number;
      if (behind !== last) [last, mix] = [behind, mixed(behind, colour, alpha)];
      tinted[n] = mix;
    }
  }

  clear(): void {
    this.words.set(this.back);
  }

  /** A line of the colour that was told; what lies beside the picture is left out. */
  line(x: number, y: number, toX: number, toY: number): void {
    const { wide, tall, words, tinted } = this;
    const steps = Math.max(1, Math.ceil(Math.max(Math.abs(toX - x), Math.abs(toY - y))));
    const [dx, dy] = [(toX - x) / steps, (toY - y) / steps];
    for (let n = 0; n <= steps; n++) {
      const [column, row] = [(x + n * dx) | 0, (y + n * dy) | 0];
      if (column < 0 || column >= wide || row < 0 || row >= tall) continue;
      const at = row * wide + column;
      words[at] = tinted[at] as number;
    }
  }

  /** Squares around places, as x and y after each other. */
  squares(places: Float32Array, count: number, size: number, ink: string): void {
    const { wide, tall, words } = this;
    const colour = word(ink);
    for (let n = 0; n < count; n++) {
      const [left, top] = [Math.round((places[2 * n] as number) - size / 2), Math.round((places[2 * n + 1] as number) - size / 2)];
      for (let row = Math.max(0, top); row < Math.min(tall, top + size); row++) {
        words.fill(colour, row * wide + Math.max(0, left), row * wide + Math.min(wide, left + size));
      }
    }
  }

  put(context: CanvasRenderingContext2D, left: number, top: number): void {
    context.putImageData(this.image, left, top);
  }
}
