import { existsSync } from "node:fs";
import { binary } from "./lilt";

/** Says what is missing before the first test does in its own way. */
export default function setup(): void {
  if (!existsSync(binary)) {
    throw new Error(`no binary at ${binary}: run \`cargo build -p lilt-cli\`, or set LILT_BIN`);
  }
  // Debug binaries read the page from there.
  if (!existsSync(new URL("../dist/index.html", import.meta.url))) {
    throw new Error("the page is not built: run `npm run build`");
  }
}
