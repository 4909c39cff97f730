/**
 * A made-up session for figures and pictures: `cargo build --release -p lilt-server --example sample` makes it; and a real one, for
 * what goes through the session's loop.
 */

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");

const built = (program) =>
  ["release", "debug"].map((profile) => join(target, profile, program)).find((path) => existsSync(path));

export const sample = built("examples/sample");
/** Undefined where it was not built. */
export const lilt = built("lilt");
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
  return answering(child, port);
}

/** A real session, with resources that wait for a hand and then run for a while. */
export async function startDaemon(resources) {
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "lilt-bench-"));
  writeFileSync(
    join(folder, "Tiltfile"),
    `for i in range(${resources}):
    local_resource('r%d' % i, 'sleep 1', auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL)\n`,
  );
  const child = spawn(lilt, ["up", "--stream", "--port", String(port)], {
    cwd: folder,
    stdio: "ignore",
    env: { ...process.env, TILT_DISABLE_HUD_AUTH: "1", TILT_DEV_DIR: join(folder, ".dev") },
  });
  child.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return answering(child, port);
}

async function answering(child, port) {
  // Whatever goes wrong here, it does not stay behind.
  process.once("exit", () => child.kill());
  const address = `http://localhost:${port}`;
  const deadline = Date.now() + 120_000;
  for (;;) {
    try {
      if ((await fetch(`${address}/favicon.svg`)).ok) break;
    } catch {
      if (Date.now() > deadline || child.exitCode !== null) throw new Error("the session does not answer");
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
