/** A namespace of the test bed's cluster, for one test. */

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const testbed = join(import.meta.dirname, "../../testbed/testbed");

/** Returns the environment variables of programs that use the test bed. */
function testbedEnvironment(): NodeJS.ProcessEnv {
  const output = execFileSync(testbed, ["env"], { encoding: "utf8" });
  const variables: NodeJS.ProcessEnv = {};
  for (const [, name, value] of output.matchAll(/^export (\w+)="(.*)"$/gm)) {
    if (name) variables[name] = value?.replace("$PATH", process.env["PATH"] ?? "");
  }
  return variables;
}

export class TestNamespace {
  readonly #folder = mkdtempSync(join(tmpdir(), "lilt-e2e-bed-"));
  readonly variables: NodeJS.ProcessEnv;

  constructor(readonly name: string) {
    this.variables = testbedEnvironment();
    const kubeconfig = join(this.#folder, "kubeconfig");
    copyFileSync(this.variables["KUBECONFIG"] ?? "", kubeconfig);
    this.variables["KUBECONFIG"] = kubeconfig;
    // These labels let the test bed find what a killed test left behind.
    const startTime = readFileSync("/proc/self/stat", "utf8").split(") ").at(-1)?.split(" ")[19];
    const labels = { "lilt.test/creator-pid": String(process.pid), "lilt.test/creator-started": startTime };
    const manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
    writeFileSync(join(this.#folder, "namespace.json"), JSON.stringify(manifest));
    this.kubectl("create", "-f", join(this.#folder, "namespace.json"));
    this.kubectl("config", "set-context", "--current", "--namespace", name);
  }

  kubectl(...args: string[]): string {
    return execFileSync("kubectl", args, {
      encoding: "utf8",
      stdio: "pipe",
      env: { ...process.env, ...this.variables },
    });
  }

  delete(): void {
    this.kubectl("delete", "namespace", this.name, "--wait=false");
    this.kubectl("delete", "pods", "--all", "--grace-period=0", "--force", "--wait=false");
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
