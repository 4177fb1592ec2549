// The page, served by the real program, and what must hold on each of its views.

import { AxeBuilder } from "@axe-core/playwright";
import { test as base, expect, type Locator, type Page } from "@playwright/test";
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";

const PROGRAM = process.env["BENTPIPE"] ?? "../target/debug/bentpipe";

/** Starts the program and gives the first line that it prints; it ends when the process is killed. */
export function start(words: string[]): Promise<{ line: string; process: ChildProcess }> {
  const process = spawn(PROGRAM, words, { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: process.stdout });
  return new Promise((done, failed) => {
    lines.once("line", (line) => done({ line, process }));
    process.once("exit", (code) => failed(new Error(`${words.join(" ")} ended with ${code}`)));
    process.once("error", failed);
  });
}

/** Types a text in place of what is in an editor, as fingers do it. */
export async function type(editor: Locator, text: string): Promise<void> {
  await editor.click();
  await editor.press("ControlOrMeta+A");
  await editor.press("Delete");
  await editor.page().keyboard.insertText(text);
}

interface Served {
  /** Where the page is. */
  url: string;
  /** Opens a view of it. */
  open: (hash: string) => Promise<Page>;
  /** Keeps a picture of it, and asks axe what is wrong. */
  look: (name: string) => Promise<void>;
}

export const test = base.extend<{ served: Served }, { url: string; words: string[] }>({
  words: [[], { scope: "worker", option: true }],
  url: [
    async ({ words }, use) => {
      const { line, process } = await start(["serve", "--listen", "127.0.0.1:0", ...words]);
      await use(line);
      process.kill("SIGTERM");
    },
    { scope: "worker" },
  ],
  served: async ({ page, url }, use, info) => {
    const said: string[] = [];
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") said.push(message.text());
    });
    page.on("pageerror", (error) => said.push(error.message));
    page.on("request", (request) => {
      const own = request.url().startsWith(url) || /^(data|blob):/.test(request.url());
      if (!own) said.push(`a request to ${request.url()}`);
    });
    const look = async (name: string) => {
      await page.screenshot({ path: `test-results/pictures/${name}-${info.project.name}.png` });
      const { violations } = await new AxeBuilder({ page }).analyze();
      const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
      expect(serious.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`)).toEqual([]);
      const wider = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      expect(wider, "nothing is wider than the screen").toBeLessThanOrEqual(0);
    };
    const open = async (hash: string) => {
      await page.goto(`${url}#${hash}`);
      return page;
    };
    await use({ url, open, look });
    // Software drawing is slow to be read back: no defect of the page.
    const defects = said.filter((text) => !/GPU stall|GL Driver Message|WebGL.*software/i.test(text));
    expect(defects).toEqual([]);
  },
});

export { expect };
