// How many pictures were really drawn, of what moves: `make bench-page` asks. A picture of the browser in which nothing of it is
// another one counts nothing.

const counts: Record<"sky" | "run", number> = { sky: 0, run: 0 };
Object.assign(globalThis, { drawn: counts });

/** One more. */
export function drawn(what: keyof typeof counts): void {
  counts[what] += 1;
}
