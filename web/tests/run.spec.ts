import { expect, test, type } from "./served";

test("a scenario runs, waits, goes on by steps, and its outcome is told", { tag: "@look" }, async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=10");
  const status = page.getByRole("status").filter({ hasText: "simulated time" });
  await expect(status).toContainText("geo, seed 1: at");
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(status).toContainText("paused at");
  await page.getByRole("button", { name: "Step 0.1 s" }).click();
  await expect(status).toContainText("paused at");
  await served.look("run");
  await page.getByLabel("Simulated time runs").selectOption("as fast as it goes");
  await page.getByRole("button", { name: "Go on" }).click();
  await expect(status).toContainText("ended after");
  const outcome = page.getByRole("region", { name: "Outcome", exact: true });
  await expect(outcome.getByRole("row")).not.toHaveCount(0);
  await expect(outcome).toContainText("Mbit/s");
  await outcome.scrollIntoViewIfNeeded();
  await served.look("run-ended");
});

test("two variants run beside each other, and packets are shown one by one", { tag: "@look" }, async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=");
  await page.getByLabel("Variants").fill("tcp-bbr");
  await page.getByLabel("Variants").press("Enter");
  await page.getByLabel("Variants").fill("tcp-cubic");
  await page.getByLabel("Variants").press("Enter");
  await page.getByRole("checkbox", { name: /Packets one by one/ }).check();
  await page.getByRole("button", { name: /^Run/ }).click();
  const outcome = page.getByRole("region", { name: "Outcome", exact: true });
  await expect(outcome).toContainText("tcp-bbr");
  await expect(outcome).toContainText("tcp-cubic");
  await expect(page).toHaveURL(/variants=tcp-bbr%2Ctcp-cubic/);
  await page.getByRole("img", { name: /Sequence numbers/ }).scrollIntoViewIfNeeded();
  await served.look("run-packets");
});

test("what is wrong with a scenario is told at its line, and a link holds what was typed", { tag: "@look" }, async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=");
  const editor = page.getByRole("textbox", { name: "Scenario, in TOML" });
  await type(editor, 'name = "x"\nnodes = ["a", "b"]\n[links.l]\nbetween = ["a", "b"]\nrat = "1 Mbit/s"\n[flows.f]\nfrom = "a"\nto = "b"\n');
  await expect(page.getByText(/line 5.*did you mean `rate`\?/).first()).toBeVisible();
  await expect(page).toHaveURL(/toml=/);
  const link = page.url();
  await page.goto("about:blank");
  await page.goto(link);
  await expect(page.getByRole("textbox", { name: "Scenario, in TOML" })).toContainText("rat =");
  await served.look("run-wrong");
});

test("keys are completed from the schema", async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=");
  const editor = page.getByRole("textbox", { name: "Scenario, in TOML" });
  await type(editor, "x");
  await editor.press("Backspace");
  await editor.pressSequentially("encap");
  await expect(page.getByRole("option", { name: /encapsulation/ })).toBeVisible();
});
