import { type ChildProcess, execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, start, test as served, type } from "./served";

const PROGRAM = process.env["BENTPIPE"] ?? "../target/debug/bentpipe";

/** A free port of this host. */
async function port(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const { port } = server.address() as AddressInfo;
  await new Promise((done) => server.close(done));
  return port;
}

/** Two gateways on loopback, and where both serve their status and the terminal its proxy. */
async function gateways(folder: string): Promise<{ processes: ChildProcess[]; ops: number[]; socks: number }> {
  const keys = ["hub", "terminal"].map((name) => execFileSync(PROGRAM, ["keygen", "--key", join(folder, name)], { encoding: "utf8" }).trim().split(/\s+/).at(-1));
  const [listen, far, hubOps, terminalOps, socks] = (await Promise.all([port(), port(), port(), port(), port()])) as [number, number, number, number, number];
  const write = (name: string, text: string) => {
    const path = join(folder, `${name}.toml`);
    writeFileSync(path, text);
    return path;
  };
  const hub = write("hub-config", `role = "hub"\nkey = "${folder}/hub"\nlisten = "127.0.0.1:${listen}"\nallow = ["127.0.0.0/8"]\n[peers.sea]\nkey = "${keys[1]}"\n[ops]\nlisten = "127.0.0.1:${hubOps}"\n`);
  const terminal = write(
    "terminal-config",
    `role = "terminal"\nkey = "${folder}/terminal"\nlisten = "127.0.0.1:${far}"\n[peers.land]\nkey = "${keys[0]}"\naddress = "127.0.0.1:${listen}"\n[socks5]\nlisten = "127.0.0.1:${socks}"\n[ops]\nlisten = "127.0.0.1:${terminalOps}"\n`,
  );
  const { spawn } = await import("node:child_process");
  const processes = [hub, terminal].map((config) => spawn(PROGRAM, ["gateway", "--config", config], { stdio: "ignore" }));
  return { processes, ops: [hubOps, terminalOps], socks };
}

/** Bytes that a server sends without end, taken through the proxy of the terminal. */
async function traffic(socks: number): Promise<() => void> {
  const server = createServer((client) => {
    const more = () => {
      while (client.write(Buffer.alloc(16384)));
    };
    client.on("drain", more).on("error", () => {});
    more();
  }).listen(0, "127.0.0.1");
  await new Promise((done) => server.once("listening", done));
  const { port } = server.address() as AddressInfo;
  const socket = connect(socks, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(Buffer.from([5, 1, 0]));
  socket.once("data", () => {
    socket.write(Buffer.from([5, 1, 0, 1, 127, 0, 0, 1, port >> 8, port & 255]));
    socket.resume();
  });
  return () => {
    socket.destroy();
    server.close();
  };
}

const test = served.extend<object, { pair: { ops: number[]; socks: number } }>({
  pair: [
    async ({}, use) => {
      const folder = mkdtempSync(join(tmpdir(), "bentpipe-page-"));
      const { processes, ...pair } = await gateways(folder);
      await use(pair);
      processes.forEach((process) => process.kill("SIGTERM"));
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
