import { existsSync } from "node:fs";
import { binary } from "./lilt";

/** Reports a missing build before the first test fails because of it. */
export default function setup(): void {
  if (!existsSync(binary)) {
    throw new Error(`no binary at ${binary}: run \`cargo build -p lilt-cli\`, or set LILT_BIN`);
  }
  // Debug binaries read the page from there.
  if (!existsSync(new URL("../dist/index.html", import.meta.url))) {
    throw new Error("the page is not built: run `npm run build`");
  }
}
