import { defineConfig } from "@playwright/test";
import tests from "../playwright.config";

// Measures the page on this machine; nothing in it can fail for being slow. Once as Chromium is on a host without a graphics card, where it
// puts its pictures together by the processor, and once where it is made to do that by a graphics card of which a program takes the part.
const wide = (tests.projects ?? []).find(({ name }) => name === "wide-light");
const { args = [], ...launch } = tests.use?.launchOptions ?? {};
const projects = [
  { name: "no card", use: { ...wide?.use, launchOptions: { ...launch, args: args.filter((arg) => arg === "--no-sandbox") } } },
  { name: "emulated card", use: { ...wide?.use, launchOptions: { ...launch, args } } },
];
export default defineConfig({ ...tests, testDir: ".", outputDir: "../test-results/bench", timeout: 120_000, projects });
