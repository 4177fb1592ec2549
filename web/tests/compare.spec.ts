import { expect, test } from "./served";

test("variants are ranked with intervals, and a bar leads to its runs and to one of them", { tag: "@look" }, async ({ served }) => {
  const page = await served.open("tab=compare&scenario=leo-handovers&compared=tcp-cubic,tcp-bbr,xstp-probing&seeds=2");
  const bars = page.getByRole("group", { name: /Goodput of each variant/ }).getByRole("button");
  await expect(bars).toHaveCount(3);
  await expect(page.getByRole("region", { name: "All that was measured" })).toContainText("Mbit/s");
  await served.look("compare");
  await bars.filter({ hasText: "tcp-bbr" }).press("Enter");
  await expect(page.getByRole("table", { name: "Runs of the variant" }).getByRole("row")).toHaveCount(2);
  await page.getByRole("button", { name: "Watch the run with seed 1" }).click();
  await expect(page.getByRole("tab", { name: "Run" })).toHaveAttribute("aria-selected", "true");
  await expect(page).toHaveURL(/variants=tcp-bbr/);
  await expect(page.getByLabel("Seed", { exact: true })).toHaveValue("1");
});

test("a figure of a paper is drawn and judged", { tag: "@look" }, async ({ served }) => {
  const page = await served.open("tab=compare&scenario=geo&compared=tcp-cubic&seeds=1&experiment=E2&reps=1");
  await page.getByRole("button", { name: "Reproduce" }).click();
  await expect(page.getByRole("status").filter({ hasText: "claims hold" })).toBeVisible();
  await served.look("compare-paper");
});
