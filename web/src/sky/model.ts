// A sky: what the server says of it, and what is drawn of it at a time.

import { LOST, Talk, type Wrong } from "../api";
import { Course } from "./course";
import { Frames } from "./frames";
import { footprint, place, sun } from "./geometry";
import { type Layers, node, type Scene } from "./scene";
import type { Sky, Told } from "./told";

export interface Asked {
  constellation: string;
  elements?: string;
  from: string;
  to: string;
  duration_s: number;
  step_s: number;
  update_interval_s: number;
  elevation_mask_deg?: number;
}

/** When ideal orbits start, which have no civil time: as in the command's CZML. */
const IDEAL_START = "2000-01-01T12:00:00Z";
const EDGE_POINTS = 72;

export class Model {
  sky: Sky | null = null;
  course: Course | null = null;
  private frames: Frames | null = null;
  private nodes = new Float32Array(0);
  private readonly talk: Talk<Told>;

  constructor(readonly asked: Asked, changed: () => void, wrong: (wrong: Wrong) => void) {
    this.talk = new Talk<Told>("sky", asked, {
      told: (message) => {
        if (message.kind === "sky") this.open(message);
        else this.course?.take(message);
        changed();
      },
      frame: (frame) => {
        this.frames?.take(frame);
        changed();
      },
      wrong,
      closed: (refused) => {
        if (!refused) wrong(LOST);
      },
    });
  }

  close(): void {
    this.talk.close();
  }

  /** What is drawn at a time; nothing before positions are known. */
  scene(time: number, speed: number, layers: Layers): Scene | null {
    const { sky, course, frames } = this;
    if (!sky || !course || !frames) return null;
    frames.want(time, Math.min(4, Math.ceil(speed / 60)));
    if (!frames.at(time, sky.earth_radius_km, this.nodes)) return null;
    const route = course.at(time)?.route ?? [];
    const satellites = sky.satellites.length;
    const scene: Scene = { nodes: this.nodes, satellites, stations: sky.stations, links: course.linksOf(time), route, footprints: [], sun: sun(this.civil(time)), layers };
    const ends = [route[1], route.at(-2)].filter((number): number is number => number !== undefined && number < satellites);
    scene.footprints = [...new Set(ends)].map((number) => footprint(node(scene, number), sky.masks_deg[number] ?? 0, EDGE_POINTS));
    return scene;
  }

  /** The date at a time of the run. */
  civil(time: number): Date {
    const start = this.sky?.start ?? IDEAL_START;
    return new Date(Date.parse(start.endsWith("Z") ? start : `${start}Z`) + 1000 * time);
  }

  /** The name of a node. */
  name(number: number): string {
    const { sky } = this;
    if (!sky) return "";
    return sky.satellites[number] ?? sky.stations[number - sky.satellites.length]?.name ?? "";
  }

  private open(sky: Sky): void {
    this.sky = sky;
    this.course = new Course(sky);
    this.frames = new Frames(sky.satellites.length, (at) => this.talk.say({ at }));
    this.nodes = new Float32Array(3 * (sky.satellites.length + sky.stations.length));
    sky.stations.forEach(({ latitude, longitude }, n) => this.nodes.set(place(latitude, longitude), 3 * (sky.satellites.length + n)));
  }
}
