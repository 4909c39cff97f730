/** A made-up session for figures and pictures: `cargo build --release -p lilt-server --example sample` makes it. */

import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");

export const sample = ["release", "debug"]
  .map((profile) => join(target, profile, "examples/sample"))
  .find((path) => existsSync(path));
if (!sample) throw new Error("no sample: run `cargo build --release -p lilt-server --example sample`");

async function freePort() {
  return new Promise((found) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });
}

/** A made-up session that answers. */
export async function start(resources, lines, storm) {
  const port = await freePort();
  const child = spawn(sample, [port, resources, lines, storm ? 1 : 0].map(String), { stdio: "ignore" });
  // Whatever goes wrong here, it does not stay behind.
  process.once("exit", () => child.kill());
  const address = `http://localhost:${port}`;
  const deadline = Date.now() + 120_000;
  for (;;) {
    try {
      if ((await fetch(`${address}/favicon.svg`)).ok) break;
    } catch {
      if (Date.now() > deadline || child.exitCode !== null) throw new Error("the sample does not answer");
    }
    await new Promise((done) => setTimeout(done, 50));
  }
  const end = () =>
    new Promise((done) => {
      child.once("exit", done);
      child.kill("SIGINT");
    });
  return { address, end };
}
