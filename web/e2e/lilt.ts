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

interface StartOptions {
  files?: Record<string, string>;
  variables?: NodeJS.ProcessEnv;
  /** Further arguments of `lilt up`. */
  flags?: string[];
}

export class Lilt {
  #process: ChildProcess | undefined;
  #output = "";

  private constructor(
    readonly folder: string,
    readonly port: number,
    readonly environment: NodeJS.ProcessEnv,
  ) {}

  static async start(
    tiltfile: string,
    { files = {}, variables = {}, flags = [] }: StartOptions = {},
  ): Promise<Lilt> {
    const lilt = await Lilt.#create(variables);
    lilt.write("Tiltfile", tiltfile);
    for (const [name, text] of Object.entries(files)) lilt.write(name, text);
    await lilt.up(...flags);
    return lilt;
  }

  /** Starts in a copy of a project in examples/. */
  static async startExample(name: string, variables: NodeJS.ProcessEnv): Promise<Lilt> {
    const lilt = await Lilt.#create(variables);
    cpSync(join(import.meta.dirname, "../../examples", name), lilt.folder, { recursive: true });
    await lilt.up();
    return lilt;
  }

  static async #create(variables: NodeJS.ProcessEnv): Promise<Lilt> {
    const folder = mkdtempSync(join(tmpdir(), "lilt-e2e-"));
    // Tokens are kept there by port, so that a page stays signed in when a test restarts its session.
    const tokenEnvironment = { TILT_DEV_DIR: join(folder, ".dev") };
    const environment = { ...process.env, ...tokenEnvironment, ...variables };
    return new Lilt(folder, await findFreePort(), environment);
  }

  /** What lilt has printed. */
  get output(): string {
    return this.#output;
  }

  get address(): string {
    return `http://localhost:${this.port}`;
  }

  /** The value of the `X-Tilt-Token` header. */
  get token(): string {
    return this.runCommand("token").trim();
  }

  /** Returns a new link, which signs a browser in once. */
  link(path = "/"): string {
    const code = new URL(this.runCommand("open", "--print").trim()).searchParams.get("code");
    return `${this.address}${path}${path.includes("?") ? "&" : "?"}code=${code}`;
  }

  /** Runs a command against this session and returns its output. */
  runCommand(...args: string[]): string {
    const options = { cwd: this.folder, env: this.environment, encoding: "utf8" } as const;
    return execFileSync(binary, [...args, "--port", String(this.port)], options);
  }

  /** Signs a browser in. */
  async signIn(context: BrowserContext): Promise<void> {
    await context.request.get(this.link());
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  /** Replaces a text in a file, like somebody who edits and saves it. */
  edit(name: string, from: string, to: string): void {
    const text = this.read(name);
    if (!text?.includes(from)) throw new Error(`${name} has no ${from}`);
    this.write(name, text.replace(from, to));
  }

  read(name: string): string | undefined {
    const path = join(this.folder, name);
    return existsSync(path) ? readFileSync(path, "utf8") : undefined;
  }

  async up(...flags: string[]): Promise<void> {
    const child = spawn(binary, ["up", "--stream", "--keep-token", "--port", String(this.port), ...flags], {
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
    // The port may respond before the link is printed.
    while (!(await this.#responds()) || !this.#output.includes("?code=")) {
      if (child.exitCode !== null) failure = `exit code ${child.exitCode}`;
      if (failure !== undefined || Date.now() > deadline) {
        throw new Error(`lilt did not come up: ${failure ?? "no answer"}\n${this.#output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /** Sends a signal, for example to suspend lilt. */
  signal(signal: NodeJS.Signals): void {
    this.#process?.kill(signal);
  }

  /** Kills lilt, by default without a graceful shutdown, and waits for its exit. */
  async kill(signal: NodeJS.Signals = "SIGKILL"): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((done) => child.once("exit", done));
    child.kill(signal);
    // A suspended process would not handle the signal.
    child.kill("SIGCONT");
    await ended;
  }

  async stop(): Promise<void> {
    await this.kill("SIGTERM");
    rmSync(this.folder, { recursive: true, force: true });
  }

  async #responds(): Promise<boolean> {
    try {
      return (await fetch(`${this.address}/favicon.svg`)).ok;
    } catch {
      return false;
    }
  }
}

export async function findFreePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}

interface Fixtures {
  tiltfile: string;
  lilt: Lilt;
  /** Console errors and exceptions of the page; every test fails if there are any. */
  pageErrors: string[];
}

export const test = base.extend<Fixtures>({
  tiltfile: [TILTFILE, { option: true }],
  lilt: async ({ tiltfile, context }, use) => {
    const lilt = await Lilt.start(tiltfile);
    await lilt.signIn(context);
    await use(lilt);
    // In-flight requests would fail when the session ends.
    await Promise.allSettled(context.pages().map((page) => page.goto("about:blank")));
    await lilt.stop();
  },
  pageErrors: [
    async ({ page }, use) => {
      const pageErrors: string[] = [];
      page.on("pageerror", (error) => pageErrors.push(error.message));
      page.on("console", (message) => {
        // The page must survive refused connections, and a changing network as with the pods of other tests.
        if (
          message.type() === "error" &&
          !/ERR_CONNECTION|ERR_NETWORK_CHANGED|WebSocket connection/.test(message.text())
        ) {
          pageErrors.push(message.text());
        }
      });
      await use(pageErrors);
      if (pageErrors.length > 0) throw new Error(`errors of the page:\n${pageErrors.join("\n")}`);
    },
    { auto: true },
  ],
});

export { expect } from "@playwright/test";

export function row(page: Page, name: string) {
  return page.locator(`tr[data-resource="${name}"]`);
}
