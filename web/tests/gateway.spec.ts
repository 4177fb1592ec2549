import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { end, gateways, traffic } from "./gateways";
import { expect, start, test as served, type } from "./served";

const test = served.extend<object, { pair: { ops: number[]; socks: number } }>({
  pair: [
    async ({}, use) => {
      const folder = mkdtempSync(join(tmpdir(), "bentpipe-page-"));
      const { processes, ...pair } = await gateways(folder);
      await use(pair);
      await end(processes);
      rmSync(folder, { recursive: true });
    },
    { scope: "worker" },
  ],
  url: [
    async ({ pair }, use) => {
      const { line, process } = await start(["serve", "--listen", "127.0.0.1:0", ...pair.ops.flatMap((ops) => ["--gateway", `127.0.0.1:${ops}`])]);
      await use(line);
      process.kill("SIGTERM");
    },
    { scope: "worker" },
  ],
});

test("two gateways are watched: peers, flows and rates", { tag: "@look" }, async ({ served, pair, page }) => {
  await expect(async () => {
    const socket = connect(pair.socks, "127.0.0.1");
    await new Promise((done, failed) => socket.once("connect", done).once("error", failed));
    socket.destroy();
  }).toPass();
  const stop = await traffic(pair.socks);
  await served.open("tab=gateway");
  const peers = page.getByRole("region", { name: "Peers" });
  await expect(peers).toHaveCount(2);
  await expect(peers.first()).toContainText("sea");
  await expect(peers.first()).toContainText("up");
  await expect(page.getByRole("region", { name: /^Flows/ }).last()).toContainText("127.0.0.1:");
  await expect(page.getByText(/terminal, up/)).toBeVisible();
  await expect(page.getByRole("group", { name: "Carried" }).last().locator("canvas")).toBeVisible();
  await served.look("gateway");
  stop();
});

test("a configuration is checked while it is typed", async ({ served }) => {
  const page = await served.open("tab=gateway");
  const editor = page.getByRole("textbox", { name: "Configuration of a gateway, in TOML" });
  await expect(page.getByText(/it is the example's/)).toBeVisible();
  await type(editor, 'role = "hub"\nkee = "x"\n');
  await expect(page.getByText(/did you mean `key`\?/).first()).toBeVisible();
});
