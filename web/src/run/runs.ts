// The runs that go on: one for each variant that was chosen.

import { LOST, Talk, type Wrong } from "../api";
import { type Ended, Series, type Told } from "./series";

export interface Asked {
  scenario: string;
  seed: number | null;
  variants: (string | null)[];
  speed: number | null;
  paused: boolean;
  packets: { from_s: number; until_s: number } | null;
}

/** A run of one variant. */
export interface Run {
  variant: string | null;
  series: Series | null;
  ended: Ended | null;
  wrong: Wrong | null;
  over: boolean;
}

export class Runs {
  readonly all: Run[];
  private readonly talks: Talk<Told>[];

  constructor(asked: Asked, changed: () => void) {
    const { variants, ...rest } = asked;
    this.all = variants.map((variant) => ({ variant, series: null, ended: null, wrong: null, over: false }));
    this.talks = this.all.map((run) => {
      const request = Object.fromEntries(Object.entries({ ...rest, variant: run.variant }).filter(([, value]) => value !== null));
      return new Talk<Told>("run", request, {
        told: (message) => {
          if (message.kind === "began") run.series = new Series(message);
          else if (message.kind === "samples") run.series?.push(message);
          else run.ended = message;
          changed();
        },
        wrong: (wrong) => {
          run.wrong = wrong;
          changed();
        },
        closed: (refused) => {
          run.over = true;
          if (!refused && run.ended === null) run.wrong = LOST;
          changed();
        },
      });
    });
  }

  get goOn(): boolean {
    return this.all.some((run) => !run.over);
  }

  say(message: unknown): void {
    this.talks.forEach((talk) => talk.say(message));
  }

  stop(): void {
    this.talks.forEach((talk) => talk.close());
    this.all.forEach((run) => (run.over = true));
  }
}
