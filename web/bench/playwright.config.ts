import { defineConfig } from "@playwright/test";
import tests from "../playwright.config";

// Measures the page on this machine; nothing in it can fail for being slow.
const wide = (tests.projects ?? []).filter(({ name }) => name === "wide-light");
export default defineConfig({ ...tests, testDir: ".", outputDir: "../test-results/bench", timeout: 120_000, projects: wide });
