// Answers that come late, or never.

import { asked, begun, editorOf, enter, form, hold } from "./forms";
import { expect, test } from "./served";

const CHANGE = "**/api/change";
const VIEW = "tab=run&scenario=geo&speed=max";

test("whoever types in the text keeps the place when a value of the form comes into it", async ({ served }) => {
  const page = await served.open(VIEW);
  const editor = editorOf(page);
  const rate = await form(page);
  const letGo = await hold(page, CHANGE);
  await rate.fill("5 Mbit/s");
  await asked(page, async () => {
    await editor.locator(".cm-line").nth(3).click();
    await editor.press("End");
  });
  letGo();
  await expect(editor).toContainText('rate = "5 Mbit/s"');
  await page.keyboard.type(" # here");
  await expect(editor.locator(".cm-line").nth(3)).toHaveText('duration = "20 s" # here');
});

test("what is typed in a field while its value before is taken is taken as well", async ({ served }) => {
  const page = await served.open(VIEW);
  const rate = await form(page);
  const letGo = await hold(page, CHANGE);
  await asked(page, () => enter(rate, "5 Mbit/s"));
  await enter(rate, "7 Mbit/s");
  letGo();
  await expect(editorOf(page)).toContainText('rate = "7 Mbit/s" # as hired');
  await expect(rate).toHaveValue("7 Mbit/s");
});

test("a value for one scenario is not put into the next", async ({ served }) => {
  const page = await served.open(VIEW);
  const editor = editorOf(page);
  await form(page);
  const duration = page.getByRole("group", { name: "Run" }).getByRole("textbox", { name: "duration" });
  const letGo = await hold(page, CHANGE);
  await asked(page, () => enter(duration, "33 s"));
  // One that waits for the first.
  await enter(page.getByRole("group", { name: "Flow file" }).getByRole("textbox", { name: "size" }), "33 MB");
  await page.getByLabel("Scenario", { exact: true }).selectOption("leo-broadband");
  await expect(editor).toContainText('name = "leo-broadband"');
  letGo();
  await enter(duration, "44 s");
  await expect(editor).toContainText('duration = "44 s"');
  await expect(editor).not.toContainText("33");
});

test("a choice in the gallery comes, whatever is typed until it does", async ({ served }) => {
  const page = await served.open(VIEW);
  const editor = editorOf(page);
  await expect(editor).toContainText('name = "geo"');
  const letGo = await hold(page, "**/api/scenario/leo-broadband");
  await page.getByLabel("Scenario", { exact: true }).selectOption("leo-broadband");
  await editor.press("Control+Home");
  await editor.pressSequentially("# typed meanwhile\n");
  await expect(page).toHaveURL(/toml=/);
  letGo();
  await expect(editor).toContainText('name = "leo-broadband"');
  await expect(page).toHaveURL(/scenario=leo-broadband/);
  await expect(page).not.toHaveURL(/toml=/);
});

test("a view that was left writes nothing into the address of the next", async ({ served }) => {
  const page = await served.open(VIEW);
  const editor = editorOf(page);
  const rate = await form(page);
  const letGo = await hold(page, CHANGE);
  await asked(page, () => enter(rate, "5 Mbit/s"));
  const written: string[] = [];
  await page.exposeFunction("written", (address: string) => written.push(address));
  await page.evaluate(() => {
    location.hash = "tab=run&scenario=leo-broadband";
    const replace = history.replaceState.bind(history);
    history.replaceState = (...words) => {
      (window as unknown as { written: (address: string) => void }).written(String(words[2]));
      replace(...words);
    };
  });
  await expect(editor).toContainText('name = "leo-broadband"');
  letGo();
  await page.getByText("Main values as a form").click();
  await enter(page.getByRole("textbox", { name: "duration" }), "44 s");
  await expect(editor).toContainText('duration = "44 s"');
  await expect.poll(() => written.at(-1)).toMatch(/toml=/);
  expect(written.filter((address) => !address.includes("scenario=leo-broadband"))).toEqual([]);
});

test("a server that does not answer is told at the field and at Run, which goes when there is one again", async ({ served }) => {
  const page = await served.open(VIEW);
  const rate = await form(page);
  const letGo = await hold(page, CHANGE);
  const said = begun(page);
  const run = page.getByRole("button", { name: /^Run/ });
  await rate.fill("5 Mbit/s");
  await run.click();
  await expect(page.getByText("Waits until what was typed in the form is in the text …")).toBeVisible();
  await expect(rate).toHaveAttribute("aria-busy", "true");
  await expect(rate).toHaveAccessibleDescription(/has not answered for 10 s/);
  await expect(rate).not.toHaveAttribute("aria-busy");
  await expect(page.getByText("Nothing was begun")).toBeVisible();
  expect(said).toEqual([]);
  letGo();
  await run.click();
  await expect.poll(() => said).toEqual([expect.stringContaining("5 Mbit/s")]);
  await expect(page.getByText("Nothing was begun")).toBeHidden();
});
