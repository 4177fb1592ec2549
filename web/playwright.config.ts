import { defineConfig } from "@playwright/test";

// Debian's Chromium; the graphics card is software, as on hosts that have none.
const chromium = {
  executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
};
const wide = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };

const LOOKS = /@look/;

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
    { name: "wide-dark", grep: LOOKS, use: { viewport: wide, colorScheme: "dark" } },
    { name: "phone-light", grep: LOOKS, use: { viewport: phone, colorScheme: "light" } },
    { name: "phone-dark", grep: LOOKS, use: { viewport: phone, colorScheme: "dark" } },
  ],
});
