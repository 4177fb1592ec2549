import { defineConfig } from "vite";

// A page that is served from the root and asks nobody else for anything. The notices of those whose work is in it go with it.
export default defineConfig({
  base: "/",
  build: { target: "es2022", assetsInlineLimit: 0, modulePreload: { polyfill: false }, reportCompressedSize: true, license: { fileName: "NOTICES.md" } },
  server: { proxy: { "/api": { target: "http://127.0.0.1:8380", ws: true } } },
});
