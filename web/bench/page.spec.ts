// How quick the page is: pictures a second, the first paint, and what the server takes when nobody asks.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { start, test, type } from "../tests/served";
import { firstPaint } from "./paint";

/** Pictures of the browser over some seconds, and those of them in which something of the sky or the run was really another one. */
const pictures = ([seconds, what]: readonly [number, "sky" | "run"]) =>
  new Promise<string>((done) => {
    const { drawn } = globalThis as unknown as { drawn: Record<"sky" | "run", number> };
    const before = drawn[what];
    let count = 0;
    const first = performance.now();
    const tick = () => {
      count += 1;
      const passed = (performance.now() - first) / 1000;
      if (passed >= seconds) done(`${((drawn[what] - before) / passed).toFixed(1)} drawn, ${(count / passed).toFixed(1)} of the browser`);
      else requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  });

const tell = (what: string, value: string) => process.stdout.write(`${what}: ${value}\n`);

/** Time for the server to follow the route as far as the pictures will go. */
const AHEAD_MS = 45_000;

/** Element sets of 4,400 satellites in 80 planes. */
function elements(): string {
  const whole = (line: string) => line + ([...line].reduce((sum, char) => sum + (char === "-" ? 1 : Number(char) || 0), 0) % 10);
  const angle = (degrees: number) => degrees.toFixed(4).padStart(8);
  return Array.from({ length: 4400 }, (_, n) => {
    const [plane, place] = [Math.floor(n / 55), n % 55];
    const number = String(10_000 + n);
    const first = whole(`1 ${number}U 26001A   26330.50000000  .00000000  00000-0  00000-0 0  999`);
    const second = whole(`2 ${number} ${angle(53)} ${angle(4.5 * plane)} 0001000 ${angle(0)} ${angle((360 * place) / 55)} 15.06000000    1`);
    return `SAT ${n}\n${first}\n${second}\n`;
  }).join("");
}

for (const [view, hash] of [["globe", ""], ["map", "&view=map"], ["globe by WebGL", "&graphics=card"]] as const) {
  test(`sky, ${view}`, async ({ served }) => {
    const page = await served.open(`tab=sky&sky=iridium&rate=60${hash}`);
    await page.getByLabel("Element sets in its place").setInputFiles({ name: "sky.tle", mimeType: "text/plain", buffer: Buffer.from(elements()) });
    await page.locator("dl.figures").getByText("4400").waitFor();
    // The route is followed ahead, so that nothing is awaited while pictures are counted.
    await page.getByRole("button", { name: "Pause" }).click();
    await page.waitForTimeout(AHEAD_MS);
    await page.getByRole("button", { name: "Play" }).click();
    tell(`sky, ${view}, 4,400 satellites, pictures/s`, await page.evaluate(pictures, [8, "sky"] as const));
  });
}

const TEN = `name = "ten"
nodes = ["a", "b"]
duration = "10 min"
[links.space]
between = ["a", "b"]
rate = "50 Mbit/s"
delay = "250 ms"
queue = "500 packets"
${Array.from({ length: 10 }, (_, n) => `[flows.f${n}]\nfrom = "a"\nto = "b"\nprotocol = "tcp"\n`).join("")}`;

test("run of ten flows", async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=10");
  await type(page.getByRole("textbox", { name: "Scenario, in TOML" }), TEN);
  await page.getByRole("button", { name: /^Run/ }).click();
  await page.getByText(/ten, seed 1: at/).waitFor();
  tell("run of ten flows at 10 x, pictures/s", await page.evaluate(pictures, [8, "run"] as const));
  await page.getByLabel("Simulated time runs").selectOption("as fast as it goes");
  tell("the same as fast as it goes, pictures/s", await page.evaluate(pictures, [4, "run"] as const));
});

test("first paint", async ({ served }) => {
  for (const tab of ["sky", "run", "compare", "gateway"]) {
    const page = await served.open(`tab=${tab}`);
    await page.reload();
    await page.locator("main > *").waitFor();
    const paint = await firstPaint(page);
    // The page goes on to read what it draws.
    await page.waitForLoadState("networkidle");
    const bytes = await page.evaluate(() => performance.getEntriesByType("resource").reduce((sum, one) => sum + (one as PerformanceResourceTiming).transferSize, 0));
    tell(`${tab}: first contentful paint, ms; bytes that came`, `${paint.toFixed(0)}; ${bytes}`);
  }
});

test("idle", async () => {
  const { process: server } = await start(["serve", "--listen", "127.0.0.1:0"]);
  const ticks = () => readFileSync(`/proc/${server.pid}/stat`, "utf8").split(") ")[1]?.split(" ").slice(11, 13).map(Number).reduce((a, b) => a + b, 0) ?? 0;
  const perSecond = Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
  const before = ticks();
  await new Promise((done) => setTimeout(done, 20_000));
  const resident = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, "utf8"))?.[1];
  tell("idle: CPU, %; resident, MB", `${(((ticks() - before) / perSecond / 20) * 100).toFixed(2)}; ${(Number(resident) / 1000).toFixed(1)}`);
  server.kill("SIGTERM");
});
