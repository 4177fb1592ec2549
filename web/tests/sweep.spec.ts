import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "./served";

const PROGRAM = process.env["BENTPIPE"] ?? "../target/debug/bentpipe";
const folder = mkdtempSync(join(tmpdir(), "bentpipe-results-"));

test.use({ words: [folder] });

test.beforeAll(() => {
  const words = ["sweep", "geo", "--set", "flows.file.size=200 kB", "--vary", "links.satellite.loss=0,0.01", "--vary", "links.satellite.rate=2,10 Mbit/s"];
  execFileSync(PROGRAM, [...words, "--variants", "tcp-cubic,tcp-bbr", "--seeds", "1-2", "--out", join(folder, "runs.parquet")], { stdio: "pipe" });
});

test.afterAll(() => rmSync(folder, { recursive: true }));

test("a sweep is a matrix, and a cell leads to its runs and to one of them", { tag: "@look" }, async ({ served }) => {
  const page = await served.open("tab=compare&result=runs.parquet");
  const matrix = page.getByRole("table", { name: /goodput_bps by/ });
  await expect(matrix.getByRole("button")).toHaveCount(4);
  await expect(matrix.getByRole("rowheader")).toHaveText(["tcp-cubic", "tcp-bbr"]);
  await matrix.getByRole("button", { name: /^tcp-bbr, 0.01:/ }).click();
  const runs = page.getByRole("table", { name: "Runs of the cell" });
  await expect(runs.getByRole("row")).toHaveCount(3);
  await served.look("compare-sweep");
  // Its link shows the same.
  await page.reload();
  await expect(matrix.getByRole("button")).toHaveCount(4);
  await page.getByLabel("Measure").selectOption("queueing_delay_s");
  await expect(page.getByRole("table", { name: /queueing_delay_s by/ })).toContainText("ms");
  await page.getByLabel("links.satellite.rate").selectOption("10");
  await page.getByRole("button", { name: /^tcp-bbr, 0.01:/ }).click();
  await page.getByRole("button", { name: "Watch the run with seed 2" }).click();
  await expect(page.getByRole("tab", { name: "Run" })).toHaveAttribute("aria-selected", "true");
  const editor = page.getByRole("textbox", { name: "Scenario, in TOML" });
  await expect(editor).toContainText("loss = 0.01");
  await expect(editor).toContainText('rate = "10 Mbit/s"');
  await expect(page.getByLabel("Seed", { exact: true })).toHaveValue("2");
  await expect(page.getByText(/geo, seed 2: ended after/)).toBeVisible();
});
