import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** Compresses the built files, so that the server need not. */
function compressFiles(): Plugin {
  let outputFolder = "";
  return {
    name: "compress-files",
    apply: "build",
    configResolved(config) {
      outputFolder = join(config.root, config.build.outDir);
    },
    closeBundle() {
      for (const entry of readdirSync(outputFolder, { recursive: true, encoding: "utf8" })) {
        if (/\.(js|css|html|svg)$/.test(entry)) {
          const path = join(outputFolder, entry);
          writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
        }
      }
    },
  };
}

/** Preloads the main script, which the small entry script would request only later. */
function preloadMainScript(): Plugin {
  return {
    name: "preload-main-script",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler(_, { bundle = {} }) {
        const lazyChunks = Object.values(bundle).filter((file) => file.type === "chunk" && !file.isEntry);
        return lazyChunks.map(({ fileName }) => ({
          tag: "link",
          attrs: { rel: "modulepreload", crossorigin: true, href: `/${fileName}` },
          injectTo: "head",
        }));
      },
    },
  };
}

// `TILT_PORT=10350 npx vite` serves the page in development, against a running session.
const sessionUrl = `http://localhost:${process.env.TILT_PORT ?? 10350}`;

export default defineConfig({
  plugins: [compressFiles(), preloadMainScript()],
  build: {
    target: "es2022",
    // Inlined files would need a weaker content security policy.
    assetsInlineLimit: 0,
    modulePreload: false,
  },
  server: {
    proxy: {
      "/api": { target: sessionUrl, changeOrigin: true },
      "/proxy": { target: sessionUrl, changeOrigin: true },
      "/ws": { target: sessionUrl, ws: true, changeOrigin: true, rewriteWsOrigin: true },
    },
  },
  test: {
    include: ["src/**/*.test.ts"],
  },
} as Parameters<typeof defineConfig>[0]);
