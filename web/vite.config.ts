import { defineConfig } from "vite";

// A page that is served from the root and asks nobody else for anything.
export default defineConfig({
  base: "/",
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: true },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8380", ws: true } } },
});
