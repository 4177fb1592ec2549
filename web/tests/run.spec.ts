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
  const page = await served.open("tab=run&scenario=geo&speed=max");
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
  const page = await served.open("tab=run&scenario=geo&speed=max");
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
  const page = await served.open("tab=run&scenario=geo&speed=max");
  const editor = page.getByRole("textbox", { name: "Scenario, in TOML" });
  await type(editor, "x");
  await editor.press("Backspace");
  await editor.pressSequentially("encap");
  await expect(page.getByRole("option", { name: /encapsulation/ })).toBeVisible();
});

test("errors of what is typed stay while a run goes, and a quote is closed once", async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=1");
  await expect(page.getByText(/geo, seed 1: at/)).toBeVisible();
  const editor = page.getByRole("textbox", { name: "Scenario, in TOML" });
  await type(editor, 'name = "x"\nnodes = ["a", "b"]\n[links.l]\nbetween = ["a", "b"]\nrat = "1 Mbit/s"\n[flows.f]\nfrom = "a"\nto = "b"\n');
  const error = page.getByText(/line 5.*did you mean `rate`\?/).first();
  await expect(error).toBeVisible();
  const before = await page.getByText(/seed 1: at/).textContent();
  await expect(page.getByText(/seed 1: at/)).not.toHaveText(before ?? "");
  await expect(error).toBeVisible();
  await type(editor, "[flows.f]\n");
  await editor.press("ControlOrMeta+End");
  await editor.pressSequentially('protocol = "t');
  const tcp = page.getByRole("option", { name: '"tcp"' });
  // A list that is drawn anew at that moment takes no click.
  await expect(async () => {
    if (!(await editor.textContent())?.includes('"tcp"')) await tcp.click({ timeout: 2_000 });
    expect(await editor.textContent()).toContain('protocol = "tcp"');
  }).toPass({ timeout: 20_000 });
  await expect(editor).not.toContainText('"tcp""');
});

test("packets of a window inside of a transfer are drawn where they belong", async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=max&variants=tcp-cubic&packets=10-11");
  await expect(page.getByRole("checkbox", { name: /Packets one by one/ })).toBeChecked();
  await expect(page.getByRole("region", { name: "Outcome", exact: true })).toContainText("bit/s");
  const picture = page.getByRole("img", { name: /Sequence numbers/ });
  await picture.scrollIntoViewIfNeeded();
  // Acknowledgments of what was sent before lie below, and the data is spread over the picture.
  const rows = await picture.evaluate((canvas: HTMLCanvasElement) => {
    const { width, height } = canvas;
    const data = canvas.getContext("2d")?.getImageData(0, 0, width, height).data ?? [];
    const seen = new Set<number>();
    for (let n = 0; n < width * height; n++) {
      const [red, green, blue] = [data[4 * n], data[4 * n + 1], data[4 * n + 2]];
      if (data[4 * n + 3] === 255 && red === 0 && green === 0x72 && blue === 0xb2) seen.add(Math.floor(n / width));
    }
    return seen.size / height;
  });
  expect(rows).toBeGreaterThan(0.2);
});

test("another address is another view, whatever was there before", async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=max&seed=1");
  await expect(page.getByText(/geo, seed 1: ended after/)).toBeVisible();
  await page.getByRole("tab", { name: "Compare" }).click();
  await page.evaluate(() => {
    location.hash = "tab=run&scenario=geo&speed=max&seed=3";
  });
  await expect(page.getByText(/geo, seed 3: ended after/)).toBeVisible();
});

test("the bytes that wait for a link are drawn for each direction where some have", async ({ served }) => {
  const page = await served.open("tab=run&scenario=geo&speed=max&variants=tcp-cubic");
  await expect(page.getByRole("region", { name: "Outcome", exact: true })).toContainText("bit/s");
  const queues = page.getByRole("group", { name: /Queues: bytes that wait/ });
  await expect(queues.getByText("satellite, gateway to client")).toBeVisible();
});
