/** A real `lilt snapshot view`. */

import { spawn, type ChildProcess } from "node:child_process";
import { binary, freePort, type Lilt } from "./lilt";

export class Viewer {
  private constructor(
    readonly port: number,
    /** With what lets a browser in. */
    readonly link: string,
    readonly child: ChildProcess,
  ) {}

  static async start(lilt: Lilt, file: string): Promise<Viewer> {
    const port = await freePort();
    const child = spawn(binary, ["snapshot", "view", "--no-open", "--port", String(port), file], {
      cwd: lilt.folder,
      stdio: ["ignore", "pipe", "pipe"],
      env: lilt.environment,
    });
    const link = await new Promise<string>((found, failed) => {
      let output = "";
      const hear = (data: Buffer) => {
        output += String(data);
        const said = /(http:\S+)\s/.exec(output)?.[1];
        if (said !== undefined) found(said);
      };
      child.stdout.on("data", hear);
      child.stderr.on("data", hear);
      child.once("error", failed);
      child.once("exit", () => failed(new Error(`the viewer ended:\n${output}`)));
    });
    return new Viewer(port, link, child);
  }

  get address(): string {
    return `http://localhost:${this.port}`;
  }

  async end(): Promise<void> {
    const ended = new Promise((done) => this.child.once("exit", done));
    this.child.kill("SIGTERM");
    await ended;
  }
}
