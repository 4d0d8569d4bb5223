import { defineConfig } from "vite";

// The node serves index.html at each page's path, the pages of docs at /docs, and all else below
// /explorer/ (web/web.go, web/docs.go).
export default defineConfig(({ command }) => ({
  base: command === "build" ? "/explorer/" : "/",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    rolldownOptions: { input: ["index.html", "docs/index.html"] },
    outDir: "../dist",
    emptyOutDir: true, // public/.gitkeep keeps the folder in the repository
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // the content security policy allows no data: URLs
  },
  // `npm run dev` beside a running node. MINTLAKE_API is the node's address.
  server: {
    proxy: Object.fromEntries(
      ["/tokens", "/trades", "/pools", "/owners", "/venues", "/img", "/status", "/openapi.json"].map((path) => [path, process.env.MINTLAKE_API ?? "http://127.0.0.1:8080"]),
    ),
  },
}));
