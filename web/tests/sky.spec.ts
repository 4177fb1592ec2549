import { expect, test } from "./served";

test("a constellation moves, its route has a delay, and time is chosen", { tag: "@look" }, async ({ served }) => {
  const page = await served.open("tab=sky");
  const figures = page.locator("dl.figures");
  await expect(figures).toContainText("ms");
  await expect(figures).toContainText("1584");
  await expect(page.locator(".way")).toContainText("London →");
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("slider", { name: "Time of the run" }).fill("1800");
  await expect(page).toHaveURL(/t=1800/);
  await expect(page.locator("output.date")).toContainText("30:00");
  await served.look("sky");
});

test("the map shows the same, and what is hidden is in the link", { tag: "@look" }, async ({ served }) => {
  const page = await served.open("tab=sky&sky=iridium&from=Berkeley&to=Boston&view=map&hide=night");
  await expect(page.locator("dl.figures")).toContainText("66");
  await expect(page.getByLabel("day and night")).not.toBeChecked();
  await expect(page.locator(".way")).toContainText("Berkeley →");
  await served.look("sky-map");
});

test("a place that does not exist is named, with the one that was meant", async ({ served }) => {
  const page = await served.open("tab=sky&sky=iridium");
  await page.getByLabel("From").fill("Londn");
  await page.getByLabel("From").press("Enter");
  await expect(page.getByRole("alert")).toContainText("did you mean `London`?");
});

test("what is seen is saved as GeoJSON, and all of it as CZML", async ({ served }) => {
  const page = await served.open("tab=sky&sky=iridium");
  await expect(page.locator(".way")).toContainText("London →");
  const saving = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save GeoJSON" }).click();
  const saved = await (await saving).createReadStream();
  const chunks: Buffer[] = [];
  for await (const chunk of saved) chunks.push(chunk as Buffer);
  const document = JSON.parse(Buffer.concat(chunks).toString()) as { features: { properties: { kind: string } }[] };
  const count = (kind: string) => document.features.filter(({ properties }) => properties.kind === kind).length;
  expect([count("satellite"), count("station"), count("route")]).toEqual([66, 2, 1]);
  const scene = page.waitForEvent("download");
  await page.getByRole("button", { name: "Save CZML" }).click();
  expect((await scene).suggestedFilename()).toBe("sky.czml");
});

test("a link leads to its time, and what is not known yet is not made up", async ({ served }) => {
  const page = await served.open("tab=sky&sky=iridium&t=3000&rate=1");
  await expect(page.locator("output.date")).toContainText(/50:0\d/);
  await page.getByLabel("To", { exact: true }).fill("Boston");
  await page.getByLabel("To", { exact: true }).press("Enter");
  await expect(page.locator(".way")).toContainText("→ Boston");
  await expect(page.locator("output.date")).toContainText(/50:[0-5]\d/);
  await page.getByRole("button", { name: "Pause" }).click();
  await expect(page).toHaveURL(/t=30\d\d/);
});

test("the globe without a graphics card shows what the one with a card shows, and names the same", async ({ served }) => {
  const looks: number[][] = [];
  for (const graphics of ["none", "card"]) {
    const page = await served.open(`tab=sky&sky=iridium&graphics=${graphics}&t=1800&rate=1`);
    await expect(page.locator(".way")).toContainText("London →");
    await page.getByRole("button", { name: "Pause" }).click();
    await page.getByRole("slider", { name: "Time of the run" }).fill("1800");
    await expect(page.locator("output.date")).toContainText("30:00");
    const globe = page.getByRole("img", { name: /Globe/ });
    const picture = (await globe.screenshot()).toString("base64");
    looks.push(
      await page.evaluate(async (base64) => {
        const image = await createImageBitmap(new Blob([Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))]));
        // So small that lines and points are shades.
        const canvas = Object.assign(document.createElement("canvas"), { width: 44, height: 26 });
        const context = canvas.getContext("2d");
        context?.drawImage(image, 0, 0, 44, 26);
        return [...(context?.getImageData(0, 0, 44, 26).data ?? [])];
      }, picture),
    );
    // London is left of the middle of its name, where its mark is.
    const name = await page.locator(".name-of").first().boundingBox();
    await page.mouse.move((name?.x ?? 0) - 8, (name?.y ?? 0) + 10);
    await expect(page.locator(".tip")).toHaveText("London");
    await globe.press("ArrowLeft");
    await page.goto("about:blank");
  }
  const [plain = [], card = []] = looks;
  const far = plain.filter((value, n) => Math.abs(value - (card[n] ?? 0)) > 24).length;
  expect(plain.length).toBe(4 * 44 * 26);
  expect(far / plain.length).toBeLessThan(0.03);
});
