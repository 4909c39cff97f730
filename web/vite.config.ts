import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineConfig, type Plugin } from "vite";

/** Packs what is built, so that the server need not. */
function packed(): Plugin {
  let folder = "";
  return {
    name: "packed",
    apply: "build",
    configResolved(config) {
      folder = join(config.root, config.build.outDir);
    },
    closeBundle() {
      for (const entry of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
        if (/\.(js|css|html|svg)$/.test(entry)) {
          const path = join(folder, entry);
          writeFileSync(`${path}.gz`, gzipSync(readFileSync(path), { level: 9 }));
        }
      }
    },
  };
}

/** Lets the browser fetch the page's script at once, not only when the small first one asks for it. */
function named(): Plugin {
  return {
    name: "named",
    apply: "build",
    transformIndexHtml: {
      order: "post",
      handler(_, { bundle = {} }) {
        const later = Object.values(bundle).filter((part) => part.type === "chunk" && !part.isEntry);
        return later.map(({ fileName }) => ({
          tag: "link",
          attrs: { rel: "modulepreload", crossorigin: true, href: `/${fileName}` },
          injectTo: "head",
        }));
      },
    },
  };
}

// `LILT_PORT=10350 npx vite` works on the page against a running session.
const session = `http://localhost:${process.env.LILT_PORT ?? 10350}`;

export default defineConfig({
  plugins: [packed(), named()],
  build: {
    target: "es2022",
    // Inlined files would need a looser content security policy.
    assetsInlineLimit: 0,
    modulePreload: false,
  },
  server: {
    proxy: {
      "/api": { target: session, changeOrigin: true },
      "/proxy": { target: session, changeOrigin: true },
      "/ws": { target: session, ws: true, changeOrigin: true, rewriteWsOrigin: true },
    },
  },
  test: {
    include: ["src/**/*.test.ts"],
  },
} as Parameters<typeof defineConfig>[0]);
