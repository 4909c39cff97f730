/**
 * Starts sessions for benchmarks and screenshots: one with generated resources and lines, built with
 * `cargo build --release -p lilt-server --example sample`, and a real one, for measurements that include the
 * session's loop.
 */

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");
const target = process.env.CARGO_TARGET_DIR ?? join(root, "target");

const findBinary = (program) =>
  ["release", "debug"].map((profile) => join(target, profile, program)).find((path) => existsSync(path));

export const sampleBinary = findBinary("examples/sample");
/** Undefined if it was not built. */
export const liltBinary = findBinary("lilt");
if (!sampleBinary) throw new Error("no sample: run `cargo build --release -p lilt-server --example sample`");

async function findFreePort() {
  return new Promise((resolve) => {
    const server = createServer();
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Starts a session with generated resources and lines, and waits until it responds. */
export async function startSample(resources, lines, changesConstantly) {
  const port = await findFreePort();
  const child = spawn(sampleBinary, [port, resources, lines, changesConstantly ? 1 : 0].map(String), {
    stdio: "ignore",
  });
  return waitForSession(child, port);
}

/** Starts a real session, whose resources wait for a manual trigger and then run for a second. */
export async function startLilt(resources) {
  const port = await findFreePort();
  const folder = mkdtempSync(join(tmpdir(), "lilt-bench-"));
  writeFileSync(
    join(folder, "Tiltfile"),
    `for i in range(${resources}):
    local_resource('r%d' % i, 'sleep 1', auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL)\n`,
  );
  const child = spawn(liltBinary, ["up", "--stream", "--port", String(port)], {
    cwd: folder,
    stdio: "ignore",
    env: { ...process.env, TILT_DISABLE_HUD_AUTH: "1", TILT_DEV_DIR: join(folder, ".dev") },
  });
  child.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return waitForSession(child, port);
}

async function waitForSession(child, port) {
  // The session ends with this process, however that exits.
  process.once("exit", () => child.kill());
  const address = `http://localhost:${port}`;
  const deadline = Date.now() + 120_000;
  for (;;) {
    try {
      if ((await fetch(`${address}/favicon.svg`)).ok) break;
    } catch {
      if (Date.now() > deadline || child.exitCode !== null) throw new Error("the session does not respond");
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const stop = () =>
    new Promise((resolve) => {
      child.once("exit", resolve);
      child.kill("SIGINT");
    });
  return { address, stop };
}
