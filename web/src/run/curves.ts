// What the charts of a run show.

import uPlot from "uplot";
import type { Column, Line } from "../chart";
import { colour } from "../colours";
import type { Run } from "./runs";
import type { Flow, Series } from "./series";

/** A curve of one run: what it is called there, whose colour it has, and its values. */
export interface Curve {
  label: string;
  number: number;
  values: Column;
  dashed?: boolean;
}

/** What a chart shows of a run. */
export type Take = (series: Series) => Curve[];

/** A curve for each flow, and a dashed one that belongs to it. */
export function ofFlows(take: (flow: Flow) => Column, also?: { label: string; take: (flow: Flow) => Column }): Take {
  return ({ flows }) =>
    flows.flatMap((flow, number) => [
      { label: flow.name, number, values: take(flow) },
      ...(also ? [{ label: `${flow.name}, ${also.label}`, number, values: also.take(flow), dashed: true }] : []),
    ]);
}

/** A curve for each direction of a link where anything has waited. */
export const queues: Take = ({ began, queues, waited }) =>
  queues.flatMap((values, number) => {
    const { name, from, to } = began.links[number] ?? { name: "", from: "", to: "" };
    return waited[number] ? [{ label: `${name}, ${from} to ${to}`, number, values }] : [];
  });

/** The curves of all runs over one time. */
export function together(runs: Run[], take: Take): { lines: Line[]; times: number[]; columns: Column[] } {
  const lines: Line[] = [];
  const tables = runs.flatMap((run, n): uPlot.AlignedData[] => {
    const { series } = run;
    if (!series || series.time.length === 0) return [];
    const curves = take(series);
    const each = Math.max(...curves.map(({ number }) => number + 1), 1);
    for (const { label, number, dashed } of curves) {
      lines.push({ label: runs.length === 1 ? label : `${named(run)}${curves.length > 1 ? `, ${label}` : ""}`, colour: () => colour(n * each + number), ...(dashed ? { dashed } : {}) });
    }
    return [[series.time, ...curves.map(({ values }) => values)]];
  });
  // Runs get on at paces of their own, and keep as many moments as they can: what they have is put together by time.
  const [times = [], ...columns] = tables.length > 1 ? uPlot.join(tables) : (tables[0] ?? [[]]);
  return { lines, times: times as number[], columns: columns as Column[] };
}

/** What a run is called among others. */
export function named(run: Run): string {
  return run.variant ?? "as written";
}
