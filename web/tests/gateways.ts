// Two gateways on this host, and traffic between them.

import { type ChildProcess, execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { join } from "node:path";

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
export async function gateways(folder: string): Promise<{ processes: ChildProcess[]; ops: number[]; socks: number }> {
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
export async function traffic(socks: number): Promise<() => void> {
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

/** Ends processes, and waits until they have written what they keep. */
export async function end(processes: ChildProcess[]): Promise<void> {
  const gone = processes.map((one) => new Promise((done) => one.once("exit", done)));
  processes.forEach((one) => one.kill("SIGTERM"));
  await Promise.all(gone);
}
