// The form of a scenario, and answers that are kept from it.

import type { Locator, Page } from "@playwright/test";
import { expect, type } from "./served";

export const TEXT = `# Mine.
name = "own"
nodes = ["a", "b"]
duration = "20 s"
[links.space]
between = ["a", "b"]
rate = "10 Mbit/s" # as hired
delay = "250 ms"
[links.space.return]
rate = "2 Mbit/s"
[flows.file]
from = "a"
to = "b"
size = "1 MB"
protocol = "tcp"
`;

/** The editor of a view. */
export function editorOf(page: Page): Locator {
  return page.getByRole("textbox", { name: "Scenario, in TOML" });
}

/** Types a scenario in a view and opens its form; gives the field of a rate in it. */
export async function form(page: Page, text: string = TEXT): Promise<Locator> {
  await type(editorOf(page), text);
  await page.getByText("Main values as a form").click();
  const rate = page.getByRole("group", { name: "Link space" }).getByRole("textbox", { name: "rate", exact: true });
  await expect(rate).toBeVisible();
  return rate;
}

/** Holds up answers until they are let go. */
export async function hold(page: Page, what: string): Promise<() => void> {
  let letGo = () => {};
  const gone = new Promise<void>((done) => (letGo = done));
  await page.route(what, async (route) => {
    await gone;
    // Who asked may have gone.
    await route.continue().catch(() => {});
  });
  return letGo;
}

/** Does something by which the server is asked for a change, and waits until it is. */
export async function asked(page: Page, does: () => Promise<void>): Promise<void> {
  const asked = page.waitForRequest("**/api/change");
  await does();
  await asked;
}

/** Types a value in a field and presses Enter. */
export async function enter(field: Locator, value: string): Promise<void> {
  await field.fill(value);
  await field.press("Enter");
}

/** All runs and comparisons of a text like this one that are asked for from now on. */
export function begun(page: Page): string[] {
  const said: string[] = [];
  page.on("websocket", (socket) =>
    socket.on("framesent", ({ payload }) => {
      if (String(payload).includes("# Mine.")) said.push(String(payload));
    }),
  );
  return said;
}
