/** A real `lilt snapshot view`. */

import { spawn, type ChildProcess } from "node:child_process";
import { binary, findFreePort, type Lilt } from "./lilt";

export class SnapshotViewer {
  private constructor(
    readonly port: number,
    /** The printed link, which signs a browser in. */
    readonly link: string,
    readonly child: ChildProcess,
  ) {}

  static async start(lilt: Lilt, file: string): Promise<SnapshotViewer> {
    const port = await findFreePort();
    const child = spawn(binary, ["snapshot", "view", "--no-open", "--port", String(port), file], {
      cwd: lilt.folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: lilt.environment,
    });
    const link = await new Promise<string>((resolve, reject) => {
      let output = "";
      const onData = (data: Buffer) => {
        output += String(data);
        const printedLink = /(http:\S+)\s/.exec(output)?.[1];
        if (printedLink !== undefined) resolve(printedLink);
      };
      child.stdout.on("data", onData);
      child.stderr.on("data", onData);
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`the viewer ended:\n${output}`)));
    });
    return new SnapshotViewer(port, link, child);
  }

  get address(): string {
    return `http://localhost:${this.port}`;
  }

  async stop(): Promise<void> {
    const ended = new Promise((done) => this.child.once("exit", done));
    this.child.kill("SIGTERM");
    await ended;
  }
}
