import { begun, editorOf, enter, form, TEXT } from "./forms";
import { expect, test, type } from "./served";

test("main values are changed in a form, by the keyboard, and the text keeps its comments", { tag: "@look" }, async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=max");
  const editor = page.getByRole("textbox", { name: "Scenario, in TOML" });
  await type(editor, TEXT);
  await page.getByText("Main values as a form").focus();
  await page.keyboard.press("Enter");
  const link = page.getByRole("group", { name: "Link space" });
  const rate = link.getByRole("textbox", { name: "rate", exact: true });
  await expect(rate).toHaveValue("10 Mbit/s");
  await expect(link.getByRole("textbox", { name: "return rate" })).toHaveValue("2 Mbit/s");
  await rate.fill("5 Mbit/s");
  await rate.press("Tab");
  await expect(editor).toContainText('rate = "5 Mbit/s" # as hired');
  await link.getByRole("textbox", { name: "loss" }).fill("0.01");
  await link.getByRole("textbox", { name: "loss" }).press("Enter");
  await expect(editor).toContainText("loss = 0.01");
  await page.getByRole("group", { name: "Flow file" }).getByLabel("protocol").selectOption("sctp");
  await expect(editor).toContainText('protocol = "sctp"');
  await expect(editor).toContainText("# Mine.");
  await expect(page).toHaveURL(/toml=/);
  await served.look("run-form");
});

test("what is wrong with a value is told at its field, and the text stays as it was", { tag: "@look" }, async ({ served }) => {
  const page = await served.open("tab=compare&scenario=geo&compared=tcp-cubic&seeds=1");
  const editor = page.getByRole("textbox", { name: "Scenario, in TOML" });
  await page.getByText("Main values as a form").click();
  const delay = page.getByRole("group", { name: "Link satellite" }).getByRole("textbox", { name: "delay", exact: true });
  // A name or a length: it is no choice of names.
  await expect(page.getByRole("group", { name: "Link satellite" }).getByLabel("queue", { exact: true })).toHaveValue("750 kB");
  await delay.fill("250 cows");
  await delay.press("Enter");
  await expect(delay).toHaveAttribute("aria-invalid", "true");
  await expect(delay).toHaveAccessibleDescription(/cows/);
  await expect(editor).toContainText('delay = "250 ms"');
  await served.look("compare-form");
  await delay.fill("");
  await delay.press("Enter");
  await expect(delay).toHaveAccessibleDescription(/delete its line/);
  await delay.fill("270 ms");
  await delay.press("Enter");
  await expect(editor).toContainText('delay = "270 ms"');
  await expect(delay).not.toHaveAttribute("aria-invalid");
  await type(editor, "name =");
  await expect(page.getByText("The form comes back when the text is TOML again.")).toBeVisible();
});

test("what is typed in the text and in fields at once is lost in neither, and what runs has both", async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=max");
  const editor = page.getByRole("textbox", { name: "Scenario, in TOML" });
  await type(editor, TEXT);
  await page.getByText("Main values as a form").click();
  const link = page.getByRole("group", { name: "Link space" });
  const rate = link.getByRole("textbox", { name: "rate", exact: true });
  await expect(rate).toHaveValue("10 Mbit/s");
  // Answers come late, so that there is time to type.
  await page.route("**/api/change", async (route) => {
    await new Promise((done) => setTimeout(done, 300));
    await route.continue();
  });
  await editor.press("Control+Home");
  await editor.pressSequentially("# typed first\n");
  await rate.fill("5 Mbit/s");
  await rate.press("Tab");
  await link.getByRole("textbox", { name: "delay", exact: true }).fill("77 ms");
  await link.getByRole("textbox", { name: "delay", exact: true }).press("Enter");
  await editor.press("Control+Home");
  await editor.pressSequentially("# typed meanwhile\n");
  for (const part of ["# typed first", "# typed meanwhile", 'rate = "5 Mbit/s" # as hired', 'delay = "77 ms"']) await expect(editor).toContainText(part);
  // Run is pressed while the field has the cursor.
  const asked = new Promise<string>((done) => page.on("websocket", (socket) => socket.on("framesent", ({ payload }) => done(String(payload)))));
  await rate.fill("7 Mbit/s");
  await page.getByRole("button", { name: /^Run/ }).click();
  expect(await asked).toContain("7 Mbit/s");
});

test("a value that is wrong in the text is shown, and mended in the form", async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=max");
  const editor = editorOf(page);
  const rate = await form(page, TEXT.replace("10 Mbit/s", "10 cows"));
  await expect(rate).toHaveValue("10 cows");
  await enter(rate, "5 Mbit/s");
  await expect(editor).toContainText('rate = "5 Mbit/s" # as hired');
  const protocol = page.getByRole("group", { name: "Flow file" }).getByLabel("protocol");
  await type(editor, TEXT.replace('"tcp"', '"tc"'));
  await expect(protocol).toHaveValue("tc");
  await protocol.selectOption("sctp");
  await expect(editor).toContainText('protocol = "sctp"');
});

test("a form that opens on a wrong choice follows the text when that is mended there", async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=max");
  await form(page, TEXT.replace('"tcp"', '"tc"'));
  const protocol = page.getByRole("group", { name: "Flow file" }).getByLabel("protocol");
  await expect(protocol).toHaveValue("tc");
  await type(editorOf(page), TEXT);
  await expect(protocol).toHaveValue("tcp");
  await expect(protocol.getByRole("option", { name: "tc", exact: true })).toHaveCount(0);
});

for (const [tab, button] of [["run", /^Run/], ["compare", /^Compare$/]] as const) {
  test(`nothing goes in ${tab} without a value that was typed in the form`, async ({ served }) => {
    const page = await served.open(`tab=${tab}&scenario=geo&speed=max&compared=tcp-cubic&seeds=1`);
    const rate = await form(page);
    const said = begun(page);
    await enter(rate, "5 cows");
    await expect(rate).toHaveAttribute("aria-invalid", "true");
    await page.getByText("Main values as a form").click();
    await page.getByRole("button", { name: button }).click();
    await expect(page.getByText("Nothing was begun: what is in the field “Link space, rate” is not in the text.")).toBeVisible();
    await expect(rate).toBeFocused();
    await enter(rate, "7 Mbit/s");
    await expect(page.getByText("Nothing was begun")).toBeHidden();
    await page.getByRole("button", { name: button }).click();
    await expect.poll(() => said).toEqual([expect.stringContaining("7 Mbit/s")]);
  });
}

test("a table in the place of a value is left to the text, which is checked", async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=max");
  await form(page);
  await type(editorOf(page), `${TEXT.replace('duration = "20 s"\n', "")}[duration]\nof = 1\n`);
  await expect(page.getByRole("textbox", { name: "duration" })).toBeHidden();
  await expect(page.getByRole("status").filter({ hasText: "duration" })).toBeVisible();
});

test("a field keeps what is typed in it, and the cursor, while others come", async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=max");
  const rate = await form(page);
  await type(editorOf(page), TEXT.replace("[links.space]", '[links.first]\nbetween = ["a", "b"]\n[links.space]'));
  await rate.click();
  await rate.press("End");
  await rate.press("Backspace");
  await expect(page.getByRole("group", { name: "Link first" })).toBeVisible();
  await expect(rate).toHaveValue("10 Mbit/");
  await expect(rate).toBeFocused();
});
