import { defineConfig } from "@playwright/test";

// Debian's Chromium; the graphics card is software, as on hosts that have none.
const chromium = {
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
};
const wide = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };

const LOOKS = /@look/;
// Colours do not depend on the width, nor the layout on colours: each of them is looked at once, and all four together where that is
// asked for.
const EVERY_LOOK = process.env["EVERY_LOOK"] === "yes";

export default defineConfig({
  testDir: "tests",
  outputDir: "test-results",
  workers: 2,
  timeout: 60_000,
  expect: { timeout: 20_000 },
  reporter: "list",
  use: { browserName: "chromium", launchOptions: chromium, permissions: ["clipboard-read", "clipboard-write"] },
  projects: [
    { name: "wide-light", use: { viewport: wide, colorScheme: "light" } },
    // What looks the same in any light and at any width is tried once.
    { name: "phone-dark", grep: LOOKS, use: { viewport: phone, colorScheme: "dark" } },
    ...(EVERY_LOOK
      ? [
          { name: "wide-dark", grep: LOOKS, use: { viewport: wide, colorScheme: "dark" as const } },
          { name: "phone-light", grep: LOOKS, use: { viewport: phone, colorScheme: "light" as const } },
        ]
      : []),
  ],
});
