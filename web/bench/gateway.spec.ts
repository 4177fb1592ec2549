// How quick the tab of one gateway is: until its peer is shown, and what of a second the page works while it is watched.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { end, gateways, traffic } from "../tests/gateways";
import { start, test } from "../tests/served";
import { firstPaint } from "./paint";

test("gateway", async ({ page }) => {
  const folder = mkdtempSync(join(tmpdir(), "bentpipe-page-"));
  const { processes, ops, socks } = await gateways(folder);
  const { line: url, process: server } = await start(["serve", "--listen", "127.0.0.1:0", "--gateway", `127.0.0.1:${ops[1]}`]);
  await page.waitForTimeout(3000);
  const stop = await traffic(socks);
  await page.goto(`${url}#tab=gateway`);
  await page.reload();
  await page.getByRole("region", { name: "Peers" }).getByText("land").waitFor();
  const shown = await page.evaluate(() => performance.now());
  const paint = await firstPaint(page);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable");
  const busy = async () => (await session.send("Performance.getMetrics")).metrics.find(({ name }) => name === "TaskDuration")?.value ?? Number.NaN;
  const before = await busy();
  await page.waitForTimeout(8000);
  const share = ((await busy()) - before) / 8;
  process.stdout.write(`gateway: first contentful paint, until its peer is shown, ms: ${paint.toFixed(0)}, ${shown.toFixed(0)}; the page works: ${(1000 * share).toFixed(0)} ms of a second\n`);
  stop();
  await end([server, ...processes]);
  rmSync(folder, { recursive: true });
});
