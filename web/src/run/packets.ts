// Packets one by one, on a diagram of time and sequence.

import { colour, onTheme, style } from "../colours";
import { field, h } from "../dom";
import { digits } from "../format";
import * as state from "../state";
import type { Packet, Series } from "./series";

const HEIGHT = 260;
const LEFT = 64;
const BELOW = 24;

/** A packet as it is drawn: data above what it begins with, or an acknowledgment. */
interface Mark {
  time: number;
  seq: number;
  length: number;
  isAck: boolean;
  again: boolean;
}

export class Packets {
  readonly choice: HTMLElement;
  readonly element: HTMLElement;
  private readonly on = h("input", { type: "checkbox" });
  private readonly from = h("input", { type: "number", min: 0, step: 0.1, value: 0 });
  private readonly until = h("input", { type: "number", min: 0, step: 0.1, value: 5 });
  private readonly canvas = h("canvas", { class: "sequence", role: "img", "aria-label": "Sequence numbers of packets over time" });
  private marks: Mark[] = [];
  private drawn = 0;
  private readonly sizes = new ResizeObserver(() => this.draw());
  private readonly forget: () => void;

  constructor() {
    const label = h("label", { class: "check" }, this.on, "Packets one by one, from the run's second");
    this.choice = h("fieldset", { class: "packets" }, h("legend", { class: "unseen", text: "Packets" }), label, field("From, s", this.from), field("until, s", this.until));
    this.element = h(
      "figure",
      { class: "chart", hidden: true },
      h("figcaption", { text: "Packets of the first flow: data where they enter the first link, acknowledgments where they enter their first link; retransmissions in the second colour" }),
      this.canvas,
    );
    const [begins, ends] = state.get("packets").split("-");
    if (begins && ends) [this.on.checked, this.from.value, this.until.value] = [true, begins, ends];
    this.sizes.observe(this.element);
    this.forget = onTheme(() => this.draw());
  }

  close(): void {
    this.forget();
    this.sizes.disconnect();
  }

  get window(): { from_s: number; until_s: number } | null {
    const [from_s, until_s] = [Number(this.from.value), Number(this.until.value)];
    return this.on.checked && until_s > from_s ? { from_s, until_s } : null;
  }

  clear(): void {
    this.marks = [];
    this.drawn = 0;
    this.element.hidden = this.window === null;
    this.draw();
  }

  show(all: Series[]): void {
    const packets = all[0]?.packets ?? [];
    if (packets.length === this.drawn || this.element.hidden) return;
    this.drawn = packets.length;
    this.marks = marks(all[0] as Series, packets);
    this.draw();
  }

  private draw(): void {
    const width = this.element.clientWidth - 24;
    const context = this.canvas.getContext("2d");
    if (!context || width <= 0) return;
    const scale = devicePixelRatio;
    // What was there before goes.
    this.canvas.width = width * scale;
    this.canvas.height = HEIGHT * scale;
    this.canvas.style.height = `${HEIGHT}px`;
    if (this.marks.length === 0) return;
    context.scale(scale, scale);
    const times = this.marks.map((mark) => mark.time);
    const tops = this.marks.map((mark) => mark.seq + mark.length);
    const [first, last] = [times[0] as number, times.at(-1) as number];
    const [low, high] = [Math.min(...sampled(this.marks.map((mark) => mark.seq))), Math.max(...sampled(tops))];
    const x = (time: number) => LEFT + ((time - first) / (last - first || 1)) * (width - LEFT - 8);
    const y = (seq: number) => HEIGHT - BELOW - ((seq - low) / (high - low || 1)) * (HEIGHT - BELOW - 8);
    context.font = "11px system-ui, sans-serif";
    context.fillStyle = style("faint");
    context.strokeStyle = style("grid");
    for (let n = 0; n <= 4; n++) {
      const [time, seq] = [first + ((last - first) * n) / 4, low + ((high - low) * n) / 4];
      context.strokeRect(LEFT, y(seq), width - LEFT - 8, 0);
      context.fillText(`${digits(time)} s`, Math.min(x(time), width - 40), HEIGHT - 8);
      context.fillText(seq.toFixed(0), 0, y(seq) + 4);
    }
    for (const mark of this.marks) {
      context.fillStyle = colour(mark.isAck ? 2 : mark.again ? 1 : 0);
      const height = Math.max(2, y(mark.seq) - y(mark.seq + mark.length));
      context.fillRect(x(mark.time), y(mark.seq + mark.length), 2, mark.isAck ? 2 : height);
    }
  }
}

/** So few that a call takes them as arguments. */
function sampled(all: number[]): number[] {
  const step = Math.ceil(all.length / 10_000);
  return step <= 1 ? all : all.filter((_, n) => n % step === 0 || n === all.length - 1);
}

/** What is drawn of a flow's packets: numbers count from the least that is seen. */
function marks({ began }: Series, packets: readonly Packet[]): Mark[] {
  const flow = began.flows[0];
  const [from, to] = [began.nodes.indexOf(flow?.from ?? ""), began.nodes.indexOf(flow?.to ?? "")];
  const first = (packet: Packet) => {
    const link = began.links[packet.direction];
    return link?.from === began.nodes[packet.from];
  };
  const isData = (packet: Packet) => packet.from === from && packet.to === to && first(packet) && packet.seq !== undefined && (packet.length ?? 0) > 0;
  // Two flows may have the same ends: it is the one that is seen first.
  const data = packets.find(isData);
  if (!data) return [];
  const base = data.seq as number;
  // Numbers go round: what is a little less than the first one was sent before it.
  const after = (seq: number) => (seq - base) | 0;
  let most = Number.NEGATIVE_INFINITY;
  const all = packets.flatMap((packet): Mark[] => {
    if (isData(packet) && packet.source_port === data.source_port) {
      const [seq, length] = [after(packet.seq as number), packet.length as number];
      const again = seq < most;
      most = Math.max(most, seq + length);
      return [{ time: packet.time_s, seq, length, isAck: false, again }];
    }
    if (packet.from === to && packet.to === from && first(packet) && packet.destination_port === data.source_port && typeof packet.ack === "number") {
      return [{ time: packet.time_s, seq: after(packet.ack), length: 0, isAck: true, again: false }];
    }
    return [];
  });
  const least = all.reduce((low, mark) => Math.min(low, mark.seq), 0);
  return all.map((mark) => ({ ...mark, seq: mark.seq - least }));
}
