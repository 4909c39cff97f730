/** A namespace of the test bed's cluster, for one test. */

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const testbed = join(import.meta.dirname, "../../testbed/testbed");

/** What programs have in their environment to use the bed. */
function bedVariables(): NodeJS.ProcessEnv {
  const said = execFileSync(testbed, ["env"], { encoding: "utf8" });
  const found: NodeJS.ProcessEnv = {};
  for (const [, name, value] of said.matchAll(/^export (\w+)="(.*)"$/gm)) {
    if (name) found[name] = value?.replace("$PATH", process.env["PATH"] ?? "");
  }
  return found;
}

export class Namespace {
  readonly #folder = mkdtempSync(join(tmpdir(), "lilt-e2e-bed-"));
  readonly variables: NodeJS.ProcessEnv;

  constructor(readonly name: string) {
    this.variables = bedVariables();
    const own = join(this.#folder, "kubeconfig");
    copyFileSync(this.variables["KUBECONFIG"] ?? "", own);
    this.variables["KUBECONFIG"] = own;
    // The marks by which the bed's tests find what a killed one left behind.
    const started = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ")[19];
    const labels = { "lilt.test/creator-pid": String(process.pid), "lilt.test/creator-started": started };
    const manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
    writeFileSync(join(this.#folder, "namespace.json"), JSON.stringify(manifest));
    this.kubectl("create", "-f", join(this.#folder, "namespace.json"));
    this.kubectl("config", "set-context", "--current", "--namespace", name);
  }

  kubectl(...words: string[]): string {
    return execFileSync("kubectl", words, {
      encoding: "utf8",
      stdio: "pipe",
      env: { ...process.env, ...this.variables },
    });
  }

  end(): void {
    this.kubectl("delete", "namespace", this.name, "--wait=false");
    this.kubectl("delete", "pods", "--all", "--grace-period=0", "--force", "--wait=false");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
