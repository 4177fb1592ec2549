// What the server says of comparisons and of papers' figures.

export interface Estimate {
  mean: number;
  sd: number | null;
  ci95: number | null;
  n: number;
}

export interface Row {
  rank: number;
  variant: string;
  goodput: Estimate;
  to_best: Estimate;
  utilisation: Estimate | null;
  limited_by: Record<string, number> | null;
  overhead: Estimate | null;
  fairness: Estimate | null;
  queueing_delay: Estimate | null;
  connection_time: Estimate | null;
  complete: number;
}

export interface Comparison {
  scenario: string;
  flows: string[];
  replications: number;
  chance: boolean;
  rows: Row[];
}

export interface Point {
  x: number;
  variant: string;
  metric: string;
  mean: number;
  ci95: number;
  n: number;
}

export interface Figure {
  id: string;
  figure: string;
  title: string;
  x_label: string;
  metric: string;
  points: Point[];
  claims: { text: string; holds: boolean | null; measured: string; informative: boolean; bound: "paper" | "ours" }[];
}

export interface Run {
  variant: string;
  seed: number;
  goodput: number;
  queueing_delay: number | null;
  connection_time: number | null;
  retransmitted_segments: number;
  complete: boolean;
}

export type Told =
  | { kind: "progress"; done: number; total: number }
  | { kind: "compared"; comparison: Comparison; runs: Run[]; legend: { variant: string; summary: string | null }[]; left_out: string[]; cut: boolean }
  | { kind: "reproduced"; experiments: { experiments: Figure[] } };
