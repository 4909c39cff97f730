/** A real `lilt up` in a folder of its own, for one test. */

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { test as base, type BrowserContext, type Page } from "@playwright/test";

export const binary = resolve(
  process.env["LILT_BIN"] ?? join(import.meta.dirname, "../../target/debug/lilt"),
);

const TILTFILE = `
local_resource('hello', cmd='printf "\\\\033[32mhello\\\\033[0m from the build\\\\n"', labels=['backend'])
local_resource('server', serve_cmd='echo serving; exec sleep 3600', labels=['backend'], links=['http://localhost:8123/docs'])
local_resource('broken', cmd='cat fixed', deps=['fixed'], labels=['checks'])
local_resource('after', cmd='echo after', resource_deps=['broken'], labels=['checks'])
local_resource('byhand', cmd='echo run >> runs; echo "run number $(wc -l < runs)"', auto_init=False, trigger_mode=TRIGGER_MODE_MANUAL)
`;

interface Beside {
  files?: Record<string, string>;
  variables?: NodeJS.ProcessEnv;
}

export class Lilt {
  #process: ChildProcess | undefined;
  #output = "";

  private constructor(
    readonly folder: string,
    readonly port: number,
    readonly environment: NodeJS.ProcessEnv,
  ) {}

  static async start(tiltfile: string, { files = {}, variables = {} }: Beside = {}): Promise<Lilt> {
    const lilt = await Lilt.#prepared(variables);
    lilt.write("Tiltfile", tiltfile);
    for (const [name, text] of Object.entries(files)) lilt.write(name, text);
    await lilt.up();
    return lilt;
  }

  /** In a copy of one of the projects in examples/. */
  static async example(name: string, variables: NodeJS.ProcessEnv): Promise<Lilt> {
    const lilt = await Lilt.#prepared(variables);
    cpSync(join(import.meta.dirname, "../../examples", name), lilt.folder, { recursive: true });
    await lilt.up();
    return lilt;
  }

  static async #prepared(variables: NodeJS.ProcessEnv): Promise<Lilt> {
    const folder = mkdtempSync(join(tmpdir(), "lilt-e2e-"));
    // Tokens are kept there, by port, so that a page stays signed in when a test restarts its session.
    const kept = { TILT_DEV_DIR: join(folder, ".dev"), LILT_KEEP_TOKEN: "1" };
    const environment = { ...process.env, ...kept, ...variables };
    return new Lilt(folder, await freePort(), environment);
  }

  /** What it has printed. */
  get output(): string {
    return this.#output;
  }

  get address(): string {
    return `http://localhost:${this.port}`;
  }

  /** For the header of scripts. */
  get token(): string {
    return this.command("token").trim();
  }

  /** A new link, which lets a browser in once. */
  link(path = "/"): string {
    const code = new URL(this.command("open", "--print").trim()).searchParams.get("code");
    return `${this.address}${path}${path.includes("?") ? "&" : "?"}code=${code}`;
  }

  /** What a command that talks to this session prints. */
  command(...words: string[]): string {
    const options = { cwd: this.folder, env: this.environment, encoding: "utf8" } as const;
    return execFileSync(binary, [...words, "--port", String(this.port)], options);
  }

  /** Signs a browser in. */
  async admit(context: BrowserContext): Promise<void> {
    await context.request.get(this.link());
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** As somebody who changes a few words and saves. */
  edit(name: string, from: string, to: string): void {
    const text = this.read(name);
    if (!text?.includes(from)) throw new Error(`${name} has no ${from}`);
    this.write(name, text.replace(from, to));
  }

  read(name: string): string | undefined {
    const path = join(this.folder, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }

  async up(): Promise<void> {
    const child = spawn(binary, ["up", "--stream", "--port", String(this.port)], {
      cwd: this.folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: this.environment,
    });
    this.#process = child;
    child.stdout.on("data", (data) => (this.#output += data));
    child.stderr.on("data", (data) => (this.#output += data));
    let failure: string | undefined;
    child.once("error", (error) => (failure = error.message));
    const deadline = Date.now() + 20_000;
    // The port may answer before the link to it is printed.
    while (!(await this.#answers()) || !this.#output.includes("?code=")) {
      if (child.exitCode !== null) failure = `exit code ${child.exitCode}`;
      if (failure !== undefined || Date.now() > deadline) {
        throw new Error(`lilt did not come up: ${failure ?? "no answer"}\n${this.#output}`);
      }
      await new Promise((done) => setTimeout(done, 25));
    }
  }

  /** To stop it in its tracks, and let it go on. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Without a goodbye, unless told otherwise. Waits for the end. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once("exit", done));
    child.kill(signal);
    // One that was stopped would not hear of it.
    child.kill("SIGCONT");
    await ended;
  }

  async end(): Promise<void> {
    await this.kill("SIGTERM");
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #answers(): Promise<boolean> {
    try {
      return (await fetch(`${this.address}/favicon.svg`)).ok;
    } catch {
      return false;
    }
  }
}

export async function freePort(): Promise<number> {
  return new Promise((found, failed) => {
    const server = createServer();
    server.once("error", failed);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => found(port));
    });
  });
}

interface Fixtures {
  tiltfile: string;
  lilt: Lilt;
  /** Console errors and exceptions of the page: none, in any test. */
  complaints: string[];
}

export const test = base.extend<Fixtures>({
  tiltfile: [TILTFILE, { option: true }],
  lilt: async ({ tiltfile, context }, use) => {
    const lilt = await Lilt.start(tiltfile);
    await lilt.admit(context);
    await use(lilt);
    // Questions that are on their way when a session ends stay without an answer.
    await Promise.allSettled(context.pages().map((page) => page.goto("about:blank")));
    await lilt.end();
  },
  complaints: [
    async ({ page }, use) => {
      const complaints: string[] = [];
      page.on("pageerror", (error) => complaints.push(error.message));
      page.on("console", (message) => {
        // A refused connection is what the page is there to survive, and so is a network that changes, as with pods of other tests.
        if (
          message.type() === "error" &&
          !/ERR_CONNECTION|ERR_NETWORK_CHANGED|WebSocket connection/.test(message.text())
        ) {
          complaints.push(message.text());
        }
      });
      await use(complaints);
      if (complaints.length > 0) throw new Error(`the page complained:\n${complaints.join("\n")}`);
    },
    { auto: true },
  ],
});

export { expect } from "@playwright/test";

export function row(page: Page, name: string) {
  return page.locator(`tr[data-resource="${name}"]`);
}
